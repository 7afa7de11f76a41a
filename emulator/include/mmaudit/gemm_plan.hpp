#pragma once
// The plan of a whole product: in which order, formats and roundings a kernel of a library sums it. A plan is
// data; predict() turns it and the operands into D.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit {

/// How the tiles of K are dealt to slices. Slice 0 has the lowest k.
enum class SliceRule : std::uint8_t {
  even,           ///< contiguous, ceil(tiles / slices) tiles each; the last slices are shorter or have none
  balanced,       ///< contiguous, tiles / slices each, and one more for the first tiles % slices
  balanced_last,  ///< the same, with one more for the last tiles % slices
  cyclic,         ///< tile t to slice t % slices
  truncated  ///< contiguous, ceil(floor(k / slices) / tile) tiles each; k beyond the last slice is in no sum
};
/// How sums of slices or of lanes are added, in binary32 (of f64 in binary64) to nearest even.
enum class SliceOrder : std::uint8_t {
  ascending,   ///< one after another to a total that starts from +0
  descending,  ///< the same from the last slice on
  bisected,    ///< the sum of the first and the sum of the rest, each found in this way; the rest is the
               ///< largest power of two below their number: (0 (1 2)), ((0 1) ((2 3) (4 5)))
  halved,      ///< slice i and slice i + count / 2, then half as many sums, until one is left; a power of two
  /// Slice i and slice i + h are added, h = ceil(count / 2). Their sums join the first one, 0 and h, one
  /// after another; but the last slice joins it next, alone, and leaves its partner alone: ((0 4) 6 (1 5) 2
  /// 3) of 7.
  paired
};
/// How a binary32 operand of a tf32 instruction becomes a tf32 one; other operands are taken as they are.
enum class InputRounding : std::uint8_t { toward_zero, nearest_even, nearest_away };

/// Where C joins a product. All but the epilogue take it as it is, without alpha and beta.
enum class CPlace : std::uint8_t {
  epilogue,  ///< the finished sum, as EpilogueRule says
  chain,     ///< starts the first chain, of slice 0 and lane 0, rounded to its `running`; with `promote` its
             ///< total
  total      ///< starts the total of the slices, or of a single slice's lanes
};

/// How GELU of x is computed, in binary32; t is tanh.approx.f32 of u.
enum class GeluRule : std::uint8_t {
  fused,    ///< 0.5 * fma(x, t, x), u = fma(c * x, x, b) * x
  factored  ///< (0.5 * x) * (1 + t), u = (b * x) * fma(0.044715 * x, x, 1)
};

namespace names {
inline constexpr std::string_view kGeluRule[] = {"fused", "factored"};
inline constexpr std::string_view kEpilogueRule[] = {"fused_sum", "fused_c", "rounded_sum", "fused_always"};
inline constexpr std::string_view kCPlace[] = {"epilogue", "chain", "total"};
inline constexpr std::string_view kSliceRule[] = {"even", "balanced", "balanced_last", "cyclic", "truncated"};
inline constexpr std::string_view kSliceOrder[] = {"ascending", "descending", "bisected", "halved", "paired"};
inline constexpr std::string_view kInputRounding[] = {"toward_zero", "nearest_even", "nearest_away"};
}  // namespace names

struct GemmPlan {
  Instruction instruction;  ///< its chain sums a slice, in ascending k from +0
  /// No matrix instruction: a chain of fma over k, from +0, in binary64 of f64 and else in binary32, or as
  /// `running` says; of the instruction only the formats of A and B count, and tf32 stands for all bits of a
  /// binary32.
  bool scalar = false;
  /// Scalar: every fma of a chain is rounded once, to f16 or bf16; f32: as the sums are, binary32 or
  /// binary64.
  Format running = Format::f32;
  std::uint64_t tile_k =
      0;  ///< bounds of slices are multiples of it; 0: of the instruction's k (scalar: of 1)
  std::uint64_t slices = 1;
  SliceRule slice_rule = SliceRule::even;
  SliceOrder slice_order = SliceOrder::ascending;
  /// f16 or bf16: the sum of a slice is rounded to it before the add; f32: it stays as it is, binary32 or, of
  /// f64, binary64.
  Format partial = Format::f32;
  Format total = Format::f32;  ///< the same of the total after every add
  /// Where a slice is no whole number of tiles this long, the rest of it comes first, padded with +0 to whole
  /// instructions; 0: the padding stands at the end.
  std::uint64_t head_tile = 0;
  std::uint64_t promote = 0;  ///< as Matmul's, inside a slice or a lane
  /// Scalar: lane_tile elements of a slice in turn go to each of so many sums, which are then added.
  std::uint64_t lanes = 1;
  std::uint64_t lane_tile = 1;
  SliceOrder lane_order = SliceOrder::ascending;
  InputRounding input = InputRounding::toward_zero;
  CPlace c_place = CPlace::epilogue;
  EpilogueRule epilogue = EpilogueRule::fused_sum;
  /// f16 or bf16: what there is before the bias and the activation is rounded to it.
  Format before_bias = Format::f32;
  GeluRule gelu = GeluRule::fused;
  Format output = Format::f32;  ///< of D: the sum is rounded to it once, to nearest even; s32 of integers

