#include "mmaudit/probe/sum_tree.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "mmaudit/dot.hpp"

namespace mmaudit::probe {
namespace {

void collect(const SumTree& tree, std::vector<std::uint64_t>& out) {
  if (tree.leaf()) out.push_back(tree.k);
  for (const SumTree& child : tree.children) collect(child, out);
}

bool empty(const SumTree& tree) { return tree.leaf() && tree.k == ~std::uint64_t{0}; }
const SumTree kNothing{~std::uint64_t{0}, {}};

/// The sum of two; what is not yet begun adds nothing.
SumTree added(SumTree x, SumTree y) {
  std::vector<SumTree> both;
  both.reserve(2);
  both.push_back(std::move(x));
  both.push_back(std::move(y));
  return sum_of(std::move(both));
}

/// The elements of K in one sum, ascending.
using Leaves = std::span<const std::uint64_t>;

/// One instruction over the elements from `first` on, added to `sum`; behind the last one is padding.
SumTree instruction_sum(const DotSpec& plan, SumTree sum, Leaves leaves, std::uint64_t first) {
  const AddendPlace place = plan.datapath.addend;
  SumTree inner = kNothing;
  if (place == AddendPlace::in_first_step) std::swap(inner, sum);
  const auto add_step = [&](int start, int count) {
    std::vector<SumTree> parts;
    if (place != AddendPlace::before_each_nearest) parts.push_back(std::move(inner));
    for (int i = start; i < start + count; ++i) {
      const std::uint64_t at =
          first + static_cast<std::uint64_t>(evaluation_k(plan.datapath.order, plan.k, i));
      if (at < leaves.size()) parts.push_back({leaves[at], {}});
    }
    inner = sum_of(std::move(parts));
    if (place == AddendPlace::before_each_nearest) sum = added(std::move(sum), std::move(inner));
  };
  for_each_step(plan, add_step);
  if (place == AddendPlace::in_first_step) return inner;
  return place == AddendPlace::before_each_nearest ? sum : added(std::move(sum), std::move(inner));
}

SumTree chain_of(const GemmPlan& plan, const Datapath& datapath, Leaves leaves) {
  SumTree sum = kNothing;
  if (plan.scalar) {
    for (const std::uint64_t k : leaves) sum = added(std::move(sum), SumTree{k, {}});
    return sum;
  }
  const DotSpec dot = make_dot_spec(plan.instruction, datapath);
  for (std::uint64_t first = 0; first < leaves.size(); first += dot.k)
    sum = instruction_sum(dot, std::move(sum), leaves, first);
  return sum;
}

SumTree promoted(const GemmPlan& plan, const Datapath& datapath, Leaves leaves) {
  if (plan.promote == 0) return chain_of(plan, datapath, leaves);
  SumTree total = kNothing;
  for (std::uint64_t first = 0; first < leaves.size(); first += plan.promote) {
    const std::uint64_t count = std::min<std::uint64_t>(plan.promote, leaves.size() - first);
    total = added(std::move(total), chain_of(plan, datapath, leaves.subspan(first, count)));
  }
  return total;
}

/// SliceOrder::bisected.
SumTree bisected(std::span<SumTree> sums) {
  if (sums.size() == 1) return std::move(sums.front());
  const std::size_t rest = std::bit_floor(sums.size() - 1), first = sums.size() - rest;
  return added(bisected(sums.first(first)), bisected(sums.last(rest)));
}

/// The sums of slices, of which there are `slices` with the empty ones, in their order.
SumTree in_order(SliceOrder order, std::uint64_t slices, std::vector<SumTree> sums) {
  if (order == SliceOrder::bisected && !sums.empty()) return bisected(sums);
  SumTree total = kNothing;
  if (order == SliceOrder::halved || order == SliceOrder::paired)
    sums.resize(std::max<std::size_t>(slices, sums.size()), kNothing);
  if (order == SliceOrder::halved) {
    for (std::size_t half = sums.size() / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) sums[i] = added(std::move(sums[i]), std::move(sums[i + half]));
    return std::move(sums.front());
  }
  if (order == SliceOrder::paired) {
    for (const std::vector<std::uint64_t>& pair : paired_slices(sums.size())) {
      SumTree both = kNothing;
      for (const std::uint64_t slice : pair) both = added(std::move(both), std::move(sums[slice]));
      total = added(std::move(total), std::move(both));
    }
    return total;
  }
  if (order == SliceOrder::descending) std::reverse(sums.begin(), sums.end());
  for (SumTree& sum : sums) total = added(std::move(total), std::move(sum));
  return total;
}

SumTree sliced(const GemmPlan& plan, const Datapath& datapath, Leaves leaves) {
  std::vector<SumTree> sums;
  for (const std::vector<KRange>& slice : slice_ranges_of(plan, leaves.size())) {
    std::vector<std::uint64_t> own;
    for (const KRange range : slice)
      for (std::uint64_t at = range.first; at < range.last; ++at) own.push_back(leaves[at]);
    sums.push_back(plan.lanes > 1 ? sliced(lanes_of(plan), datapath, own) : promoted(plan, datapath, own));
  }
  return in_order(plan.slice_order, plan.slices, std::move(sums));
}

bool same_shape(const SumTree& x, const SumTree& y, std::uint64_t offset) {
  if (x.children.size() != y.children.size()) return false;
  if (x.leaf()) return x.k + offset == y.k;
  for (std::size_t i = 0; i < x.children.size(); ++i)
    if (!same_shape(x.children[i], y.children[i], offset)) return false;
  return true;
}

std::string k_text(const SumTree& tree, std::uint64_t k) {
  std::vector<std::uint64_t> ks = leaves_of(tree);
  const bool with_c = !ks.empty() && ks.back() == k;
  if (with_c) ks.pop_back();
  if (ks.empty()) return "c";
  return "k " + ranges_of(ks) + (with_c ? " and c" : "");
}

std::string count_text(std::size_t count, const char* one, const char* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

void describe(const SumTree& tree, std::uint64_t k, std::size_t depth, const std::string& prefix,
              std::string& out) {
  const std::string indent(2 * depth, ' ');
  const auto line = [&](const std::string& text) { out += indent + prefix + text + "\n"; };
  if (tree.leaf()) return line(k_text(tree, k));
  const Spine spine = spine_of(tree);
  if (spine.parts.size() == 1) return line("one step: " + k_text(tree, k));
  const bool steps = std::all_of(spine.fused.begin(), spine.fused.end(), [](bool x) { return x; });
  const std::string order = spine.ascending ? "ascending" : "descending";
  line(k_text(tree, k) + ": " + count_text(spine.parts.size(), "part", "parts") + ", added in " + order +
       " order" + (steps ? ", each fused with the running sum" : ""));
  for (std::size_t i = 0; i < spine.parts.size();) {
    // Neighbours of one shape, the same distance apart, are one line.
    std::size_t alike = 1;
    const auto distance = [&](std::size_t j) { return spine.parts[j].least() - spine.parts[j - 1].least(); };
    const auto holds_c = [&](const SumTree& part) { return leaves_of(part).back() == k; };
    while (i + alike < spine.parts.size() && !holds_c(spine.parts[i]) && !holds_c(spine.parts[i + alike]) &&
           spine.fused[i + alike] == spine.fused[i] && distance(i + alike) == distance(i + 1) &&
           same_shape(spine.parts[i], spine.parts[i + alike],
                      spine.parts[i + alike].least() - spine.parts[i].least()))
      ++alike;
    const std::string times = alike == 1 ? "" : std::to_string(alike) + " x ";
    describe(spine.parts[i], k, depth + 1, times, out);
    i += alike;
  }
}

}  // namespace

std::vector<std::uint64_t> leaves_of(const SumTree& tree) {
  std::vector<std::uint64_t> out;
  collect(tree, out);
  std::sort(out.begin(), out.end());
  return out;
}

std::string ranges_of(const std::vector<std::uint64_t>& sorted) {
  std::string text;
  constexpr std::size_t kFewest = 4;  // of a strided range
  for (std::size_t i = 0; i < sorted.size();) {
    const std::uint64_t stride = i + 1 < sorted.size() ? sorted[i + 1] - sorted[i] : 1;
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + stride) ++last;
    if (stride != 1 && last - i + 1 < kFewest) last = i;
    text += (text.empty() ? "" : ", ") + std::to_string(sorted[i]);
    if (last > i && stride != 1) text += ", " + std::to_string(sorted[i + 1]) + ", ..., ";
    if (last > i && stride == 1) text += "-";
    if (last > i) text += std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

SumTree sum_of(std::vector<SumTree> parts) {
  parts.erase(std::remove_if(parts.begin(), parts.end(), empty), parts.end());
  if (parts.empty()) return kNothing;
  if (parts.size() == 1) return std::move(parts.front());
  std::sort(parts.begin(), parts.end(),
            [](const SumTree& x, const SumTree& y) { return x.least() < y.least(); });
  return {0, std::move(parts)};
}

SumTree tree_of(const GemmPlan& plan, const Datapath& datapath, std::uint64_t k) {
  std::vector<std::uint64_t> all(k);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return sliced(plan, datapath, all);
}

Spine spine_of(const SumTree& tree) {
  Spine spine;
  const SumTree* sum = &tree;
  bool first = true;
  while (true) {
    const auto inner = [](const SumTree& x) { return !x.leaf(); };
    const auto count = std::count_if(sum->children.begin(), sum->children.end(), inner);
    if (sum->leaf() || count == 0) break;
    const SumTree* next = nullptr;
    SumTree part;
    bool fused = true;
    if (count == 1) {  // a step: products and the running sum
      std::vector<SumTree> step;
      for (const SumTree& child : sum->children) {
        if (inner(child))
          next = &child;
        else
          step.push_back(child);
      }
      part = sum_of(std::move(step));
    } else {
      if (sum->children.size() != 2) break;
      const SumTree &low = sum->children[0], &high = sum->children[1];
      const auto sums = [&](const SumTree& x) {
        return std::count_if(x.children.begin(), x.children.end(), inner) >= 2;
      };
      // Of two sums the one that is made of sums itself is the running one.
      const bool up = first ? (sums(low) || !sums(high)) : spine.ascending;
      next = up ? &low : &high;
      part = up ? high : low;
      fused = false;
    }
    const bool up = next->least() < part.least();
    if (first) spine.ascending = up;
    if (up != spine.ascending || (!first && fused != spine.fused.front())) break;
    first = false;
    spine.parts.push_back(std::move(part));
    spine.fused.push_back(fused);
    sum = next;
  }
  spine.parts.push_back(*sum);
  spine.fused.push_back(spine.fused.empty() || spine.fused.back());
  std::reverse(spine.parts.begin(), spine.parts.end());
  std::reverse(spine.fused.begin(), spine.fused.end());
  return spine;
}

std::string text_of(const SumTree& tree, std::uint64_t k) {
  std::string out;
  describe(tree, k, 0, "", out);
  return out;
}

}  // namespace mmaudit::probe
