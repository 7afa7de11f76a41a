#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// One k carries numbers, the others are zero: every element is one product.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const int k = random.between(0, tile.stored() - 1);
  const bool low = random.one_in(3);  // subnormal factors too
  for (int row = 0; row < tile.instruction.m; ++row)
    tile.at_a(row, k) = random_number(
        random, subject.a(), low ? subject.a().min_exponent() - 1 : random_exponent(random, subject.a()));
  for (int col = 0; col < tile.instruction.n; ++col)
    for (int b = 0; b < tile.instruction.k; ++b)
      tile.at_b(b, col) = random_number(random, subject.b(), random_exponent(random, subject.b()));
}

LawVerdict judge(const Case& at) {
  if (!is_zero(entering_c(at), at.subject.c())) return silent();
  Product only;
  int count = 0;
  for (int k = 0; k < at.tile.stored(); ++k) {
    const Product one = product_of(at, k);
    if (one.special) return silent();
    if (one.value == 0) continue;
    only = one;
    ++count;
  }
  // Below the floor bits are cut off: another law.
  if (count != 1 || only.exponent < at.subject.datapath.min_alignment_exponent) return silent();
  return equal_bits(at.d(), rounded_output(at.subject, only.value));
}

}  // namespace

const Law kProductsAreExact = {
    .order = 10,
    .statement = "A product by itself is exact, of subnormals too: D is it, rounded once to the output.",
    .source = "Fasi et al. 2021; Sun et al. 2023, section 8",
    .why_not = fused_single_format,
    .fill = fill,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
