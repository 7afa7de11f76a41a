#pragma once
// One element of D: a plan of plain data, and the chain of steps that computes it. Host and device.
#include <cstdint>
#include <type_traits>

#include "mmaudit/arithmetic/accumulate.hpp"
#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/arithmetic/fma_chain.hpp"
#include "mmaudit/arithmetic/integer_dot.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/arithmetic/staged_dot.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit {

/// Most k of a datapath that unpacks its operands; integers, which do not, go further.
inline constexpr int kMaxK = 64;

/// Everything the dot products of one instruction need; passed to kernels by value.
struct DotPlan {
  FormatSpec a, b;  ///< as stored
  FormatSpec wide;  ///< what both are widened to; id none: they are not
  FormatSpec d;     ///< of the result, as stored
  StepSpec step;
  Datapath datapath;          ///< its output is a step's output
  OutputRule conversion;      ///< from a step's output to D, where they differ
  bool converts = false;      ///< datapath.sum_format is given
  std::int16_t k = 0;         ///< products: of a sparse instruction the stored ones
  std::int16_t segments = 1;  ///< runs of evaluation order that no step crosses
  bool binary64 = false;
  bool integer = false;
  bool staged = false;  ///< the three arithmetics of staged_dot.hpp
  IntegerSpec integers;
  FormatSpec scale;              ///< of the scale bytes; id none: there are none
  std::int16_t scale_block = 0;  ///< products per scale
  bool grouped = false;          ///< scales multiply groups of products, not elements
  GroupSpec groups;
  Sparsity sparsity;

  /// True when factors become Operands for chain(); the other datapaths read raw bits.
  [[nodiscard]] MMAUDIT_HD constexpr bool unpacks() const { return !binary64 && !integer && !staged; }
  [[nodiscard]] MMAUDIT_HD constexpr bool block_scaled() const { return scale_block != 0; }
};

/// Host only (reads the format table).
constexpr DotPlan make_plan(const Instruction& instruction, const Datapath& datapath) {
  DotPlan plan;
  plan.a = spec_of(instruction.a);
  plan.b = spec_of(instruction.b);
  plan.wide = spec_of(datapath.widen_to);
  const bool widened = datapath.widen_to != Format::none;
  plan.step.addend = spec_of(instruction.c);
  plan.d = plan.step.output = spec_of(instruction.d);
  plan.step.product_fraction_bits = static_cast<std::int16_t>(
      widened ? 2 * plan.wide.fraction_bits : plan.a.fraction_bits + plan.b.fraction_bits);
  plan.datapath = datapath;
  plan.conversion = datapath.output;
  plan.converts = datapath.sum_format != Format::none;
  if (plan.converts && datapath.sum_format != datapath.output.format) {
    plan.step.output = spec_of(datapath.sum_format);
    plan.datapath.output = {datapath.sum_format, plan.step.output.fraction_bits};
  }
  if (datapath.addend == AddendPlace::before_each_nearest) {
    plan.datapath.output.rounding = Rounding::nearest_even;
    plan.datapath.output.zero_sign = ZeroSign::ieee;
  }
  plan.k = static_cast<std::int16_t>(instruction.stored_k());
  plan.sparsity = sparsity_of(instruction);
  plan.segments = datapath.order == KOrder::ascending || datapath.order == KOrder::descending
                      ? std::int16_t{1}
                      : std::int16_t{2};
  plan.binary64 = datapath.arithmetic == Arithmetic::fma_chain;
  plan.integer = datapath.arithmetic == Arithmetic::integer;
  plan.staged = is_staged(datapath.arithmetic);
  if (plan.integer) plan.integers = integer_spec(instruction, datapath);
  if (instruction.scale == Format::none) return plan;
  plan.scale = spec_of(instruction.scale);
  plan.scale_block = static_cast<std::int16_t>(products_per_scale(instruction));
  plan.grouped = datapath.arithmetic == Arithmetic::grouped_dot_add;
  if (plan.grouped) {
    plan.groups.product_fraction_bits = plan.step.product_fraction_bits;
    plan.groups.scale_fraction_bits = static_cast<std::int16_t>(2 * plan.scale.fraction_bits);
    // A subnormal that the datapath normalises goes down to the weight of its last bit.
    plan.groups.least_product = static_cast<std::int16_t>(plan.a.min_exponent() + plan.b.min_exponent() -
                                                          plan.step.product_fraction_bits);
  } else {
    plan.step.product_fraction_bits =
        static_cast<std::int16_t>(plan.step.product_fraction_bits + 2 * plan.scale.fraction_bits);
  }
  return plan;
}

