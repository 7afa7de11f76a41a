#pragma once
// Where the running sum of a chain goes to a binary32 total: after every stride of K, and that one to another
// after every slice.
#include <cstdint>

#include "model/gemm.hpp"

namespace mmaudit::device {

class Cuts {
 public:
  __device__ explicit Cuts(const GemmArgs& args)
      : stride_(args.stride), slice_(args.slice), to_stride_(args.stride), to_slice_(args.slice) {}

  [[nodiscard]] __device__ bool any() const { return stride_ != 0 || slice_ != 0; }

  /// How many of `count` positions come before the next cut.
  [[nodiscard]] __device__ std::uint64_t before(std::uint64_t count) const {
    if (stride_ != 0) count = min(count, to_stride_);
    return slice_ != 0 ? min(count, to_slice_) : count;
  }

  /// Behind the next `count` positions, the last of K or not: fold_sum(t) adds the sum to total t and clears
  /// it, fold_total() adds total 0 to total 1 and clears it.
  template <typename FoldSum, typename FoldTotal>
  __device__ void advance(std::uint64_t count, bool last, const FoldSum& fold_sum,
                          const FoldTotal& fold_total) {
    to_stride_ -= count;
    to_slice_ -= count;
    const bool slice_ends = slice_ != 0 && (to_slice_ == 0 || last);
    if (stride_ != 0 && (to_stride_ == 0 || slice_ends || last)) {
      fold_sum(0);
      to_stride_ = stride_;
    }
    if (!slice_ends) return;
    if (stride_ == 0)
      fold_sum(1);
    else
      fold_total();
    to_slice_ = slice_;
  }

 private:
  std::uint64_t stride_, slice_, to_stride_, to_slice_;
};

}  // namespace mmaudit::device
