#pragma once
// One element of a product in numbers: its exact value, the bound on the error, and what chance makes of it.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/detail/slices.hpp"
#include "mmaudit/error_bound.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/tolerance.hpp"

namespace mmaudit::detail {

inline constexpr int kNoExponent = -10000;

/// 2^exponent; exponents beyond binary64's normal numbers are as good as the nearest of those.
inline double clamped_power(int exponent) { return power_of_two(std::clamp(exponent, -1022, 1023)); }

/// floor(log2) of a magnitude, at least the format's least; of zero none.
inline int exponent_in(double x, const FormatSpec& format) {
  if (x == 0) return kNoExponent;
  const auto field = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7FF);
  return std::max(field - kDoubleBias, format.min_exponent());
}

inline constexpr int kNoPlace = 10000;

/// Exponent of the last bit that is set in a number other than zero.
inline int last_place(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto field = static_cast<int>(bits >> 52 & 0x7FF);
  const std::uint64_t unit = std::uint64_t{1} << 52;
  return std::max(field, 1) - 1075 + std::countr_zero((bits & (unit - 1)) | unit);
}

/// Two binary64 words: what the additions round off is kept.
struct Sum {
  double high = 0, low = 0;
  void add(double x) {
    const double sum = high + x, back = sum - high;
    low += (high - (sum - back)) + (x - back);
    high = sum;
  }
  [[nodiscard]] double value() const { return std::isfinite(high) ? high + low : high; }
};

/// A row of A or a column of B.
struct Factors {
  std::vector<double> value;      ///< with its scale where the datapath scales elements
  std::vector<int> exponent;      ///< as the datapath reads it
  std::vector<double> scale;      ///< per block, where the datapath scales groups
  std::vector<int> of_scale;      ///< exponent of that scale
  std::vector<std::uint64_t> at;  ///< of a sparse A: the k of B that it meets
};

struct FactorCounts {
  std::uint64_t elements, scales;
  int elements_per_scale;
};

/// A row or a column, of raw bits element(k) and scale(block).
template <typename Element, typename Scale>
void read_factors(const DotSpec& spec, const FormatSpec& format, const FactorCounts& counts,
                  const Element& element, const Scale& scale, Factors& out) {
  const auto block = static_cast<std::uint64_t>(std::max(counts.elements_per_scale, 1));
  out.value.resize(counts.elements), out.exponent.resize(counts.elements);
  out.scale.clear(), out.of_scale.clear();
  for (std::uint64_t s = 0; s < counts.scales; ++s) {
    const std::uint64_t bits = scale(s) & ((std::uint64_t{1} << spec.scale.value_bits()) - 1);
    out.scale.push_back(decode_value(bits, spec.scale));
    out.of_scale.push_back(exponent_in(out.scale.back(), spec.scale));
  }
  for (std::uint64_t k = 0; k < counts.elements; ++k) {
    const double x = decode_value(element(k), format);
    const bool scales = spec.block_scaled() && !spec.grouped;
    out.value[k] = scales ? x * out.scale[k / block] : x;
    out.exponent[k] = exponent_in(x, format) + (scales ? out.of_scale[k / block] : 0);
  }
}

/// Elements of D from the factors that meet in them.
class ElementTolerance {
 public:
  ElementTolerance(const Instruction& instruction, const DotSpec& spec, const Matmul& problem)
      : spec_(spec),
        chain_bound_(spec),
        problem_(problem),
        depth_(static_cast<std::uint64_t>(instruction.k)) {
    for_each_step(spec, [&](int start, int count) { steps_.push_back({start, count}); });
    order_matters_ = steps_.size() > 1 || (spec.grouped && spec.scale_block > spec.datapath.group);
    for (int i = 0; i < spec.k; ++i)
      order_.push_back(static_cast<std::uint64_t>(evaluation_k(spec.datapath.order, spec.k, i)));
  }

  /// Element `e` of `out`; `c` as the instruction or the epilogue reads it.
  void run(const Factors& a, const Factors& b, double c_given, std::uint64_t e, GemmTolerance& out) const {
    const double c = problem_.epilogue ? 0 : c_given;
    const std::uint64_t slice = std::max<std::uint64_t>(slice_length(problem_, depth_), depth_);
    const std::uint64_t length = problem_.promote != 0 ? problem_.promote : slice;
    const bool totals = problem_.promote != 0 || problem_.split_k > 1;
    State x;
    x.sum.add(c);
    // C starts the first chain, or the total of promotion: as part of the running sum it costs no less.
    x.magnitude = x.of_chain = std::fabs(c);
    x.largest = exponent_in(c, spec_.d);
    for (std::uint64_t first = 0; first < problem_.k; first += slice) {
      const std::uint64_t end = std::min(problem_.k, first + slice);
      for (std::uint64_t start = first; start < end; start += length) {
        const std::uint64_t last = std::min(end, start + length);
        x.orders.start(start == 0 && problem_.promote == 0 ? c : 0);
        for (std::uint64_t k = start; k < last; k += depth_) instruction(a, b, k / depth_, x);
        x.error += chain_bound_(quotient_up(last - start, depth_), {x.of_chain * (1 + kGrowth), x.largest});
        if (totals) x.error += 2 * total_error_bound(x.magnitude + x.error);
        // Two totals that differ may be rounded to opposite sides.
        if (totals && x.orders.reach != 0)
          x.orders.add(2 * total_error_bound(std::fabs(x.sum.value()) + x.error));
        x.of_chain = 0, x.largest = kNoExponent;
      }
    }
    const double exact = x.sum.value(), most = decode_value(spec_.d.max_finite_bits(), spec_.d);
    out.exact[e] = exact;
    out.bound[e] = !std::isfinite(exact)               ? std::numeric_limits<double>::quiet_NaN()
                   : x.magnitude + x.error >= most / 2 ? std::numeric_limits<double>::infinity()
                                                       : x.error + 0x1p-50 * x.magnitude;
    if (std::isfinite(exact)) out.reach[e] = x.orders.reach, out.reach_square[e] = x.orders.square;
    if (problem_.epilogue) finish(*problem_.epilogue, c_given, e, out);
  }

