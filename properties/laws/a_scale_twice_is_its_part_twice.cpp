#include <algorithm>
#include <cmath>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// Half of the blocks hold numbers, the others zeros; scales about 1.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  fill_alike(subject, random, -2, tile);
  std::fill(tile.c.begin(), tile.c.end(), 0);
  const int only = random.between(0, tile.blocks() - 1);
  for (int k = 0; k < tile.stored(); ++k)
    if (tile.block_of(k) != only)
      for (int row = 0; row < tile.instruction.m; ++row) tile.at_a(row, k) = 0;
  for (int block = 0; block < tile.blocks(); ++block) put_scales(random, tile, block, random.between(-4, 4));
}

/// The scales of A twice as large; where there are several blocks, first with the last block's scales left
/// alone.
std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other = tile;
  const FormatSpec format = subject.spec.scale;
  const int chosen = static_cast<int>(tile.salt % static_cast<unsigned>(tile.blocks()));
  for (int row = 0; row < tile.instruction.m; ++row) {
    std::uint8_t& scale = other.at_scale_a(row, chosen);
    scale = static_cast<std::uint8_t>(encode_value(2 * scale_value(scale, format), format));
  }
  return {other};
}

LawVerdict judge(const Case& at) {
  const FormatSpec d = at.subject.d();
  if (!is_zero(entering_c(at), at.subject.c())) return silent();
  const int chosen = static_cast<int>(at.tile.salt % static_cast<unsigned>(at.tile.blocks()));
  const FormatSpec format = at.subject.spec.scale;
  if (scale_value(at.related[0].at_scale_a(at.row, chosen), format) !=
      2 * scale_value(at.tile.at_scale_a(at.row, chosen), format))
    return silent();  // as a person shrank it
  bool here = false, elsewhere = false;
  for (int k = 0; k < at.tile.stored(); ++k) {
    const Product one = product_of(at, k);
    if (one.special) return silent();
    if (one.value != 0) (at.tile.block_of(k) == chosen ? here : elsewhere) = true;
    if (one.value != 0 && std::abs(one.exponent) > 60) return silent();
  }
  const std::uint64_t found = at.related[0].at_d(at.row, at.col);
  if (here == elsewhere) return silent();
  if (elsewhere) return equal_bits(found, at.d());
  const double twice = 2 * value_of(at.d(), d);
  return verdict(value_of(found, d) == twice, twice == 0 ? 0 : encode_value(twice, d));
}

}  // namespace

const Law kAScaleTwiceIsItsPartTwice = {.order = 280,
                                        .statement =
                                            "A scale twice as large makes what its block alone gives twice "
                                            "as large, and leaves what other blocks give alone.",
                                        .source = "OCP Microscaling 1.0; PTX ISA, block scaling",
                                        .fill = fill,
                                        .related = related,
                                        .judge = judge,
                                        .scales = Scales::own};

}  // namespace mmaudit::laws
