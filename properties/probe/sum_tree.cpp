#include "mmaudit/probe/sum_tree.hpp"

#include <algorithm>
#include <bit>
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

/// One instruction over [first, first + k), added to `sum`; k from `end` on is padding.
SumTree instruction_sum(const DotPlan& plan, SumTree sum, std::uint64_t first, std::uint64_t end) {
  const AddendPlace place = plan.datapath.addend;
  SumTree inner = kNothing;
  if (place == AddendPlace::in_first_step) std::swap(inner, sum);
  const auto add_step = [&](int start, int count) {
    std::vector<SumTree> parts;
    if (place != AddendPlace::before_each_nearest) parts.push_back(std::move(inner));
    for (int i = start; i < start + count; ++i) {
      const std::uint64_t k =
          first + static_cast<std::uint64_t>(evaluation_k(plan.datapath.order, plan.k, i));
      if (k < end) parts.push_back({k, {}});
    }
    inner = sum_of(std::move(parts));
    if (place == AddendPlace::before_each_nearest) sum = sum_of({std::move(sum), std::move(inner)});
  };
  for_each_step(plan, add_step);
  if (place == AddendPlace::in_first_step) return inner;
  return place == AddendPlace::before_each_nearest ? sum : sum_of({std::move(sum), std::move(inner)});
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
    while (i + alike < spine.parts.size() && spine.fused[i + alike] == spine.fused[i] &&
           distance(i + alike) == distance(i + 1) &&
           same_shape(spine.parts[i], spine.parts[i + alike],
                      spine.parts[i + alike].least() - spine.parts[i].least()))
      ++alike;
    const std::string times = alike == 1 ? "" : std::to_string(alike) + " x ";
    describe(spine.parts[i], k, depth + 1, times, out);
    i += alike;
  }
}

/// SliceOrder::bisected over slices of which each is a tree by itself.
template <typename Slice>
SumTree bisected(std::span<const KRange> slices, const Slice& slice) {
  if (slices.size() == 1) return slice(slices.front());
  const std::size_t rest = std::bit_floor(slices.size() - 1), first = slices.size() - rest;
  return sum_of({bisected(slices.first(first), slice), bisected(slices.last(rest), slice)});
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
  const DotPlan dot = plan.scalar ? DotPlan{} : make_plan(plan.instruction, datapath);
  const auto depth = static_cast<std::uint64_t>(plan.instruction.k);
  const auto chain = [&](KRange range) {
    SumTree sum = kNothing;
    for (std::uint64_t at = range.first; plan.scalar && at < range.last; ++at)
      sum = sum_of({std::move(sum), SumTree{at, {}}});
    if (plan.scalar) return sum;
    for (std::uint64_t first = range.first; first < range.last; first += depth)
      sum = instruction_sum(dot, std::move(sum), first, range.last);
    return sum;
  };
  const auto slice = [&](KRange range) {
    if (plan.promote == 0) return chain(range);
    SumTree total = kNothing;
    for (std::uint64_t first = range.first; first < range.last; first += plan.promote)
      total = sum_of({std::move(total), chain({first, std::min(first + plan.promote, range.last)})});
    return total;
  };
  std::vector<KRange> slices = slices_of(plan, k);
  if (plan.slice_order == SliceOrder::bisected && !slices.empty()) return bisected(slices, slice);
  if (plan.slice_order == SliceOrder::descending) std::reverse(slices.begin(), slices.end());
  SumTree total = kNothing;
  for (const KRange& range : slices) total = sum_of({std::move(total), slice(range)});
  return total;
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
