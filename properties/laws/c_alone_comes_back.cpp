#include <algorithm>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  return subject.aligned() && !subject.fused() ? "" : fused_single_format(subject);
}

void fill(const Subject& subject, Draws& random, Tile& tile) {
  for (std::uint64_t& x : tile.c)
    x = random_number(random, subject.c(), random_exponent(random, subject.c()));
  const bool zeros_of_both_signs = random.one_in(2);
  for (std::uint64_t& x : tile.a) x = zeros_of_both_signs && random.one_in(2) ? subject.a().sign_bit() : 0;
  for (std::uint64_t& x : tile.b)
    x = random_number(random, subject.b(), random_exponent(random, subject.b()));
}

LawVerdict judge(const Case& at) {
  const std::uint64_t c = entering_c(at);
  if (!is_finite(c, at.subject.c()) || is_zero(c, at.subject.c())) return silent();
  for (int k = 0; k < at.tile.stored(); ++k) {
    const Product one = product_of(at, k);
    if (one.special || one.value != 0) return silent();
  }
  if (at.subject.datapath.addend == AddendPlace::after_last_nearest) return equal_bits(at.d(), c);
  const int unit = std::max(field_exponent(c, at.subject.c()),
                            static_cast<int>(at.subject.datapath.min_alignment_exponent)) -
                   at.subject.datapath.fraction_bits;
  return equal_bits(at.d(), rounded_output(at.subject, cut(value_of(c, at.subject.c()), unit)));
}

}  // namespace

const Law kCAloneComesBack = {
    .order = 150,
    .statement = "Without products D is c, a subnormal c too, less what F and the output do not hold.",
    .source = "Fasi et al. 2021 (subnormals); measured on Hopper (13 bits of FP8 wgmma)",
    .why_not = why_not,
    .fill = fill,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