 private:
  /// Sums of absolute values in binary64 are a little off.
  static constexpr double kGrowth = 0x1p-30;
  struct Step {
    int start, count;
  };
  struct Addend {
    double value;
    int exponent;
  };
  /// What another order of the products inside the instructions may change.
  struct Orders {
    double reach = 0, square = 0;  ///< sums of the parts of |D' - D|, and of their squares
    // Of the chain: its exact sum so far, the most that its running sum is off in any order, and a power of
    // two that everything is a multiple of.
    double exact = 0, lost = 0;
    int grid = kNoPlace;
    bool fresh = true;  ///< the running sum is still C, which no step has rounded

    void start(double c) { exact = c, lost = 0, grid = c == 0 ? kNoPlace : last_place(c), fresh = true; }
    void add(double part, double times = 1) { reach += times * part, square += times * part * part; }
  };
  struct State {
    Sum sum;
    double magnitude = 0, error = 0, of_chain = 0;  ///< sums of magnitudes, and the bound so far
    int largest = kNoExponent;
    Orders orders;
  };
  /// The products of a step that are not zero, or groups of them.
  int addends(const Factors& a, const Factors& b, std::uint64_t first, const Step& step, State& x,
              Addend* out) const {
    const int end = step.start + step.count, group = spec_.grouped ? spec_.datapath.group : 1;
    int count = 0;
    for (int i = step.start; i < end; i += group) {
      Addend one{0, kNoExponent};
      double magnitude = 0;
      int grid = kNoPlace;
      for (int g = i; g < std::min(i + group, end); ++g) {
        const std::uint64_t k = first + order_[static_cast<std::size_t>(g)];
        if (k >= a.value.size()) continue;
        const std::uint64_t of_b = a.at.empty() ? k : a.at[k];
        const double product = a.value[k] * b.value[of_b];
        if (product == 0) continue;
        one.value += product;
        magnitude += std::fabs(product);
        grid = std::min(grid, last_place(product));
        one.exponent = std::max(one.exponent, a.exponent[k] + b.exponent[of_b]);
      }
      if (one.exponent == kNoExponent) continue;
      if (spec_.grouped) {
        const std::uint64_t block =
            (first + order_[static_cast<std::size_t>(i)]) / static_cast<std::uint64_t>(spec_.scale_block);
        const double scale = a.scale[block] * b.scale[block];
        one = {one.value * scale, a.of_scale[block] + b.of_scale[block]};
        magnitude *= scale;
        grid += last_place(scale);
      }
      x.orders.grid = std::min(x.orders.grid, grid);
      x.sum.add(one.value);
      x.of_chain += magnitude, x.magnitude += magnitude;
      x.largest = std::max(x.largest, one.exponent);
      out[count++] = one;
    }
    return count;
  }

  void instruction(const Factors& a, const Factors& b, std::uint64_t number, State& x) const {
    std::array<Addend, kMaxK> list;
    Addend* end = list.data();
    const double magnitude = x.of_chain;
    for (const Step& step : steps_)
      end += addends(a, b, number * static_cast<std::uint64_t>(spec_.k), step, x, end);
    if (order_matters_ && end != list.data()) other_orders(list.data(), end, x.of_chain - magnitude, x);
  }

