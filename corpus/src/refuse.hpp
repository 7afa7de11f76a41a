#pragma once
// How this module words what it throws: one line, whatever bytes the file holds.
#include <filesystem>
#include <string>
#include <string_view>

namespace mmaudit::corpus {

/// Most bytes of a JSON or .npy header, checked before it is read into memory.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{16} << 20;

/// `text` with control characters as \xNN, cut to about `limit` bytes: text from a file must not forge a
/// second line.
std::string printable(std::string_view text, std::size_t limit = 120);

/// A path for a message: printable and uncut.
std::string label_of(const std::filesystem::path& path);

/// True if `text` holds a control character.
bool has_control_characters(std::string_view text);

/// Throws InputError("<file>: <field>: found <found>, allowed <allowed>").
[[noreturn]] void refuse(std::string_view file, std::string_view field, std::string_view found,
                         std::string_view allowed);

}  // namespace mmaudit::corpus
