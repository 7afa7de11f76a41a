#include "tile/explain_stages.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "mmaudit/convert.hpp"

namespace mmaudit {
namespace {

/// A number other than zero that was unpacked as zero.
bool flushes(const Operand& x, double stored) {
  return x.kind == Kind::finite && x.significand == 0 && stored != 0;
}

double value_of(const Operand& x, int fraction_bits) {
  if (x.kind == Kind::nan) return std::numeric_limits<double>::quiet_NaN();
  const double size = x.kind == Kind::infinite ? std::numeric_limits<double>::infinity()
                                               : std::ldexp(std::abs(static_cast<double>(x.significand)),
                                                            x.exponent - fraction_bits);
  return x.negative || x.significand < 0 ? -size : size;
}

/// a * b as the step adds it.
double taken_product(const DotSpec& spec, const Operand& a, const Operand& b) {
  const Datapath& datapath = spec.datapath;
  const bool finite = a.kind == Kind::finite && b.kind == Kind::finite;
  if (finite && datapath.arithmetic == Arithmetic::rounded_tree)
    return decode_value(rounded_product(a, b, spec.step, datapath.output), spec.step.output);
  const bool widened = spec.wide.id != Format::none;
  const double product = value_of(a, (widened ? spec.wide : spec.a).fraction_bits) *
                         value_of(b, (widened ? spec.wide : spec.b).fraction_bits);
  if (finite && datapath.product_overflow == ProductOverflow::infinity && product_overflows(a, b, spec.step))
    return std::copysign(std::numeric_limits<double>::infinity(), product);
  return product;
}

/// The operands of one step, as staged_step() takes them.
struct StageOperands {
  std::vector<Operand> a, b;
  std::vector<int> ks;
  Operand c;
};

bool is_special(const StageOperands& x, const DotSpec& spec) {
  bool special = x.c.kind != Kind::finite;
  for (std::size_t i = 0; i < x.a.size(); ++i)
    special = special || x.a[i].kind != Kind::finite || x.b[i].kind != Kind::finite ||
              (spec.datapath.product_overflow == ProductOverflow::infinity &&
               product_overflows(x.a[i], x.b[i], spec.step));
  return special;
}

/// x + y; nothing where 64 bits do not hold it.
std::optional<Dyadic> exact_sum(Dyadic x, Dyadic y) {
  const auto trimmed = [](Dyadic one) {
    const int zeros = one.significand == 0 ? 0 : std::countr_zero(magnitude(one.significand));
    return Dyadic{one.significand / (std::int64_t{1} << zeros), one.exponent + zeros};
  };
  x = trimmed(x), y = trimmed(y);
  if (x.significand == 0) return y;
  if (y.significand == 0) return x;
  if (x.exponent < y.exponent) std::swap(x, y);
  constexpr int kMostBits = 62;
  const int lift = x.exponent - y.exponent;
  if (floor_log2(magnitude(x.significand)) + lift >= kMostBits ||
      floor_log2(magnitude(y.significand)) >= kMostBits)
    return {};
  return Dyadic{x.significand * (std::int64_t{1} << lift) + y.significand, y.exponent};
}

std::optional<Dyadic> exact_sum(double x, double y) {
  const auto dyadic = [](double one) {
    int exponent = 0;
    const double significand = std::frexp(one, &exponent);
    return Dyadic{static_cast<std::int64_t>(std::ldexp(significand, 53)), exponent - 53};
  };
  if (!std::isfinite(x) || !std::isfinite(y)) return {};
  return exact_sum(dyadic(x), dyadic(y));
}

/// rounded_tree: what its rounded products become, two by two, and then with c.
void explain_tree(ExplainedStage& stage, const StageOperands& x, const StepSpec& step_spec,
                  const Datapath& datapath) {
  const FormatSpec& output = step_spec.output;
  const auto value = [&](const ExplainedPartial& one) { return decode_value(one.bits, output); };
  std::vector<ExplainedPartial> level;
  for (const ExplainedTerm& product : stage.products) {
    level.emplace_back();
    level.back().ks = {product.k};
    level.back().bits = encode_nearest_even(product.taken, output);
  }
  while (level.size() > 1) {
    std::vector<ExplainedPartial> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(level[i]);
      if (i + 1 == level.size()) continue;
      ExplainedPartial& sum = next.back();
      const std::optional<Dyadic> exact = exact_sum(value(level[i]), value(level[i + 1]));
      sum.sum = exact.value_or(Dyadic{}), sum.fits = exact.has_value();
      sum.ks.insert(sum.ks.end(), level[i + 1].ks.begin(), level[i + 1].ks.end());
      sum.bits =
          add_rounded(level[i].bits, level[i + 1].bits, output, datapath.output.rounding, datapath.output);
      stage.partials.push_back(sum);
    }
    level = std::move(next);
  }
  const bool zero = x.c.kind == Kind::finite && x.c.significand == 0;
  const std::optional<Dyadic> exact =
      exact_sum(value(level.front()), zero ? 0 : decode_value(stage.before, step_spec.addend));
  stage.total.sum = exact.value_or(Dyadic{}), stage.total.fits = exact.has_value();
}

/// exact_dot_add over finite operands.
void explain_exact(ExplainedStage& stage, const StageOperands& x, const StepSpec& step_spec) {
  std::optional<Dyadic> sum = Dyadic{x.c.significand, x.c.exponent - step_spec.addend.fraction_bits};
  for (std::size_t i = 0; i < x.a.size() && sum; ++i)
    sum = exact_sum(*sum, {std::int64_t{x.a[i].significand} * x.b[i].significand,
                           x.a[i].exponent + x.b[i].exponent - step_spec.product_fraction_bits});
  stage.total.sum = sum.value_or(Dyadic{}), stage.total.fits = sum.has_value();
}

Dyadic floored(Dyadic x, int unit) {
  if (x.significand == 0 || x.exponent >= unit) return x;
  const int shift = x.exponent - unit;
  return {align(x.significand, shift < -63 ? -63 : shift, Alignment::floor_toward_minus_infinity), unit};
}

/// The two stages of two_stage_dot_add over finite operands.
void explain_two_stages(ExplainedStage& stage, const StageOperands& x, const StepSpec& step_spec,
                        const Datapath& datapath) {
  const int count = static_cast<int>(x.a.size()), f = datapath.fraction_bits;
  int exponent = kZeroExponent;
  for (int i = 0; i < datapath.partial_sums; ++i) {
    const StagedSum sum =
        truncated_sum(x.a.data(), x.b.data(), i, count, datapath.partial_sums, step_spec, datapath);
    ExplainedPartial partial{
        {}, sum.exponent, {sum.significand, sum.significand == 0 ? 0 : sum.exponent - f}};
    for (int k = i; k < count; k += datapath.partial_sums)
      partial.ks.push_back(x.ks[static_cast<std::size_t>(k)]);
    stage.partials.push_back(std::move(partial));
    exponent = sum.exponent > exponent ? sum.exponent : exponent;
  }
  ExplainedTotal& total = stage.total;
  for (const ExplainedPartial& one : stage.partials) {
    const std::optional<Dyadic> sum = exact_sum(total.products, floored(one.sum, exponent - f));
    total.products = sum.value_or(Dyadic{}), total.fits = total.fits && sum.has_value();
  }
  const int of_c = x.c.significand == 0 ? step_spec.addend.min_exponent() : x.c.exponent;
  total.exponent = exponent > of_c ? exponent : of_c;
  total.kept_products = floored(total.products, total.exponent - datapath.sum_fraction_bits - 1);
  const bool dropped = datapath.far_addend == FarAddend::dropped && of_c < total.exponent - f - 1;
  if (!dropped && x.c.significand != 0)
    total.kept_addend =
        floored({x.c.significand, x.c.exponent - step_spec.addend.fraction_bits}, total.exponent - f);
  const std::optional<Dyadic> sum = exact_sum(total.kept_products, total.kept_addend);
  total.kept = total.sum = sum.value_or(Dyadic{}), total.fits = total.fits && sum.has_value();
  if (total.sum.significand == 0) return;
  const int leading = floor_log2(magnitude(total.sum.significand)) + total.sum.exponent;
  total.kept = floored(
      total.sum, (leading > step_spec.output.min_exponent() ? leading : step_spec.output.min_exponent()) -
                     datapath.sum_fraction_bits);
}

}  // namespace

