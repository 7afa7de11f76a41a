#include "refuse.hpp"

#include <limits>

namespace mmaudit::corpus {
std::string label_of(const std::filesystem::path& path) {
  return printable(path.native(), std::numeric_limits<std::size_t>::max());
}

void refuse(std::string_view file, std::string_view field, std::string_view found, std::string_view allowed) {
  mmaudit::refuse("{}: {}: found {}, allowed: {}", file, field, found, allowed);
}

}  // namespace mmaudit::corpus
