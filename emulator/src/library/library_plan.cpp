// Which plan the kernels of a library follow: rows per family of kernels.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "library/kernel_families.hpp"
#include "library/kernel_names.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/gemm_problem.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit {
namespace {

using Cut = KernelFamily::Cut;

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool has_word(std::string_view words, std::string_view word) {
  return has(" " + std::string(words) + " ", " " + std::string(word) + " ");
}

bool serves(const KernelFamily& family, Format type) { return has_word(family.types, name_of(type)); }

bool fits(const KernelFamily& family, Format type, std::string_view kernel) {
  return serves(family, type) && std::all_of(std::begin(family.parts), std::end(family.parts),
                                             [&](std::string_view part) { return has(kernel, part); });
}

std::optional<Instruction> instruction_of(const KernelFamily& family, Format a, Format b) {
  std::string name(family.instruction);
  for (const Format each : {a, b})
    if (const std::size_t at = name.find("{}"); at != std::string::npos) name.replace(at, 2, name_of(each));
  return find_instruction(name);
}

/// Why nothing is known of a family on this architecture; empty where it is.
std::string why_not_on(const Architecture& architecture, const KernelFamily& family,
                       const Instruction& instruction) {
  if (family.architectures.empty())
    return find_datapath(architecture, instruction) != nullptr
               ? ""
               : name_of(instruction) + " is not on " + std::string(architecture.name);
  return has_word(family.architectures, architecture.name)
             ? ""
             : "plans of these kernels are recorded on " + std::string(family.architectures) + ", not on " +
                   std::string(architecture.name);
}

std::optional<std::uint64_t> number_at(std::string_view text, std::size_t& at) {
  if (at >= text.size()) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  at = static_cast<std::size_t>(end - text.data());
  return value;
}

/// The K of "..._64x32_128x4_...": a tile, then its K and the stages. 0: the name does not say it.
std::uint64_t tile_k_in(std::string_view kernel) {
  for (std::size_t at = kernel.find('_'); at != std::string_view::npos; at = kernel.find('_', at + 1)) {
    std::size_t p = at + 1;
    const auto is = [&](char c) { return p < kernel.size() && kernel[p] == c && ++p != 0; };
    if (!number_at(kernel, p) || !is('x') || !number_at(kernel, p) || !is('_')) continue;
    const std::optional<std::uint64_t> k = number_at(kernel, p);
    if (k && is('x') && number_at(kernel, p)) return *k;
  }
  return 0;
}

constexpr std::size_t kLineBytes = 128;
constexpr std::uint64_t kCutlassTileK = 32;  ///< of CUTLASS kernels whose names don't say it
/// Custom options of kernels whose slices take turns at D: the order.
constexpr std::int64_t kPairedAtD = 1, kAscendingAtD = 2;
/// Blocks of the largest recorded grid whose slices were paired. One of 2,790 had other bits in 41% of D.
constexpr std::uint64_t kMostBlocksPaired = 256;

/// Whether the library may read 128 bytes of K at once: an operand is contiguous along K, and K is whole.
bool whole_lines(const GemmProblem& problem, std::uint64_t line) {
  return (!problem.transposed_a || problem.transposed_b) && problem.k % line == 0;
}

/// The format that splitKreduce_kernel reads, the fourth argument of its template; none where the name does
/// not say it, or says one that was not recorded for this D.
std::optional<Format> partial_of(std::string_view reduce_kernel, Format output) {
  constexpr std::string_view kName = "splitKreduce_kernelILi32ELi16Ei";
  const std::size_t at = reduce_kernel.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view type = reduce_kernel.substr(at + kName.size());
  for (const auto& [code, format] : {std::pair{"f", Format::f32},
                                     {"d", Format::f64},
                                     {"6__half", Format::f16},
                                     {"13__nv_bfloat16", Format::bf16}}) {
    if (type.substr(0, std::string_view(code).size()) != code) continue;
    if (format == output) return format == Format::f64 ? Format::f32 : format;  // binary64: no rounding
    return format == Format::f32 && output != Format::f64 ? std::optional(format) : std::nullopt;
  }
  return std::nullopt;
}

/// Whether slices of floor(K / slices) elements, rounded up to whole tiles, end before K does.
bool ends_early(std::uint64_t k, std::uint64_t slices, std::uint64_t tile) {
  return k / slices % tile == 0 && k % slices != 0;
}

std::string refuse_plan(const std::string& kernel) {
  return "no plan for the kernel " + (kernel.empty() ? "(none seen)" : printable(kernel));
}

/// Whether splitKreduce_kernel takes a binary32 number to bias and activation: the type behind the first bool
/// of its template says it. Else that number is rounded to D's format first.
bool ends_in_binary32(std::string_view reduce_kernel) {
  constexpr std::size_t kBool = 4;  // "Lb0E"
  const std::size_t at = reduce_kernel.find("Lb", reduce_kernel.find("splitKreduce_kernel"));
  return at == std::string_view::npos || reduce_kernel.substr(at + kBool, 1) == "f";
}
bool adds_slices(std::string_view kernel) { return has(kernel, "splitKreduce_kernel"); }
bool is_xmma(std::string_view kernel) { return has(kernel, "_xmma_gemm_"); }
/// cuBLASLt's own, which adds bias and activation to a finished D.
bool is_epilogue(std::string_view kernel) { return has(kernel, "cublasLt8epilogue4impl12globalKernel"); }

/// The kernel behind the first one that was recorded behind no kernel of its kind, as `given` names it;
/// empty: there is none.
std::string foreign_kernel(const LibraryCall& given, const LibraryCall& call) {
  for (std::size_t i = 1; i < call.kernels.size(); ++i) {
    const std::string& name = call.kernels[i].name;
    const bool known = i == 1 && (adds_slices(name) || is_epilogue(name) ||
                                  (is_xmma(name) && is_xmma(call.kernels[0].name)));
    if (!known) return name.empty() ? "(without a name)" : printable(given.kernels[i].name);
  }
  return {};
}

/// Rows, columns and K of a tile, "tilesize128x64x32"; rows are of our D, of which there are m.
std::optional<std::array<std::uint64_t, 3>> tilesize_in(std::string_view kernel) {
  constexpr std::string_view kWord = "tilesize";
  std::size_t at = kernel.find(kWord);
  if (at == std::string_view::npos) return std::nullopt;
  at += kWord.size();
  std::array<std::uint64_t, 3> out{};
  for (std::uint64_t& each : out) {
    const auto value = number_at(kernel, at);
    if (!value || *value == 0) return std::nullopt;
    each = *value;
    ++at;
  }
  return out;
}

/// Segments of K per tile of D, as many as the grid has blocks for; clusters that stand over the edge of D
/// count whole. 0 where it is not known: tiles of D that get different numbers.
std::uint64_t segments_of(const GemmProblem& problem, const KernelLaunch& launch,
                          const std::array<std::uint64_t, 3>& tile) {
  const auto tiles = [](std::uint64_t size, std::uint64_t tile_size, std::uint32_t cluster) {
    const std::uint64_t whole = std::max(cluster, 1U);
    return detail::quotient_up(detail::quotient_up(size, tile_size), whole) * whole;
  };
  // The first size of a tile is of our rows, but where neither operand is transposed.
  const bool turned = has(launch.name, "_nn_n_tilesize");
  const std::uint64_t rows = turned ? tiles(problem.m, tile[1], launch.cluster[0])
                                    : tiles(problem.m, tile[0], launch.cluster[1]),
                      columns = turned ? tiles(problem.n, tile[0], launch.cluster[1])
                                       : tiles(problem.n, tile[1], launch.cluster[0]);
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1], of_d = rows * columns;
  if (blocks % of_d != 0 || blocks / of_d < 2) return 0;
  const std::uint64_t of_k = detail::quotient_up(problem.k, tile[2]);
  return detail::quotient_up(of_k, detail::quotient_up(of_k, blocks / of_d));
}

