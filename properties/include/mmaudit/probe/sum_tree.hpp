#pragma once
// The order in which a product adds: a tree over k. A node adds its children at once: products of one fused
// step and the running sum, or two sums.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/gemm_plan.hpp"

namespace mmaudit::probe {

/// Children stand in ascending order of their least k: a sum does not show which of its operands came first.
struct SumTree {
  std::uint64_t k = 0;  ///< of a leaf; c is leaf K
  std::vector<SumTree> children{};

  bool operator==(const SumTree&) const = default;
  [[nodiscard]] bool leaf() const { return children.empty(); }
  [[nodiscard]] std::uint64_t least() const { return leaf() ? k : children.front().least(); }
};

/// Every k below a node, ascending.
std::vector<std::uint64_t> leaves_of(const SumTree& tree);
/// "0-7, 16-23"; "0, 4, ..., 60".
std::string ranges_of(const std::vector<std::uint64_t>& sorted);

/// The sum of `parts` at once; a part that is empty (a sum not yet begun) is left out.
SumTree sum_of(std::vector<SumTree> parts);

/// The tree of a plan, every field of which predict() takes.
SumTree tree_of(const GemmPlan& plan, const Datapath& datapath, std::uint64_t k);

/// A running sum to which parts are added one after another.
struct Spine {
  bool ascending = true;       ///< parts stand in ascending order of k
  std::vector<SumTree> parts;  ///< as they are added; a step of several products is one part
  std::vector<bool> fused;  ///< products of the part enter the running sum at once, not as a sum of their own
};
Spine spine_of(const SumTree& tree);

/// One line per level; alike neighbours are one line.
std::string text_of(const SumTree& tree, std::uint64_t k);

}  // namespace mmaudit::probe
