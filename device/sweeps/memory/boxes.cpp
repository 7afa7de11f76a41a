#include "sweeps/memory/boxes.hpp"

#include <algorithm>
#include <vector>

#include "mmaudit/sweeps/axes.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::sweeps {

int rank_of(std::string_view box) { return 1 + static_cast<int>(std::count(box.begin(), box.end(), 'x')); }

std::optional<Box> parse_box(std::string_view text) {
  const std::vector<std::string_view> sizes = split(text, 'x');
  if (sizes.size() > kBoxRanks) return std::nullopt;
  Box box;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto size = whole_number<int>(sizes[i]);
    if (!size || *size < 1 || *size > kBoxMost) return std::nullopt;
    box.size[i] = static_cast<std::uint32_t>(*size);
  }
  return box;
}

}  // namespace mmaudit::sweeps
