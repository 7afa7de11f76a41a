// Numbers to elements and scales, and what they lose on the way.
#include <algorithm>
#include <bit>
#include <cmath>

#include "mmaudit/detail/quantize_loop.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

int field_of(double x) { return static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52 & 0x7FF) - 1023; }

/// See CastCounts.
std::size_t bits_lost(double x, double restored) {
  if (x == restored) return 0;
  const double error = std::fabs((restored - x) / x);  // a NaN or an infinity in its place loses all
  return std::isfinite(error) ? static_cast<std::size_t>(std::clamp(field_of(error) + 25, 0, 24)) : 24;
}

/// What becomes of an element, as reports count it.
class Counter {
 public:
  Counter(const QuantizeRule& rule, std::uint64_t pieces, ConvertedOperand& out)
      : format_(rule.element),
        decode_(format_),
        least_normal_(format_.integer() ? 0 : std::ldexp(1.0, format_.min_exponent())),
        overflow_(rule.most + (format_.integer()
                                   ? 0.5
                                   : std::ldexp(0.5, format_.max_exponent() - format_.fraction_bits))),
        pieces_(pieces),
        out_(out) {}

  void one(const detail::QuantizedElement& e, CastCounts& counts) const {
    const double value = decode_(e.bits), by = e.scale;
    out_.values[e.at] = value * by;
    if (value != 0 && by != 0 && std::isfinite(value)) {
      LanePiece& piece = out_.pieces[e.row * pieces_ + e.k / kPiece];
      const int of_scale = field_of(by);
      piece.squares += value * by * (value * by);
      // A subnormal keeps the least exponent; widened or normalised it would have a lower one.
      piece.element = std::max(piece.element, std::max(field_of(value), format_.min_exponent()) + of_scale);
      piece.scale = std::max(piece.scale, of_scale);
    }
    ++counts.elements;
    if (!std::isfinite(e.x)) {
      ++counts.not_finite;
      return;
    }
    ++counts.bits_lost[bits_lost(e.x, value * (by * e.factor))];
    if (e.x != 0 && (value == 0 || by == 0)) {
      ++counts.underflow;
    } else if (std::fabs(value) < least_normal_ && value != 0) {
      ++counts.subnormal;
    } else if (!std::isfinite(value) || std::fabs(e.scaled) > overflow_) {
      ++counts.saturated;
    }
  }

 private:
  FormatSpec format_;
  FastDecode decode_;
  double least_normal_;
  double overflow_;  ///< what is larger rounds to a number that the format lacks
  std::uint64_t pieces_;
  ConvertedOperand& out_;
};

ConvertedOperand converted(const QuantizeRule& rule, bool of_b, std::span<const double> x,
                           std::uint64_t lanes, std::uint64_t k, double largest, unsigned threads,
                           const float* of_tensor = nullptr) {
  Quantization work;
  work.rule = rule;
  work.lanes = lanes, work.k = k;
  work.x = x.data(), work.from = spec_of(Format::f64);
  work.lane_stride = of_b ? 1 : k, work.k_stride = of_b ? lanes : 1;
  work.exact_largest = true, work.whole_largest = largest, work.tensor_largest = of_tensor;
  work.k_outside = of_b;
  ConvertedOperand out;
  out.raw.resize(x.size() * rule.element.storage_bytes());
  out.values.resize(x.size());
  out.scales.resize(lanes * work.scale_blocks());
  out.factors.assign(std::max<std::uint64_t>(work.factor_count(), 1), 1.0F);
  const bool per_lane = rule.factor_per_lane() && work.factor_count() != 0;
  out.lanes = per_lane ? lanes : 1;
  out.blocks = per_lane ? work.factor_blocks() : 1;
  out.depth = rule.factor_block();
  const std::uint64_t pieces = detail::quotient_up(k, kPiece);
  out.pieces.resize(lanes * pieces);
  work.elements = out.raw.data(), work.scales = out.scales.data(), work.factors = out.factors.data();
  const detail::QuantizeLoop loop(work);
  const Counter counter(rule, pieces, out);
  std::vector<CastCounts> counts(loop.groups());
  loop.run(threads, [&](const detail::QuantizedElement& e) { counter.one(e, counts[loop.group_of(e.row)]); });
  for (const CastCounts& each : counts) out.counts += each;
  return out;
}

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

ConvertedOperands convert_alone(const GemmDtype& dtype, const Scaling& scaling, const GemmOperands& operands,
                                const MatmulOptions& how, const ConvertedOperand* b) {
  const auto [m, n, k] = std::tuple(operands.m, operands.n, operands.k);
  ConvertedOperands out{dtype, scaling, m, n, k, {}, {}, {}};
  out.a = converted(quantize_rule(dtype, scaling, false), false, operands.a, m, k, operands.largest_a,
                    how.threads, operands.static_a != 0 ? &operands.static_a : nullptr);
  out.b = b != nullptr ? *b
                       : converted(quantize_rule(dtype, scaling, true), true, operands.b, n, k,
                                   operands.largest_b, how.threads);
  return out;
}

ConvertedOperands convert_operands(const GemmDtype& dtype, const Scaling& scaling,
                                   const GemmOperands& operands, const MatmulOptions& how,
                                   const ConvertedOperand* b) {
  ConvertedOperands out = convert_alone(dtype, scaling, operands, how, b);
  out.product = converted_product(out, how);
  for (std::size_t i = 0; i < operands.c.size(); ++i) out.product[i] += operands.c[i];
  return out;
}

}  // namespace mmaudit::report
