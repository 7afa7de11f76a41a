#include "mmaudit/oracles/reference.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "mmaudit/arithmetic/staged_dot.hpp"
#include "number.hpp"
#include "reference_parts.hpp"

namespace mmaudit::oracle {
namespace {

/// How the datapath sees a value of `format`.
void apply_subnormal_rule(Number& x, const FormatSpec& format, SubnormalRule rule) {
  if (x.nan || x.infinite || x.zero() || leading_exponent(x.value) >= format.min_exponent()) return;
  if (rule == SubnormalRule::normalised) x.spelled = leading_exponent(x.value);
  if (rule == SubnormalRule::flushed) x.value = {};
}

/// The same, also where -0 becomes +0.
void apply_rules_of_zero(Number& x, const FormatSpec& format, SubnormalRule rule) {
  if (rule == SubnormalRule::flushed_to_plus && !x.nan && !x.infinite &&
      (x.zero() || leading_exponent(x.value) < format.min_exponent())) {
    x.value = {};
    x.negative = false;
  }
  apply_subnormal_rule(x, format, rule);
}

Number decode_factor(const FormatSpec& stored, const Datapath& datapath, std::uint64_t bits, bool negate) {
  Number x = decode(stored, bits, datapath.read_ignored_bits);
  FormatSpec seen = stored;
  if (datapath.widen_to != Format::none && !x.nan && !x.infinite) {
    seen = spec_of(datapath.widen_to);
    x.spelled = x.zero() ? seen.min_exponent() : std::max(leading_exponent(x.value), seen.min_exponent());
  }
  apply_rules_of_zero(x, seen, datapath.subnormal_operand);
  if (negate) {
    x.negative = !x.negative;
    x.value.significand = -x.value.significand;
  }
  return x;
}

struct Product {
  bool infinite = false, negative = false, zero = false;
  Exact value;
  int spelled = 0;
};

/// One step over the products [first, last) of evaluation order and the addend c.
class Step {
 public:
  Step(const Instruction& instruction, const Datapath& datapath)
      : row_(datapath), output_(spec_of(instruction.d)) {
    products_.reserve(static_cast<std::size_t>(std::max<int>(datapath.products_per_step, 0)));
  }

  std::uint64_t operator()(std::span<const Number> a, std::span<const Number> b, const Number& c) {
    bool nan = c.nan, only_dropped_infinities = false;
    bool infinite[2] = {c.infinite && !c.negative, c.infinite && c.negative};
    products_.clear();
    for (std::size_t k = 0; k < a.size(); ++k) {
      nan = nan || a[k].nan || b[k].nan;
      if (a[k].nan || b[k].nan) continue;
      const Product& product = products_.emplace_back(multiply(a[k], b[k]));
      if (product.infinite && product.zero) {
        nan = nan || row_.infinity_times_zero == InfinityTimesZero::nan;
        only_dropped_infinities = true;
      } else if (product.infinite) {
        infinite[product.negative ? 1 : 0] = true;
      }
    }
    if (nan || (infinite[0] && infinite[1])) return nan_of(row_.output, output_);
    if (infinite[0] || infinite[1]) return infinity_of(output_, infinite[1]);
    if (only_dropped_infinities) return 0;
    return sum(c);
  }

 private:
  Product multiply(const Number& x, const Number& y) const {
    Product product;
    product.negative = x.negative != y.negative;
    product.infinite = x.infinite || y.infinite;
    product.zero = x.zero() || y.zero();
    if (product.infinite) return product;
    product.value = product_of(x.value, y.value);
    product.spelled = x.spelled + y.spelled;
    if (row_.product == ProductRule::normalised && !product.zero)
      product.spelled = leading_exponent(product.value);
    return product;
  }

  std::uint64_t sum(const Number& c) const {
    const bool zeros_count = row_.zero == ZeroRule::operand_exponent;
    int maximum = row_.min_alignment_exponent;
    if (!c.zero() || zeros_count) maximum = std::max(maximum, c.spelled);
    bool all_minus_zero = c.zero() && c.negative;
    for (const Product& product : products_) {
      if (!product.zero || zeros_count) maximum = std::max(maximum, product.spelled);
      all_minus_zero = all_minus_zero && product.zero && product.negative;
    }
    const int unit = maximum - row_.fraction_bits;
    const Rounding rounding = rounding_of(row_.alignment);
    Exact total{in_units(c.value, unit, rounding), unit};
    for (const Product& product : products_) total.significand += in_units(product.value, unit, rounding);
    if (total.significand == 0)
      return signed_bits(output_, all_minus_zero && row_.output.zero_sign == ZeroSign::ieee, 0);
    return encode(total, row_.output, output_, row_.output.overflow == Overflow::infinity);
  }

