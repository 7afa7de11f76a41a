#pragma once
// How this module words what it throws: one line, whatever bytes the file holds.
#include <filesystem>
#include <string>
#include <string_view>

#include "mmaudit/error.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::corpus {

/// Most bytes of a JSON or .npy header, checked before it is read into memory.
inline constexpr std::size_t kMaxHeaderBytes = std::size_t{16} << 20;

/// A path for a message: printable and uncut.
std::string label_of(const std::filesystem::path& path);

using mmaudit::refuse;
/// Throws InputError("<file>: <field>: found <found>, allowed: <allowed>").
[[noreturn]] void refuse(std::string_view file, std::string_view field, std::string_view found,
                         std::string_view allowed);

}  // namespace mmaudit::corpus
