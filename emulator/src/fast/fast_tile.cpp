// A tile of a matrix product by vector code.
#include <cmath>
#include <cstdlib>

#include "specials.hpp"
#include "vector_sums.hpp"

namespace mmaudit {
namespace {

using fast::kDepth;

class FastTile final : public fast::VectorSums {
 public:
  FastTile(const DotSpec& spec, const fast::FastSpec& fast, const Matmul& problem, SimdLevel level)
      : VectorSums(spec, problem, level),
        fast_(fast),
        list_(spec, std::max(1, (fast.rules.sparse ? kDepth / 2 : kDepth) / spec.k)),
        depth_(list_.depth),
        steps_(list_.steps),
        specials_(spec_, reader_, problem.m, fast.a, fast.b) {
    make_order();
    a_value_.resize(rows_ * depth_);
    a_exponent_.resize(rows_ * depth_);
    // A sparse A meets twice as many rows of B, or half of each group; pairs of four exponents are six.
    b_depth_ = fast_.rules.sparse ? 2 * depth_ : depth_;
    b_words_ = fast_.rules.sparse && fast_.rules.pairs ? b_depth_ / 4 * 6 : b_depth_;
    b_value_.resize(columns_ * b_depth_);
    b_exponent_.resize(columns_ * b_words_);
    a_bounds_.resize(rows_ / fast::kRows * steps_.size());
    if (fast_.rules.sparse) make_selection();
    if (fast_.rules.scaled) {
      const std::size_t step_count = steps_.size() + 1;  // the kernel looks one step ahead
      a_factor_.resize(rows_ * step_count);
      a_shift_.resize(rows_ * step_count);
      b_factor_.resize(columns_ / fast::kPanel * step_count * fast::kPanel);
      b_shift_.resize(columns_ / fast::kPanel * step_count * fast::kPanel);
    }
    b_bounds_.resize(columns_ / fast::kPanel * steps_.size());
  }

  void run(std::uint64_t first, std::uint64_t last) override {
    const auto k = static_cast<std::uint64_t>(spec_.k);
    if (fast_.rules.sparse) first /= 2, last /= 2;  // of what is stored
    last = first + (last - first + k - 1) / k * k;
    for (std::uint64_t start = first; start < last; start += depth_)
      one_chunk(start, std::min<std::uint64_t>(depth_, last - start));
  }

 private:
  void make_order() {
    const int k = spec_.k;
    for (int t = 0; t < static_cast<int>(depth_) / k; ++t)
      for (int p = 0; p < k; ++p) order_.push_back(t * k + evaluation_k(spec_.datapath.order, k, p));
    ascending_ = spec_.datapath.order == KOrder::ascending || spec_.datapath.order == KOrder::halves;
  }

  /// Everything of `rows` x `columns` elements of A or B from (row, column) on, as far as it exists.
  [[nodiscard]] fast::PackSource source(const void* matrices, const FormatSpec& format,
                                        const fast::Decode& decode, std::uint64_t index, std::uint64_t rows,
                                        std::uint64_t columns, std::uint64_t row, std::uint64_t column,
                                        std::uint64_t most_rows, std::uint64_t most_columns) const {
    const std::size_t bytes = format.storage_bytes();
    fast::PackSource part;
    part.base = static_cast<const char*>(matrices) + ((index * rows + row) * columns + column) * bytes;
    part.stride = columns;
    part.element_bytes = static_cast<int>(bytes);
    part.rows = row < rows ? static_cast<int>(std::min(most_rows, rows - row)) : 0;
    part.columns = column < columns ? static_cast<int>(std::min(most_columns, columns - column)) : 0;
    part.decode = decode;
    part.pairs = fast_.rules.pairs;
    return part;
  }

