#include <algorithm>
#include <limits>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  return subject.datapath.arithmetic == Arithmetic::integer ? "" : "not integer";
}

std::int64_t integer_of(std::uint64_t bits, const FormatSpec& format) {
  const int width = format.value_bits();
  const auto low = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << width) - 1));
  const bool negative = format.encoding == Encoding::signed_integer && ((low >> (width - 1)) & 1) != 0;
  return negative ? low - (std::int64_t{1} << width) : low;
}

LawVerdict judge(const Case& at) {
  const Instruction& inst = at.tile.instruction;
  std::int64_t sum = static_cast<std::int32_t>(entering_c(at));
  for (int k = 0; k < at.tile.stored(); ++k) {
    const std::int64_t a = integer_of(at.tile.at_a(at.row, k), at.subject.a());
    const std::int64_t b = integer_of(at.tile.met_b(at.row, k, at.col), at.subject.b());
    sum += inst.multiply == Multiply::product ? a * b : inst.multiply == Multiply::xor_popc ? a ^ b : (a & b);
  }
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (inst.satfinite) sum = std::clamp(sum, kLeast, kMost);
  return equal_bits(at.d(), static_cast<std::uint32_t>(sum));
}

}  // namespace

const Law kIntegersAreExact = {
    .order = 230,
    .statement =
        "Integer and single-bit sums are exact, wrapped to 32 bits or, with .satfinite, clamped once.",
    .source = "PTX ISA (mma, wgmma, .satfinite, .popc); measured on Hopper",
    .why_not = why_not,
    .judge = judge};

}  // namespace mmaudit::laws