/// The plan, but for its slices.
GemmPlan start_of(const KernelFamily& family, const GemmProblem& problem) {
  GemmPlan plan;
  plan.scalar = family.instruction.empty();
  if (plan.scalar) {
    plan.instruction = scalar_instruction(problem.type, b_type_of(problem));
  } else {
    plan.instruction = instruction_of(family, problem.type, b_type_of(problem)).value_or(Instruction{});
    if (problem.type == Format::tf32) plan.input = InputRounding::nearest_even;
  }
  plan.output = output_of(problem);
  plan.promote = family.promote;
  return plan;
}

/// Slices of a split product and what becomes of their sums; false where the name of the kernel that adds
/// them does not say it.
bool split(const GemmProblem& problem, const KernelFamily& family, const LibraryCall& call,
           std::uint64_t tile, std::uint64_t slices, GemmPlan& plan) {
  plan.slices = slices;
  plan.tile_k = tile;
  if (family.cut == Cut::dealt) plan.slice_rule = SliceRule::cyclic;
  if (family.cut == Cut::lines) {
    const std::uint64_t line = kLineBytes / spec_of(problem.type).storage_bytes();
    plan.tile_k = whole_lines(problem, line) ? line : line / 8;
  }
  if (call.kernels.size() == 1) {
    plan.total = plan.output == Format::f64 ? Format::f32 : plan.output;  // the slices take turns at D
  } else if (adds_slices(call.kernels[1].name)) {
    const std::optional<Format> partial = partial_of(call.kernels[1].name, plan.output);
    if (!partial) return false;
    plan.partial = *partial;
  }
  return true;
}

}  // namespace