  void one_chunk(std::uint64_t start, std::uint64_t depth) {
    chunk_.steps = steps_.data();
    chunk_.depth = static_cast<int>(depth);
    chunk_.step_count = list_.before(depth);
    chunk_.order = ascending_ ? nullptr : order_.data();
    chunk_start_ = start;
    specials_.start(tile_, start, depth);
    general_rows_.assign(rows_ / fast::kRows, false);
    const auto panels = (tile_.columns + fast::kPanel - 1) / fast::kPanel;
    const auto groups = (tile_.rows + fast::kRows - 1) / fast::kRows;
    pack_b(panels);
    for (std::uint64_t g = 0; g < groups; ++g) {
      fast::Bounds* bounds = &a_bounds_[g * steps_.size()];
      pack_a(g, false, {&a_value_[g * fast::kRows * depth_], &a_exponent_[g * fast::kRows * depth_]}, bounds);
      if (bounds->special) specials_.look_at_rows(g * fast::kRows, fast::kRows);
    }
    if (fast_.rules.scaled) {
      for (std::uint64_t i = 0; i < groups * fast::kRows; ++i) scale_row(i);
      for (std::uint64_t p = 0; p < panels; ++p) scale_panel(p);
    }
    if (fast_.rules.sparse)
      for (std::uint64_t i = 0; i < tile_.rows; ++i) select_row(i);
    if (specials_.any()) before_.assign(sums_[0].begin(), sums_[0].end());
    multiply_chunk(groups, panels);
    if (specials_.any())
      specials_.apply(
          fast_.rules.nan, [&](std::uint64_t i, std::uint64_t j) { return before_[at(i, j)]; },
          [&](std::uint64_t i, std::uint64_t j) -> float& { return sums_[0][at(i, j)]; },
          [&](std::uint64_t i, std::uint64_t j, float sum) { return plain_chunk(i, j, sum); });
  }

  /// kRows rows of A, as quick steps read them or as general ones do.
  void pack_a(std::uint64_t group, bool general, const fast::PackedA& out, fast::Bounds* bounds) const {
    const auto depth = static_cast<std::uint64_t>(chunk_.depth);
    fast::PackSource rows = source(problem_.a, spec_.a, fast_.a, tile_.matrix, problem_.m, stored_k_,
                                   tile_.row + group * fast::kRows, chunk_start_, fast::kRows, depth);
    rows.general = general;
    level_.pack_a(rows, chunk_, out, depth_, bounds);
  }

  /// `panels` panels of B, from `first` on; of a sparse product as they are stored.
  void pack_panels(std::uint64_t first, std::uint64_t panels, bool general, const fast::PackedB& out,
                   fast::Bounds* bounds) const {
    const std::uint64_t times = fast_.rules.sparse ? 2 : 1;
    fast::Chunk chunk = chunk_;
    if (times == 2) chunk = {b_steps_.data(), chunk_.step_count, 2 * chunk_.depth, nullptr};
    fast::PackSource part = source(problem_.b, spec_.b, fast_.b, tile_.matrix, problem_.k, problem_.n,
                                   times * chunk_start_, tile_.column + first * fast::kPanel,
                                   static_cast<std::uint64_t>(chunk.depth), panels * fast::kPanel);
    part.general = general;
    level_.pack_b(part, chunk, out, fast::kPanel * b_depth_, static_cast<int>(panels), bounds,
                  static_cast<int>(steps_.size()));
  }

  void pack_b(std::uint64_t panels) {
    const bool sparse = fast_.rules.sparse;
    pack_panels(0, panels, false, {b_value_.begin(), sparse ? packed_.begin() : b_exponent_.begin()},
                b_bounds_.data());
    for (std::uint64_t p = 0; p < panels; ++p) {
      fast::Bounds* bounds = &b_bounds_[p * steps_.size()];
      fast::Bounds all = fast::kNoOperand;
      for (int i = 0; i < chunk_.step_count; ++i) {
        all.low = std::min(all.low, bounds[i].low);
        all.high = std::max(all.high, bounds[i].high);
        all.special = all.special || bounds[i].special;
      }
      if (all.special) specials_.look_at_columns(p * fast::kPanel, fast::kPanel);
      if (!sparse) continue;
      if (!keeps_groups_) std::fill_n(bounds, chunk_.step_count, all);
      spread_exponents(2 * static_cast<std::uint64_t>(chunk_.depth), &packed_[p * fast::kPanel * b_depth_],
                       &b_exponent_[p * fast::kPanel * b_words_]);
    }
  }