void explain_stages(Explanation& trace, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c,
                    unsigned modifiers) {
  const DotSpec& spec = trace.spec;
  const std::uint64_t sign_a = (modifiers & kNegateA) != 0 ? spec.a.sign_bit() : 0;
  const std::uint64_t sign_b = (modifiers & kNegateB) != 0 ? spec.b.sign_bit() : 0;
  trace.result = staged_dot(
      spec, Strided<std::uint64_t>{a}, Strided<std::uint64_t>{b}, c, modifiers,
      [&](int start, int count, std::uint64_t before, std::uint64_t after) {
        ExplainedStage stage;
        stage.before = before, stage.after = after;
        StageOperands operands;
        for (int i = start; i < start + count; ++i) {
          const int k = evaluation_k(spec.datapath.order, spec.k, i);
          const Operand x = unpack_factor(spec.a, spec, a[k], sign_a != 0);
          const Operand y = unpack_factor(spec.b, spec, b[k], sign_b != 0);
          operands.a.push_back(x), operands.b.push_back(y), operands.ks.push_back(k);
          const double stored_a = decode_value(a[k] ^ sign_a, spec.a);
          const double stored_b = decode_value(b[k] ^ sign_b, spec.b);
          stage.products.push_back({k, a[k], b[k], stored_a * stored_b, taken_product(spec, x, y),
                                    flushes(x, stored_a) || flushes(y, stored_b)});
        }
        StepSpec step_spec = spec.step;
        // What a step leaves is not flushed again.
        Datapath datapath = spec.datapath;
        if (!trace.stages.empty()) {
          step_spec.addend = step_spec.output;
          datapath.subnormal_addend = SubnormalRule::kept;
        }
        operands.c = unpack_addend(step_spec.addend, datapath, before);
        stage.flushed = flushes(operands.c, decode_value(before, step_spec.addend));
        stage.special = datapath.arithmetic != Arithmetic::rounded_tree && is_special(operands, spec);
        if (datapath.arithmetic == Arithmetic::rounded_tree)
          explain_tree(stage, operands, step_spec, datapath);
        else if (stage.special)
          stage.total.fits = false;
        else if (datapath.arithmetic == Arithmetic::exact_dot_add)
          explain_exact(stage, operands, step_spec);
        else
          explain_two_stages(stage, operands, step_spec, datapath);
        trace.stages.push_back(std::move(stage));
      });
}

}  // namespace mmaudit
