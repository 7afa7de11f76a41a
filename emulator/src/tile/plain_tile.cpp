// A tile of a matrix product by the plain core, one instruction after another: what any other way to compute
// it is compared with.
#include <algorithm>
#include <vector>

#include "mmaudit/raw_words.hpp"
#include "tile/plain_dots.hpp"
#include "tile/tile_sums.hpp"

namespace mmaudit {
namespace {

class PlainTile final : public TileSums {
 public:
  PlainTile(const Instruction& instruction, const Datapath& datapath, const Matmul& problem)
      : spec_(make_dot_spec(instruction, datapath)),
        problem_(problem),
        depth_(static_cast<std::size_t>(instruction.k)),
        stored_k_(stored_k(instruction, problem)),
        blocks_(scale_blocks(instruction, problem)),
        rows_(tile_rows(problem)),
        columns_(tile_columns(problem)) {
    for (auto& sum : sums_) sum.resize(rows_ * columns_);
    const auto stored = static_cast<std::size_t>(spec_.k);
    if (unpacks()) {
      a_.resize(rows_ * stored);
      b_.resize(columns_ * stored);
    } else {
      raw_a_.resize(rows_ * stored);
      raw_b_.resize(columns_ * depth_);
    }
    if (spec_.grouped && unpacks()) {
      scale_a_.resize(rows_ * stored);
      scale_b_.resize(columns_ * stored);
    }
    if (problem.metadata != nullptr) metadata_.resize(rows_ * stored);
  }

  void start(const Tile& tile) override {
    tile_ = tile;
    for (auto& sum : sums_) std::fill(sum.begin(), sum.end(), 0);
  }

  void set_row(int sum, std::uint64_t i, const std::uint64_t* bits) override {
    std::copy_n(bits, tile_.columns, &sums_[sum][i * columns_]);
  }

  void get_row(int sum, std::uint64_t i, std::uint64_t* bits) const override {
    std::copy_n(&sums_[sum][i * columns_], tile_.columns, bits);
  }

  void run(std::uint64_t first, std::uint64_t last) override {
    for (std::uint64_t k = first; k < last; k += depth_) one_instruction(k);
  }

  void fold(int from, int into) override {
    for (std::size_t e = 0; e < sums_[into].size(); ++e) {
      sums_[into][e] = add_rounded(sums_[into][e], sums_[from][e], spec_.step.output, Rounding::nearest_even,
                                   rule_of_totals(spec_.datapath.output));
      sums_[from][e] = 0;
    }
  }

 private:
  /// Operands are unpacked ahead where each row of A meets the same elements of B.
  [[nodiscard]] bool unpacks() const { return spec_.unpacks() && problem_.metadata == nullptr; }

  [[nodiscard]] std::uint64_t element_a(std::uint64_t i, std::uint64_t k) const {
    if (k >= stored_k_) return 0;
    return load_word(problem_.a, spec_.a.storage_bytes(),
                     (tile_.matrix * problem_.m + tile_.row + i) * stored_k_ + k);
  }
  [[nodiscard]] std::uint64_t element_b(std::uint64_t k, std::uint64_t j) const {
    if (k >= problem_.k) return 0;
    return load_word(problem_.b, spec_.b.storage_bytes(),
                     (tile_.matrix * problem_.k + k) * problem_.n + tile_.column + j);
  }

  void one_instruction(std::uint64_t first) {
    unpacks() ? load_operands(first) : load_raw(first);
    if (spec_.block_scaled()) {
      first_block_ = first / depth_ * static_cast<std::uint64_t>(spec_.k / spec_.scale_block);
      if (unpacks()) apply_scales_to_operands();
    }
    if (!metadata_.empty()) load_metadata(first / 2);
    for (std::uint64_t i = 0; i < tile_.rows; ++i) {
      for (std::uint64_t j = 0; j < tile_.columns; ++j) {
        std::uint64_t& sum = sums_[0][i * columns_ + j];
        sum = unpacks() ? unpacked_dot(i, j, sum) : raw_dot(i, j, sum);
      }
    }
  }

  /// Operands stand in evaluation order.
  void load_operands(std::uint64_t first) {
    for (std::size_t p = 0; p < depth_; ++p) {
      const std::uint64_t k = first + static_cast<std::uint64_t>(
                                          evaluation_k(spec_.datapath.order, spec_.k, static_cast<int>(p)));
      for (std::uint64_t i = 0; i < tile_.rows; ++i)
        a_[i * depth_ + p] = unpack_factor(spec_.a, spec_, element_a(i, k), false);
      for (std::uint64_t j = 0; j < tile_.columns; ++j)
        b_[j * depth_ + p] = unpack_factor(spec_.b, spec_, element_b(k, j), false);
    }
  }