  Datapath row_;
  FormatSpec output_;
  std::vector<Product> products_;  // of the step, in room that the next one uses again
};

/// An IEEE addition of two values of the output format, every fraction bit kept.
std::uint64_t add_at_the_end(std::uint64_t x_bits, std::uint64_t y_bits, const Datapath& datapath,
                             const FormatSpec& format) {
  const Number x = decode(format, x_bits, false);
  const Number y = decode(format, y_bits, false);
  if (x.nan || y.nan || (x.infinite && y.infinite && x.negative != y.negative))
    return nan_of(datapath.output, format);
  if (x.infinite || y.infinite) return infinity_of(format, x.infinite ? x.negative : y.negative);
  const Exact total = plus(x.value, y.value);
  if (total.significand == 0) return signed_bits(format, x.zero() && y.zero() && x.negative && y.negative, 0);
  const bool nearest = datapath.addend == AddendPlace::after_last_nearest;
  OutputRule rule = datapath.output;
  rule.fraction_bits = format.fraction_bits;
  rule.rounding = nearest ? Rounding::nearest_even : Rounding::toward_zero;
  return encode(total, rule, format, nearest || rule.overflow == Overflow::infinity);
}

/// `bits` of one format as bits of another, by the rule.
std::uint64_t converted(std::uint64_t bits, const FormatSpec& from, const FormatSpec& to,
                        const OutputRule& rule) {
  const Number x = decode(from, bits, false);
  if (x.nan) return nan_of(rule, to);
  if (x.infinite) return infinity_of(to, x.negative);
  if (x.zero()) return signed_bits(to, x.negative && rule.zero_sign == ZeroSign::ieee, 0);
  return encode(x.value, rule, to, rule.overflow == Overflow::infinity);
}

std::uint64_t fused_multiply_add(std::uint64_t a_bits, std::uint64_t b_bits, std::uint64_t c_bits,
                                 const Datapath& datapath) {
  const FormatSpec f64 = spec_of(Format::f64);
  const Number a = decode(f64, a_bits, false);
  const Number b = decode(f64, b_bits, false);
  const Number c = decode(f64, c_bits, false);
  const bool minus = a.negative != b.negative;
  if (a.nan || b.nan || c.nan) {
    if (datapath.output.nan == NanRule::canonical) return nan_of(datapath.output, f64);
    for (const char operand : datapath.nan_priority) {
      const Number& x = operand == 'a' ? a : operand == 'b' ? b : c;
      const std::uint64_t bits = operand == 'a' ? a_bits : operand == 'b' ? b_bits : c_bits;
      if (x.nan) return bits / (1ULL << 51) % 2 == 1 ? bits : bits + (1ULL << 51);
    }
  }
  const bool infinite = a.infinite || b.infinite;
  if ((infinite && (a.zero() || b.zero())) || (infinite && c.infinite && c.negative != minus))
    return datapath.output.nan == NanRule::canonical ? nan_of(datapath.output, f64)
                                                     : signed_bits(f64, true, nan_of(datapath.output, f64));
  if (infinite) return infinity_of(f64, minus);
  if (c.infinite) return c_bits;
  const Rounding rounding = datapath.output.rounding;
  const Exact total = plus(product_of(a.value, b.value), c.value);
  if (total.significand == 0) {
    const bool both_zero = (a.zero() || b.zero()) && c.zero();
    if (both_zero && minus == c.negative) return signed_bits(f64, minus, 0);
    return signed_bits(f64, rounding == Rounding::down, 0);
  }
  OutputRule rule = datapath.output;
  rule.fraction_bits = 52;
  rule.flush_subnormals = false;
  rule.zero_sign = ZeroSign::ieee;
  const bool negative = total.significand < 0;
  const bool to_infinity = rounding == Rounding::nearest_even || (rounding == Rounding::up && !negative) ||
                           (rounding == Rounding::down && negative);
  return encode(total, rule, f64, to_infinity);
}

}  // namespace

std::uint64_t reference_dot(const Instruction& instruction, const Datapath& datapath, const DotCase& dot) {
  const unsigned modifiers = dot.modifiers;
  const std::span<const std::uint64_t> a = dot.a;
  std::span<const std::uint64_t> b = dot.b;
  std::uint64_t c = dot.c;
  std::vector<std::uint64_t> met;
  if (is_sparse(instruction.op)) {
    bool spoilt = false;
    met = met_by_stored(instruction, datapath.metadata, b, dot.metadata, spoilt);
    if (spoilt) return nan_of(datapath.output, spec_of(instruction.d));
    b = met;
  }
  const std::size_t depth = a.size();
  const Evaluation evaluation(datapath.order, depth);
  if ((modifiers & kScaleDZero) != 0) c = 0;
  if (datapath.arithmetic == Arithmetic::integer)
    return reference_integer_dot(instruction, datapath, evaluation.all(), a, b, c);
  if (is_staged(datapath.arithmetic)) {
    const FormatSpec of_a = spec_of(instruction.a), of_b = spec_of(instruction.b);
    std::vector<Number> x, y;
    for (const std::size_t k : evaluation.all()) {
      x.push_back(decode_factor(of_a, datapath, a[k], (modifiers & kNegateA) != 0));
      y.push_back(decode_factor(of_b, datapath, b[k], (modifiers & kNegateB) != 0));
    }
    Number addend = decode(spec_of(instruction.c), c, false);
    apply_rules_of_zero(addend, spec_of(instruction.c), datapath.subnormal_addend);
    return reference_staged_dot(instruction, datapath, x, y, addend);
  }
  if (datapath.arithmetic == Arithmetic::fma_chain) {
    std::uint64_t running = c;
    for (const std::size_t k : evaluation.all()) running = fused_multiply_add(a[k], b[k], running, datapath);
    return running;
  }

  Instruction within = instruction;  // what the steps do: to the format they run in
  Datapath rules = datapath;
  FormatSpec running_format = spec_of(instruction.c);
  if (datapath.sum_format != Format::none) {
    OutputRule exact{datapath.sum_format, spec_of(datapath.sum_format).fraction_bits};
    if (instruction.d != datapath.sum_format) rules.output = exact;
    exact.zero_sign = ZeroSign::ieee;
    if (instruction.c != datapath.sum_format)
      c = converted(c, running_format, spec_of(datapath.sum_format), exact);
    within.d = datapath.sum_format;
    running_format = spec_of(datapath.sum_format);
  }
  const FormatSpec output = spec_of(within.d);
  const bool alone = datapath.addend == AddendPlace::before_each_nearest;
  const bool addend_first = datapath.addend == AddendPlace::in_first_step || alone;
  if (alone) {
    rules.output.rounding = Rounding::nearest_even;
    rules.output.zero_sign = ZeroSign::ieee;
  }
  Step step(within, rules);
  std::uint64_t running = addend_first ? c : 0;
  const FormatSpec format_a = spec_of(instruction.a), format_b = spec_of(instruction.b);
  const auto block = static_cast<std::size_t>(datapath.products_per_step);
  std::vector<Number> x, y;
  x.reserve(std::min(block, depth));
  y.reserve(std::min(block, depth));
  std::vector<ScaledPair> pairs;
  for (const std::span<const std::size_t> segment : evaluation.segments()) {
    for (std::size_t first = 0; first < segment.size(); first += block) {
      x.clear();
      y.clear();
      pairs.clear();
      for (std::size_t i = first; i < std::min(first + block, segment.size()); ++i) {
        const std::size_t k = segment[i];
        x.push_back(decode_factor(format_a, datapath, a[k], (modifiers & kNegateA) != 0));
        y.push_back(decode_factor(format_b, datapath, b[k], (modifiers & kNegateB) != 0));
        if (instruction.scale == Format::none) continue;
        const Number scale_a = scale_of(instruction, datapath, dot.scale_a, k);
        const Number scale_b = scale_of(instruction, datapath, dot.scale_b, k);
        pairs.push_back({x.back(), y.back(), scale_a, scale_b});
        x.back() = times_scale(x.back(), scale_a, datapath);
        y.back() = times_scale(y.back(), scale_b, datapath);
      }
      if (alone) {
        Datapath nearest = rules;
        nearest.addend = AddendPlace::after_last_nearest;
        const std::uint64_t part = step(x, y, decode(output, signed_bits(output, true, 0), false));
        running = add_at_the_end(running, part, nearest, output);
        continue;
      }
      Number addend = decode(running_format, running, false);
      apply_subnormal_rule(addend, running_format, datapath.subnormal_addend);
      running = datapath.arithmetic == Arithmetic::grouped_dot_add
                    ? grouped_step(pairs, addend, datapath, output)
                    : step(x, y, addend);
      running_format = output;
    }
  }
  if (!addend_first) running = add_at_the_end(running, c, rules, output);
  return within.d == instruction.d ? running
                                   : converted(running, output, spec_of(instruction.d), datapath.output);
}

Backend reference_backend(const Architecture& architecture) {
  const auto run = [](const Instruction& inst, const Datapath& datapath, const TileView& batch) {
    for (std::size_t tile = 0; tile < batch.tiles; ++tile)
      for (int row = 0; row < inst.m; ++row)
        for (int column = 0; column < inst.n; ++column) {
          const DotCase dot = dot_at(inst, batch, tile, row, column);
          store_d_at(inst, batch, tile, row, column, reference_dot(inst, datapath, dot));
        }
  };
  return backend_by_datapath(architecture, "reference model of " + std::string(architecture.name), run);
}

}  // namespace mmaudit::oracle
