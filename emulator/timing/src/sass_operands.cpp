#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "mmaudit/timing/sass.hpp"

namespace mmaudit::timing {

std::int32_t sass_number(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus) text.remove_prefix(1);
  if (!text.starts_with("0x")) return 0;
  std::uint32_t value = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return static_cast<std::int32_t>(minus ? 0U - value : value);
}

std::vector<std::string_view> sass_operands(std::string_view text) {
  std::vector<std::string_view> operands;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view operand = text.substr(0, comma);
    operand.remove_prefix(std::min(operand.find_first_not_of(" \t"), operand.size()));
    operand = operand.substr(0, operand.find_last_not_of(" \t\r\n;") + 1);
    operands.push_back(operand);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return operands;
}

std::int32_t counter_step(std::string_view opcode, std::string_view operands) {
  constexpr std::string_view kAdds[] = {"IADD3", "UIADD3", "VIADD", "IADD", "IMAD.IADD"};
  if (std::find(std::begin(kAdds), std::end(kAdds), opcode) == std::end(kAdds)) return 0;
  std::vector<std::string_view> parts = sass_operands(operands);
  // Blackwell names the carries too: UIADD3 UR4, UPT, UPT, UR4, 0x10, URZ.
  std::erase_if(parts, [](std::string_view part) { return part == "PT" || part == "UPT"; });
  if (parts.size() < 3 || parts[0] != parts[1].substr(0, parts[1].find('.'))) return 0;
  const std::int64_t step = sass_number(parts[2]);
  return static_cast<std::int32_t>(std::min<std::int64_t>(std::abs(step), INT32_MAX));
}

}  // namespace mmaudit::timing
