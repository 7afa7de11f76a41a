// A tile of a product of 4-bit elements with scales on groups, by vector code.
#include "vector_sums.hpp"

namespace mmaudit::fast {
namespace {

const GroupLevel& groups_of(SimdLevel level) {
#ifdef MMAUDIT_FAST_X86
  if (level == SimdLevel::avx512vnni) return kAvx512VnniGroups;
  if (level == SimdLevel::avx512) return kAvx512Groups;
  if (level == SimdLevel::avx2) return kAvx2Groups;
#endif
  static_cast<void>(level);
  return kPortableGroups;
}

class GroupedTile final : public VectorSums {
 public:
  GroupedTile(const DotSpec& spec, const GroupRules& rules, const Matmul& problem, SimdLevel level)
      : VectorSums(spec, problem, level),
        rules_(rules),
        kernel_(groups_of(level)),
        list_(spec, std::max(1, kDepth / spec.k)),
        group_(static_cast<std::size_t>(rules.group)),
        groups_(list_.depth / group_) {
    for (const Step& step : list_.steps)
      step_groups_.push_back(static_cast<std::int16_t>(step.count / rules.group));
    constexpr std::size_t kSlack = 64;  // a row of A is written in whole vectors
    a_elements_.resize(rows_ * list_.depth + kSlack);
    a_scales_.resize(rows_ * groups_);
    a_units_.resize(rows_ * list_.steps.size());
    a_bounds_.resize(rows_);
    const std::size_t panels = columns_ / kPanel;
    b_elements_.resize(columns_ * list_.depth);
    b_offsets_.resize(columns_ * groups_);
    b_above_.resize(columns_ * groups_);
    b_factors_.resize(columns_ * groups_);
    b_exponents_.resize(columns_ * groups_);
    b_nonzero_.resize(columns_ * groups_);
    b_nan_.resize(columns_);
    b_units_.resize(columns_ * list_.steps.size());
    b_bounds_.resize(panels);
    scales_.resize(groups_ * kPanel);
    block_of_.resize(groups_);
  }

  void run(std::uint64_t first, std::uint64_t last) override {
    const auto k = static_cast<std::uint64_t>(spec_.k);
    last = first + (last - first + k - 1) / k * k;
    for (std::uint64_t start = first; start < last; start += list_.depth)
      one_chunk(start, std::min<std::uint64_t>(list_.depth, last - start));
  }

 private:
  [[nodiscard]] PackedGroupsA row_of_a(std::uint64_t i) {
    return {&a_elements_[i * list_.depth], &a_scales_[i * groups_], &a_units_[i * list_.steps.size()]};
  }
  [[nodiscard]] PackedGroupsB panel_of_b(std::uint64_t panel) {
    const std::size_t first = panel * kPanel;
    return {&b_elements_[first * list_.depth],
            &b_offsets_[first * groups_],
            &b_above_[first * groups_],
            &b_factors_[first * groups_],
            &b_exponents_[first * groups_],
            &b_nonzero_[first * groups_],
            &b_units_[first * list_.steps.size()],
            &b_nan_[first]};
  }

  void one_chunk(std::uint64_t start, std::uint64_t depth) {
    start_ = start;
    for (std::size_t g = 0; g < groups_; ++g)
      block_of_[g] = (start_ + g * group_) / static_cast<std::uint64_t>(spec_.scale_block);
    const GroupChunk chunk{step_groups_.data(), list_.before(depth), static_cast<int>(depth / group_)};
    const int there = static_cast<int>(start < problem_.k ? std::min(depth, problem_.k - start) : 0);
    const std::uint64_t panels = (tile_.columns + kPanel - 1) / kPanel;
    for (std::uint64_t panel = 0; panel < panels; ++panel) pack_panel(chunk, there, panel);
    for (std::uint64_t i = 0; i < tile_.rows; ++i) pack_row(chunk, there, i);
    GroupMultiply work;
    work.rules = &rules_;
    work.chunk = chunk;
    work.plain = [](const void* context, int row, int column, int step, float sum) {
      const auto* self = static_cast<const GroupedTile*>(context);
      const Step& here = self->list_.steps[static_cast<std::size_t>(step)];
      return self->plain_step(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(column),
                              self->start_ + static_cast<std::uint64_t>(here.start), nullptr, here.count,
                              sum);
    };
    work.context = this;
    work.rows = static_cast<int>(tile_.rows);
    work.a = row_of_a(0);
    work.elements_stride = list_.depth;
    work.scales_stride = groups_;
    work.units_stride = list_.steps.size();
    work.a_bounds = a_bounds_.data();
    work.sum_stride = columns_;
    for (std::uint64_t panel = 0; panel < panels; ++panel) {  // rows innermost, as in FastTile
      work.b = panel_of_b(panel);
      work.b_bounds = b_bounds_[panel];
      work.column = static_cast<int>(panel * kPanel);
      work.sum = &sums_[0][panel * kPanel];
      kernel_.multiply(work);
    }
  }

