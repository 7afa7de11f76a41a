#include "mmaudit/slices.hpp"

#include <iterator>

#include "mmaudit/gemm_combination.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit {
namespace {

constexpr auto kEven = CastRounding::nearest_even;
constexpr auto kAway = CastRounding::nearest_away;
constexpr auto kCut = CastRounding::toward_zero;
constexpr std::uint64_t kTritonTile = 32;  // the usual BLOCK_K of its tutorials; promote says another

constexpr PartPair kTwoTriton[] = {{1, 0}, {0, 1}, {0, 0, true}};
constexpr PartPair kThreeTriton[] = {{1, 1}, {2, 0}, {0, 2}, {1, 0}, {0, 1}, {0, 0, true}};
constexpr PartPair kTwoCutlass[] = {{1, 0}, {0, 1}, {0, 0}};
constexpr PartPair kNine[] = {{2, 2}, {1, 2, false, -8}, {2, 1}, {0, 2, false, -8}, {1, 1},
                              {2, 0}, {0, 1, false, -8}, {1, 0}, {0, 0, false, -8}};

constexpr std::uint16_t kModuli[] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227,
                                     223, 217, 211, 199, 197, 193, 191, 181, 179, 173};

constexpr std::string_view kLiterature = "literature", kRecorded = "recorded";
constexpr std::string_view kTriton =
    "Triton 3.6.0, lib/Dialect/TritonGPU/Transforms/F32DotTC.cpp, and the PTX that it compiles for sm_90; "
    "recorded on an "
    "H200, docs/results/slices.md";

/// The last part keeps all bits unless it is rounded too.
constexpr SliceScheme triton(std::string_view name, std::string_view dtype, int parts, CastRounding rounding,
                             std::optional<CastRounding> last, std::span<const PartPair> products) {
  return {.name = name,
          .dtype = dtype,
          .parts = parts,
          .rounding = rounding,
          .last_rounding = last,
          .products = products,
          .round = kTritonTile,
          .evidence = kRecorded,
          .source = kTriton};
}

constexpr SliceScheme kSchemes[] = {
    triton("tf32x3", "tf32", 2, kAway, {}, kTwoTriton),
    triton("bf16x3", "bf16", 2, kEven, kEven, kTwoTriton),
    triton("bf16x6", "bf16", 3, kEven, kEven, kThreeTriton),
    {.name = "bf16x9",
     .dtype = "bf16",
     .parts = 3,
     .rounding = kEven,
     .last_rounding = kEven,
     .part_shift = 8,
     .products = kNine,
     .evidence = kLiterature,
     .source = "CUTLASS 0d2b201, gemm/collective/sm100_mma_warpspecialized_emulated.hpp, five bands, scaling "
               "factor 8, promotion interval 1"},
    {.name = "3xtf32",
     .dtype = "tf32",
     .parts = 2,
     .rounding = kCut,
     .last_rounding = kAway,
     .products = kTwoCutlass,
     .continues = true,
     .evidence = kLiterature,
     .source = "CUTLASS 56e011a, gemm/warp/mma_tensor_op_fast_f32.h"},
    {.name = "ozaki1",
     .input = Format::f64,
     .dtype = "int8-w8a8",
     .most = 18,
     .digit_bits = 7,
     .first_bits = 6,
     .chooses = true,
     .evidence = kLiterature,
     .source = "Ootomo, Ozaki, Yokota 2024 (arXiv 2306.11975); ozIMMU 005e35d, src/split.cu, and 1c9ebf8, "
               "src/config.cu"},
    {.name = "cublas-f64",
     .input = Format::f64,
     .dtype = "int8-w8a8",
     .most = 10,
     .digit_bits = 8,
     .first_bits = 7,
     .balanced = true,
     .by_band = true,
     .chooses = true,
     .choice_block = 64,
     .fma_where_not_finite = true,
     .evidence = kRecorded,
     .source =
         "cuBLAS 13.1.0.3 on an H200: fixed mantissa of 8 S - 1 bits, or dynamic; docs/results/slices.md"},
    {.name = "ozaki2",
     .input = Format::f64,
     .dtype = "int8-w8a8",
     .fewest = 2,
     .most = static_cast<int>(std::size(kModuli)),
     .moduli = kModuli,
     .evidence = kLiterature,
     .source = "Ozaki, Uchino, Imamura 2025 (arXiv 2504.08009); GEMMul8 71296f9, fast mode of INT8: "
               "scaling_fast_real.hpp, table.hpp, inverse_scaling_real.hpp"},
};

}  // namespace

