#pragma once
// Products of masks: a large value, the same value negative, and small ones. What the large values meet
// before they cancel is lost; what is added later is left, and D counts it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/probe/reveal.hpp"

namespace mmaudit::probe {

/// Large values at leaves `plus` and `minus`, small ones at the others of a list; at equal leaves none is
/// large. Leaf K is c.
struct Mask {
  std::uint64_t plus = 0, minus = 0;
};

/// A product as the masks need it.
class MaskedGemm {
 public:
  /// D is `alpha` times the sum, rounded. Masks stay in the range and the bits of D and of `sums`.
  MaskedGemm(const UnknownGemm& gemm, double alpha, Format sums);

  /// How many of the small values of each mask, all over the same list, are left in D; none where D is no
  /// such number.
  std::vector<std::optional<std::uint64_t>> left(const std::vector<Mask>& masks,
                                                 const std::vector<std::uint64_t>& small);
  /// "k 5" or "c".
  [[nodiscard]] std::string leaf_name(std::uint64_t leaf) const {
    return leaf == gemm_.k ? "c" : "k " + std::to_string(leaf);
  }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  /// A number that other bits of what was read of any D would have changed.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }
  void forget_digest() { digest_ = 0; }

 private:
  struct Powers {
    int a = 0, b = 0;
  };
  void place(std::size_t row, std::uint64_t leaf, const Powers& power, bool negative);
  [[nodiscard]] std::optional<std::uint64_t> count_at(std::size_t row);

  const UnknownGemm& gemm_;
  double alpha_;
  Powers large_, small_;
  std::uint64_t most_small_ = 0;  ///< of one call: their sum is lost beside a large value, and D holds it
  std::vector<std::byte> a_, b_, c_, d_;
  std::uint64_t calls_ = 0, digest_ = 0;
};

/// The tree over all k and c that every mask agrees with; none, and `why`, where two of them contradict each
/// other.
std::optional<SumTree> measured_tree(MaskedGemm& gemm, std::uint64_t leaves, std::string& why);

}  // namespace mmaudit::probe
