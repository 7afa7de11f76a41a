#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) { return is_sparse(subject.instruction.op) ? "" : "not sparse"; }

/// B's elements that no row selects become whatever would show.
std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  std::vector<bool> read(static_cast<std::size_t>(tile.instruction.k));
  for (int row = 0; row < tile.instruction.m; ++row)
    for (int k = 0; k < tile.stored(); ++k) read[static_cast<std::size_t>(tile.met(row, k))] = true;
  Tile other = tile;
  Draws random{tile.salt};
  const FormatSpec b = subject.b();
  for (int k = 0; k < tile.instruction.k; ++k)
    for (int col = 0; col < tile.instruction.n; ++col)
      if (!read[static_cast<std::size_t>(k)])
        other.at_b(k, col) = b.integer() ? random_integer(random, b)
                                         : (random.one_in(2) ? b.magnitude_mask() : b.max_finite_bits());
  return {other};
}

void fill(const Subject& subject, Draws& random, Tile& tile) { fill_alike(subject, random, -4, tile); }

}  // namespace

const Law kWhatIsNotSelectedIsNotRead = {
    .order = 220,
    .statement = "Elements of B that metadata do not select do not reach D, not even a NaN.",
    .source = "PTX ISA (mma.sp); measured on Hopper",
    .why_not = why_not,
    .fill = fill,
    .related = related,
    .judge = same_as_related};

}  // namespace mmaudit::laws
