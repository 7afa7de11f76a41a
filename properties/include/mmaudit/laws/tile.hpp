#pragma once
// What laws speak of: one datapath, and tiles as plain arrays that a law can rearrange.
#include <cstdint>
#include <span>
#include <vector>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/backend.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/dot_case.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::laws {

using mmaudit::Backend;

/// An instruction with the rules that an architecture is said to compute it by.
struct Subject {
  Subject(const Architecture& of, const Instruction& which, const Datapath& rules);

  const Architecture* architecture;
  Instruction instruction;
  Datapath datapath;
  DotSpec spec;
  std::vector<std::vector<int>> steps;  ///< the k of every step
  std::vector<int> step_of;             ///< the step of every k

  [[nodiscard]] bool fused() const { return datapath.arithmetic == Arithmetic::fused_dot_add; }
  /// Products or groups of them are aligned to one exponent.
  [[nodiscard]] bool aligned() const { return fused() || datapath.arithmetic == Arithmetic::grouped_dot_add; }
  [[nodiscard]] bool c_in_first_step() const {
    return fused() && datapath.addend == AddendPlace::in_first_step && !spec.converts;
  }
  [[nodiscard]] FormatSpec a() const { return spec.a; }
  [[nodiscard]] FormatSpec b() const { return spec.b; }
  [[nodiscard]] FormatSpec c() const { return spec_of(instruction.c); }
  [[nodiscard]] FormatSpec d() const { return spec_of(instruction.d); }
};

/// One tile, raw bits, row-major; a sparse A holds the stored elements. Laws permute, negate and replace
/// single elements all over a tile: with 64 bits per element they do so without knowing the widths of a
/// TileBatch.
struct Tile {
  explicit Tile(const Instruction& of, std::uint8_t with = 0);

  Instruction instruction;
  std::uint8_t modifiers = 0;
  std::uint64_t salt = 0;  ///< what a law draws its choices for this tile from
  std::vector<std::uint64_t> a, b, c, d;
  std::vector<std::uint8_t> metadata;
  std::vector<std::uint8_t> scale_a,
      scale_b;  ///< (m, blocks) and (blocks, n), all 1; empty unless block-scaled

  [[nodiscard]] int stored() const { return instruction.stored_k(); }
  std::uint64_t& at_a(int row, int k) { return a[index(row, k, stored())]; }
  std::uint64_t& at_b(int k, int col) { return b[index(k, col, instruction.n)]; }
  std::uint64_t& at_c(int row, int col) { return c[index(row, col, instruction.n)]; }
  [[nodiscard]] std::uint64_t at_a(int row, int k) const { return a[index(row, k, stored())]; }
  [[nodiscard]] std::uint64_t at_b(int k, int col) const { return b[index(k, col, instruction.n)]; }
  [[nodiscard]] std::uint64_t at_c(int row, int col) const { return c[index(row, col, instruction.n)]; }
  [[nodiscard]] std::uint64_t at_d(int row, int col) const { return d[index(row, col, instruction.n)]; }
  [[nodiscard]] int blocks() const { return scales_of(instruction); }
  [[nodiscard]] int block_of(int k) const { return k / products_per_scale(instruction); }
  std::uint8_t& at_scale_a(int row, int block) { return scale_a[index(row, block, blocks())]; }
  std::uint8_t& at_scale_b(int block, int col) { return scale_b[index(block, col, instruction.n)]; }
  [[nodiscard]] std::uint8_t at_scale_a(int row, int block) const {
    return scale_a[index(row, block, blocks())];
  }
  [[nodiscard]] std::uint8_t at_scale_b(int block, int col) const {
    return scale_b[index(block, col, instruction.n)];
  }
  /// The row of B that element k of a row of A meets.
  [[nodiscard]] int met(int row, int k) const;
  [[nodiscard]] std::uint64_t met_b(int row, int k, int col) const { return at_b(met(row, k), col); }

 private:
  static std::size_t index(int row, int col, int columns) {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) + static_cast<std::size_t>(col);
  }
};

/// One dot product by itself, as a failure is reported and shrunk.
struct Dot : DotCase {
  std::uint64_t salt = 0;  ///< of its tile
};

Dot dot_of(const Tile& tile, int row, int col);
/// A tile with `dot` at (0, 0) and zeros elsewhere. All rows have the metadata of `dot`; other scales are 1.
Tile tile_of(const Instruction& instruction, const Dot& dot);
int nonzero_products(const Subject& subject, const Dot& dot);

/// One tile of a batch; without D where the batch has none.
Tile tile_at(const Instruction& instruction, const TileView& batch, std::size_t index);

/// Fills D of every tile by `backend`. All tiles are of one instruction.
void answer(const Backend& backend, std::span<Tile*> tiles);

}  // namespace mmaudit::laws
