#include "mismatch_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::checks {

std::string ulps_text(std::uint64_t x, std::uint64_t y, const FormatSpec& format) {
  const double a = decode_value(x, format);
  const double b = decode_value(y, format);
  if (format.integer()) return fmt::format("{:.0f}", std::fabs(a - b));
  if (!std::isfinite(a) || !std::isfinite(b)) return "-";
  // Bit patterns of one sign are consecutive integers; the two signs meet at zero.
  const auto ordered = [&](std::uint64_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & format.magnitude_mask());
    return (bits & format.sign_bit()) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t p = ordered(x);
  const std::int64_t q = ordered(y);
  return fmt::format("{}", p > q ? static_cast<std::uint64_t>(p) - static_cast<std::uint64_t>(q)
                                 : static_cast<std::uint64_t>(q) - static_cast<std::uint64_t>(p));
}

std::string explain_command(const Instruction& instruction, const DotCase& dot, const std::string& where) {
  std::string text = fmt::format("mmaudit explain{} --inst {} --a 0x{} --b 0x{} --c 0x{}", where,
                                 name_of(instruction), fmt::join(hex_texts(dot.a, instruction.a), ",0x"),
                                 fmt::join(hex_texts(dot.b, instruction.b), ",0x"),
                                 hex_text(dot.c, spec_of(instruction.c).storage_bits));
  if (!dot.metadata.empty()) text += fmt::format(" --metadata {}", fmt::join(dot.metadata, ","));
  for (const auto& [option, scales] : {std::pair{"--scale-a", &dot.scale_a}, {"--scale-b", &dot.scale_b}})
    if (!scales->empty()) text += fmt::format(" {} {:#04x}", option, fmt::join(*scales, ","));
  return text;
}

std::string describe(const Mismatch& mismatch, const Instruction& instruction) {
  const FormatSpec d = spec_of(instruction.d);
  const DotCase& dot = mismatch.dot;
  return fmt::format(
      "    {} tile {} row {} column {} modifiers {:#x}\n"
      "      expected 0x{} = {}   model 0x{} = {}   {} ulp\n"
      "      {}\n",
      dot.input_class, dot.tile, dot.row, dot.column, dot.modifiers,
      hex_text(mismatch.expected, d.storage_bits), value_text(mismatch.expected, d),
      hex_text(mismatch.found, d.storage_bits), value_text(mismatch.found, d),
      ulps_text(mismatch.expected, mismatch.found, d), explain_command(instruction, dot));
}

}  // namespace mmaudit::checks
