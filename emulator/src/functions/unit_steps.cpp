#include <algorithm>
#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/functions.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::functions {
namespace {

struct Mufu {
  const char* word;
  Op op;
};
constexpr Mufu kMufu[] = {{"MUFU.EX2", Op::ex2}, {"MUFU.LG2", Op::lg2},   {"MUFU.RCP", Op::rcp},
                          {"MUFU.RSQ", Op::rsq}, {"MUFU.SQRT", Op::sqrt}, {"MUFU.SIN", Op::sin},
                          {"MUFU.COS", Op::cos}, {"MUFU.TANH", Op::tanh}};

std::string over(std::int64_t number, int places) { return with_values("{} / 2^{}", {number, places}); }

}  // namespace

FormatSpec format_of(const Function& function) {
  if (function.bits == 32) return spec_of(Format::f32);
  return spec_of(function.name.ends_with("bf16") ? Format::bf16 : Format::f16);
}

bool flushes(const Function& function) {
  return function.name.find("ftz") != std::string_view::npos || function.name.ends_with("/fast");
}

std::vector<UnitStep> unit_steps(const Function& function, std::uint32_t x) {
  const auto* unit = std::find_if(std::begin(kMufu), std::end(kMufu), [&](const Mufu& one) {
    return function.steps.find(one.word) != std::string_view::npos;
  });
  if (function.name.find(".approx") == std::string_view::npos || unit == std::end(kMufu)) return {};
  std::uint32_t operand = x;
  if (function.bits == 16)
    operand = bits_of(static_cast<float>(decode_value(x, format_of(function))));
  else if (unit->op == Op::sin || unit->op == Op::cos)
    operand = turns(x);
  else if (!flushes(function) && unit->op != Op::tanh)
    operand = scaled(unit->op, x);
  const Reduced at = reduced(unit->op, operand);
  if (at.special) return {{"unit", with_values("{}: a special operand, no table is asked", {unit->word})}};
  const Parts parts = parts_of(at.table, at.fraction, kUnit);
  const Quadratic& table = kUnit.quadratics[static_cast<int>(at.table)];
  const Segment& row = kUnit.segments[parts.segment];
  return {
      {"unit", with_values("{} of {}", {unit->word, hex_text(operand, 32)})},
      {"segment", with_values("{} of its table; inside it {}", {parts.segment - table.first, parts.at})},
      {"constant", over(row.constant, table.constant_places)},
      {"linear", with_values("{} * {}", {over(row.linear, table.linear_places), parts.at})},
      {"square", with_values("{} * {} (truncated square / 2^19)",
                             {over(row.square, table.square_places), parts.squared})},
      {"offset", over(table.offset, kBelow)},
      {"sum", with_values("{} in units of the last place of 24 bits, then cut", {over(parts.sum, kBelow)})}};
}

double ulps_from_exact(const Function& function, std::uint32_t x, std::uint32_t result, double exact) {
  const FormatSpec format = format_of(function);
  const double found = decode_value(result, format), least = std::ldexp(1.0, format.min_exponent());
  if (!std::isfinite(found) || !std::isfinite(exact)) return NAN;
  if (flushes(function) && (std::fabs(decode_value(x, format)) < least || std::fabs(exact) < least))
    return NAN;
  const int exponent =
      exact == 0 ? format.min_exponent() : std::max(std::ilogb(exact), format.min_exponent());
  return std::ldexp(found - exact, format.fraction_bits - exponent);
}

}  // namespace mmaudit::functions