  void pack_panel(const GroupChunk& chunk, int there, std::uint64_t panel) {
    const std::uint64_t column = tile_.column + panel * kPanel;
    const auto across = static_cast<int>(std::min<std::uint64_t>(kPanel, problem_.n - column));
    std::fill(scales_.begin(), scales_.end(), static_cast<std::uint8_t>(one_bits(spec_.scale)));
    for (std::size_t g = 0; g < static_cast<std::size_t>(chunk.groups) && problem_.scale_b != nullptr; ++g) {
      if (block_of_[g] >= blocks_) continue;
      const std::uint8_t* from =
          problem_.scale_b + (tile_.matrix * blocks_ + block_of_[g]) * problem_.n + column;
      std::copy_n(from, across, &scales_[g * kPanel]);
    }
    const auto* elements = static_cast<const std::uint8_t*>(problem_.b);
    kernel_.pack_b({elements + (tile_.matrix * problem_.k + start_) * problem_.n + column, problem_.n, there,
                    across, scales_.data()},
                   rules_, chunk, panel_of_b(panel), b_bounds_[panel]);
  }

  void pack_row(const GroupChunk& chunk, int there, std::uint64_t i) {
    const std::uint64_t row = tile_.matrix * problem_.m + tile_.row + i;
    std::fill(scales_.begin(), scales_.end(), static_cast<std::uint8_t>(one_bits(spec_.scale)));
    for (std::size_t g = 0; g < static_cast<std::size_t>(chunk.groups) && problem_.scale_a != nullptr; ++g)
      if (block_of_[g] < blocks_) scales_[g] = problem_.scale_a[row * blocks_ + block_of_[g]];
    const auto* elements = static_cast<const std::uint8_t*>(problem_.a);
    kernel_.pack_a({elements + row * problem_.k + start_, 0, there, 0, scales_.data()}, rules_, chunk,
                   row_of_a(i), a_bounds_[i]);
  }

  GroupRules rules_;
  const GroupLevel& kernel_;
  StepList list_;
  std::size_t group_, groups_;  ///< products of a group, groups of a whole chunk
  std::uint64_t start_ = 0;     ///< of the chunk
  std::vector<std::int16_t> step_groups_;
  Aligned<std::uint8_t> a_elements_;
  Aligned<GroupScaleA> a_scales_;
  Aligned<double> a_units_, b_units_;
  Aligned<std::int8_t> b_elements_;
  Aligned<std::int32_t> b_offsets_, b_above_, b_nan_;
  Aligned<float> b_factors_;
  Aligned<std::int16_t> b_exponents_;
  Aligned<std::uint16_t> b_nonzero_;
  std::vector<GroupBounds> a_bounds_, b_bounds_;
  std::vector<std::uint8_t> scales_;
  std::vector<std::uint64_t> block_of_;  ///< of K, whose scale a group of the chunk reads
};

}  // namespace

std::unique_ptr<TileSums> grouped_tile(const DotSpec& spec, const GroupRules& rules, const Matmul& problem,
                                       SimdLevel level) {
  return std::make_unique<GroupedTile>(spec, rules, problem, level);
}

}  // namespace mmaudit::fast
