#pragma once
// Texts from outside. Every reader of a user's text file goes through here.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace mmaudit::corpus {

inline constexpr std::uint64_t kMostText = std::uint64_t{1} << 30;

/// What: all of a regular file; of one whose name ends in ".zst" what it holds. Errors: InputError of one
/// line that begins with the path where there is no such file, or it is a folder, device or pipe, or has more
/// than `most` bytes.
std::string text_of_file(const std::filesystem::path& path, std::uint64_t most = kMostText);

}  // namespace mmaudit::corpus