/// The k that is evaluated at position `i`.
MMAUDIT_HD constexpr int evaluation_k(KOrder order, int depth, int i) {
  const int half = depth / 2;
  const int second = i >= half ? 1 : 0;
  const int j = i - second * half;
  switch (order) {
    case KOrder::descending:
      return depth - 1 - i;
    case KOrder::pairs_of_four:
      return (j / 2) * 4 + 2 * second + j % 2;
    case KOrder::even_then_odd:
      return 2 * j + second;
    case KOrder::ascending:
    case KOrder::halves:
      break;
  }
  return i;
}

MMAUDIT_HD constexpr Operand unpack_factor(const FormatSpec& format, const DotPlan& plan, std::uint64_t bits,
                                           bool negate) {
  const bool widened = plan.wide.id != Format::none;
  // Rules on subnormals and zeros are the datapath's: they apply to the operand it sees, the widened one.
  const UnpackRule rule{widened ? SubnormalRule::kept : plan.datapath.subnormal_operand, plan.datapath.zero,
                        plan.datapath.read_ignored_bits};
  Operand x = unpack(format, rule, negate ? bits ^ format.sign_bit() : bits);
  if (!widened) return x;
  x = widen(format, plan.wide, x);
  if (x.kind != Kind::finite) return x;
  const bool subnormal = x.significand != 0 && (magnitude(x.significand) >> plan.wide.fraction_bits) == 0;
  if (subnormal && plan.datapath.subnormal_operand == SubnormalRule::normalised) {
    const int shift = plan.wide.fraction_bits - floor_log2(magnitude(x.significand));
    x.significand *= 1 << shift;
    x.exponent = static_cast<std::int16_t>(x.exponent - shift);
  } else if (subnormal && plan.datapath.subnormal_operand == SubnormalRule::flushed) {
    x.significand = 0;
  }
  if (x.significand == 0) {
    x.exponent = plan.datapath.zero == ZeroRule::no_part
                     ? kZeroExponent
                     : static_cast<std::int16_t>(plan.wide.min_exponent());
  }
  return x;
}

MMAUDIT_HD constexpr Operand unpack_addend(const FormatSpec& format, const Datapath& datapath,
                                           std::uint64_t bits) {
  return unpack(format, {datapath.subnormal_addend, datapath.zero, false}, bits);
}

/// The scale of the block that holds k. `load(i)` gives the i-th byte.
template <typename Load>
MMAUDIT_HD constexpr Operand scale_at(const DotPlan& plan, const Load& load, int k) {
  if (plan.datapath.scale_use == ScaleUse::ignored)
    return unpack_scale(plan.scale, plan.datapath, one_bits(plan.scale));
  const int block = k / plan.scale_block;
  const int last = plan.k / plan.scale_block - 1;
  return unpack_scale(plan.scale, plan.datapath,
                      load(plan.datapath.scale_use == ScaleUse::reversed ? last - block : block));
}

/// How c is added when it comes after the last step.
MMAUDIT_HD constexpr Rounding final_add_rounding(const Datapath& datapath) {
  return datapath.addend == AddendPlace::after_last_nearest ? Rounding::nearest_even : Rounding::toward_zero;
}

MMAUDIT_HD constexpr bool c_is_added_last(const Datapath& datapath) {
  return datapath.addend == AddendPlace::after_last_nearest ||
         datapath.addend == AddendPlace::after_last_truncated;
}

/// Calls step(start, count) for every step of the plan, in order: positions of evaluation order [start,
/// start+count).
template <typename Step>
MMAUDIT_HD constexpr void for_each_step(const DotPlan& plan, Step&& step) {
  const int segment_length = plan.k / plan.segments;
  for (int segment = 0; segment < plan.k; segment += segment_length) {
    for (int position = 0; position < segment_length; position += plan.datapath.products_per_step) {
      const int rest = segment_length - position;
      step(segment + position,
           rest < plan.datapath.products_per_step ? rest : plan.datapath.products_per_step);
    }
  }
}

/// One plan's running sum: raw bits and their format (c's before the first step, the output's after it).
struct Running {
  const DotPlan& plan;
  const Operand* a;
  const Operand* b;
  const Operand* scale_a;
  const Operand* scale_b;
  FormatSpec format;
  std::uint64_t bits;

