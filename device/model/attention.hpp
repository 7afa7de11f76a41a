#pragma once
// attention() on device memory. Declarations without CUDA syntax.
#include <string>

#include "mmaudit/detail/attention_rows.hpp"
#include "model/product.hpp"

namespace mmaudit::device {

/// Some heads, or some queries of one head, whose scores the work space has room for, and one split of them.
struct AttentionPart {
  attention_rows::RowRule rule;
  attention_rows::KeyMask mask;
  attention_rows::BlockOrder blocks;
  FormatSpec type, p_format, output;
  AttentionOperands operands;
  std::uint64_t queries, keys, depth, heads, kv_heads;                    ///< of the problem
  std::uint64_t splits, combine_lanes;                                    ///< of the plan
  float cap_factor;                                                       ///< 0: no softcap
  std::uint64_t first_head = 0, some_heads = 0, first_row = 0, rows = 0;  ///< rows: of each of these heads
  std::byte *columns = nullptr, *v = nullptr;  ///< K with its rows as columns; V by slots of keys
  float* scores = nullptr;                     ///< (heads, rows, keys), then P before it is rounded
  std::byte* p = nullptr;                      ///< by slots of keys: (heads, rows, keys of the block)
  std::uint64_t p_slot = 0, v_slot = 0;        ///< bytes
  float *rescales = nullptr, *factors = nullptr, *chain = nullptr, *product = nullptr;
  float *out = nullptr, *lse = nullptr, *weights = nullptr;  ///< out and lse: of each split

  [[nodiscard]] MMAUDIT_HD std::uint64_t all_rows() const { return some_heads * rows; }
};

/// combine_attn_seqk_parallel() has so many threads.
constexpr std::uint64_t kMostCombineLanes = 128;
/// Rows of a strip, which runs the blocks that one of them sees: as attention() does on the host.
inline constexpr std::uint64_t kAttentionStrip = 128;

// Each starts kernels.
void launch_attention_operands(const AttentionPart& part, Stream stream);  ///< columns, v
void launch_softmax(const AttentionPart& part, std::uint64_t split, Stream stream);
/// Adds the product of block `b` to O of the split.
void launch_join(const AttentionPart& part, std::uint64_t split, std::uint64_t b, Stream stream);
void launch_attention_result(const AttentionPart& part, void* o, float* lse, Stream stream);
void clear(void* data, std::uint64_t bytes, Stream stream);

/// attention() with device pointers: the products by the model's kernels, what is between by kernels that
/// share the host's arithmetic.
class DeviceAttention {
 public:
  DeviceAttention(const AttentionProblem& problem, const AttentionPlan& plan,
                  const Architecture& architecture);
  /// Why there is none here, beyond why_no_attention(): "field: found X, allowed: Y"; empty when there is
  /// one.
  [[nodiscard]] static std::string why_not(const AttentionPlan& plan);
  [[nodiscard]] std::uint64_t workspace() const;
  /// Of `result` o and lse. Starts the kernels; nothing waits.
  void launch(const AttentionOperands& operands, const AttentionResult& result, void* workspace,
              Stream stream) const;

 private:
  [[nodiscard]] AttentionPart part_of(std::uint64_t heads, std::uint64_t rows, void* base,
                                      std::uint64_t* used, void** products) const;
  [[nodiscard]] DeviceProduct scores_of(const AttentionPart& part) const;
  [[nodiscard]] DeviceProduct block_of(const AttentionPart& part, attention_rows::Block keys) const;
  void run(AttentionPart part, const AttentionResult& result, void* products, Stream stream) const;

  AttentionProblem problem_;
  AttentionPlan plan_;
  Datapath qk_, pv_;
  std::uint64_t heads_, rows_;  ///< of a part
};

}  // namespace mmaudit::device
