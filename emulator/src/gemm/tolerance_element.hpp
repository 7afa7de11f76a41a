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

/// A number is a multiple of 2^exponent: an odd one, or any.
struct Place {
  int exponent;
  bool odd;
};

/// Place of the last bit that is set in a number other than zero.
inline Place last_place(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto field = static_cast<int>(bits >> 52 & 0x7FF);
  const std::uint64_t unit = std::uint64_t{1} << 52;
  return {std::max(field, 1) - 1075 + std::countr_zero((bits & (unit - 1)) | unit), true};
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

/// What rounding leaves in D - exact when every part that is cut off is uniformly distributed.
struct Chance {
  double drift = 0, variance = 0;

  /// Truncation to multiples of 2^unit of a number of this sign.
  void truncate(double sign, int unit, Place place) {
    if (place.exponent >= unit) return;
    // Every multiple of `rest` below `whole` is as likely, or every odd one.
    const double whole = clamped_power(unit), rest = clamped_power(place.exponent);
    drift -= std::copysign((place.odd ? whole : whole - rest) / 2, sign);
    variance += (whole * whole - (place.odd ? 4 : 1) * rest * rest) / 12;
  }
  void round(double sign, int unit, Place place, Rounding rounding) {
    if (rounding == Rounding::toward_zero) return truncate(sign, unit, place);
    if (place.exponent >= unit) return;
    const double whole = clamped_power(unit), rest = clamped_power(place.exponent);
    // Ties among them: with the last bit one below the unit, all of the odd ones.
    variance += !place.odd                   ? (whole * whole + 2 * rest * rest) / 12
                : place.exponent + 1 == unit ? whole * whole / 4
                                             : (whole * whole - 4 * rest * rest) / 12;
  }
};

/// Elements of D from the factors that meet in them.
class ElementTolerance {
 public:
  ElementTolerance(const Instruction& instruction, const DotSpec& spec, const Matmul& problem)
      : spec_(spec),
        chain_bound_(spec),
        problem_(problem),
        depth_(static_cast<std::uint64_t>(instruction.k)) {
    for_each_step(spec, [&](int start, int count) { steps_.push_back({start, count}); });
    for (int i = 0; i < spec.k; ++i)
      order_.push_back(static_cast<std::uint64_t>(evaluation_k(spec.datapath.order, spec.k, i)));
  }

  /// Element `e` of `out`.
  void run(const Factors& a, const Factors& b, double c, std::uint64_t e, GemmTolerance& out) const {
    const std::uint64_t slice = std::max<std::uint64_t>(slice_length(problem_, depth_), depth_);
    const std::uint64_t length = problem_.promote != 0 ? problem_.promote : slice;
    const bool totals = problem_.promote != 0 || problem_.split_k > 1;
    State x;
    x.sum.add(c);
    // C starts the first chain, or the total of promotion: as part of the running sum it costs no less.
    x.magnitude = x.of_chain = std::fabs(c);
    x.largest = exponent_in(c, spec_.d);
    double total = problem_.promote != 0 ? c : 0;
    for (std::uint64_t first = 0; first < problem_.k; first += slice) {
      const std::uint64_t end = std::min(problem_.k, first + slice);
      for (std::uint64_t start = first; start < end; start += length) {
        const std::uint64_t last = std::min(end, start + length);
        x.running = start == 0 && problem_.promote == 0 ? c : 0;
        x.place = x.running == 0 ? kExact : last_place(x.running);
        x.least_place = kExact.exponent, x.aligned = kNoExponent;
        for (std::uint64_t k = start; k < last; k += depth_) instruction(a, b, k / depth_, x);
        // In another order the running sum may be larger, and so may be what is cut off.
        x.chance.round(0, x.aligned - spec_.datapath.fraction_bits, {x.least_place, false},
                       Rounding::nearest_even);
        x.error += chain_bound_(quotient_up(last - start, depth_), {x.of_chain * (1 + kGrowth), x.largest});
        if (totals) x.error += 2 * total_error_bound(x.magnitude + x.error);
        x.of_chain = 0, x.largest = kNoExponent;
        if (!totals) continue;
        total += x.running;
        x.unit = exponent_in(total, total_) - total_.fraction_bits;
        if (start != 0 || total != x.running) x.chance.round(total, x.unit, kRandom, Rounding::nearest_even);
      }
    }
    const double exact = x.sum.value(), most = decode_value(spec_.d.max_finite_bits(), spec_.d);
    out.exact[e] = exact;
    out.bound[e] = !std::isfinite(exact)               ? std::numeric_limits<double>::quiet_NaN()
                   : x.magnitude + x.error >= most / 2 ? std::numeric_limits<double>::infinity()
                                                       : x.error + 0x1p-50 * x.magnitude;
    out.drift[e] = x.chance.drift;
    out.spacing[e] = x.unit == kNoExponent ? 0 : clamped_power(x.unit);
    // What is off at all may be off by a last place.
    const double least = out.spacing[e] * out.spacing[e] / 12;
    out.deviation[e] = x.chance.variance == 0 ? 0 : std::sqrt(std::max(x.chance.variance, least));
  }

 private:
  static constexpr Place kExact{10000, false}, kRandom{-10000, false};  ///< of zero; of many roundings
  /// Sums of absolute values in binary64 are a little off.
  static constexpr double kGrowth = 0x1p-30;
  struct Step {
    int start, count;
  };
  struct State {
    Sum sum;
    double magnitude = 0, error = 0, of_chain = 0;  ///< sums of magnitudes, and the bound so far
    int largest = kNoExponent;
    Chance chance;
    double running = 0;  ///< the chain's sum as it is likely to be
    Place place = kExact;
    int least_place = kExact.exponent, aligned = kNoExponent;  ///< of the chain's addends; of its alignments
    int unit = kNoExponent;                                    ///< D is a multiple of 2^unit
  };
  struct Addend {
    double value;
    int exponent;
  };

  /// The products of a step that are not zero, or groups of them.
  int addends(const Factors& a, const Factors& b, std::uint64_t first, const Step& step, State& x,
              Addend* out) const {
    const int end = step.start + step.count, group = spec_.grouped ? spec_.datapath.group : 1;
    int count = 0;
    for (int i = step.start; i < end; i += group) {
      Addend one{0, kNoExponent};
      double magnitude = 0;
      for (int g = i; g < std::min(i + group, end); ++g) {
        const std::uint64_t k = first + order_[static_cast<std::size_t>(g)];
        if (k >= a.value.size()) continue;
        const std::uint64_t of_b = a.at.empty() ? k : a.at[k];
        const double product = a.value[k] * b.value[of_b];
        if (product == 0) continue;
        one.value += product;
        magnitude += std::fabs(product);
        one.exponent = std::max(one.exponent, a.exponent[k] + b.exponent[of_b]);
      }
      if (one.exponent == kNoExponent) continue;
      if (spec_.grouped) {
        const std::uint64_t block =
            (first + order_[static_cast<std::size_t>(i)]) / static_cast<std::uint64_t>(spec_.scale_block);
        const double scale = a.scale[block] * b.scale[block];
        one = {one.value * scale, a.of_scale[block] + b.of_scale[block]};
        magnitude *= scale;
      }
      x.sum.add(one.value);
      x.of_chain += magnitude, x.magnitude += magnitude;
      x.largest = std::max(x.largest, one.exponent);
      out[count++] = one;
    }
    return count;
  }

  void instruction(const Factors& a, const Factors& b, std::uint64_t number, State& x) const {
    const Datapath& datapath = spec_.datapath;
    const bool c_last = c_is_added_last(datapath);
    const double before = x.running;
    const Place place_before = x.place;
    if (c_last) x.running = 0, x.place = kExact;
    std::array<Addend, kMaxK> list;
    for (const Step& step : steps_) {
      const int count = addends(a, b, number * static_cast<std::uint64_t>(spec_.k), step, x, list.data());
      int aligned = std::max<int>(datapath.min_alignment_exponent, exponent_in(x.running, spec_.step.output));
      for (int i = 0; i < count; ++i) aligned = std::max(aligned, list[static_cast<std::size_t>(i)].exponent);
      if (count != 0) x.aligned = std::max(x.aligned, aligned);
      const int unit = aligned - datapath.fraction_bits;
      const double drift = x.chance.drift;
      Place place = kExact;
      const auto cut = [&](double value, Place of_value) {
        x.chance.truncate(value, unit, of_value);
        x.least_place = std::min(x.least_place, of_value.exponent);
        place = sum_of(place, of_value.exponent < unit ? Place{unit, false} : of_value);
      };
      double sum = x.running;
      if (x.running != 0) cut(x.running, x.place);
      for (int i = 0; i < count; ++i) {
        const Addend& one = list[static_cast<std::size_t>(i)];
        sum += one.value;
        if (one.value != 0) cut(one.value, last_place(one.value));
      }
      const bool last = &step == &steps_.back() && !c_last;
      round(sum, place, last ? spec_.d : spec_.step.output, datapath.output.fraction_bits,
            datapath.output.rounding, x);
      x.running = sum + (x.chance.drift - drift);
    }
    if (!c_last) return;
    const double drift = x.chance.drift, sum = x.running + before;
    round(sum, sum_of(x.place, place_before), spec_.d, spec_.d.fraction_bits, final_add_rounding(datapath),
          x);
    x.running = sum + (x.chance.drift - drift);
  }

  static Place sum_of(Place x, Place y) {
    if (x.exponent != y.exponent) return x.exponent < y.exponent ? x : y;
    return x.odd && y.odd ? Place{x.exponent + 1, false} : Place{x.exponent, false};
  }

  /// A sum as a step leaves it.
  static void round(double sum, Place place, const FormatSpec& format, int fraction_bits, Rounding rounding,
                    State& x) {
    const int unit = exponent_in(sum, format) - fraction_bits;
    x.chance.round(sum, unit, place, rounding);
    x.place = place.exponent < unit ? Place{unit, false} : place;
    if (x.place.exponent != kExact.exponent) x.unit = x.place.exponent;
  }

  const DotSpec& spec_;
  ChainErrorBound chain_bound_;
  const Matmul& problem_;
  FormatSpec total_ = spec_of(Format::f32);
  std::uint64_t depth_;
  std::vector<Step> steps_;
  std::vector<std::uint64_t> order_;
};

}  // namespace mmaudit::detail
