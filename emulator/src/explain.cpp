#include "mmaudit/explain.hpp"

#include "mmaudit/emulator.hpp"

namespace mmaudit {
namespace {

Dyadic difference(Dyadic exact, Dyadic kept) {
  if (kept.significand == 0) return exact;
  const int gap = kept.exponent - exact.exponent;  // kept is a multiple of a coarser or equal unit
  if (gap < 0) return {0, exact.exponent};
  return {exact.significand - kept.significand * (std::int64_t{1} << gap), exact.exponent};
}

ExplainedAddend explain_addend(std::int64_t significand, int exponent, int fraction_bits,
                               int reported_exponent, int maximum, const AccumulatorModel& row) {
  ExplainedAddend addend;
  addend.exponent = reported_exponent;
  addend.in_maximum = significand != 0 || row.zero != ZeroRule::no_part;
  addend.exact = {significand, significand == 0 ? 0 : exponent - fraction_bits};
  const std::int64_t aligned =
      align(significand, row.fraction_bits - fraction_bits + exponent - maximum, row.alignment);
  addend.kept = {aligned, maximum - row.fraction_bits};
  addend.lost = difference(addend.exact, addend.kept);
  return addend;
}

ExplainedStep explain_step(const DotPlan& plan, const Operand* a, const Operand* b, int start, int count,
                           const FormatSpec& format, std::uint64_t running) {
  const AccumulatorModel& row = plan.row;
  const int product_bits = plan.step.product_fraction_bits;
  const Operand c = unpack_addend(format, row, running);
  ExplainedStep step;
  step.addend_format = format;
  step.special = c.kind != Kind::finite;
  step.maximum = row.floor;
  step.floor_decided = true;
  const auto raise = [&](int exponent) {
    if (exponent < row.floor) return;
    step.floor_decided = false;
    step.maximum = exponent > step.maximum ? exponent : step.maximum;
  };
  raise(c.exponent);
  for (int i = start; i < start + count; ++i) {
    step.special = step.special || a[i].kind != Kind::finite || b[i].kind != Kind::finite;
    raise(product_exponent(a[i], b[i], product_bits, row.product));
  }

  std::int64_t sum = 0;
  const auto add = [&](ExplainedAddend addend, int k, std::uint64_t x, std::uint64_t y, Kind kind) {
    addend.k = k;
    addend.a = x;
    addend.b = y;
    addend.kind = kind;
    sum += addend.kept.significand;
    step.addends.push_back(addend);
  };
  add(explain_addend(c.significand, c.exponent, format.fraction_bits, c.exponent, step.maximum, row), -1,
      running, 0, c.kind);
  for (int i = start; i < start + count; ++i) {
    const std::int64_t product = std::int64_t{a[i].significand} * b[i].significand;
    const Kind kind = a[i].kind > b[i].kind ? a[i].kind : b[i].kind;
    add(explain_addend(product, a[i].exponent + b[i].exponent, product_bits,
                       product_exponent(a[i], b[i], product_bits, row.product), step.maximum, row),
        evaluation_k(row.order, plan.k, i), 0, 0, kind);
  }
  step.sum = {sum, step.maximum - row.fraction_bits};
  StepSpec spec = plan.step;
  spec.addend = format;
  step.result = fused_dot_add(a + start, b + start, count, c, spec, row);
  return step;
}

void explain_integers(Explanation& trace, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c) {
  const DotPlan& plan = trace.plan;
  const IntegerSpec& spec = plan.integers;
  std::int64_t sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(c));
  for_each_step(plan, [&](int start, int count) {
    for (int i = start; i < start + count; ++i) {
      const int k = evaluation_k(plan.row.order, plan.k, i);
      const std::int64_t product = integer_product(spec, a[k], b[k]);
      sum += product;
      const std::int64_t end =
          spec.clamp == IntegerClamp::every_step && i + 1 == start + count ? clamp_to_s32(sum) : sum;
      trace.products.push_back(
          {k, a[k], b[k], spec.a.value(a[k]), spec.b.value(b[k]), product, end, end != sum});
      sum = end;
    }
  });
  trace.result = integer_dot(plan, Strided<std::uint64_t>{a}, Strided<std::uint64_t>{b}, c);
}

}  // namespace

Explanation explain(const DotPlan& plan, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c,
                    unsigned modifiers) {
  Explanation trace;
  trace.plan = plan;
  if ((modifiers & kScaleDZero) != 0) c = 0;
  trace.addend = c;
  if (plan.integer) {
    explain_integers(trace, a, b, c);
    return trace;
  }
  if (plan.binary64) {
    trace.result = c;
    for (int i = 0; i < plan.k; ++i) {
      const int k = evaluation_k(plan.row.order, plan.k, i);
      const std::uint64_t before = trace.result;
      trace.result = fused_multiply_add(a[k], b[k], before, plan.row);
      trace.fmas.push_back({k, a[k], b[k], before, trace.result});
    }
    return trace;
  }

  Operand left[kMaxK];
  Operand right[kMaxK];
  for (int i = 0; i < plan.k; ++i) {
    const int k = evaluation_k(plan.row.order, plan.k, i);
    left[i] = unpack_factor(plan.a, plan, a[k], (modifiers & kNegateA) != 0);
    right[i] = unpack_factor(plan.b, plan, b[k], (modifiers & kNegateB) != 0);
  }
  trace.final_add = c_is_added_last(plan.row);
  trace.each_add = plan.row.addend == AddendPlace::before_each_nearest;
  FormatSpec format = plan.step.addend;
  c = first_addend(plan, c, format);
  std::uint64_t running = trace.final_add ? 0 : c;
  for_each_step(plan, [&](int start, int count) {
    const std::uint64_t from = trace.each_add ? plan.step.output.sign_bit() : running;
    ExplainedStep step =
        explain_step(plan, left, right, start, count, trace.each_add ? plan.step.output : format, from);
    step.total = trace.each_add ? add_rounded(running, step.result, plan.step.output, Rounding::nearest_even,
                                              plan.row.output)
                                : step.result;
    for (ExplainedAddend& addend : step.addends) {
      if (addend.k < 0) continue;
      addend.a = a[addend.k];
      addend.b = b[addend.k];
    }
    running = step.total;
    format = plan.step.output;
    trace.steps.push_back(std::move(step));
  });
  if (trace.final_add)
    running = add_rounded(running, c, plan.step.output, final_add_rounding(plan.row), plan.row.output);
  trace.result = final_result(plan, running);
  return trace;
}

}  // namespace mmaudit
