#pragma once
// One instruction on a tile of D by the plain core: its operands out of memory, its dot products.
#include <cstdint>
#include <vector>

#include "mmaudit/tile_batch.hpp"
#include "tile/product_reader.hpp"
#include "tile/tile_sums.hpp"

namespace mmaudit {

enum class Unpacking : std::uint8_t {
  ahead,  ///< once for all elements of D, where the datapath lets its operands be
  never   ///< for each element by dot(), which serves every rule
};

class TileDots {
 public:
  /// For tiles of at most `rows` x `columns` elements. `spec` and `problem` are read as long as this lives.
  TileDots(const Instruction& instruction, const DotSpec& spec, const Matmul& problem, std::uint64_t rows,
           std::uint64_t columns, Unpacking unpacking);

  /// The operands of `tile` from `first` of K on, a multiple of the instruction's k. `modifiers`: a set of
  /// Modifier bits.
  void load(const TilePlace& tile, std::uint64_t first, unsigned modifiers);

  /// D of element (i, j) of the tile; `c` and the result are raw bits.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i, std::uint64_t j, std::uint64_t c);

 private:
  struct ScalesOf;

  void load_elements();
  void load_metadata();
  void apply_scales();
  [[nodiscard]] std::uint64_t unpacked_dot(std::uint64_t i, std::uint64_t j, std::uint64_t c);
  [[nodiscard]] std::uint64_t raw_dot(std::uint64_t i, std::uint64_t j, std::uint64_t c) const;
  /// Of A's rows through the batch.
  [[nodiscard]] std::uint64_t row(std::uint64_t i) const { return tile_.matrix * m_ + tile_.row + i; }
  /// Where position `p` of the evaluation order stands in memory.
  [[nodiscard]] std::uint64_t k_of(std::uint64_t p) const {
    return static_cast<std::uint64_t>(evaluation_k(spec_.datapath.order, spec_.k, static_cast<int>(p)));
  }

  const DotSpec& spec_;
  const ProductReader reader_;
  const std::uint64_t m_, depth_, stored_;  ///< rows of A; k of the instruction, elements of A among them
  const bool sparse_, raw_;
  TilePlace tile_;
  std::uint64_t first_ = 0, first_stored_ = 0, first_block_ = 0;  ///< of the current instruction
  unsigned modifiers_ = 0;
  std::vector<Operand> a_, b_;  ///< rows and columns in evaluation order, a sparse B's in that of k
  std::vector<Operand> scale_a_, scale_b_;  ///< of grouped specs, one per operand
  std::vector<std::uint64_t> raw_a_, raw_b_;
  std::vector<std::uint8_t> metadata_;
  std::vector<int> met_k_;  ///< per element of a sparse A: of B's column
  std::vector<Operand> met_;
};

/// Every tile of a batch, as emulate().
void emulate_by(Unpacking unpacking, const Instruction& instruction, const Datapath& datapath,
                const TileView& batch);

}  // namespace mmaudit
