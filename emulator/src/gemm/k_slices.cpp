#include "gemm/k_slices.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mmaudit/detail/slices.hpp"

namespace mmaudit {

std::uint64_t step_of(const GemmPlan& plan) {
  return plan.scalar ? 1 : static_cast<std::uint64_t>(plan.instruction.k);
}

KSlice::KSlice(std::vector<KRange> ranges) : ranges_(std::move(ranges)) {
  for (const KRange& range : ranges_) elements_ += range.last - range.first;
}

KSlice::KSlice(const GemmPlan& plan, std::vector<KRange> ranges) : KSlice(std::move(ranges)) {
  head_ = plan.head_tile == 0 ? 0 : elements_ % plan.head_tile;
  if (head_ == 0) return;
  padding_ = (step_of(plan) - head_ % step_of(plan)) % step_of(plan);
  KRange& first = ranges_.front();  // the head is a range of its own
  const std::uint64_t cut = first.first + head_;
  if (cut < first.last) {
    ranges_.insert(ranges_.begin(), {first.first, cut});
    ranges_[1].first = cut;
  }
}

std::vector<std::byte> KSlice::of_a(const Matmul& problem, Format format) const {
  return copied(problem.a, problem.batch * problem.m, problem.k, spec_of(format).storage_bytes());
}

std::vector<std::byte> KSlice::of_b(const Matmul& problem, Format format) const {
  return copied(problem.b, problem.batch, problem.k, problem.n * spec_of(format).storage_bytes());
}

std::vector<std::byte> KSlice::copied(const void* from, std::uint64_t lanes, std::uint64_t k,
                                      std::size_t unit) const {
  std::vector<std::byte> out(lanes * length() * unit);
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    std::uint64_t done = 0;
    for (const KRange& range : ranges_) {
      const std::uint64_t count = range.last - range.first, gap = head_ != 0 && done >= head_ ? padding_ : 0;
      std::memcpy(out.data() + (lane * length() + done + gap) * unit,
                  static_cast<const std::byte*>(from) + (lane * k + range.first) * unit, count * unit);
      done += count;
    }
  }
  return out;
}

GemmPlan lanes_of(const GemmPlan& plan) {
  GemmPlan out;
  out.instruction = plan.instruction;
  out.scalar = plan.scalar;
  out.running = plan.running;
  out.tile_k = plan.lane_tile;
  out.slices = plan.lanes;
  out.slice_rule = SliceRule::cyclic;
  out.slice_order = plan.lane_order;
  out.promote = plan.promote;
  out.c_place = plan.c_place;
  return out;
}

std::vector<std::vector<std::uint64_t>> paired_slices(std::uint64_t count) {
  std::vector<std::vector<std::uint64_t>> out;
  const std::uint64_t half = detail::quotient_up(count, 2), last = count - 1;
  for (std::uint64_t i = 0; i < half; ++i) {
    out.push_back({i});
    if (i + half < count && (i == 0 || i + half != last)) out.back().push_back(i + half);
    if (i == 0 && last > half) out.push_back({last});
  }
  return out;
}

std::vector<std::vector<KRange>> slice_ranges_of(const GemmPlan& plan, std::uint64_t k) {
  const std::uint64_t tile = plan.tile_k != 0 ? plan.tile_k : step_of(plan),
                      tiles = detail::quotient_up(k, tile), asked = std::max<std::uint64_t>(plan.slices, 1);
  const std::uint64_t slices = std::min(asked, tiles);
  std::vector<std::vector<KRange>> out;
  out.reserve(slices);
  const auto range = [&](std::uint64_t first, std::uint64_t last) {
    return KRange{first * tile, std::min(last * tile, k)};
  };
  if (plan.slice_rule == SliceRule::cyclic) {
    out.resize(slices);
    for (std::uint64_t t = 0; t < tiles; ++t) out[t % slices].push_back(range(t, t + 1));
    return out;
  }
  for (std::uint64_t slice = 0, first = 0; slice < slices && first < tiles; ++slice) {
    const std::uint64_t rest = tiles % slices;
    const bool one_more = plan.slice_rule == SliceRule::balanced ? slice < rest : slice >= slices - rest;
    std::uint64_t count = tiles / slices + (one_more ? 1 : 0);
    if (plan.slice_rule == SliceRule::even) count = detail::tiles_per_slice(tiles, slices);
    if (plan.slice_rule == SliceRule::truncated)
      count = std::max<std::uint64_t>(detail::quotient_up(k / asked, tile), 1);
    out.push_back({range(first, std::min(first + count, tiles))});
    first += count;
  }
  return out;
}

std::vector<KRange> slices_of(const GemmPlan& plan, std::uint64_t k) {
  const std::vector<std::vector<KRange>> ranges = slice_ranges_of(plan, k);
  std::vector<KRange> out;
  out.reserve(ranges.size());
  for (const std::vector<KRange>& slice : ranges) out.push_back({slice.front().first, slice.back().last});
  return out;
}

}  // namespace mmaudit
