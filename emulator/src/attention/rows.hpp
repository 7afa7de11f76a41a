#pragma once
// Softmax over the blocks of one row on the host: the arithmetic of mmaudit/detail/attention_rows.hpp, a pass
// over many numbers at a time.
#include <cstdint>
#include <vector>

#include "mmaudit/detail/attention_rows.hpp"

namespace mmaudit::attention_rows {

/// One row's blocks in the plan's order; the caller owns the arrays.
struct Row {
  const float* scores;        ///< S, by key
  const float* bias;          ///< by key; null: none
  const float* factors;       ///< scales of the scores, by key; null: none
  std::uint64_t first, last;  ///< the keys it sees
  float* weights;             ///< written: P, by key; 0 where it sees none
  float* rescales;            ///< written, one per block: what O is multiplied with before it
  float* bases;               ///< written, one per block: the running maximum; null: not asked
};
class RowSoftmax {
 public:
  explicit RowSoftmax(const RowRule& rule);
  RowEnd run(const Row& row, const BlockOrder& blocks);

 private:
  /// Of ScoreRule::dequantized: the operands of a block's exponentials into x.
  Step dequantize(const Row& row, Block seen, bool is_last, float old);

  RowRule rule_;
  const functions::Function& exponential_;
  std::vector<float> x_;
};

}  // namespace mmaudit::attention_rows
