#include "mmaudit/explain.hpp"

#include "tile/explain_stages.hpp"

namespace mmaudit {
namespace {

Dyadic difference(Dyadic exact, Dyadic kept) {
  if (kept.significand == 0) return exact;
  const int gap = kept.exponent - exact.exponent;  // kept is a multiple of a coarser or equal unit
  if (gap < 0) return {0, exact.exponent};
  // Only a datapath that rounds alignment away from zero keeps anything of so small an addend.
  constexpr int kMostGap = 61;
  if (gap > kMostGap) return {-kept.significand, kept.exponent};
  return {exact.significand - kept.significand * (std::int64_t{1} << gap), exact.exponent};
}

ExplainedAddend explain_addend(std::int64_t significand, int exponent, int fraction_bits,
                               int reported_exponent, int maximum, const Datapath& datapath) {
  ExplainedAddend addend;
  addend.exponent = reported_exponent;
  addend.in_maximum = significand != 0 || datapath.zero != ZeroRule::no_part;
  addend.exact = {significand, significand == 0 ? 0 : exponent - fraction_bits};
  const std::int64_t aligned =
      align(significand, datapath.fraction_bits - fraction_bits + exponent - maximum, datapath.alignment);
  addend.kept = {aligned, maximum - datapath.fraction_bits};
  addend.lost = difference(addend.exact, addend.kept);
  return addend;
}

/// The operands of a dot product in evaluation order, as chain() takes them.
struct Operands {
  Operand a[kMaxK], b[kMaxK], scale_a[kMaxK], scale_b[kMaxK];
};

ExplainedAddend explain_group(const Group& group, const GroupSpec& groups, int maximum,
                              const Datapath& datapath) {
  ExplainedAddend addend;
  addend.kind = group.nan ? Kind::nan : Kind::finite;
  addend.exponent = group.exponent;
  addend.in_maximum = group.exponent != kZeroExponent;
  addend.products = {group.sum, group.sum == 0 ? 0 : groups.least_product - groups.product_fraction_bits};
  const std::int64_t value = group.sum * group.scale;
  addend.exact = {value, value == 0 ? 0 : group.unit(groups)};
  const std::int64_t kept =
      value == 0 ? 0
                 : align(value, group.unit(groups) + datapath.fraction_bits - maximum, datapath.alignment);
  addend.kept = {kept, maximum - datapath.fraction_bits};
  addend.lost = difference(addend.exact, addend.kept);
  return addend;
}

/// A step of groups; the addends are c and the groups.
ExplainedStep explain_groups(const DotSpec& spec, const Operands& x, int start, int count,
                             const FormatSpec& format, std::uint64_t running) {
  const Datapath& datapath = spec.datapath;
  const Operand c = unpack_addend(format, datapath, running);
  ExplainedStep step;
  step.addend_format = format;
  step.special = c.kind != Kind::finite;
  step.maximum = c.exponent;
  std::vector<Group> groups;
  for (int k = start; k < start + count; k += datapath.group) {
    const int size = start + count - k < datapath.group ? start + count - k : datapath.group;
    groups.push_back(sum_group(x.a + k, x.b + k, x.scale_a + k, x.scale_b + k, size, spec.groups, datapath));
    step.special = step.special || groups.back().nan;
    step.maximum = groups.back().exponent > step.maximum ? groups.back().exponent : step.maximum;
  }
  step.floor_decided = step.maximum < datapath.min_alignment_exponent;
  if (step.floor_decided) step.maximum = datapath.min_alignment_exponent;
  ExplainedAddend addend =
      explain_addend(c.significand, c.exponent, format.fraction_bits, c.exponent, step.maximum, datapath);
  addend.a = running;
  addend.kind = c.kind;
  std::int64_t sum = addend.kept.significand;
  step.addends.push_back(addend);
  int k = start;
  for (const Group& group : groups) {
    addend = explain_group(group, spec.groups, step.maximum, datapath);
    addend.k = evaluation_k(datapath.order, spec.k, k);
    addend.count = start + count - k < datapath.group ? start + count - k : datapath.group;
    sum += addend.kept.significand;
    step.addends.push_back(addend);
    k += datapath.group;
  }
  step.sum = {sum, step.maximum - datapath.fraction_bits};
  StepSpec step_spec = spec.step;
  step_spec.addend = format;
  step.result = grouped_dot_add(x.a + start, x.b + start, x.scale_a + start, x.scale_b + start, count, c,
                                step_spec, spec.groups, datapath);
  return step;
}

ExplainedStep explain_step(const DotSpec& spec, const Operand* a, const Operand* b, int start, int count,
                           const FormatSpec& format, std::uint64_t running) {
  const Datapath& datapath = spec.datapath;
  const int product_bits = spec.step.product_fraction_bits;
  const Operand c = unpack_addend(format, datapath, running);
  ExplainedStep step;
  step.addend_format = format;
  step.special = c.kind != Kind::finite;
  step.maximum = datapath.min_alignment_exponent;
  step.floor_decided = true;
  const auto raise = [&](int exponent) {
    if (exponent < datapath.min_alignment_exponent) return;
    step.floor_decided = false;
    step.maximum = exponent > step.maximum ? exponent : step.maximum;
  };
  raise(c.exponent);
  for (int i = start; i < start + count; ++i) {
    step.special = step.special || a[i].kind != Kind::finite || b[i].kind != Kind::finite;
    raise(product_exponent(a[i], b[i], product_bits, datapath.product));
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
  add(explain_addend(c.significand, c.exponent, format.fraction_bits, c.exponent, step.maximum, datapath), -1,
      running, 0, c.kind);
  for (int i = start; i < start + count; ++i) {
    const std::int64_t product = std::int64_t{a[i].significand} * b[i].significand;
    const Kind kind = a[i].kind > b[i].kind ? a[i].kind : b[i].kind;
    add(explain_addend(product, a[i].exponent + b[i].exponent, product_bits,
                       product_exponent(a[i], b[i], product_bits, datapath.product), step.maximum, datapath),
        evaluation_k(datapath.order, spec.k, i), 0, 0, kind);
  }
  step.sum = {sum, step.maximum - datapath.fraction_bits};
  StepSpec step_spec = spec.step;
  step_spec.addend = format;
  step.result = fused_dot_add(a + start, b + start, count, c, step_spec, datapath);
  return step;
}

void explain_integers(Explanation& trace, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c) {
  const DotSpec& spec = trace.spec;
  const IntegerSpec& integers = spec.integers;
  std::int64_t sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(c));
  for_each_step(spec, [&](int start, int count) {
    for (int i = start; i < start + count; ++i) {
      const int k = evaluation_k(spec.datapath.order, spec.k, i);
      const std::int64_t product = integer_product(integers, a[k], b[k]);
      sum += product;
      const std::int64_t end =
          integers.clamp == IntegerClamp::every_step && i + 1 == start + count ? clamp_to_s32(sum) : sum;
      trace.products.push_back(
          {k, a[k], b[k], integers.a.value(a[k]), integers.b.value(b[k]), product, end, end != sum});
      sum = end;
    }
  });
  trace.result = integer_dot(spec, Strided<std::uint64_t>{a}, Strided<std::uint64_t>{b}, c);
}

}  // namespace

Explanation explain(const DotSpec& spec, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c,
                    unsigned modifiers, const std::uint8_t* scale_a, const std::uint8_t* scale_b) {
  Explanation trace;
  trace.spec = spec;
  const std::uint64_t one = one_bits(spec.scale);
  for (int i = 0; spec.block_scaled() && i < spec.k / spec.scale_block; ++i) {
    trace.scale_a.push_back(scale_a == nullptr ? one : scale_a[i]);
    trace.scale_b.push_back(scale_b == nullptr ? one : scale_b[i]);
  }
  if ((modifiers & kScaleDZero) != 0) c = 0;
  trace.addend = c;
  if (spec.integer) {
    explain_integers(trace, a, b, c);
    return trace;
  }
  if (spec.staged) {
    explain_stages(trace, a, b, c, modifiers);
    return trace;
  }
  if (spec.binary64) {
    trace.result = c;
    for (int i = 0; i < spec.k; ++i) {
      const int k = evaluation_k(spec.datapath.order, spec.k, i);
      const std::uint64_t before = trace.result;
      trace.result = fused_multiply_add(a[k], b[k], before, spec.datapath);
      trace.fmas.push_back({k, a[k], b[k], before, trace.result});
    }
    return trace;
  }

  Operands x;
  for (int i = 0; i < spec.k; ++i) {
    const int k = evaluation_k(spec.datapath.order, spec.k, i);
    x.a[i] = unpack_factor(spec.a, spec, a[k], (modifiers & kNegateA) != 0);
    x.b[i] = unpack_factor(spec.b, spec, b[k], (modifiers & kNegateB) != 0);
    if (!spec.block_scaled()) continue;
    x.scale_a[i] = scale_at(spec, Strided<std::uint64_t>{trace.scale_a.data()}, k);
    x.scale_b[i] = scale_at(spec, Strided<std::uint64_t>{trace.scale_b.data()}, k);
    if (spec.grouped) continue;
    x.a[i] = scaled(x.a[i], x.scale_a[i], spec.datapath);
    x.b[i] = scaled(x.b[i], x.scale_b[i], spec.datapath);
  }
  trace.final_add = c_is_added_last(spec.datapath);
  trace.each_add = spec.datapath.addend == AddendPlace::before_each_nearest;
  FormatSpec format = spec.step.addend;
  c = first_addend(spec, c, format);
  std::uint64_t running = trace.final_add ? 0 : c;
  for_each_step(spec, [&](int start, int count) {
    const std::uint64_t from = trace.each_add ? spec.step.output.sign_bit() : running;
    const FormatSpec from_format = trace.each_add ? spec.step.output : format;
    ExplainedStep step = spec.grouped ? explain_groups(spec, x, start, count, from_format, from)
                                      : explain_step(spec, x.a, x.b, start, count, from_format, from);
    step.total = trace.each_add ? add_rounded(running, step.result, spec.step.output, Rounding::nearest_even,
                                              spec.datapath.output)
                                : step.result;
    for (ExplainedAddend& addend : step.addends) {
      if (addend.k < 0 || spec.grouped) continue;
      addend.a = a[addend.k];
      addend.b = b[addend.k];
    }
    running = step.total;
    format = spec.step.output;
    trace.steps.push_back(std::move(step));
  });
  if (trace.final_add)
    running =
        add_rounded(running, c, spec.step.output, final_add_rounding(spec.datapath), spec.datapath.output);
  trace.result = final_result(spec, running);
  return trace;
}

Explanation explain(const Instruction& instruction, const Datapath& datapath, const DotCase& dot) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  std::vector<std::uint64_t> b = dot.b;
  if (is_sparse(instruction.op)) {
    const Strided<std::uint64_t> column{dot.b.data()};
    const Gathered<Strided<std::uint64_t>> met{spec.sparsity, datapath.metadata, spec.b, dot.metadata.data(),
                                               column};
    for (std::size_t k = 0; k < dot.a.size(); ++k) b[k] = met(static_cast<int>(k));
  }
  const auto given = [](const std::vector<std::uint8_t>& scales) {
    return scales.empty() ? nullptr : scales.data();
  };
  return explain(spec, dot.a.data(), b.data(), dot.c, dot.modifiers, given(dot.scale_a), given(dot.scale_b));
}

}  // namespace mmaudit