  /// Operands of the general path, once per chunk: a group of rows, and the panel that is multiplied.
  void prepare(std::uint64_t group, fast::General& general) {
    if (general_a_value_.size() == 0) {
      general_a_value_.resize(rows_ * depth_);
      general_a_exponent_.resize(rows_ * depth_);
      general_b_value_.resize(fast::kPanel * b_depth_);
      general_b_exponent_.resize(fast::kPanel * b_depth_);
    }
    fast::Bounds unused[kDepth];
    const std::size_t first = group * fast::kRows * depth_;
    if (!general_rows_[group])
      pack_a(group, true, {&general_a_value_[first], &general_a_exponent_[first]}, unused);
    general_rows_[group] = true;
    if (!general_panel_)
      pack_panels(panel_, 1, true, {general_b_value_.begin(), general_b_exponent_.begin()}, unused);
    general_panel_ = true;
    general = {general_a_value_.begin(), general_a_exponent_.begin(),
               general_b_value_.begin(), general_b_exponent_.begin(),
               general.prepare,          general.context};
  }

  /// The chunk for one element, by the plain core.
  [[nodiscard]] float plain_chunk(std::uint64_t i, std::uint64_t j, float sum) const {
    const FormatSpec& format = spec_.step.output;
    const OutputRule& rule = spec_.datapath.output;
    float part = 0;
    for (int s = 0; s < chunk_.step_count; ++s) {
      const fast::Step& step = steps_[static_cast<std::size_t>(s)];
      const std::int32_t* order = &order_[static_cast<std::size_t>(step.start)];
      float& to = fast_.rules.addend_last ? part : sum;
      to = plain_step(i, j, chunk_start_, order, step.count, to);
      if (!fast_.rules.addend_last || !step.closes) continue;
      sum = fast::to_sum(add_rounded(fast::from_sum(sum, format, rule), fast::from_sum(part, format, rule),
                                     format, Rounding::nearest_even, rule),
                         format);
      part = 0;
    }
    return sum;
  }

  /// Exponents of one panel of `depth` rows for every choice of two rows of a group, or as they are.
  void spread_exponents(std::uint64_t depth, const std::int16_t* from, std::int16_t* to) const {
    if (!fast_.rules.pairs) {
      std::copy_n(from, depth * fast::kPanel, to);
      return;
    }
    for (std::uint64_t group = 0; group < depth / 4; ++group, from += std::size_t{2} * fast::kPanel)
      for (int number = 0; number < 6; ++number, to += fast::kPanel) {
        std::uint8_t position[2];
        write_pattern(spec_.sparsity, number, position);
        // Bytes of a word are two neighbours; the first of a pair becomes the low one.
        const std::int16_t *low = from + std::size_t{position[0]} / 2 * fast::kPanel,
                           *high = from + std::size_t{position[1]} / 2 * fast::kPanel;
        const int down = 8 * (position[0] % 2), up = 8 * (1 - position[1] % 2);
        for (int j = 0; j < fast::kPanel; ++j)
          to[j] = static_cast<std::int16_t>((static_cast<std::uint16_t>(low[j]) >> down & 0xFF) |
                                            (static_cast<std::uint16_t>(high[j]) << up & 0xFF00));
      }
  }

  void make_selection() {
    keeps_groups_ = ascending_;
    for (fast::Step step : steps_) {
      keeps_groups_ =
          keeps_groups_ && step.start % spec_.sparsity.kept == 0 && step.count % spec_.sparsity.kept == 0;
      step.start = static_cast<std::int16_t>(2 * step.start);
      step.count = static_cast<std::int16_t>(2 * step.count);
      b_steps_.push_back(step);
    }
    for (const std::int32_t stored : order_)
      group_at_.push_back(stored / spec_.sparsity.kept * spec_.sparsity.group);
    packed_.resize(columns_ * b_depth_);
    value_at_.resize(rows_ * depth_);
    exponent_at_.resize(rows_ * depth_);
  }

  /// Where row i of A finds its elements of B.
  void select_row(std::uint64_t i) {
    const std::uint8_t* row = problem_.metadata + (tile_.matrix * problem_.m + tile_.row + i) * stored_k_;
    std::uint8_t within[kDepth];
    for (int p = 0; p < chunk_.depth; ++p) {
      const std::uint64_t stored = chunk_start_ + static_cast<std::uint64_t>(p);
      within[p] = stored < stored_k_ ? row[stored] : static_cast<std::uint8_t>(p % spec_.sparsity.kept);
    }
    std::int32_t *value = &value_at_[i * depth_], *exponent = &exponent_at_[i * depth_];
    for (int p = 0; p < chunk_.depth; ++p) {
      const auto at = static_cast<std::size_t>(p);
      value[p] = (group_at_[at] + within[order_[at]]) * fast::kPanel;
      if (!fast_.rules.pairs) exponent[p] = value[p];
    }
    constexpr int kNumber[4][4] = {{0, 0, 1, 2}, {0, 0, 3, 4}, {0, 0, 0, 5}, {}};
    for (int p = 0; fast_.rules.pairs && p < chunk_.depth; p += 2) {
      const auto at = static_cast<std::size_t>(p);
      const std::uint8_t* two = &within[order_[at]];
      exponent[p / 2] = (group_at_[at] / 4 * 6 + kNumber[two[0]][two[1]]) * fast::kPanel;
    }
  }

