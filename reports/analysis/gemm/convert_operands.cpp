// Numbers to elements and scales.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "element_values.hpp"
#include "fast_cast.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/quantize.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

/// Where element (lane, k) of an operand lies.
struct Layout {
  std::uint64_t lanes, depth, of_lane, of_k;
  [[nodiscard]] std::uint64_t at(std::uint64_t lane, std::uint64_t k) const {
    return lane * of_lane + k * of_k;
  }
  /// The order in memory: neighbours are lanes, or else k.
  [[nodiscard]] bool lanes_inside() const { return of_lane == 1; }
  [[nodiscard]] std::uint64_t outer() const { return lanes_inside() ? depth : lanes; }
  [[nodiscard]] std::uint64_t inner() const { return lanes_inside() ? lanes : depth; }
};

int field_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7FF) - 1023; }

/// Largest finite magnitude of every `length` of k of every lane: (lanes, blocks).
std::vector<double> largest_of_blocks(std::span<const double> x, const Layout& layout, std::uint64_t length) {
  const std::uint64_t blocks = (layout.depth + length - 1) / length;
  std::vector<double> out(layout.lanes * blocks, 0.0);
  const bool lanes_inside = layout.lanes_inside();
  for (std::uint64_t o = 0; o < layout.outer(); ++o) {
    for (std::uint64_t i = 0; i < layout.inner(); ++i) {
      const std::uint64_t lane = lanes_inside ? i : o, k = lanes_inside ? o : i;
      const double size = std::fabs(x[layout.at(lane, k)]);
      double& largest = out[lane * blocks + k / length];
      if (size > largest && size < std::numeric_limits<double>::infinity()) largest = size;
    }
  }
  return out;
}

class Conversion {
 public:
  Conversion(const GemmDtype& dtype, Scaling scaling, std::span<const double> x, const Layout& layout,
             double largest)
      : dtype_(dtype),
        x_(x),
        layout_(layout),
        format_(spec_of(dtype.element)),
        decode_(format_),
        cast_(format_, dtype.cast),
        most_(decode_value(format_.max_finite_bits(), format_)),
        least_normal_(std::ldexp(1.0, format_.min_exponent())),
        overflow_(most_ + std::ldexp(0.5, format_.max_exponent() - format_.fraction_bits)) {
    out_.lanes = out_.blocks = 1;
    out_.factors = {1.0F};
    if (by_instruction(scaling)) {
      micro_scales(scaling, largest);
    } else if (scaling != Scaling::none) {
      software_scales(scaling, largest);
    }
  }

  ConvertedOperand run(unsigned threads) {
    const std::uint64_t count = x_.size();
    out_.raw.resize(count * format_.storage_bytes());
    out_.values.resize(count);
    pieces_ = (layout_.depth + kPiece - 1) / kPiece;
    out_.pieces.resize(layout_.lanes * pieces_);
    const bool lanes_inside = layout_.lanes_inside();
    const std::uint64_t outer = layout_.outer(), inner = layout_.inner();
    constexpr std::uint64_t kSlice = kPiece;  // a piece is one slice's
    std::mutex mutex;
    detail::parallel_for((outer + kSlice - 1) / kSlice, threads, [&](std::uint64_t slice) {
      CastCounts counts;
      std::vector<LanePiece> pieces(lanes_inside ? layout_.lanes : pieces_);
      for (std::uint64_t o = slice * kSlice; o < std::min(outer, (slice + 1) * kSlice); ++o) {
        if (!lanes_inside) std::fill(pieces.begin(), pieces.end(), LanePiece{});
        for (std::uint64_t i = 0; i < inner; ++i) {
          if (lanes_inside) {
            one(i, o, counts, pieces[i]);
          } else {
            one(o, i, counts, pieces[i / kPiece]);
          }
        }
        if (!lanes_inside) std::copy(pieces.begin(), pieces.end(), &out_.pieces[o * pieces_]);
      }
      for (std::uint64_t lane = 0; lanes_inside && lane < layout_.lanes; ++lane)
        out_.pieces[lane * pieces_ + slice] = pieces[lane];
      const std::lock_guard lock(mutex);
      out_.counts += counts;
    });
    return std::move(out_);
  }

 private:
  void software_scales(Scaling scaling, double largest) {
    if (scaling == Scaling::tensor) {
      for (const double each : largest_of_blocks(x_, layout_, std::max<std::uint64_t>(layout_.depth, 1)))
        largest = std::max(largest, each);
      out_.factors = {factor_for(largest, most_)};
      return;
    }
    const std::uint64_t length = along_k(scaling) ? kScaleBlock : std::max<std::uint64_t>(layout_.depth, 1);
    const std::vector<double> sizes = largest_of_blocks(x_, layout_, length);
    if (sizes.empty()) return;
    out_.lanes = layout_.lanes;
    out_.blocks = sizes.size() / layout_.lanes;
    out_.factors.clear();
    // One factor for 128 x 128 is one for 128 lanes.
    const std::uint64_t together = scaling == Scaling::tiles ? kScaleBlock : 1;
    for (std::uint64_t lane = 0; lane < out_.lanes; ++lane)
      for (std::uint64_t block = 0; block < out_.blocks; ++block) {
        double largest_of_tile = 0;
        const std::uint64_t first = lane / together * together;
        for (std::uint64_t each = first; each < std::min(first + together, out_.lanes); ++each)
          largest_of_tile = std::max(largest_of_tile, sizes[each * out_.blocks + block]);
        out_.factors.push_back(factor_for(largest_of_tile, most_));
      }
  }

