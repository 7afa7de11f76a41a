#pragma once
// Attention as a fused kernel computes it: the plan of its sums as data, which plan a library takes, and O
// from the plan, bit for bit (docs/attention.md).
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/functions.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit {

enum class KeyOrder : std::uint8_t {
  ascending,
  descending,
  /// Of 128 rows: first the blocks that lie in pieces of 128 keys which not all of the rows see wholly,
  /// then the others, each ascending (a block mask of flex_attention).
  partial_first
};
/// How a score S becomes the exponential's operand; m is the running maximum, binary32 rounds every
/// operation.
enum class ScoreRule : std::uint8_t {
  products,      ///< S * s - m * s, each product rounded; s = scale * log2(e), m the maximum of S
  fused,         ///< fma(S, s, -(m * s))
  scaled,        ///< x = ((S * scale) + bias) * log2(e), then x - m; m the maximum of x
  scaled_once,   ///< x = S * s, then x - m; m the maximum of x
  fused_after,   ///< fma(S, s, -m); m the maximum of S * s
  scaled_after,  ///< x = S * scale, then fma(x, log2(e), -m); m the maximum of x * log2(e)
  /// scaled_after; but scaled in the blocks that partial_first takes first, where a mask's select stands
  /// between product and difference.
  scaled_masked,
  /// fma(x, s, -m); m the maximum of fma(x, s, -8.807). With d the scales of Q's row and K's row: x = S and
  /// s * d in the place of s; in the last block that a row sees x = S * d.
  dequantized
};
/// How scale * log2(e) is made, which is binary32 in the end, as scale is.
enum class Log2eRule : std::uint8_t { binary64, binary32, once };
/// How a row's P are added. Columns 8 n + 2 t and 8 n + 2 t + 1 of a block belong to lane t of four.
enum class RowSum : std::uint8_t {
  lanes,        ///< a sum per lane runs through all blocks; a block's first add is fma(sum, rescale, P)
  block_lanes,  ///< a sum per lane and block, which joins the lane's total: fma(total, rescale, sum)
  warps,        ///< of 32 columns a sum from four lanes, added one after another to total * rescale
  joined,       ///< a sum per lane and block; four lanes become one, which joins: fma(total, rescale, sum)
  eighths,      ///< eight sums of every eighth column, the first from total * rescale; added by halves
  quads         ///< of 16 columns a lane's four become one, which is added to the lane's total * rescale
};
/// How four lanes become one.
enum class LaneJoin : std::uint8_t {
  crossed,    ///< (0 + 2) + (1 + 3)
  neighbours  ///< (0 + 1) + (2 + 3)
};
/// How P V of one block of keys joins those before.
enum class OutputSum : std::uint8_t {
  chain,     ///< O * rescale starts the block's chain
  blocks,    ///< the chain starts at 0; fma(rescale, O, chain), the last block's with the division in it
  two_level  ///< the chain starts at 0; (O * rescale) + chain
};
enum class OutputDivision : std::uint8_t {
  reciprocal,   ///< O * (1 / sum), IEEE
  approximate,  ///< O * rcp.approx(sum)
  quotient      ///< O / sum, IEEE
};
enum class LseRule : std::uint8_t {
  log2_unit,   ///< fma(m, scale, lg2(sum) * ln 2); of a row without keys +infinity
  log_scaled,  ///< m / log2(e) + logf(sum); of a row without keys 0
  log2_sum,    ///< fma(m, ln 2, lg2(sum) * ln 2), m in units of log2
  log2_first,  ///< fma(lg2(sum), ln 2, m * ln 2), m in units of log2
  log2_whole   ///< (m + log2f(sum)) * ln 2, m in units of log2; of a row without keys -infinity
};

namespace names {
inline constexpr std::string_view kKeyOrder[] = {"ascending", "descending", "partial_first"};
inline constexpr std::string_view kScoreRule[] = {"products",      "fused",       "scaled",
                                                  "scaled_once",   "fused_after", "scaled_after",
                                                  "scaled_masked", "dequantized"};
inline constexpr std::string_view kLog2eRule[] = {"binary64", "binary32", "once"};
inline constexpr std::string_view kRowSum[] = {"lanes", "block_lanes", "warps", "joined", "eighths", "quads"};
inline constexpr std::string_view kLaneJoin[] = {"crossed", "neighbours"};
inline constexpr std::string_view kOutputSum[] = {"chain", "blocks", "two_level"};
inline constexpr std::string_view kOutputDivision[] = {"reciprocal", "approximate", "quotient"};
inline constexpr std::string_view kLseRule[] = {"log2_unit", "log_scaled", "log2_sum", "log2_first",
                                                "log2_whole"};
inline constexpr std::string_view kExponential[] = {"exp2f", "ex2.approx.f32", "ex2.approx.ftz.f32"};
inline constexpr std::string_view kCausal[] = {"none", "top_left", "bottom_right"};
}  // namespace names

enum class Exponential : std::uint8_t { exp2f, ex2, ex2_ftz };

struct AttentionPlan {
  /// Their chains sum in ascending k, S from +0; scalar_instruction(f32, f32): one fma after another.
  Instruction qk, pv;
  std::uint64_t block_q = 128;  ///< rows of a tile: which blocks a causal mask leaves out
  std::uint64_t block_k = 128;  ///< keys of a block
  KeyOrder order = KeyOrder::ascending;
  ScoreRule score = ScoreRule::products;
  Log2eRule log2e = Log2eRule::binary64;
  Exponential exponential = Exponential::exp2f;
  Format p = Format::f16;  ///< P is rounded to it for P V; the row sum takes P before that
  /// Not 0: P is rounded to bf16, then so many keys have a scale in E4M3, P's largest number
  /// for 1 of 448 * 6 of it.
  std::uint64_t p_block = 0;
  std::uint64_t offset = 0;     ///< P is 2^offset as large
  std::uint64_t threshold = 0;  ///< the maximum stays unless it would rise by more, in units of log2
  RowSum row_sum = RowSum::lanes;
  LaneJoin join = LaneJoin::crossed;
  OutputSum output_sum = OutputSum::chain;
  OutputDivision division = OutputDivision::reciprocal;
  std::uint64_t splits = 1;  ///< of the blocks of keys, with a maximum and sums each; then combined
  /// Splits i, i + this, ... are weighed by one lane; lanes are added by halves. A power of two.
  std::uint64_t combine_lanes = 1;
  LseRule lse = LseRule::log2_unit;
  Format output = Format::f16;

  bool operator==(const AttentionPlan&) const = default;
};

/// Shows `visit` every field under its name, as for_each_field() of a GemmPlan does.
template <typename Plan, typename Visit>
requires std::same_as<std::remove_const_t<Plan>, AttentionPlan>
void for_each_field(Plan& plan, Visit&& visit) {
  visit.instruction("qk", plan.qk);
  visit.instruction("pv", plan.pv);
  visit.count("block_q", plan.block_q, 1);
  visit.count("block_k", plan.block_k, 1);
  visit.choice("order", names::kKeyOrder, plan.order);
  visit.choice("score", names::kScoreRule, plan.score);
  visit.choice("log2e", names::kLog2eRule, plan.log2e);
  visit.choice("exponential", names::kExponential, plan.exponential);
  visit.format("p", plan.p);
  visit.count("p_block", plan.p_block, 0);
  visit.count("offset", plan.offset, 0);
  visit.count("threshold", plan.threshold, 0);
  visit.choice("row_sum", names::kRowSum, plan.row_sum);
  visit.choice("join", names::kLaneJoin, plan.join);
  visit.choice("output_sum", names::kOutputSum, plan.output_sum);
  visit.choice("division", names::kOutputDivision, plan.division);
  visit.count("splits", plan.splits, 1);
  visit.count("combine_lanes", plan.combine_lanes, 1);
  visit.choice("lse", names::kLseRule, plan.lse);
  visit.format("output", plan.output);
}

/// "qk mma..., pv mma..., block q 128, ...": every field that differs from the least or first value.
std::string text_of(const AttentionPlan& plan);
/// The plan that these words of text_of() say; nullopt for other words.
std::optional<AttentionPlan> attention_plan_in(std::string_view words);
/// The fields that differ, "splits 1 -> 4; block k 64 -> 128".
std::string change_of(const AttentionPlan& before, const AttentionPlan& after);

enum class Causal : std::uint8_t { none, top_left, bottom_right };

/// What is asked: sizes and masks. Tensors are (batch, heads, rows, depth), contiguous.
struct AttentionProblem {
  Format type = Format::f16;
  std::uint64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, depth = 1;
  Causal causal = Causal::none;
  /// Keys that a query sees to the left and right of its diagonal (the bottom right one); none: all.
  std::optional<std::uint64_t> left, right;
  double scale = 0;   ///< 0: 1 / sqrt(depth)
  bool bias = false;  ///< a mask is added to the scores
  /// Not 0: a score becomes tanh.approx.f32(S * f32(scale / softcap)), and softcap takes the scale's place.
  double softcap = 0;
  bool sinks = false;  ///< one more logit per head is in the row sums
  /// Of a launch of several sequences (cu_seqlens), of which this is one: the most queries of one; 0: no
  /// such.
  std::uint64_t packed = 0;

  bool operator==(const AttentionProblem&) const = default;
};

/// Raw bits. Descales: binary32 factors per batch and key head; null: 1.
struct AttentionOperands {
  const void *q = nullptr, *k = nullptr, *v = nullptr;
  const void* bias = nullptr;  ///< (batch or 1, heads or 1, queries, keys) in the problem's type
  std::uint64_t bias_batch = 1, bias_heads = 1;
  const float *descale_q = nullptr, *descale_k = nullptr, *descale_v = nullptr;
  const float* sinks = nullptr;  ///< per head
  /// Of ScoreRule::dequantized: scales (batch, heads, queries), (batch, kv_heads, keys); and of V's columns
  /// (batch, kv_heads, depth), null: 1.
  const float *row_q = nullptr, *key_k = nullptr, *column_v = nullptr;
};
struct AttentionResult {
  void* o = nullptr;     ///< (batch, heads, queries, depth) in the plan's output format
  float* lse = nullptr;  ///< (batch, heads, queries); null: not asked
  /// Of studies, null: not asked. (batch, heads, queries, keys): scores S as QK's chain gives them; P before
  /// it is rounded; the running maximum that P was made with; the product of what later blocks rescale it
  /// with.
  float *scores = nullptr, *weights = nullptr, *bases = nullptr, *later = nullptr;
  float* maxima = nullptr;  ///< (batch, heads, queries): the last running maximum, of S (of x: ScoreRule)
  float* sums = nullptr;    ///< (batch, heads, queries): the row sum before the division
};

/// Why there is no O, as "field: found X, allowed: Y"; empty when there is one.
std::string why_no_attention(const AttentionProblem& problem, const AttentionPlan& plan,
                             const Architecture& architecture = *find_architecture(kDefaultArchitecture));

/// What: O as a kernel of this plan computes it on `architecture`, and lse. Range and rounding: any bits, as
/// the plan's fields say; with an Inf or NaN in K or V a block that a kernel's mask leaves out may differ.
/// The same bits for any number of threads (0: one per core). Errors: none when why_no_attention() is empty.
void attention(const AttentionProblem& problem, const AttentionPlan& plan, const AttentionOperands& operands,
               const AttentionResult& result, unsigned threads = 1,
               const Architecture& architecture = *find_architecture(kDefaultArchitecture));

/// The numbers that a plan's P keeps of `count` keys' P, from a multiple of p_block on.
void attention_p(const AttentionPlan& plan, const float* p, std::uint64_t count, double* kept);
/// The keys [first, last) that query `row` sees.
std::pair<std::uint64_t, std::uint64_t> keys_of_row(const AttentionProblem& problem, std::uint64_t row);
/// scale (softcap where there is one), and that * log2(e), as kernels make them of the problem's.
std::pair<float, float> scales_of(const AttentionProblem& problem, Log2eRule rule = {});

/// A library's kernels that have plans: docs/attention.md lists them from this table.
struct AttentionFamily {
  std::string_view name;      ///< "torch-flash"
  std::string_view kernels;   ///< what its kernels are called
  std::string_view types;     ///< formats of Q, K, V
  std::string_view source;    ///< public file
  std::string_view evidence;  ///< "recorded ..." or "literature"
  std::string_view architecture;
  std::string_view takes;  ///< beside masks: "softcap", "sinks", "cu_seqlens"
  /// The plan by the library's own rules of dispatch; nullopt, with why.
  std::optional<AttentionPlan> (*plan)(const AttentionProblem& problem, std::string* why);
};
std::span<const AttentionFamily> attention_families();
/// Null: there is none of that name.
const AttentionFamily* find_attention_family(std::string_view name);
/// The plan that a family takes for a problem; nullopt, with why ("family: found X, allowed: ...").
std::optional<AttentionPlan> attention_plan_of(std::string_view family, const AttentionProblem& problem,
                                               std::string* why);
/// The plan that the names of the kernels say (demangled or as profilers print them); nullopt, with why.
std::optional<AttentionPlan> attention_plan_of(const AttentionProblem& problem,
                                               const std::vector<std::string>& kernels, std::string* why);

/// How numbers become the Q, K and V that a kernel takes, and whose plan sums them.
struct AttentionRecipe {
  /// How elements are made, beside scales of the tensor or of heads: INT8 of groups of rows and V per column
  /// (of rows that a thread has, of those that a warp has), or NVFP4's numbers.
  enum class Style : std::uint8_t { scales, threads, warps, nvfp4 };

  std::string_view name, family;
  Format type = Format::bf16;  ///< of the operands of the products
  bool scaled = false;         ///< divided by the largest number over the format's largest
  bool per_head = false;       ///< a scale per batch and key head; else one of the tensor
  Format cache = Format::f32;  ///< K and V go through this format first, scaled; f32: they don't
  std::int64_t offset = -1, threshold = -1;  ///< -1: the family's
  bool two_level = false;  ///< P V of each block of keys is added outside of the tensor core
  std::string_view source, evidence;
  Style style = Style::scales;

  /// What Q, K and V are before, where they are tensors of 16 bits, and what O is.
  [[nodiscard]] constexpr Format base() const { return style == Style::scales ? type : Format::bf16; }
};
std::span<const AttentionRecipe> attention_recipes();
/// Null: there is none of that name.
const AttentionRecipe* find_attention_recipe(std::string_view name);
/// The plan of a recipe, which says the type of the operands; nullopt, with why.
std::optional<AttentionPlan> attention_plan_of(const AttentionRecipe& recipe, AttentionProblem problem,
                                               std::string* why);

/// Q, K, V and a mask as a recipe's kernel takes them.
struct AttentionElements {
  std::vector<std::byte> q, k, v, bias;
  std::vector<float> scale_q, scale_k, scale_v;  ///< per batch and key head: number = element * scale
  std::vector<float> row_q, key_k, column_v;     ///< as AttentionOperands, which empty ones leave null

  [[nodiscard]] AttentionOperands operands() const {
    const auto given = [](const auto& x) { return x.empty() ? nullptr : x.data(); };
    return {q.data(),
            k.data(),
            v.data(),
            given(bias),
            1,
            1,
            given(scale_q),
            given(scale_k),
            given(scale_v),
            nullptr,
            given(row_q),
            given(key_k),
            given(column_v)};
  }
};
/// What: numbers, (batch, heads, rows, depth), as elements. Rounding: to nearest even of binary32 number /
/// scale, saturating where the recipe has scales; a scale maps the largest magnitude to the format's. Other
/// styles as their sources do, of numbers that are rounded to bf16 first.
AttentionElements attention_elements(const AttentionRecipe& recipe, const AttentionProblem& problem,
                                     std::span<const double> q, std::span<const double> k,
                                     std::span<const double> v, std::span<const double> bias = {});

}  // namespace mmaudit
