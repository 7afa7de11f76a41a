#pragma once
// The arithmetic of one datapath as plain numbers and rules. No rule here knows a GPU; architecture.hpp has
// the datapaths. Every enumerator after the first of each rule exists because some hardware does it or a
// mutant does: the mutation score counts the mutants that recordings and laws contradict.
#include <cstdint>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit {

enum class Arithmetic : std::uint8_t {
  fused_dot_add,  ///< L products and c aligned to one exponent, truncated, summed exactly, rounded once
  integer,  ///< exact integers, wrapped or clamped to D. Of the rules below it reads order, block and the
            ///< three rules of integers.
  grouped_dot_add,  ///< block-scaled: fused_dot_add of the exact, scaled sums of groups of products
  fma_chain,  ///< fma(a_k, b_k, s) in evaluation order, s = c first, IEEE 754. Of the rules below it reads
              ///< order, nan_priority, output.rounding and output.nan; overflow is IEEE's of the rounding.
  exact_dot_add,     ///< L products and c added exactly, rounded once
  rounded_tree,      ///< every product rounded to D's format, the L of a step added in a binary tree of
                     ///< neighbours, and their sum added to c: every rounding is the output's
  two_stage_dot_add  ///< the products of a step aligned to their own exponent, truncated to F bits and added
                     ///< exactly, in `partial_sums` interleaved sums; then the sums, and then their sum and
                     ///< c, aligned and rounded toward minus infinity; the result cut to sum_fraction_bits in
                     ///< the same way, and rounded. The last three read, of the rules below, order, block,
                     ///< the two rules of subnormals, product_overflow and output. Source of each:
                     ///< numerics.md.
};
enum class Rounding : std::uint8_t { toward_zero, nearest_even, down, up };
/// The order in which the k of one instruction are evaluated, and the segments that are never mixed in one
/// step.
enum class KOrder : std::uint8_t {
  ascending,      ///< 0, 1, 2, ...; one segment
  pairs_of_four,  ///< k mod 4 in {0,1} ascending, then k mod 4 in {2,3} ascending; two segments
  descending,     ///< ..., 2, 1, 0; one segment
  halves,         ///< first half, then second half; two segments
  even_then_odd   ///< even k ascending, then odd k ascending; two segments
};
enum class AddendPlace : std::uint8_t {
  in_first_step,         ///< c is one more addend of the first step
  after_last_nearest,    ///< the steps start from +0; c is added last, IEEE to nearest even, overflow to
                         ///< infinity
  after_last_truncated,  ///< the same, rounded toward zero, overflow by the output rule. Both adds keep every
                         ///< fraction bit of the container and the IEEE sign of zero, and read neither F nor
                         ///< the floor.
  before_each_nearest    ///< every step starts from -0 and rounds to nearest even with the IEEE sign of zero;
                         ///< an IEEE add puts it on c and on what came before
};
/// How each addend, by itself, becomes a multiple of 2^(E - F).
enum class Alignment : std::uint8_t { truncate_magnitude, floor_toward_minus_infinity, nearest_even };
enum class ZeroRule : std::uint8_t {
  no_part,          ///< a zero product or zero c takes no part in the exponent maximum
  operand_exponent  ///< it takes part with the exponents its factors' fields spell (a zero: the least
                    ///< exponent of the format that the datapath sees)
};
enum class ProductRule : std::uint8_t {
  unnormalised,  ///< exponent e(a) + e(b), significand in [0, 4)
  normalised     ///< floor(log2) of the product, up or down from e(a) + e(b)
};
/// How the datapath reads a subnormal of the format it sees (the widened one, where operands are widened).
/// For addends it covers c of the first step and the running sum of the later ones.
enum class SubnormalRule : std::uint8_t {
  kept,            ///< exponent 1 - bias, significand below 1
  normalised,      ///< significand shifted up to [1, 2), exponent lowered
  flushed,         ///< read as zero of its sign: infinity times it is infinity times zero
  flushed_to_plus  ///< read as +0, and so is -0
};
/// A product of finite factors beyond the largest exponent of D's format.
enum class ProductOverflow : std::uint8_t {
  wide,     ///< is a number like any other
  infinity  ///< is an infinity of its sign
};
/// two_stage_dot_add: c below the last bit that is kept of it.
enum class FarAddend : std::uint8_t {
  floored,  ///< a negative one becomes minus one unit
  dropped   ///< becomes 0 when its exponent is below E - F - 1
};
enum class ZeroSign : std::uint8_t {
  plus,    ///< every zero result is +0
  of_sum,  ///< a negative sum of aligned addends that rounds to zero is -0; an aligned sum of zero is +0
  ieee     ///< of_sum, and -0 when c and every product are -0 before alignment
};
enum class Overflow : std::uint8_t {
  infinity,
  max_finite  ///< the largest number with the kept fraction bits; infinite inputs still give infinity
};
enum class InfinityTimesZero : std::uint8_t {
  nan,
  zero  ///< no NaN from it; a step whose only infinities are such gives +0, whatever its other addends
};
enum class NanRule : std::uint8_t {
  canonical,  ///< positive, every bit below the sign set, whatever came in
  ieee_quiet  ///< positive quiet NaN with an empty payload; fma_chain: the NaN operand that nan_priority
              ///< names, made quiet, else the negative quiet NaN with an empty payload
};