  void load_raw(std::uint64_t first) {
    const auto stored = static_cast<std::uint64_t>(spec_.k);
    const std::uint64_t first_stored = first / depth_ * stored;
    for (std::uint64_t i = 0; i < tile_.rows; ++i)
      for (std::uint64_t p = 0; p < stored; ++p) raw_a_[i * stored + p] = element_a(i, first_stored + p);
    for (std::uint64_t j = 0; j < tile_.columns; ++j)
      for (std::uint64_t p = 0; p < depth_; ++p) raw_b_[j * depth_ + p] = element_b(first + p, j);
  }

  /// A scale of row i or column j in the current instruction.
  [[nodiscard]] std::uint64_t scale_a(std::uint64_t i, int block) const {
    const std::uint64_t b = first_block_ + static_cast<std::uint64_t>(block);
    return problem_.scale_a == nullptr || b >= blocks_
               ? one_bits(spec_.scale)
               : problem_.scale_a[(tile_.matrix * problem_.m + tile_.row + i) * blocks_ + b];
  }
  [[nodiscard]] std::uint64_t scale_b(std::uint64_t j, int block) const {
    const std::uint64_t b = first_block_ + static_cast<std::uint64_t>(block);
    return problem_.scale_b == nullptr || b >= blocks_
               ? one_bits(spec_.scale)
               : problem_.scale_b[(tile_.matrix * blocks_ + b) * problem_.n + tile_.column + j];
  }

  void apply_scales_to_operands() {
    for (std::uint64_t i = 0; i < tile_.rows; ++i)
      apply_scales(
          spec_, [&](int block) { return scale_a(i, block); }, &a_[i * depth_],
          spec_.grouped ? &scale_a_[i * depth_] : nullptr);
    for (std::uint64_t j = 0; j < tile_.columns; ++j)
      apply_scales(
          spec_, [&](int block) { return scale_b(j, block); }, &b_[j * depth_],
          spec_.grouped ? &scale_b_[j * depth_] : nullptr);
  }

  /// Beyond K every group keeps its first elements, which are +0.
  void load_metadata(std::uint64_t first) {
    const auto stored = static_cast<std::size_t>(spec_.k),
               kept = static_cast<std::size_t>(spec_.sparsity.kept);
    for (std::uint64_t i = 0; i < tile_.rows; ++i) {
      const std::uint8_t* row = problem_.metadata + (tile_.matrix * problem_.m + tile_.row + i) * stored_k_;
      for (std::size_t p = 0; p < stored; ++p)
        metadata_[i * stored + p] =
            first + p < stored_k_ ? row[first + p] : static_cast<std::uint8_t>(p % kept);
    }
  }

  [[nodiscard]] std::uint64_t unpacked_dot(std::uint64_t i, std::uint64_t j, std::uint64_t sum) const {
    const Operand* scale_a = spec_.grouped ? &scale_a_[i * depth_] : nullptr;
    const Operand* scale_b = spec_.grouped ? &scale_b_[j * depth_] : nullptr;
    return chain(spec_, &a_[i * depth_], &b_[j * depth_], sum, scale_a, scale_b);
  }

  [[nodiscard]] std::uint64_t raw_dot(std::uint64_t i, std::uint64_t j, std::uint64_t sum) const {
    const std::size_t row = i * static_cast<std::size_t>(spec_.k);
    const Strided<std::uint64_t> a{&raw_a_[row]}, b{&raw_b_[j * depth_]};
    if (metadata_.empty()) return dot(spec_, a, b, sum, 0);
    const Gathered<Strided<std::uint64_t>> met{spec_.sparsity, spec_.datapath.metadata, spec_.b,
                                               &metadata_[row], b};
    if (!spec_.block_scaled()) return dot(spec_, a, met, sum, 0);
    return dot(spec_, a, met, sum, 0, ScalesOf{*this, i, j});
  }

  /// As dot() reads them.
  struct ScalesOf {
    const PlainTile& tile;
    std::uint64_t row, column;
    [[nodiscard]] std::uint64_t a(int block) const { return tile.scale_a(row, block); }
    [[nodiscard]] std::uint64_t b(int block) const { return tile.scale_b(column, block); }
  };

  DotSpec spec_;
  Matmul problem_;
  std::size_t depth_;                ///< k of the instruction
  std::uint64_t stored_k_, blocks_;  ///< of a row of the whole problem
  std::uint64_t first_block_ = 0;    ///< of the current instruction
  std::uint64_t rows_, columns_;
  Tile tile_;
  std::vector<std::uint64_t> sums_[kSums];
  std::vector<Operand> a_, b_;
  std::vector<Operand> scale_a_, scale_b_;  ///< of grouped specs, one per operand
  std::vector<std::uint64_t> raw_a_, raw_b_;
  std::vector<std::uint8_t> metadata_;
};

}  // namespace

std::unique_ptr<TileSums> plain_tile(const Instruction& instruction, const Datapath& datapath,
                                     const Matmul& problem) {
  return std::make_unique<PlainTile>(instruction, datapath, problem);
}

}  // namespace mmaudit