  /// Puts one scale of every step at `factor` and `shift`, and what it does to the bounds. True for a NaN.
  template <typename Load>
  bool scale_step(const Load& byte, float& factor, std::int32_t& shift, fast::Bounds& box) const {
    const Operand scale = unpack_scale(spec_.scale, spec_.datapath, byte());
    shift = scale.kind == Kind::finite ? scale.exponent : 0;
    const bool fits = std::abs(shift) <= fast::kMostScale;
    factor = fits ? std::ldexp(1.0F, shift) : 1;
    box.low = std::min<int>(box.low, fits ? shift : fast::kBeyondScale);
    box.high = std::max<int>(box.high, shift);
    return scale.kind == Kind::nan;
  }

  /// The block of K whose scale a step of the chunk applies.
  [[nodiscard]] std::uint64_t block_of(int step) const {
    const auto first = static_cast<std::size_t>(steps_[static_cast<std::size_t>(step)].start);
    return (chunk_start_ + static_cast<std::uint64_t>(order_[first])) /
           static_cast<std::uint64_t>(spec_.scale_block);
  }
  [[nodiscard]] std::uint64_t scale_byte(const std::uint8_t* scales, std::uint64_t block, bool there,
                                         std::uint64_t at) const {
    return scales != nullptr && there && block < blocks_ ? scales[at] : one_bits(spec_.scale);
  }

  void scale_row(std::uint64_t i) {
    const std::uint64_t row = tile_.matrix * problem_.m + tile_.row + i;
    for (int s = 0; s < chunk_.step_count; ++s) {
      const std::uint64_t block = block_of(s);
      const std::size_t at = i * (steps_.size() + 1) + static_cast<std::size_t>(s);
      fast::Bounds box = fast::kNoOperand;
      std::int32_t shift = 0;
      if (scale_step(
              [&] { return scale_byte(problem_.scale_a, block, i < tile_.rows, row * blocks_ + block); },
              a_factor_[at], shift, box))
        specials_.nan_row(i);
      a_shift_[at] = static_cast<std::int32_t>(static_cast<std::uint32_t>(shift & 0xFFFF) * 0x10001U);
      // The rows of a group share their bounds: the least shift and the largest, one row after another.
      fast::Bounds& all = a_boxes_[static_cast<std::size_t>(s)];
      all =
          i % fast::kRows == 0 ? box : fast::Bounds{std::min(all.low, box.low), std::max(all.high, box.high)};
      if (i % fast::kRows == fast::kRows - 1)
        widen(a_bounds_[i / fast::kRows * steps_.size() + static_cast<std::size_t>(s)], all);
    }
  }

  void scale_panel(std::uint64_t panel) {
    for (int s = 0; s < chunk_.step_count; ++s) {
      const std::uint64_t block = block_of(s);
      const std::size_t first = (panel * (steps_.size() + 1) + static_cast<std::size_t>(s)) * fast::kPanel;
      fast::Bounds box = fast::kNoOperand;
      for (int j = 0; j < fast::kPanel; ++j) {
        const std::uint64_t in_tile = panel * fast::kPanel + static_cast<std::uint64_t>(j);
        const std::uint64_t at = (tile_.matrix * blocks_ + block) * problem_.n + tile_.column + in_tile;
        std::int32_t shift = 0;
        if (scale_step([&] { return scale_byte(problem_.scale_b, block, in_tile < tile_.columns, at); },
                       b_factor_[first + static_cast<std::size_t>(place_[j])], shift, box))
          specials_.nan_column(in_tile);
        b_shift_[first + static_cast<std::size_t>(j)] = static_cast<std::int16_t>(shift);
      }
      widen(b_bounds_[panel * steps_.size() + static_cast<std::size_t>(s)], box);
    }
  }

  static void widen(fast::Bounds& bounds, const fast::Bounds& box) {
    bounds.low += box.low;
    bounds.high += box.high;
    if (box.low <= fast::kBeyondScale) bounds.low = fast::kBeyondScale;
  }

