#include <cmath>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// NaNs among the scales; in half of the tiles every element is zero.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const FormatSpec format = subject.spec.scale;
  if (random.one_in(2)) fill_alike(subject, random, -2, tile);
  const int rarity = random.between(2, 12);
  for (auto* scales : {&tile.scale_a, &tile.scale_b})
    for (std::uint8_t& x : *scales)
      if (random.one_in(rarity)) x = static_cast<std::uint8_t>(format.magnitude_mask());
}

LawVerdict judge(const Case& at) {
  const FormatSpec scale = at.subject.spec.scale, d = at.subject.d();
  for (int block = 0; block < at.tile.blocks(); ++block)
    for (const std::uint8_t bits : {at.tile.at_scale_a(at.row, block), at.tile.at_scale_b(block, at.col)})
      if (std::isnan(scale_value(bits, scale))) return equal_bits(at.d(), d.conversion_nan_bits());
  if (!is_finite(entering_c(at), at.subject.c())) return silent();  // of tiles that fill() did not make
  for (int k = 0; k < at.tile.stored(); ++k)
    if (product_of(at, k).special) return silent();
  return verdict(!is_nan(at.d(), d));
}

}  // namespace

const Law kANanScaleGivesNan = {
    .order = 300,
    .statement =
        "A NaN among the scales of its row and column makes D the canonical NaN, whatever it scales.",
    .source = "OCP Microscaling 1.0 (a NaN scale); MMA-Sim",
    .fill = fill,
    .judge = judge,
    .scales = Scales::own};

}  // namespace mmaudit::laws