std::span<const KernelFamily> kernel_families() { return kKernelFamilies; }

const KernelFamily* find_kernel_family(const GemmProblem& problem, std::string_view name) {
  const std::string kernel = mangled(name);
  const auto* const found =
      std::find_if(std::begin(kKernelFamilies), std::end(kKernelFamilies), [&](const KernelFamily& each) {
        return !kernel.empty() && whole_kernel_name(kernel) && fits(each, problem.type, kernel) &&
               (each.most_k == 0 || problem.k <= each.most_k);
      });
  return found == std::end(kKernelFamilies) ? nullptr : found;
}

std::optional<std::int64_t> attribute_of(const LibraryCall& call, std::string_view name) {
  for (const auto& [key, value] : call.algorithm)
    if (key == name) return value;
  return std::nullopt;
}

namespace {

/// The plan but for its epilogue. `given` has the names as messages show them, `call` as rows spell them.
std::optional<GemmPlan> plan_of_sums(const GemmProblem& problem, const LibraryCall& given,
                                     const LibraryCall& call, std::string* why,
                                     const Architecture& architecture) {
  const auto unknown = [&](const std::string& text) {
    if (why != nullptr) *why = text;
    return std::nullopt;
  };
  const KernelLaunch launch = call.kernels.empty() ? KernelLaunch{} : call.kernels.front();
  const std::string& kernel = launch.name;
  const std::string no_plan = refuse_plan(given.kernels.empty() ? "" : given.kernels.front().name);
  const KernelFamily* const family = find_kernel_family(problem, kernel);
  if (family == nullptr) return unknown(no_plan);
  GemmPlan plan = start_of(*family, problem);
  if (const std::string elsewhere = why_not_on(architecture, *family, plan.instruction); !elsewhere.empty())
    return unknown(elsewhere);
  if (const std::string foreign = foreign_kernel(given, call); !foreign.empty())
    return unknown(no_plan + " with " + foreign + " behind it");
  if (problem.type == Format::s8) return plan;  // exact: in whatever order
  const std::int64_t asked = attribute_of(call, "split_k").value_or(1);
  const std::uint64_t slices = asked > 1 ? static_cast<std::uint64_t>(asked) : 1;
  const bool alone = call.kernels.size() == 1, reduced = !alone && adds_slices(call.kernels[1].name);
  const std::string other = no_plan + " with split_k " + std::to_string(slices) +
                            (reduced && slices == 1 ? " and splitKreduce_kernel" : "");
  const auto tiles = tilesize_in(kernel);
  const auto cut = [&](std::uint64_t tile) -> std::optional<GemmPlan> {
    if (split(problem, *family, call, tile, slices, plan)) return plan;
    return unknown(other + ": the format of partial sums can't be read from " +
                   printable(given.kernels[1].name));
  };
  switch (family->cut) {
    case Cut::none:
      return slices == 1 && alone ? std::optional(plan) : unknown(other);
    case Cut::tiles:
    case Cut::lines: {
      const std::uint64_t tile = tile_k_in(kernel);
      if (family->head) plan.head_tile = tile == 0 ? kCutlassTileK : tile;
      if (slices == 1) return reduced || has(kernel, "_splitK_") ? unknown(other) : std::optional(plan);
      if ((tile == 0 && !family->head) || (family->cut == Cut::tiles && !reduced)) return unknown(other);
      if (family->cut == Cut::tiles && ends_early(problem.k, slices, tile)) {
        if (!has_word(family->truncated, name_of(problem.type)))
          return unknown(other + ": slices that may end before K does, not recorded for " +
                         std::string(name_of(problem.type)));
        plan.slice_rule = SliceRule::truncated;
      }
      return cut(tile);
    }
    case Cut::dealt:
      if (slices == 1 && alone) return plan;
      if (!tiles || slices == 1 || (!alone && !is_xmma(call.kernels[1].name))) return unknown(other);
      // The custom option says in which order slices take turns at D.
      if (alone && slices > 2) {
        const std::int64_t option = attribute_of(call, "custom").value_or(-1);
        const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
        const bool paired =
            option == kPairedAtD && problem.type == Format::f64 && blocks != 0 && blocks <= kMostBlocksPaired;
        if (option != kAscendingAtD && !paired)
          return unknown(other + ": slices that take turns at D in an order that was not recorded");
        if (paired) plan.slice_order = SliceOrder::paired;
      }
      return cut((*tiles)[2]);
    case Cut::segments: {
      constexpr std::uint64_t kMostBisected = 8;
      plan.slices = tiles ? segments_of(problem, launch, *tiles) : 0;
      if (plan.slices == 0 || (!alone && !is_xmma(call.kernels[1].name)))
        return unknown(no_plan + ": segments of several lengths");
      if (alone != (plan.slices <= kMostBisected))
        return unknown(no_plan + ": " + std::to_string(plan.slices) + " segments, and " +
                       (alone ? "no second kernel adds them" : "a second kernel adds them"));
      plan.tile_k = (*tiles)[2];
      plan.slice_rule = SliceRule::balanced_last;
      plan.slice_order = alone ? SliceOrder::bisected : SliceOrder::descending;
      return plan;
    }
    case Cut::lanes:
    case Cut::pieces:
    case Cut::rows:
    case Cut::columns: {
      const std::int64_t option = attribute_of(call, "custom").value_or(-1);
      const bool of_block = family->cut == Cut::rows || family->cut == Cut::columns;
      const std::uint64_t of_slice = detail::quotient_up(problem.k, slices);
      plan.lanes = family->cut == Cut::rows      ? launch.block[1]
                   : family->cut == Cut::columns ? launch.block[0]
                                                 : family->lanes;
      plan.lane_tile = family->lane_tile;
      plan.lane_order = family->lane_order;
      if (plan.lanes == 0 || (of_block && (option < 0 || !std::has_single_bit(plan.lanes))) ||
          (slices == 1) != alone || (!alone && !reduced))
        return unknown(other);
      const std::uint64_t piece = detail::quotient_up(of_slice, plan.lanes);
      const std::uint64_t at_once = problem.type == Format::f64 ? 32 : 64;
      if (of_block && option % 2 == 0) plan.lane_tile = std::min(piece, at_once);
      if (family->cut == Cut::pieces) plan.lane_tile = piece;
      return slices > 1 ? cut(1) : std::optional(plan);
    }
  }
  return unknown(other);
}

/// Sets how the plan ends; what of it was not recorded, empty where all was.
std::string add_epilogue(const GemmProblem& problem, const LibraryCall& call, GemmPlan& plan) {
  const KernelLaunch& first = call.kernels.front();
  const std::string_view second = call.kernels.size() == 2 ? std::string_view(call.kernels[1].name) : "";
  const bool reduced = adds_slices(second);
  const KernelFamily* const family = find_kernel_family(problem, first.name);
  std::string recorded(reduced ? "alpha beta bias relu scale gelu" : family->epilogues);
  // Of slices that take turns at D nothing was recorded. A kernel of the same kind may add the slices, and
  // cuBLASLt's own may add bias and activation to a finished D of binary32.
  const bool ends_alone = call.kernels.size() == 1 && plan.slices == 1,
             ends_alike = is_xmma(first.name) && is_xmma(second),
             ends_apart = is_epilogue(second) && plan.output == Format::f32;
  if (!reduced && !ends_alone && !ends_alike && !ends_apart) recorded.clear();
  if (ends_apart) recorded += " bias relu gelu";
  if (has(first.name, "_badd_")) recorded = "alpha beta scale bias";
  for (const auto& [word, asked] : {std::pair{"alpha", problem.alpha != 1},
                                    {"beta", problem.beta != 0},
                                    {"scale", problem.scale_a != 1 || problem.scale_b != 1},
                                    {"bias", problem.bias},
                                    {"relu", problem.activation == GemmActivation::relu},
                                    {"gelu", problem.activation == GemmActivation::gelu}})
    if (asked && !has_word(recorded, word)) return word;
  plan.epilogue = has(first.name, "_badd_") ? EpilogueRule::rounded_sum
                  : reduced                 ? EpilogueRule::fused_c
                  : family->zero_c          ? EpilogueRule::fused_always
                                            : EpilogueRule::fused_sum;
  const bool goes_on = problem.bias || problem.activation != GemmActivation::none;
  if (reduced && goes_on && !ends_in_binary32(second)) plan.before_bias = plan.output;
  if (problem.activation == GemmActivation::gelu && (reduced || ends_apart)) plan.gelu = GeluRule::factored;
  return {};
}

}  // namespace

std::optional<GemmPlan> plan_of(const GemmProblem& problem, const LibraryCall& call, std::string* why,
                                const Architecture& architecture) {
  LibraryCall read = call;
  for (KernelLaunch& kernel : read.kernels) kernel.name = mangled(kernel.name);
  std::optional<GemmPlan> plan = plan_of_sums(problem, call, read, why, architecture);
  if (!plan || !has_epilogue(problem)) return plan;
  const std::string lacking = add_epilogue(problem, read, *plan);
  if (lacking.empty()) return plan;
  if (why != nullptr) *why = refuse_plan(call.kernels.front().name) + " with " + lacking;
  return std::nullopt;
}

}  // namespace mmaudit