  bool operator==(const GemmPlan&) const = default;
};

/// Shows `visit` every field of a plan under its name in files: instruction(name, value), count(name, value,
/// least), choice(name, names, value), format(name, value), boolean(name, value).
template <typename Plan, typename Visit>
void for_each_field(Plan& plan, Visit&& visit) {
  visit.instruction("instruction", plan.instruction);
  visit.boolean("scalar", plan.scalar);
  visit.format("running", plan.running);
  visit.count("tile_k", plan.tile_k, 0);
  visit.count("slices", plan.slices, 1);
  visit.choice("slice_rule", names::kSliceRule, plan.slice_rule);
  visit.choice("slice_order", names::kSliceOrder, plan.slice_order);
  visit.format("partial", plan.partial);
  visit.format("total", plan.total);
  visit.count("head_tile", plan.head_tile, 0);
  visit.count("promote", plan.promote, 0);
  visit.count("lanes", plan.lanes, 1);
  visit.count("lane_tile", plan.lane_tile, 1);
  visit.choice("lane_order", names::kSliceOrder, plan.lane_order);
  visit.choice("input", names::kInputRounding, plan.input);
  visit.choice("c_place", names::kCPlace, plan.c_place);
  visit.choice("epilogue", names::kEpilogueRule, plan.epilogue);
  visit.format("before_bias", plan.before_bias);
  visit.choice("gelu", names::kGeluRule, plan.gelu);
  visit.format("output", plan.output);
}

/// What a scalar plan has in the place of an instruction.
Instruction scalar_instruction(Format a, Format b);

/// "wgmma.m64n64k16.f32.f16.f16, tile k 64, slices 3, output f16": the fields that are not as in GemmPlan{}.
std::string text_of(const GemmPlan& plan);
/// The plan that these words of text_of() say; nullopt for other words.
std::optional<GemmPlan> gemm_plan_in(std::string_view words);
/// The fields that differ, "slices 4 -> 6; slice order ascending -> descending"; empty: there are none.
std::string change_of(const GemmPlan& before, const GemmPlan& after);

/// Elements of K that belong together: [first, last).
struct KRange {
  std::uint64_t first = 0, last = 0;
  bool operator==(const KRange&) const = default;
};
/// The slices of K, each as ranges of ascending k, without empty slices; none where k is 0. Together they
/// hold every k, but for the rule `truncated`.
std::vector<std::vector<KRange>> slice_ranges_of(const GemmPlan& plan, std::uint64_t k);
/// The same where each slice is one range, as it is for every rule but cyclic: from its first to its last k.
std::vector<KRange> slices_of(const GemmPlan& plan, std::uint64_t k);

/// The lanes of one slice, as slices of it.
GemmPlan lanes_of(const GemmPlan& plan);

/// SliceOrder::paired as a list: one or two slices that are added first and then join the total.
std::vector<std::vector<std::uint64_t>> paired_slices(std::uint64_t count);

/// What computes one chain per element: matmul(), or the same on a GPU.
using Product = std::function<void(const Instruction&, const Datapath&, const Matmul&)>;

/// Why predict() can't do this, as "field: found X, allowed: Y"; empty when it can.
std::string why_no_prediction(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem);

/// What: D as a kernel of this plan computes it. Shapes: as Matmul; A and B of a tf32 instruction are
/// binary32. `problem` has no promote and no split_k of its own; without an epilogue D has the format
/// plan.output, with one the epilogue's output, which is plan.output too. C is the epilogue's;
/// where plan.c_place is another there is no epilogue, and C has the format plan.output. Range and
/// rounding: any bit pattern; as the fields of GemmPlan say. Errors: none when why_no_prediction() is empty,
/// but what `product` throws.
void predict(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem, const Product& product);

}  // namespace mmaudit