  MMAUDIT_HD constexpr void operator()(int start, int count) {
    StepSpec step = plan.step;
    if (plan.datapath.addend == AddendPlace::before_each_nearest) {
      step.addend = step.output;
      const Operand start_value = unpack_addend(step.output, plan.datapath, step.output.sign_bit());
      const std::uint64_t part = fused_dot_add(a + start, b + start, count, start_value, step, plan.datapath);
      bits = add_rounded(bits, part, step.output, Rounding::nearest_even, plan.datapath.output);
      return;
    }
    step.addend = format;
    const Operand c = unpack_addend(format, plan.datapath, bits);
    bits = plan.grouped ? grouped_dot_add(a + start, b + start, scale_a + start, scale_b + start, count, c,
                                          step, plan.groups, plan.datapath)
                        : fused_dot_add(a + start, b + start, count, c, step, plan.datapath);
    format = step.output;
  }
};

/// c as it enters the first step, and the format it then has.
MMAUDIT_HD constexpr std::uint64_t first_addend(const DotPlan& plan, std::uint64_t c, FormatSpec& format) {
  format = plan.step.addend;
  if (!plan.converts || plan.step.addend.id == plan.step.output.id) return c;
  OutputRule exact{plan.step.output.id, plan.step.output.fraction_bits};
  exact.zero_sign = ZeroSign::ieee;
  format = plan.step.output;
  return convert_rounded(c, plan.step.addend, plan.step.output, exact);
}

/// D from what the last step gave.
MMAUDIT_HD constexpr std::uint64_t final_result(const DotPlan& plan, std::uint64_t bits) {
  if (plan.d.id == plan.step.output.id) return bits;
  return convert_rounded(bits, plan.step.output, plan.d, plan.conversion);
}

/// The chain of steps over operands that already stand in evaluation order, and so do the scales of a grouped
/// plan, one per k; other plans don't read them. `c` and the result are raw bits.
MMAUDIT_HD constexpr std::uint64_t chain(const DotPlan& plan, const Operand* a, const Operand* b,
                                         std::uint64_t c, const Operand* scale_a = nullptr,
                                         const Operand* scale_b = nullptr) {
  FormatSpec format = plan.step.addend;
  c = first_addend(plan, c, format);
  const bool last = c_is_added_last(plan.datapath);
  Running running{plan, a, b, scale_a, scale_b, format, last ? 0 : c};
  for_each_step(plan, running);
  if (last)
    running.bits = add_rounded(running.bits, c, plan.step.output, final_add_rounding(plan.datapath),
                               plan.datapath.output);
  return final_result(plan, running.bits);
}

/// The running sum of an integer plan.
template <typename LoadA, typename LoadB>
struct IntegerRunning {
  const DotPlan& plan;
  const LoadA& load_a;
  const LoadB& load_b;
  std::int64_t sum;

  MMAUDIT_HD constexpr void operator()(int start, int count) {
    for (int i = start; i < start + count; ++i) {
      const int k = evaluation_k(plan.datapath.order, plan.k, i);
      sum += integer_product(plan.integers, load_a(k), load_b(k));
    }
    if (plan.integers.clamp == IntegerClamp::every_step) sum = clamp_to_s32(sum);
  }
};

/// The integer dot product; loads as in dot(). `c` and the result are raw bits.
template <typename LoadA, typename LoadB>
MMAUDIT_HD constexpr std::uint64_t integer_dot(const DotPlan& plan, const LoadA& load_a, const LoadB& load_b,
                                               std::uint64_t c) {
  const auto addend = static_cast<std::int32_t>(static_cast<std::uint32_t>(c));
  IntegerRunning<LoadA, LoadB> running{plan, load_a, load_b, addend};
  for_each_step(plan, running);
  const std::int64_t sum =
      plan.integers.clamp == IntegerClamp::at_end ? clamp_to_s32(running.sum) : running.sum;
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(sum));
}

/// Raw bits of every `stride`-th word from `base`: a row of A or a column of B as dot() reads it.
template <typename Word>
struct Strided {
  const Word* base = nullptr;
  std::int64_t stride = 1;
  MMAUDIT_HD constexpr std::uint64_t operator()(int k) const { return base[k * stride]; }
};

/// The scales of a row of A and a column of B; where there are none they are not read.
struct NoScales {
  MMAUDIT_HD constexpr std::uint64_t a(int) const { return 0; }
  MMAUDIT_HD constexpr std::uint64_t b(int) const { return 0; }
};

