#pragma once
// One element of D: a spec of plain data, and the chain of steps that computes it. Host and device.
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
struct DotSpec {
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
constexpr DotSpec make_dot_spec(const Instruction& instruction, const Datapath& datapath) {
  DotSpec spec;
  spec.a = spec_of(instruction.a);
  spec.b = spec_of(instruction.b);
  spec.wide = spec_of(datapath.widen_to);
  const bool widened = datapath.widen_to != Format::none;
  spec.step.addend = spec_of(instruction.c);
  spec.d = spec.step.output = spec_of(instruction.d);
  spec.step.product_fraction_bits = static_cast<std::int16_t>(
      widened ? 2 * spec.wide.fraction_bits : spec.a.fraction_bits + spec.b.fraction_bits);
  spec.datapath = datapath;
  spec.conversion = datapath.output;
  spec.converts = datapath.sum_format != Format::none;
  if (spec.converts && datapath.sum_format != datapath.output.format) {
    spec.step.output = spec_of(datapath.sum_format);
    spec.datapath.output = {datapath.sum_format, spec.step.output.fraction_bits};
  }
  if (datapath.addend == AddendPlace::before_each_nearest) {
    spec.datapath.output.rounding = Rounding::nearest_even;
    spec.datapath.output.zero_sign = ZeroSign::ieee;
  }
  spec.k = static_cast<std::int16_t>(instruction.stored_k());
  spec.sparsity = sparsity_of(instruction);
  spec.segments = datapath.order == KOrder::ascending || datapath.order == KOrder::descending
                      ? std::int16_t{1}
                      : std::int16_t{2};
  spec.binary64 = datapath.arithmetic == Arithmetic::fma_chain;
  spec.integer = datapath.arithmetic == Arithmetic::integer;
  spec.staged = is_staged(datapath.arithmetic);
  if (spec.integer) spec.integers = integer_spec(instruction, datapath);
  if (instruction.scale == Format::none) return spec;
  spec.scale = spec_of(instruction.scale);
  spec.scale_block = static_cast<std::int16_t>(products_per_scale(instruction));
  spec.grouped = datapath.arithmetic == Arithmetic::grouped_dot_add;
  if (spec.grouped) {
    spec.groups.product_fraction_bits = spec.step.product_fraction_bits;
    spec.groups.scale_fraction_bits = static_cast<std::int16_t>(2 * spec.scale.fraction_bits);
    // A subnormal that the datapath normalises goes down to the weight of its last bit.
    spec.groups.least_product = static_cast<std::int16_t>(spec.a.min_exponent() + spec.b.min_exponent() -
                                                          spec.step.product_fraction_bits);
  } else {
    spec.step.product_fraction_bits =
        static_cast<std::int16_t>(spec.step.product_fraction_bits + 2 * spec.scale.fraction_bits);
  }
  return spec;
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

MMAUDIT_HD constexpr Operand unpack_factor(const FormatSpec& format, const DotSpec& spec, std::uint64_t bits,
                                           bool negate) {
  const bool widened = spec.wide.id != Format::none;
  // Rules on subnormals and zeros are the datapath's: they apply to the operand it sees, the widened one.
  const UnpackRule rule{widened ? SubnormalRule::kept : spec.datapath.subnormal_operand, spec.datapath.zero,
                        spec.datapath.read_ignored_bits};
  Operand x = unpack(format, rule, negate ? bits ^ format.sign_bit() : bits);
  if (!widened) return x;
  x = widen(format, spec.wide, x);
  if (x.kind != Kind::finite) return x;
  const bool subnormal = x.significand != 0 && (magnitude(x.significand) >> spec.wide.fraction_bits) == 0;
  if (subnormal && spec.datapath.subnormal_operand == SubnormalRule::normalised) {
    const int shift = spec.wide.fraction_bits - floor_log2(magnitude(x.significand));
    x.significand *= 1 << shift;
    x.exponent = static_cast<std::int16_t>(x.exponent - shift);
  } else if (subnormal && spec.datapath.subnormal_operand == SubnormalRule::flushed) {
    x.significand = 0;
  }
  if (x.significand == 0) {
    x.exponent = spec.datapath.zero == ZeroRule::no_part
                     ? kZeroExponent
                     : static_cast<std::int16_t>(spec.wide.min_exponent());
  }
  return x;
}

MMAUDIT_HD constexpr Operand unpack_addend(const FormatSpec& format, const Datapath& datapath,
                                           std::uint64_t bits) {
  return unpack(format, {datapath.subnormal_addend, datapath.zero, false}, bits);
}

/// The scale of the block that holds k. `load(i)` gives the i-th byte.
template <typename Load>
MMAUDIT_HD constexpr Operand scale_at(const DotSpec& spec, const Load& load, int k) {
  if (spec.datapath.scale_use == ScaleUse::ignored)
    return unpack_scale(spec.scale, spec.datapath, one_bits(spec.scale));
  const int block = k / spec.scale_block;
  const int last = spec.k / spec.scale_block - 1;
  return unpack_scale(spec.scale, spec.datapath,
                      load(spec.datapath.scale_use == ScaleUse::reversed ? last - block : block));
}

/// How c is added when it comes after the last step.
MMAUDIT_HD constexpr Rounding final_add_rounding(const Datapath& datapath) {
  return datapath.addend == AddendPlace::after_last_nearest ? Rounding::nearest_even : Rounding::toward_zero;
}

MMAUDIT_HD constexpr bool c_is_added_last(const Datapath& datapath) {
  return datapath.addend == AddendPlace::after_last_nearest ||
         datapath.addend == AddendPlace::after_last_truncated;
}

/// Calls step(start, count) for every step of the spec, in order: positions of evaluation order [start,
/// start+count).
template <typename Step>
MMAUDIT_HD constexpr void for_each_step(const DotSpec& spec, Step&& step) {
  const int segment_length = spec.k / spec.segments;
  for (int segment = 0; segment < spec.k; segment += segment_length) {
    for (int position = 0; position < segment_length; position += spec.datapath.products_per_step) {
      const int rest = segment_length - position;
      step(segment + position,
           rest < spec.datapath.products_per_step ? rest : spec.datapath.products_per_step);
    }
  }
}

/// One spec's running sum: raw bits and their format (c's before the first step, the output's after it).
struct Running {
  const DotSpec& spec;
  const Operand* a;
  const Operand* b;
  const Operand* scale_a;
  const Operand* scale_b;
  FormatSpec format;
  std::uint64_t bits;

  MMAUDIT_HD constexpr void operator()(int start, int count) {
    StepSpec step = spec.step;
    if (spec.datapath.addend == AddendPlace::before_each_nearest) {
      step.addend = step.output;
      const Operand start_value = unpack_addend(step.output, spec.datapath, step.output.sign_bit());
      const std::uint64_t part = fused_dot_add(a + start, b + start, count, start_value, step, spec.datapath);
      bits = add_rounded(bits, part, step.output, Rounding::nearest_even, spec.datapath.output);
      return;
    }
    step.addend = format;
    const Operand c = unpack_addend(format, spec.datapath, bits);
    bits = spec.grouped ? grouped_dot_add(a + start, b + start, scale_a + start, scale_b + start, count, c,
                                          step, spec.groups, spec.datapath)
                        : fused_dot_add(a + start, b + start, count, c, step, spec.datapath);
    format = step.output;
  }
};

/// c as it enters the first step, and the format it then has.
MMAUDIT_HD constexpr std::uint64_t first_addend(const DotSpec& spec, std::uint64_t c, FormatSpec& format) {
  format = spec.step.addend;
  if (!spec.converts || spec.step.addend.id == spec.step.output.id) return c;
  OutputRule exact{spec.step.output.id, spec.step.output.fraction_bits};
  exact.zero_sign = ZeroSign::ieee;
  format = spec.step.output;
  return convert_rounded(c, spec.step.addend, spec.step.output, exact);
}

/// D from what the last step gave.
MMAUDIT_HD constexpr std::uint64_t final_result(const DotSpec& spec, std::uint64_t bits) {
  if (spec.d.id == spec.step.output.id) return bits;
  return convert_rounded(bits, spec.step.output, spec.d, spec.conversion);
}

/// The chain of steps over operands that already stand in evaluation order, and so do the scales of a grouped
/// spec, one per k; other specs don't read them. `c` and the result are raw bits.
MMAUDIT_HD constexpr std::uint64_t chain(const DotSpec& spec, const Operand* a, const Operand* b,
                                         std::uint64_t c, const Operand* scale_a = nullptr,
                                         const Operand* scale_b = nullptr) {
  FormatSpec format = spec.step.addend;
  c = first_addend(spec, c, format);
  const bool last = c_is_added_last(spec.datapath);
  Running running{spec, a, b, scale_a, scale_b, format, last ? 0 : c};
  for_each_step(spec, running);
  if (last)
    running.bits = add_rounded(running.bits, c, spec.step.output, final_add_rounding(spec.datapath),
                               spec.datapath.output);
  return final_result(spec, running.bits);
}

/// The running sum of an integer spec.
template <typename LoadA, typename LoadB>
struct IntegerRunning {
  const DotSpec& spec;
  const LoadA& load_a;
  const LoadB& load_b;
  std::int64_t sum;

  MMAUDIT_HD constexpr void operator()(int start, int count) {
    for (int i = start; i < start + count; ++i) {
      const int k = evaluation_k(spec.datapath.order, spec.k, i);
      sum += integer_product(spec.integers, load_a(k), load_b(k));
    }
    if (spec.integers.clamp == IntegerClamp::every_step) sum = clamp_to_s32(sum);
  }
};

/// The integer dot product; loads as in dot(). `c` and the result are raw bits.
template <typename LoadA, typename LoadB>
MMAUDIT_HD constexpr std::uint64_t integer_dot(const DotSpec& spec, const LoadA& load_a, const LoadB& load_b,
                                               std::uint64_t c) {
  const auto addend = static_cast<std::int32_t>(static_cast<std::uint32_t>(c));
  IntegerRunning<LoadA, LoadB> running{spec, load_a, load_b, addend};
  for_each_step(spec, running);
  const std::int64_t sum =
      spec.integers.clamp == IntegerClamp::at_end ? clamp_to_s32(running.sum) : running.sum;
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
MMAUDIT_HD constexpr std::uint64_t staged_dot(const DotSpec& spec, const LoadA& load_a, const LoadB& load_b,
                                              std::uint64_t c, unsigned modifiers, Told&& told) {
  StepSpec step_spec = spec.step;
  // What a step leaves is never subnormal where the output flushes, and keeps its sign.
  Datapath after = spec.datapath;
  after.subnormal_addend = SubnormalRule::kept;
  bool first = true;
  for_each_step(spec, [&](int start, int count) {
    Operand a[kMostStagedProducts];
    Operand b[kMostStagedProducts];
    for (int i = 0; i < count; ++i) {
      const int k = evaluation_k(spec.datapath.order, spec.k, start + i);
      a[i] = unpack_factor(spec.a, spec, load_a(k), (modifiers & 2U) != 0);
      b[i] = unpack_factor(spec.b, spec, load_b(k), (modifiers & 4U) != 0);
    }
    const Operand addend = unpack_addend(step_spec.addend, first ? spec.datapath : after, c);
    const std::uint64_t before = c;
    c = staged_step(a, b, count, c, addend, step_spec, spec.datapath);
    told(start, count, before, c);
    step_spec.addend = step_spec.output;
    first = false;
  });
  return c;
}

/// What: D = sum_k a_k * b_k + c for one element, raw bits; block-scaled, a_k and b_k times their scales.
/// `load_a(k)` and `load_b(k)` (Strided, say) give the raw bits of the k-th elements; `modifiers` is a set of
/// Modifier bits (1: c is not read, 2: A negated, 4: B negated). `scales.a(i)` and `scales.b(i)` give the
/// i-th scale bytes (ScaleBytes); a block-scaled spec needs them. Of a sparse instruction k counts the stored
/// elements, and load_b is a Gathered.
template <typename LoadA, typename LoadB, typename Scales = NoScales>
MMAUDIT_HD constexpr std::uint64_t dot(const DotSpec& spec, const LoadA& load_a, const LoadB& load_b,
                                       std::uint64_t c, unsigned modifiers, const Scales& scales = {}) {
  if ((modifiers & 1U) != 0) c = 0;
  if (spec.integer) return integer_dot(spec, load_a, load_b, c);
  if (spec.binary64) {
    std::uint64_t sum = c;
    for (int i = 0; i < spec.k; ++i) {
      const int k = evaluation_k(spec.datapath.order, spec.k, i);
      sum = fused_multiply_add(load_a(k), load_b(k), sum, spec.datapath);
    }
    return sum;
  }
  if (spec.staged)
    return staged_dot(spec, load_a, load_b, c, modifiers, [](int, int, std::uint64_t, std::uint64_t) {});
  // Only block-scaled calls pay for the room of the scales.
  constexpr bool kHasScales = !std::is_same_v<Scales, NoScales>;
  Operand a[kMaxK];
  Operand b[kMaxK];
  Operand scale_a[kHasScales ? kMaxK : 1];
  Operand scale_b[kHasScales ? kMaxK : 1];
  for (int i = 0; i < spec.k; ++i) {
    const int k = evaluation_k(spec.datapath.order, spec.k, i);
    a[i] = unpack_factor(spec.a, spec, load_a(k), (modifiers & 2U) != 0);
    b[i] = unpack_factor(spec.b, spec, load_b(k), (modifiers & 4U) != 0);
    if constexpr (kHasScales) {
      if (!spec.block_scaled()) continue;
      scale_a[i] = scale_at(
          spec, [&](int block) { return scales.a(block); }, k);
      scale_b[i] = scale_at(
          spec, [&](int block) { return scales.b(block); }, k);
      if (spec.grouped) continue;
      a[i] = scaled(a[i], scale_a[i], spec.datapath);
      b[i] = scaled(b[i], scale_b[i], spec.datapath);
    }
  }
  return chain(spec, a, b, c, scale_a, scale_b);
}

}  // namespace mmaudit
