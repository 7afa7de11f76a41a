#pragma once
// What infinities and NaNs among the operands of a chunk do to its elements. Vector code takes them as zeros;
// the few of them are looked up here with the operands that they meet.
#include <bit>
#include <optional>
#include <vector>

#include "level.hpp"
#include "vector_sums.hpp"

namespace mmaudit::fast {

class Specials {
 public:
  /// What the products of an element are, beside numbers. kPlain: the rule gives that to the plain core.
  static constexpr std::uint8_t kPlus = 1, kMinus = 2, kNan = 4, kPlain = 8;

  /// `m`: rows of each matrix A. Both references are kept.
  Specials(const DotSpec& spec, const ProductReader& reader, std::uint64_t m, const Decode& a,
           const Decode& b);

  /// Begins a chunk: `depth` stored elements of K from `first` on. Nothing is special yet.
  void start(const TilePlace& tile, std::uint64_t first, std::uint64_t depth);
  /// Looks through `count` rows of A from tile row `first` on, columns of B the same.
  void look_at_rows(std::uint64_t first, std::uint64_t count);
  void look_at_columns(std::uint64_t first, std::uint64_t count);
  /// A NaN scale.
  void nan_row(std::uint64_t i);
  void nan_column(std::uint64_t j);

  [[nodiscard]] bool any() const { return any_; }
  /// Puts right all elements concerned: `before` is one before the chunk, `sum` what it came to with zeros
  /// for infinities and NaNs; `plain(i, j, before)` computes the chunk.
  template <typename Before, typename Sum, typename Plain>
  void apply(std::uint32_t nan, const Before& before, const Sum& sum, const Plain& plain) const {
    for (std::uint64_t i = 0; i < tile_.rows; ++i) {
      for (std::uint64_t j = 0; j < tile_.columns; ++j) {
        if (rows_[i] == 0 && columns_[j] == 0) continue;
        const float x = before(i, j);
        const std::optional<float> result = decided(of(i, j), std::bit_cast<float>(nan), x, sum(i, j));
        sum(i, j) = result ? *result : plain(i, j, x);
      }
    }
  }

 private:
  [[nodiscard]] std::uint8_t of(std::uint64_t i, std::uint64_t j) const {
    const auto nan = static_cast<std::uint8_t>((rows_[i] | columns_[j]) & kNan);
    return nan | by_row_[i * kTileColumns + j] | by_column_[j * kTileRows + i];
  }
  /// nullopt: by the plain core.
  static std::optional<float> decided(unsigned code, float nan, float before, float after);
  /// What an infinity of +1 makes of an element.
  [[nodiscard]] std::uint8_t times_infinity(const Decode& format, std::uint64_t raw) const;
  void begin();
  void infinity_in_row(std::uint64_t i, std::uint64_t stored, bool negative);
  void infinity_in_column(std::uint64_t k, std::uint64_t j, bool negative);
  const std::vector<std::uint8_t>& met_by_row(std::uint64_t k);
  const std::vector<std::uint8_t>& met_by_column(std::uint64_t k);

  const DotSpec& spec_;
  const ProductReader& reader_;
  std::uint64_t m_;
  Decode a_, b_;
  std::uint8_t of_zero_;  ///< infinity times 0
  TilePlace tile_;
  std::uint64_t first_row_ = 0;  ///< of the tile, counted through the batch
  std::uint64_t first_ = 0, depth_ = 0, first_k_ = 0, depth_k_ = 0;  ///< stored elements; of K
  bool any_ = false;
  std::vector<std::uint8_t> rows_, columns_;      ///< 1, and kNan
  std::vector<std::uint8_t> by_row_, by_column_;  ///< (rows, columns), (columns, rows)
  // times_infinity() of every k: of a row of B, and of what meets it in A; empty before it is asked for.
  std::vector<std::vector<std::uint8_t>> row_of_b_, met_of_a_;
};

}  // namespace mmaudit::fast