std::span<const SliceScheme> slice_schemes() { return kSchemes; }

std::vector<std::string> slicing_names() {
  std::vector<std::string> out;
  for (const SliceScheme& one : kSchemes) {
    std::string& name = out.emplace_back(one.name);
    if (one.parts != 0) continue;
    name.append(":").append(std::to_string(one.fewest)).append(" to ");
    name.append(one.name).append(":").append(std::to_string(one.most));
    if (one.chooses) name.append(", ").append(one.name).append(":auto");
  }
  return out;
}

std::optional<Slicing> find_slicing(std::string_view name) {
  const std::size_t colon = name.find(':');
  const SliceScheme* scheme = find_named(kSchemes, name.substr(0, colon));
  if (scheme == nullptr || (scheme->parts != 0) != (colon == std::string_view::npos)) return std::nullopt;
  Slicing out{scheme, scheme->parts};
  if (scheme->parts != 0 || (scheme->chooses && name.substr(colon + 1) == "auto")) return out;
  const auto parts = whole_number<int>(name.substr(colon + 1));
  if (!parts || *parts < scheme->fewest || *parts > scheme->most) return std::nullopt;
  out.parts = *parts;
  return out;
}

std::string name_of(const Slicing& slicing) {
  std::string out(slicing.scheme->name);
  if (slicing.scheme->parts == 0)
    out.append(":").append(slicing.parts == 0 ? "auto" : std::to_string(slicing.parts));
  return out;
}

int products_of(const Slicing& slicing) {
  if (!slicing.scheme->moduli.empty()) return slicing.parts;
  return slicing.scheme->integer() ? slicing.parts * (slicing.parts + 1) / 2
                                   : static_cast<int>(slicing.scheme->products.size());
}

SlicePath slice_path(const SliceScheme& scheme, const Architecture& architecture) {
  GemmCombination asked;
  asked.architecture = &architecture;
  asked.dtype = *find_gemm_dtype(scheme.dtype);
  asked.scaling = *asked.dtype.usual;
  const GemmPath path = find_path(asked);
  return {path.instruction, path.entry, path.why_not};
}

std::string why_no_slices(const Slicing& slicing, const Instruction& instruction, const Datapath& datapath,
                          const Matmul& problem) {
  const SliceScheme& scheme = *slicing.scheme;
  const GemmDtype& dtype = *find_gemm_dtype(scheme.dtype);
  const Format sums = scheme.integer() ? Format::s32 : Format::f32;
  if (instruction.a != dtype.element || instruction.b != dtype.element || instruction.d != sums ||
      is_sparse(instruction.op) || instruction.scale != Format::none)
    return refusal("inst: found {}, allowed: a dense one of {} with sums of {} for {}", name_of(instruction),
                   name_of(dtype.element), name_of(sums), scheme.name);
  if (problem.c != nullptr) return refusal("c: found with a scheme, allowed: without one");
  if (problem.epilogue) return refusal("epilogue: found with a scheme, allowed: without one");
  if (problem.split_k != 1) return refusal("split_k: found {} with a scheme, allowed: 1", problem.split_k);
  if (problem.promote != 0) return refusal("promote: found {}, allowed: the scheme's round", problem.promote);
  if (problem.scale_a != nullptr || problem.scale_b != nullptr || problem.metadata != nullptr)
    return refusal("scale_a, scale_b, metadata: found with a scheme, allowed: without one");
  const auto step = static_cast<std::uint64_t>(instruction.k);
  if (slicing.round != 0 && (scheme.integer() || scheme.continues))
    return refusal("promote: found {}, allowed: 0 with {}", slicing.round, scheme.name);
  if (const std::uint64_t round = slicing.round != 0 ? slicing.round : scheme.round; round % step != 0)
    return refusal("promote: found {}, allowed: a multiple of k = {} of the instruction", round, step);
  // 127 * 127 * 2^17 < 2^31; balanced digits go down to -128, and 128 * 128 * 2^17 is 2^31. Residues modulo
  // 256 do too, but a sum that wraps is still right modulo 256.
  const std::uint64_t most = (std::uint64_t{1} << 17) - (scheme.balanced ? 1 : 0);
  if (scheme.integer() && problem.k > most)
    return refusal("k: found {}, allowed: up to {} with {}", problem.k, most, scheme.name);
  return why_no_matmul(instruction, datapath, problem);
}

}  // namespace mmaudit
