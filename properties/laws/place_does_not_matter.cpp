#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::vector<Tile> related(const Subject&, const Tile& tile) {
  const auto at = [&](int row, int k) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(tile.stored()) +
           static_cast<std::size_t>(k);
  };
  Tile other = tile;
  const int m = tile.instruction.m, n = tile.instruction.n;
  const int down = static_cast<int>(tile.salt % static_cast<unsigned>(m));
  const int right = static_cast<int>(tile.salt / 977 % static_cast<unsigned>(n));
  for (int row = 0; row < m; ++row) {
    const int to = (row + down) % m;
    for (int k = 0; k < tile.stored(); ++k) {
      other.at_a(to, k) = tile.at_a(row, k);
      if (!tile.metadata.empty()) other.metadata[at(to, k)] = tile.metadata[at(row, k)];
    }
    for (int col = 0; col < n; ++col) other.at_c(to, (col + right) % n) = tile.at_c(row, col);
  }
  for (int k = 0; k < tile.instruction.k; ++k)
    for (int col = 0; col < n; ++col) other.at_b(k, (col + right) % n) = tile.at_b(k, col);
  for (int block = 0; block < tile.blocks(); ++block) {
    for (int row = 0; row < m; ++row) other.at_scale_a((row + down) % m, block) = tile.at_scale_a(row, block);
    for (int col = 0; col < n; ++col)
      other.at_scale_b(block, (col + right) % n) = tile.at_scale_b(block, col);
  }
  return {other};
}

LawVerdict judge(const Case& at) {
  const int m = at.tile.instruction.m, n = at.tile.instruction.n;
  const int down = static_cast<int>(at.tile.salt % static_cast<unsigned>(m));
  const int right = static_cast<int>(at.tile.salt / 977 % static_cast<unsigned>(n));
  return equal_bits(at.related[0].at_d((at.row + down) % m, (at.col + right) % n), at.d());
}

}  // namespace

const Law kPlaceDoesNotMatter = {
    .order = 180,
    .statement =
        "An element is the same wherever in the tile, and so in whichever lane, its row and column stand.",
    .source = "Sun et al. 2023, section 8 (all elements alike); PTX ISA",
    .related = related,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
