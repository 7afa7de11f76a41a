#pragma once
// Texts from outside. Every reader of a user's text file goes through here.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mmaudit::corpus {

inline constexpr std::uint64_t kMostText = std::uint64_t{1} << 30;

/// What: all of a regular file; of one whose name ends in ".zst" what it holds. Errors: InputError of one
/// line that begins with the path where there is no such file, or it is a folder, device or pipe, or has more
/// than `most` bytes.
std::string text_of_file(const std::filesystem::path& path, std::uint64_t most = kMostText);

// JSON from outside: nlohmann's values are copied and printed by recursion, so their depth is bounded first.

/// What: the JSON that all of `text` spells. Errors: InputError of one line: "<where>: found no valid JSON,
/// allowed: <allowed>", with the line where there are several; "<where>: nesting: ..." where brackets stand
/// more than 32 deep, "<where>: key: ..." where an object has one twice, and "<where>: number: ..." for one
/// beyond binary64.
nlohmann::json parse_bounded(std::string_view text, const std::string& where, std::string_view allowed);

}  // namespace mmaudit::corpus
