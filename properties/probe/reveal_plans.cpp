#include "reveal_plans.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <utility>

namespace mmaudit::probe {
namespace {

/// Where the k of a node lie; none where they are not neighbours.
std::optional<KRange> range_of(const SumTree& tree) {
  const std::vector<std::uint64_t> ks = leaves_of(tree);
  if (ks.back() - ks.front() + 1 != ks.size()) return std::nullopt;
  return KRange{ks.front(), ks.back() + 1};
}

/// Whether a node adds two sums.
bool adds_sums(const SumTree& tree) {
  return tree.children.size() == 2 && !tree.children[0].leaf() && !tree.children[1].leaf();
}

/// Lengths of the sums that are added to others.
void collect_lengths(const SumTree& tree, std::set<std::uint64_t>& lengths) {
  if (!adds_sums(tree)) return;
  for (const SumTree& child : tree.children) {
    const std::optional<KRange> range = range_of(child);
    if (range && !adds_sums(child)) lengths.insert(range->last - range->first);
    collect_lengths(child, lengths);
  }
}

/// What is added to others and adds no sums itself, from the first k on; nothing where a part is no range.
bool collect_parts(const SumTree& tree, std::vector<KRange>& parts) {
  if (adds_sums(tree))
    return std::all_of(tree.children.begin(), tree.children.end(),
                       [&](const SumTree& child) { return collect_parts(child, parts); });
  const std::optional<KRange> range = range_of(tree);
  if (range) parts.push_back(*range);
  return range.has_value();
}

/// The lanes that have `lane` as their first one, of a slice of K that ends at `end`; none where it isn't all
/// of it. `next` is what it is added to.
std::optional<Lanes> lanes_with(const std::vector<std::uint64_t>& lane,
                                const std::vector<std::uint64_t>& next, std::uint64_t end) {
  std::size_t tile = 1;
  while (tile < lane.size() && lane[tile] == tile) ++tile;
  if (tile == lane.size()) {  // one tile per lane, and not the begin of a longer one
    const bool longer = tile > 1 && next.front() == tile &&
                        (next.size() == 1 || (next.size() != tile && next.size() != end - tile));
    return longer ? std::nullopt : std::optional(Lanes{(end + tile - 1) / tile, tile});
  }
  const std::uint64_t stride = lane[tile];
  if (stride % tile != 0 || lane.size() != end / stride * tile + std::min<std::uint64_t>(end % stride, tile))
    return std::nullopt;
  for (std::size_t i = 0; i < lane.size(); ++i)
    if (lane[i] != i / tile * stride + i % tile) return std::nullopt;
  return Lanes{stride / tile, tile};
}

std::vector<Lanes> lanes_in(const SumTree& tree, std::uint64_t end) {
  std::vector<const SumTree*> added;  // to k 0, the last one first
  for (const SumTree* sum = &tree; !sum->leaf(); sum = &sum->children.front()) {
    if (sum->children.size() != 2) return {};
    added.push_back(&sum->children.back());
  }
  std::reverse(added.begin(), added.end());
  std::vector<Lanes> found;
  std::vector<std::uint64_t> lane{0};
  std::uint64_t promote = 0;
  for (const SumTree* const sum : added) {
    const std::vector<std::uint64_t> next = leaves_of(*sum);
    if (std::optional<Lanes> lanes = lanes_with(lane, next, end)) {
      lanes->promote = promote;
      found.push_back(*lanes);
    }
    if (next.front() < lane.back()) break;
    if (next.size() > 1 && promote == 0) promote = lane.size();
    lane.insert(lane.end(), next.begin(), next.end());
  }
  return found;
}

/// The orders that sums may have.
constexpr SliceOrder kOrders[] = {SliceOrder::ascending, SliceOrder::descending, SliceOrder::bisected,
                                  SliceOrder::halved, SliceOrder::paired};

/// Appends a scalar plan's slices summed by lanes.
void add_lanes(const std::vector<Lanes>& lanes, const GemmPlan& plan, std::vector<GemmPlan>& plans) {
  for (const Lanes& one : lanes)
    for (const SliceOrder order : kOrders)
      for (const std::uint64_t promote : std::set<std::uint64_t>{0, one.promote}) {
        GemmPlan with = plan;
        with.lanes = order == SliceOrder::halved ? std::bit_ceil(one.count) : one.count;
        with.lane_tile = one.tile;
        with.lane_order = order;
        with.promote = promote;
        plans.push_back(with);
      }
}

/// f32, and a short format where it is tried.
std::vector<Format> f32_or(Format format, bool tried) {
  std::vector<Format> out{Format::f32};
  if (tried && is_short(format)) out.push_back(format);
  return out;
}

/// The plan with each format that its sums may be kept in: the tree shows none. A partial sum that has the
/// format already is not rounded to it again.
std::vector<GemmPlan> formats_of(const GemmPlan& plan) {
  std::vector<GemmPlan> all;
  for (const Format running : {Format::f32, Format::f16, Format::bf16}) {
    if (running != Format::f32 && !plan.scalar) continue;
    const bool same = running == plan.output && plan.promote == 0 && plan.lanes == 1;
    for (const Format partial : f32_or(plan.output, plan.slices > 1 && !same))
      for (const Format total : f32_or(running, plan.slices > 1)) {
        GemmPlan one = plan;
        one.running = running;
        one.partial = partial;
        one.total = total;
        all.push_back(one);
      }
  }
  return all;
}

}  // namespace

std::vector<Candidate> candidates_of(const UnknownGemm& gemm,
                                     std::span<const Architecture* const> architectures) {
  std::vector<Candidate> all;
  for (const Architecture* architecture : architectures)
    for (Instruction inst : kInstructions) {
      inst = with_shape(inst, kWgmmaMinN);
      const DatapathEntry* entry = find_datapath(*architecture, inst);
      if (entry == nullptr || is_sparse(inst.op) || inst.scale != Format::none) continue;
      const bool tf32 = gemm.a == Format::f32 && gemm.b == Format::f32 && inst.a == Format::tf32;
      if (!tf32 && (inst.a != gemm.a || inst.b != gemm.b)) continue;
      if (inst.d != Format::f32 && inst.d != gemm.d) continue;
      // Where C of the chain is not of D's format, only the first instruction of a chain is.
      if (inst.c != inst.d) continue;
      all.push_back({std::string(architecture->name), inst, entry->datapath, entry->evidence});
    }
  // Sums of binary64 are of binary64 alone.
  const auto wide = [](Format format) { return format == Format::f64; };
  if (wide(gemm.a) == wide(gemm.b) && wide(gemm.a) == wide(gemm.d))
    all.push_back({"any", scalar_instruction(gemm.a, gemm.b), Datapath{}, Evidence::recorded, true});
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& x, const Candidate& y) { return x.evidence < y.evidence; });
  return all;
}

