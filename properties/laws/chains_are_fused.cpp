#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  return subject.datapath.arithmetic == Arithmetic::fma_chain &&
                 subject.datapath.output.rounding == Rounding::nearest_even
             ? ""
             : "not a chain of fused multiply-adds";
}

/// Numbers near each other, and in every third tile NaNs of many payloads.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const bool nans = random.one_in(3);
  const int width = random.between(0, 60);
  const auto number = [&](const FormatSpec& format) {
    if (nans && random.one_in(4)) return format.infinity_bits() | (random.next() & ~format.infinity_bits());
    return random_number(random, format, random.between(-width, width));
  };
  for (std::uint64_t& x : tile.a) x = number(subject.a());
  for (std::uint64_t& x : tile.b) x = number(subject.b());
  for (std::uint64_t& x : tile.c) x = number(subject.c());
}

constexpr std::uint64_t kQuiet = std::uint64_t{1} << 51;

/// The machine's own fma, in the row's order; of several NaNs b's wins over the sum's, and the sum's over
/// a's.
LawVerdict judge(const Case& at) {
  const auto number = [](std::uint64_t bits) { return __builtin_bit_cast(double, bits); };
  std::uint64_t sum = at.c();
  bool made = false;  // a NaN out of numbers: its bits are not said here
  for (int i = 0; i < at.subject.spec.k; ++i) {
    const int k = evaluation_k(at.subject.datapath.order, at.subject.spec.k, i);
    const std::uint64_t a = at.tile.at_a(at.row, k), b = at.tile.at_b(k, at.col);
    if (std::isnan(number(b))) {
      sum = b | kQuiet;
      made = false;
    } else if (std::isnan(number(sum))) {
      sum |= kQuiet;
    } else if (std::isnan(number(a))) {
      sum = a | kQuiet;
    } else {
      sum = __builtin_bit_cast(std::uint64_t, std::fma(number(a), number(b), number(sum)));
      made = std::isnan(number(sum));
    }
  }
  return made ? verdict(is_nan(at.d(), at.subject.d())) : equal_bits(at.d(), sum);
}

}  // namespace

const Law kChainsAreFused = {
    .order = 260,
    .statement = "binary64: a chain of fused multiply-adds, c first, k ascending; a NaN keeps its payload.",
    .source = "IEEE 754-2019, fusedMultiplyAdd; measured on Hopper",
    .why_not = why_not,
    .fill = fill,
    .judge = judge};

}  // namespace mmaudit::laws