/// Where a sum of integers is clamped to the range of D; where it is not clamped it wraps.
enum class SaturationRule : std::uint8_t {
  once_at_end,  ///< .satfinite clamps the exact sum of every product and c
  every_step,   ///< .satfinite clamps after every `block` products
  never,        ///< .satfinite is not heeded
  always        ///< once at the end, with and without .satfinite
};
enum class IntegerSign : std::uint8_t { of_format, both_signed, both_unsigned, exchanged };
enum class BitOperation : std::uint8_t {
  of_instruction,
  exchanged  ///< and where the instruction says xor, xor where it says and
};

/// Which scales a block-scaled datapath applies. fused_dot_add multiplies every element by the scale of its
/// block; grouped_dot_add multiplies the sum of a group by the two scales of the group's first k.
enum class ScaleUse : std::uint8_t {
  applied,
  ignored,  ///< every scale reads as 1
  reversed  ///< the first block of k takes the last scale, and so on
};
/// The top bit of a scale byte in a format without a sign that leaves it free (ue4m3).
enum class ScaleSign : std::uint8_t { ignored, negates };
/// A NaN scale makes the result NaN ...
enum class ScaleNan : std::uint8_t {
  always,         ///< whatever it scales
  beside_nonzero  ///< only when an element that it scales is not zero
};
/// What a group of grouped_dot_add brings to the exponent maximum.
enum class GroupExponent : std::uint8_t {
  of_scales,    ///< the exponents of its two scales; how large its sum is does not enter
  of_products,  ///< these and the largest exponent e(a) + e(b) of its non-zero products
  of_sum        ///< floor(log2) of its scaled sum
};
/// A group whose products are not all zero and cancel.
enum class CancelledGroup : std::uint8_t {
  counts,  ///< brings its exponent to the maximum like any other
  no_part
};

/// Which elements of B the stored elements of a sparse A meet.
enum class MetadataRule : std::uint8_t {
  selected,    ///< those at the positions that the metadata name; no other element of B is read
  ignored,     ///< always the first of the group
  exchanged,   ///< the positions of one group in the opposite order
  mirrored,    ///< positions counted from the end of the group
  whole_group  ///< those named, and the others times zero: a NaN or an infinity among them gives a NaN
};