  void multiply_chunk(std::uint64_t groups, std::uint64_t panels) {
    static_assert(kTileRows <= std::uint64_t{fast::kMostGroups} * fast::kRows);
    fast::Multiply work;
    work.rules = &fast_.rules;
    work.chunk = chunk_;
    work.a_stride = depth_;
    work.a_value = a_value_.begin();
    work.a_exponent = a_exponent_.begin();
    work.a_bounds = a_bounds_.data();
    work.bounds_stride = steps_.size();
    work.groups = static_cast<int>(groups);
    work.a_scales.stride = steps_.size() + 1;
    if (fast_.rules.scaled) {
      work.a_scales.factor = a_factor_.begin();
      work.a_scales.exponent = a_shift_.begin();
    }
    if (fast_.rules.sparse) work.selection = {value_at_.data(), exponent_at_.data()};
    work.sum_stride = columns_;
    work.general.context = this;
    work.general.prepare = [](void* context, int group, fast::General& general) {
      static_cast<FastTile*>(context)->prepare(static_cast<std::uint64_t>(group), general);
    };
    for (std::uint64_t p = 0; p < panels; ++p) {
      const std::uint64_t column = p * fast::kPanel;
      work.b_value = &b_value_[column * b_depth_];
      work.b_exponent = &b_exponent_[column * b_words_];
      work.b_bounds = &b_bounds_[p * steps_.size()];
      if (fast_.rules.scaled) {
        const std::size_t first = p * (steps_.size() + 1) * fast::kPanel;
        work.b_scales = {&b_factor_[first], &b_shift_[first]};
      }
      panel_ = p, general_panel_ = false;
      work.sum = &sums_[0][column];
      level_.multiply(work);
    }
  }

  fast::FastSpec fast_;
  fast::StepList list_;
  std::size_t depth_;  ///< of a whole chunk
  const std::vector<fast::Step>& steps_;
  bool ascending_ = true;
  bool keeps_groups_ = true;  ///< a sparse step meets the rows of B beside it, and no others
  fast::Chunk chunk_;
  std::uint64_t chunk_start_ = 0;
  std::vector<std::int32_t> order_;
  // Of the general path: all groups of rows, of which some are there, and one panel.
  fast::Aligned<float> a_value_, b_value_, general_a_value_, general_b_value_;
  fast::Aligned<std::int32_t> a_exponent_, general_a_exponent_;
  fast::Aligned<std::int16_t> b_exponent_, general_b_exponent_;
  std::vector<fast::Bounds> a_bounds_, b_bounds_;
  std::size_t b_depth_ = 0, b_words_ = 0;  ///< rows of B of a whole chunk, and words of their exponents
  // Scales: (rows, steps), (panels, steps, columns).
  fast::Aligned<float> a_factor_, b_factor_;
  fast::Aligned<std::int32_t> a_shift_;
  fast::Aligned<std::int16_t> b_shift_;
  fast::Bounds a_boxes_[kDepth] = {};
  std::vector<bool> general_rows_;
  bool general_panel_ = false;
  std::uint64_t panel_ = 0;
  fast::Specials specials_;
  std::vector<float> before_;  ///< sums before a chunk with infinities or NaNs
  // A sparse A: exponents of B before they are spread, and offsets, (rows, depth).
  std::vector<fast::Step> b_steps_;
  fast::Aligned<std::int16_t> packed_;
  std::vector<std::int32_t> group_at_, value_at_, exponent_at_;
};

}  // namespace

std::unique_ptr<TileSums> fast_tile(const Instruction& instruction, const Datapath& datapath,
                                    const Matmul& problem, SimdLevel level) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  if (fast::serves_binary64(spec)) return fast::binary64_tile(spec, problem, level);
  if (fast::serves_integers(spec)) return fast::integer_tile(spec, problem, level);
  if (const auto rules = fast::group_rules(spec)) return fast::grouped_tile(spec, *rules, problem, level);
  return std::make_unique<FastTile>(spec, *fast::fast_spec(spec), problem, level);
}

bool fast_serves(const Instruction& instruction, const Datapath& datapath) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  return fast::serves_binary64(spec) || fast::serves_integers(spec) || fast::group_rules(spec) ||
         fast::fast_spec(spec);
}

}  // namespace mmaudit