  /// How far apart one instruction can bring two running sums that add its products, first to last, in two
  /// orders. Every order has the same products, so only units may differ: they follow from the largest
  /// running sum and the smallest that an order can have. docs/audit.md, "In your own tests".
  void other_orders(const Addend* first, const Addend* last, double magnitude, State& x) const {
    Orders& orders = x.orders;
    const Datapath& datapath = spec_.datapath;
    const int fraction = datapath.output.fraction_bits;
    const bool c_last = c_is_added_last(datapath);
    const double steps = static_cast<double>(steps_.size());
    int largest = datapath.min_alignment_exponent, least = kNoPlace;
    double sum = 0;
    for (const Addend* each = first; each != last; ++each) {
      sum += each->value;
      largest = std::max(largest, each->exponent), least = std::min(least, each->exponent);
    }
    // Any of the products may come first: running sums are from the least to the most of what they add to.
    const double start = c_last ? 0 : orders.exact, off = (c_last ? 0 : orders.lost) + 0x1p-40 * x.of_chain;
    const double low = start - (magnitude - sum) / 2 - off, high = start + (magnitude + sum) / 2 + off;
    const auto unit_of = [&](int exponent) { return clamped_power(exponent - datapath.fraction_bits); };
    const auto rounds_to = [&](double most) {
      return clamped_power(exponent_in(most, spec_.step.output) - fraction);
    };
    const auto aligned_to = [&](double most) {
      return std::max(largest, exponent_in(most, spec_.step.output));
    };
    double most = std::max(std::fabs(low), std::fabs(high));
    // Every step may cut and round, which takes a sum across a power of two at most once.
    const double slack = 2 * steps * (unit_of(aligned_to(most)) + rounds_to(most));
    most += slack;
    const double nearest =
        low - slack <= 0 && high + slack >= 0 ? 0 : std::min(std::fabs(low - slack), std::fabs(high + slack));
    const int smallest = exponent_in(nearest, spec_.step.output), to = aligned_to(most);
    const double unit = unit_of(to), round = rounds_to(most);
    // Sums are multiples of the grid, of their own last place and, aligned, of the least unit.
    const auto beyond = [&](double whole, int exponent) {
      return std::max(0.0, whole - clamped_power(std::max(orders.grid, exponent)));
    };
    const int lowest = std::max<int>(datapath.min_alignment_exponent, c_last ? kNoExponent : smallest);
    const bool truncates = datapath.output.rounding == Rounding::toward_zero;
    const double cut = beyond(unit, smallest - (orders.fresh ? spec_.d.fraction_bits : fraction));
    double rounded = beyond(round, std::max(least, lowest) - datapath.fraction_bits);
    if (rounded != 0 && !truncates) rounded = round;
    double shared = 0, lost = 0;
    for (const Addend* each = first; each != last && !spec_.grouped; ++each) {
      const double size = std::fabs(each->value);
      const auto cut_to = [&](double to_unit) { return size - std::floor(size / to_unit) * to_unit; };
      const double part = cut_to(unit) - cut_to(unit_of(std::max(lowest, each->exponent)));
      orders.add(part);
      shared += std::copysign(part, each->value), lost += cut_to(unit);
    }
    // What all products have in common when a step has another unit; the most has it already.
    orders.square += shared * shared;
    if (spec_.grouped) {  // a group may hold other products in another order, and have another sign
      const int count = spec_.k / spec_.datapath.group;
      const double groups = count, of_group = beyond(unit, kNoExponent);
      orders.add(2 * of_group, groups), lost = groups * of_group;
    }
    // Toward zero, two sums of one sign lose on one side; to nearest, half a unit on either.
    const double sides = nearest == 0 ? 2 : 1;
    orders.add(sides * cut, steps);
    orders.add((truncates ? sides : 1) * rounded, steps);
    orders.exact += sum, orders.lost += lost + steps * (cut + rounded);
    if (c_last) {
      const int place = exponent_in(std::fabs(orders.exact) + orders.lost, spec_.d) - spec_.d.fraction_bits;
      const double added = orders.grid < place ? clamped_power(place) : 0;
      if (orders.reach != 0)
        orders.add(final_add_rounding(datapath) == Rounding::nearest_even ? added : 2 * added);
      orders.lost += added;
    }
    orders.fresh = false;
  }

  /// What the epilogue makes of an element's sum.
  void finish(const Epilogue& epilogue, double c, std::uint64_t e, GemmTolerance& out) const {
    const FormatSpec format = spec_of(epilogue.output);
    const double alpha = epilogue.alpha, addend = epilogue.beta == 0 ? 0 : epilogue.beta * c;
    const double exact = alpha * out.exact[e] + addend, of_sum = std::fabs(alpha) * out.bound[e];
    const double most = std::fabs(exact) + of_sum;
    // beta * C, the fma and D are rounded to nearest.
    const double after = total_error_bound(most) + total_error_bound(most, format);
    const double bound = of_sum + total_error_bound(std::fabs(addend)) + after;
    out.exact[e] = exact;
    out.bound[e] = !std::isfinite(exact) ? std::numeric_limits<double>::quiet_NaN()
                   : most + bound >= decode_value(format.max_finite_bits(), format)
                       ? std::numeric_limits<double>::infinity()
                       : bound;
    if (out.reach[e] == 0) return;  // every order has this sum
    out.reach[e] = std::fabs(alpha) * out.reach[e] + 2 * after;
    out.reach_square[e] = alpha * alpha * out.reach_square[e] + 4 * after * after;
  }

  const DotSpec& spec_;
  ChainErrorBound chain_bound_;
  const Matmul& problem_;
  std::uint64_t depth_;
  std::vector<Step> steps_;
  bool order_matters_ = false;
  std::vector<std::uint64_t> order_;
};

}  // namespace mmaudit::detail
