#include "tree_search.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace mmaudit::probe {
namespace {

using Leaves = std::vector<std::uint64_t>;

/// The same tree with every k moved up.
SumTree moved(SumTree tree, std::uint64_t offset) {
  if (tree.leaf()) tree.k += offset;
  for (SumTree& child : tree.children) child = moved(std::move(child), offset);
  return tree;
}

/// Two leaves that meet at the root and nowhere below.
std::pair<std::uint64_t, std::uint64_t> apart(const SumTree& tree) {
  return {tree.children.front().least(), tree.children.back().least()};
}

class TreeSearch {
 public:
  explicit TreeSearch(MaskedGemm& gemm) : gemm_(gemm) {}

  /// The tree of these leaves as if there were no others, told from the sums that the first or the last leaf
  /// is in.
  SumTree build(const Leaves& leaves, bool from_last = false) {
    const std::uint64_t pivot = from_last ? leaves.back() : leaves.front();
    SumTree sum{pivot, {}};
    if (leaves.size() == 1 || !why.empty()) return sum;
    Leaves joined{pivot}, before;
    SumTree part;
    bool fused = false;
    const std::map<std::uint64_t, Leaves> groups = groups_of(leaves, pivot);
    // A pivot that joins last says nothing of the others: the leaf at their other end may join first.
    const bool turn = groups.size() == 1 && !from_last;
    for (const auto& [size, group] : groups) {
      if (size != joined.size() + group.size()) {
        why = gemm_.leaf_name(pivot) + " meets " + gemm_.leaf_name(group.front()) + " in a sum of " +
              std::to_string(size) + " addends, but " + std::to_string(joined.size() + group.size()) +
              " addends meet it there or before";
        return sum;
      }
      // Groups of one shape are taken for one: the random products at the end would show another.
      const std::uint64_t offset = before.empty() ? 0 : group.front() - before.front();
      if (offset != 0 && same_shape(before, group, offset)) {
        part = moved(std::move(part), offset);
      } else {
        part = build(group, turn);
        fused = !part.leaf() && loses(apart(part), joined);
      }
      std::vector<SumTree> together{std::move(sum)};
      if (fused)
        together.insert(together.end(), part.children.begin(), part.children.end());
      else
        together.push_back(part);
      sum = sum_of(std::move(together));
      joined.insert(joined.end(), group.begin(), group.end());
      before = group;
    }
    return sum;
  }

  std::string why;

 private:
  static bool same_shape(const Leaves& x, const Leaves& y, std::uint64_t offset) {
    return x.size() == y.size() &&
           std::equal(x.begin(), x.end(), y.begin(), [offset](std::uint64_t first, std::uint64_t second) {
             return first + offset == second;
           });
  }
  /// The other leaves by the number of addends of the least sum that has them and the pivot.
  std::map<std::uint64_t, Leaves> groups_of(const Leaves& leaves, std::uint64_t pivot) {
    std::vector<Mask> masks;
    masks.reserve(leaves.size());
    for (const std::uint64_t leaf : leaves)
      if (leaf != pivot) masks.push_back({pivot, leaf});
    const auto counts = gemm_.left(masks, leaves);
    std::map<std::uint64_t, Leaves> groups;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (!counts[i]) {
        why = "masks of " + gemm_.leaf_name(pivot) + " and " + gemm_.leaf_name(masks[i].minus) +
              " leave a D that is no sum of small values";
        return {};
      }
      groups[leaves.size() - *counts[i]].push_back(masks[i].minus);
    }
    return groups;
  }
  /// Whether the small values are in the running sum before the large ones cancel.
  bool loses(std::pair<std::uint64_t, std::uint64_t> large, const Leaves& small) {
    const auto count = gemm_.left({{large.first, large.second}}, {small.front()}).front();
    if (!count)
      why = "a mask of " + gemm_.leaf_name(large.first) + " leaves a D that is no sum of small values";
    return count && *count == 0;
  }

  MaskedGemm& gemm_;
};

SumTree searched(MaskedGemm& gemm, const Leaves& all, std::string& why) {
  // Where D does not hold every small value once, what masks leave of them means nothing.
  const auto sum = gemm.left({Mask{}}, all).front();
  if (!sum || *sum != all.size()) {
    const bool with_c = gemm.leaf_name(all.back()) == "c";
    why = "the sum of " + std::to_string(all.size() - (with_c ? 1 : 0)) + " equal products" +
          (with_c ? " and a c as large as each" : "") + " is " +
          (sum ? std::to_string(*sum) + " of them" : "no whole number of them");
    return {};
  }
  TreeSearch search(gemm);
  SumTree tree = search.build(all);
  why = search.why;
  return tree;
}

}  // namespace

std::optional<SumTree> measured_tree(MaskedGemm& gemm, std::uint64_t leaves, std::string& why) {
  Leaves all(leaves);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  gemm.forget_digest();
  SumTree tree = searched(gemm, all, why);
  if (why.empty()) return tree;
  const std::uint64_t digest = gemm.digest();
  gemm.forget_digest();
  std::string again;
  searched(gemm, all, again);
  if (gemm.digest() != digest) why = "calls with the same operands give other bits";
  return std::nullopt;
}

}  // namespace mmaudit::probe
