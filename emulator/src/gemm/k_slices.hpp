#pragma once
// Slices of K: where they lie, and their elements one behind the other, as a chain takes them.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/gemm_plan.hpp"

namespace mmaudit {

/// The instruction's k of a plan; 1 of a scalar one.
std::uint64_t step_of(const GemmPlan& plan);

/// A slice as one chain takes it: `head` elements of K, +0 up to whole instructions, then the others.
class KSlice {
 public:
  explicit KSlice(std::vector<KRange> ranges);
  /// With the head that the plan asks for.
  KSlice(const GemmPlan& plan, std::vector<KRange> ranges);

  /// Elements with the padding.
  [[nodiscard]] std::uint64_t length() const { return elements_ + padding_; }
  /// A of every product, (batch, m, length), and B, (batch, length, n).
  [[nodiscard]] std::vector<std::byte> of_a(const Matmul& problem, Format format) const;
  [[nodiscard]] std::vector<std::byte> of_b(const Matmul& problem, Format format) const;

 private:
  /// `lanes` times k elements of `unit` bytes become `lanes` times length() of them.
  [[nodiscard]] std::vector<std::byte> copied(const void* from, std::uint64_t lanes, std::uint64_t k,
                                              std::size_t unit) const;

  std::vector<KRange> ranges_;
  std::uint64_t head_ = 0, padding_ = 0, elements_ = 0;
};

}  // namespace mmaudit