  void micro_scales(Scaling scaling, double largest) {
    const std::vector<double> sizes =
        largest_of_blocks(x_, layout_, static_cast<std::uint64_t>(dtype_.scale_block));
    const FormatSpec scale = spec_of(dtype_.scale);
    const QuantizeRule rule = quantize_rule(dtype_, scaling, false);
    if (!scale.no_zero) {
      for (const double each : sizes) largest = std::max(largest, each);
      out_.factors = {factor_of_tensor(rule, largest)};
    }
    scale_blocks_ = layout_.lanes == 0 ? 0 : sizes.size() / layout_.lanes;
    for (const double each : sizes) {
      out_.scales.push_back(scale_byte(rule, each, static_cast<double>(out_.factors[0])));
      scale_values_.push_back(decode_value(out_.scales.back(), scale));
    }
  }

  void one(std::uint64_t lane, std::uint64_t k, CastCounts& counts, LanePiece& piece) {
    const std::uint64_t at = layout_.at(lane, k);
    const double x = x_[at];
    const double by =
        scale_values_.empty()
            ? 1.0
            : scale_values_[lane * scale_blocks_ + k / static_cast<std::uint64_t>(dtype_.scale_block)];
    const double whole = by * static_cast<double>(out_.factor(lane, k / kScaleBlock));
    const double scaled = scaled_down(x, by, static_cast<double>(out_.factor(lane, k / kScaleBlock)));
    const std::uint64_t bits = cast_(scaled);
    store(at, bits);
    const double value = decode_(bits);
    out_.values[at] = value * by;
    if (value != 0 && by != 0 && std::isfinite(value)) {
      const int of_scale = field_of(by);
      piece.squares += value * by * (value * by);
      // A subnormal keeps the least exponent; widened or normalised it would have a lower one.
      piece.element = std::max(piece.element, std::max(field_of(value), format_.min_exponent()) + of_scale);
      piece.scale = std::max(piece.scale, of_scale);
    }
    ++counts.elements;
    if (!std::isfinite(x)) {
      ++counts.not_finite;
      return;
    }
    ++counts.bits_lost[bits_lost(x, value * whole)];
    if (x != 0 && (value == 0 || by == 0)) {
      ++counts.underflow;
    } else if (std::fabs(value) < least_normal_ && value != 0) {
      ++counts.subnormal;
    } else if (!std::isfinite(value) || std::fabs(scaled) > overflow_) {
      ++counts.saturated;
    }
  }

  /// See CastCounts.
  static std::size_t bits_lost(double x, double restored) {
    if (x == restored) return 0;
    const double error = std::fabs((restored - x) / x);  // a NaN or an infinity in its place loses all
    return std::isfinite(error) ? static_cast<std::size_t>(std::clamp(field_of(error) + 25, 0, 24)) : 24;
  }

  void store(std::uint64_t at, std::uint64_t bits) {
    std::byte* to = out_.raw.data() + at * format_.storage_bytes();
    switch (format_.storage_bits) {  // of a known width the copy is fast
      case 8:
        std::memcpy(to, &bits, 1);
        break;
      case 16:
        std::memcpy(to, &bits, 2);
        break;
      default:
        std::memcpy(to, &bits, 4);
    }
  }

  GemmDtype dtype_;
  std::span<const double> x_;
  Layout layout_;
  FormatSpec format_;
  ElementValues decode_;
  FastCast cast_;
  double most_, least_normal_;
  double overflow_;  ///< what is larger rounds to a number that the format lacks
  std::vector<double> scale_values_;
  std::uint64_t scale_blocks_ = 0, pieces_ = 0;
  ConvertedOperand out_;
};

}  // namespace

CastCounts& CastCounts::operator+=(const CastCounts& other) {
  elements += other.elements;
  underflow += other.underflow;
  subnormal += other.subnormal;
  saturated += other.saturated;
  not_finite += other.not_finite;
  for (std::size_t i = 0; i < bits_lost.size(); ++i) bits_lost[i] += other.bits_lost[i];
  return *this;
}

ConvertedOperands convert_alone(const GemmDtype& dtype, Scaling scaling, const GemmOperands& operands,
                                const MatmulOptions& how, const ConvertedOperand* b) {
  const auto [m, n, k] = std::tuple(operands.m, operands.n, operands.k);
  ConvertedOperands out{dtype, scaling, m, n, k, {}, {}, {}};
  const Scaling of_a = scaling == Scaling::tiles ? Scaling::blocks : scaling;
  out.a = Conversion(dtype, of_a, operands.a, {m, k, k, 1}, operands.largest_a).run(how.threads);
  GemmDtype of_b = dtype;
  of_b.element = dtype.element_b();
  out.b = b != nullptr
              ? *b
              : Conversion(of_b, scaling, operands.b, {n, k, 1, n}, operands.largest_b).run(how.threads);
  return out;
}

ConvertedOperands convert_operands(const GemmDtype& dtype, Scaling scaling, const GemmOperands& operands,
                                   const MatmulOptions& how, const ConvertedOperand* b) {
  ConvertedOperands out = convert_alone(dtype, scaling, operands, how, b);
  out.product = converted_product(out, how);
  for (std::size_t i = 0; i < operands.c.size(); ++i) out.product[i] += operands.c[i];
  return out;
}

}  // namespace mmaudit::report