/// Scale bytes in memory; a null base: every scale is 1 (`one`, one_bits() of the format).
struct ScaleBytes {
  Strided<std::uint8_t> row, column;
  std::uint64_t one = 0;
  MMAUDIT_HD constexpr std::uint64_t a(int block) const { return row.base == nullptr ? one : row(block); }
  MMAUDIT_HD constexpr std::uint64_t b(int block) const {
    return column.base == nullptr ? one : column(block);
  }
};

/// The staged dot product; loads as in dot(). `step(start, count, before, after)` is told of every step, its
/// positions in evaluation order and the running sum. `c` and the result are raw bits.
template <typename LoadA, typename LoadB, typename Told>
MMAUDIT_HD constexpr std::uint64_t staged_dot(const DotPlan& plan, const LoadA& load_a, const LoadB& load_b,
                                              std::uint64_t c, unsigned modifiers, Told&& told) {
  StepSpec spec = plan.step;
  // What a step leaves is never subnormal where the output flushes, and keeps its sign.
  Datapath after = plan.datapath;
  after.subnormal_addend = SubnormalRule::kept;
  bool first = true;
  for_each_step(plan, [&](int start, int count) {
    Operand a[kMostStagedProducts];
    Operand b[kMostStagedProducts];
    for (int i = 0; i < count; ++i) {
      const int k = evaluation_k(plan.datapath.order, plan.k, start + i);
      a[i] = unpack_factor(plan.a, plan, load_a(k), (modifiers & 2U) != 0);
      b[i] = unpack_factor(plan.b, plan, load_b(k), (modifiers & 4U) != 0);
    }
    const Operand addend = unpack_addend(spec.addend, first ? plan.datapath : after, c);
    const std::uint64_t before = c;
    c = staged_step(a, b, count, c, addend, spec, plan.datapath);
    told(start, count, before, c);
    spec.addend = spec.output;
    first = false;
  });
  return c;
}

/// What: D = sum_k a_k * b_k + c for one element, raw bits; block-scaled, a_k and b_k times their scales.
/// `load_a(k)` and `load_b(k)` (Strided, say) give the raw bits of the k-th elements; `modifiers` is a set of
/// Modifier bits (1: c is not read, 2: A negated, 4: B negated). `scales.a(i)` and `scales.b(i)` give the
/// i-th scale bytes (ScaleBytes); a block-scaled plan needs them. Of a sparse instruction k counts the stored
/// elements, and load_b is a Gathered.
template <typename LoadA, typename LoadB, typename Scales = NoScales>
MMAUDIT_HD constexpr std::uint64_t dot(const DotPlan& plan, const LoadA& load_a, const LoadB& load_b,
                                       std::uint64_t c, unsigned modifiers, const Scales& scales = {}) {
  if ((modifiers & 1U) != 0) c = 0;
  if (plan.integer) return integer_dot(plan, load_a, load_b, c);
  if (plan.binary64) {
    std::uint64_t sum = c;
    for (int i = 0; i < plan.k; ++i) {
      const int k = evaluation_k(plan.datapath.order, plan.k, i);
      sum = fused_multiply_add(load_a(k), load_b(k), sum, plan.datapath);
    }
    return sum;
  }
  if (plan.staged)
    return staged_dot(plan, load_a, load_b, c, modifiers, [](int, int, std::uint64_t, std::uint64_t) {});
  // Only block-scaled calls pay for the room of the scales.
  constexpr bool kHasScales = !std::is_same_v<Scales, NoScales>;
  Operand a[kMaxK];
  Operand b[kMaxK];
  Operand scale_a[kHasScales ? kMaxK : 1];
  Operand scale_b[kHasScales ? kMaxK : 1];
  for (int i = 0; i < plan.k; ++i) {
    const int k = evaluation_k(plan.datapath.order, plan.k, i);
    a[i] = unpack_factor(plan.a, plan, load_a(k), (modifiers & 2U) != 0);
    b[i] = unpack_factor(plan.b, plan, load_b(k), (modifiers & 4U) != 0);
    if constexpr (kHasScales) {
      if (!plan.block_scaled()) continue;
      scale_a[i] = scale_at(
          plan, [&](int block) { return scales.a(block); }, k);
      scale_b[i] = scale_at(
          plan, [&](int block) { return scales.b(block); }, k);
      if (plan.grouped) continue;
      a[i] = scaled(a[i], scale_a[i], plan.datapath);
      b[i] = scaled(b[i], scale_b[i], plan.datapath);
    }
  }
  return chain(plan, a, b, c, scale_a, scale_b);
}

}  // namespace mmaudit