/// How the exact sum of a step becomes the bits of D.
struct OutputRule {
  Format format = Format::f32;      ///< container
  std::uint8_t fraction_bits = 23;  ///< kept; the lower fraction bits of the container stay zero
  Rounding rounding = Rounding::toward_zero;
  Overflow overflow = Overflow::infinity;
  bool flush_subnormals = false;  ///< what rounds to a subnormal becomes zero of its own sign
  ZeroSign zero_sign = ZeroSign::plus;
  NanRule nan = NanRule::canonical;

  constexpr bool operator==(const OutputRule&) const = default;
};

/// Of a total that software keeps outside of an instruction with this rule: an addition of the GPU's vector
/// unit, which keeps subnormals.
MMAUDIT_HD constexpr OutputRule rule_of_totals(OutputRule rule) {
  rule.flush_subnormals = false;
  return rule;
}

/// One datapath. Exponents are unbiased powers of two.
struct Datapath {
  Arithmetic arithmetic = Arithmetic::fused_dot_add;
  Format widen_to =
      Format::none;  ///< operands are first converted to this format, exactly (none: they are not)
  /// The steps run in this format: c is converted to it, exactly; the last result is converted to D by
  /// `output`. Where it is not D's, each step rounds toward zero to it. none: the steps round by `output`.
  Format sum_format = Format::none;
  KOrder order = KOrder::ascending;
  std::int16_t products_per_step = 16;         ///< L: most products of one step
  std::int16_t fraction_bits = 25;             ///< F: addends are truncated to multiples of 2^(E - F)
  std::int16_t min_alignment_exponent = -133;  ///< least alignment exponent E of a step
  AddendPlace addend = AddendPlace::in_first_step;
  Alignment alignment = Alignment::truncate_magnitude;
  ZeroRule zero = ZeroRule::no_part;
  ProductRule product = ProductRule::unnormalised;
  SubnormalRule subnormal_operand = SubnormalRule::kept;
  SubnormalRule subnormal_addend = SubnormalRule::kept;
  InfinityTimesZero infinity_times_zero = InfinityTimesZero::nan;
  /// For mutants: an operand is also NaN when only bits that its format ignores are set beside an
  /// infinity's. The value of a finite operand is read without them all the same.
  bool read_ignored_bits = false;
  /// fma_chain only: which operand's NaN wins, first to last ('a', 'b', 'c').
  char nan_priority[3] = {'b', 'c', 'a'};
  SaturationRule saturation = SaturationRule::once_at_end;    ///< integer only, as the next two
  IntegerSign integer_sign = IntegerSign::of_format;          ///< how the top bit of A and B is read
  BitOperation bit_operation = BitOperation::of_instruction;  ///< of single-bit operands
  ScaleUse scale_use = ScaleUse::applied;                     ///< block-scaled only, as the next three
  ScaleSign scale_sign = ScaleSign::ignored;
  ScaleNan scale_nan = ScaleNan::always;
  SubnormalRule subnormal_scale = SubnormalRule::kept;
  /// exact_dot_add and two_stage_dot_add only; the next three: two_stage_dot_add only.
  ProductOverflow product_overflow = ProductOverflow::wide;
  std::int16_t partial_sums = 1;        ///< sums that the products of a step go to in turn
  std::int16_t sum_fraction_bits = 31;  ///< bits below the leading one that the sum of a step keeps
  FarAddend far_addend = FarAddend::floored;
  std::int16_t group = 16;  ///< grouped_dot_add only, as the next two: products of one group
  GroupExponent group_exponent = GroupExponent::of_scales;
  CancelledGroup cancelled_group = CancelledGroup::counts;
  MetadataRule metadata = MetadataRule::selected;  ///< sparse instructions only
  OutputRule output;

  constexpr bool operator==(const Datapath&) const = default;
};

/// How a datapath is known, shown in every listing.
enum class Evidence : std::uint8_t {
  recorded,    ///< recordings of this hardware are in corpus/data and are replayed by every `verify`
  replayed,    ///< agrees with a public data set of this hardware, read from a path the user gives
  literature,  ///< papers only
  user         ///< read from a file at run time; unchecked
};

}  // namespace mmaudit