Hints hints_of(const SumTree& tree, std::uint64_t k) {
  Hints hints;
  collect_lengths(tree, hints.promote);
  // Slices whose sums are added two by two.
  if (std::vector<KRange> parts; collect_parts(tree, parts) && parts.size() > 2) {
    std::sort(parts.begin(), parts.end(), [](KRange x, KRange y) { return x.first < y.first; });
    hints.slices.push_back(std::move(parts));
  }
  // Which of two sums is the running one, and where the first slice ends, the tree does not say: every
  // reading is one hint.
  for (const bool ascending : {true, false}) {
    std::vector<KRange> split;
    const SumTree* running = &tree;
    while (adds_sums(*running)) {
      const std::optional<KRange> part = range_of(running->children[ascending ? 1 : 0]);
      running = &running->children[ascending ? 0 : 1];
      const std::optional<KRange> rest = range_of(*running);
      if (!part || !rest) break;
      split.push_back(*part);
      std::vector<KRange> slices = split;
      slices.push_back(*rest);
      std::sort(slices.begin(), slices.end(), [](KRange x, KRange y) { return x.first < y.first; });
      hints.slices.push_back(std::move(slices));
    }
  }
  hints.lanes[k] = lanes_in(tree, k);
  for (const std::vector<KRange>& slices : hints.slices)
    if (const std::uint64_t end = slices.front().last; !hints.lanes.contains(end))
      hints.lanes[end] = lanes_in(tree, end);
  return hints;
}

std::vector<GemmPlan> plans_of(const Candidate& candidate, const UnknownGemm& gemm, const Hints& hints) {
  GemmPlan plan;
  plan.instruction = candidate.instruction;
  plan.scalar = candidate.scalar;
  plan.output = gemm.d;
  std::vector<GemmPlan> plans;
  std::set<std::uint64_t> promotes;
  for (const std::uint64_t promote : hints.promote)
    if (promote % static_cast<std::uint64_t>(candidate.instruction.k) == 0) promotes.insert(promote);
  for (const std::uint64_t promote : promotes) {
    plan.promote = promote;
    plans.push_back(plan);
  }
  for (const std::vector<KRange>& slices : hints.slices) {
    std::uint64_t tile = 0;
    for (const KRange range : slices) tile = std::gcd(tile, range.first);
    for (const SliceRule rule : {SliceRule::even, SliceRule::balanced, SliceRule::balanced_last})
      for (const SliceOrder order : kOrders)
        for (const std::uint64_t promote : promotes) {
          GemmPlan cut = plan;
          cut.slices = slices.size();
          cut.slice_rule = rule;
          cut.slice_order = order;
          cut.promote = promote;
          // The bounds are multiples of the tile: of the largest that gives them.
          for (cut.tile_k = tile; cut.tile_k != 0; cut.tile_k = cut.tile_k % 2 == 0 ? cut.tile_k / 2 : 0)
            if (slices_of(cut, gemm.k) == slices) {
              plans.push_back(cut);
              break;
            }
        }
  }
  if (!candidate.scalar) return plans;
  const std::vector<GemmPlan> chains = plans;
  for (const GemmPlan& chain : chains)
    if (chain.promote == 0) add_lanes(hints.lanes.at(slices_of(chain, gemm.k).front().last), chain, plans);
  return plans;
}

std::vector<GemmPlan> roundings_of(const GemmPlan& plan, const std::vector<Addition>& additions) {
  std::vector<GemmPlan> all;
  const bool tf32 = plan.instruction.a == Format::tf32;
  for (const InputRounding input :
       {InputRounding::toward_zero, InputRounding::nearest_even, InputRounding::nearest_away}) {
    if (input != InputRounding::toward_zero && !tf32) continue;
    for (GemmPlan one : formats_of(plan))
      for (const Addition& addition : additions) {
        one.input = input;
        one.c_place = addition.place;
        one.epilogue = addition.epilogue;
        all.push_back(one);
      }
  }
  return all;
}

}  // namespace mmaudit::probe
