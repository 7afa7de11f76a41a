#pragma once
// Softmax over the blocks of one row, by a plan: binary32, every operation rounded to nearest.
#include <cstdint>
#include <vector>

#include "mmaudit/attention.hpp"

namespace mmaudit::attention_rows {

/// A block of keys: [first, last).
struct Block {
  std::uint64_t first = 0, last = 0;
};

/// What every row shares.
struct RowRules {
  const AttentionPlan& plan;
  float scale, scale2;
  bool bias;
};

/// One row's blocks in the plan's order; the caller owns the arrays.
struct Row {
  const float* scores;        ///< S, by key
  const float* bias;          ///< by key; null: none
  std::uint64_t first, last;  ///< the keys it sees
  float* weights;             ///< written: P, by key; 0 where it sees none
  float* rescales;            ///< written, one per block: what O is multiplied with before it
  float* bases;               ///< written, one per block: the running maximum; null: not asked
};
struct RowEnd {
  float maximum = -std::numeric_limits<float>::infinity(), sum = 0;
};

class RowSoftmax {
 public:
  explicit RowSoftmax(const RowRules& rules);
  RowEnd run(const Row& row, const std::vector<Block>& blocks);

 private:
  void sum_block(const float* p, std::uint64_t count, float rescale, bool first);

  RowRules rules_;
  const functions::Function& exponential_;
  std::vector<float> x_;
  float lanes_[4] = {}, total_ = 0;
};

/// Division of O by the row's sum, and lse.
float factor_of(const AttentionPlan& plan, float sum);
float lse_of(const RowRules& rules, const RowEnd& end, bool split);

}  // namespace mmaudit::attention_rows
