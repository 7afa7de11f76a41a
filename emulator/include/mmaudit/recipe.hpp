#pragma once
// How numbers become the elements, scales and factors of a product: elements and scalings as rows, and
// recipes, which name one of each as people run them.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/convert.hpp"

namespace mmaudit {

/// Numbers of one operand that have one scale: so many lanes (rows of A, columns of B) by so many k; 0: all.
struct Granularity {
  std::uint64_t lanes = 0, k = 0;
  constexpr bool operator==(const Granularity&) const = default;
};
inline constexpr Granularity kWholeTensor{}, kOneLane{1, 0};
constexpr Granularity group_of(std::uint64_t k) { return {1, k}; }
constexpr Granularity tile_of(std::uint64_t lanes, std::uint64_t k) { return {lanes, k}; }

/// Who multiplies by the scales.
enum class ScaledBy : std::uint8_t {
  nobody,
  epilogue,    ///< software: binary32 factors, when the sum is whole
  totals,      ///< software: binary32 factors, when the sum of a block leaves the tensor core
  instruction  ///< the tensor core: scale bytes of the dtype's format, over the dtype's block of k
};

/// Of scales that are powers of two; the others are rounded to the nearest, ties to even.
enum class ScaleRounding : std::uint8_t {
  nearest_even,
  down,  ///< by the exponent of the largest magnitude, which may saturate then (OCP)
  up     ///< until nothing saturates (RCEIL)
};

/// How the epilogue applies the factors of both operands; binary32, every product rounded.
enum class FactorOrder : std::uint8_t {
  product,  ///< (a b) sum: cuBLASLt's alpha, and so torch._scaled_mm with a factor per tensor
  a_first,  ///< (sum a) b
  b_first   ///< (sum b) a
};

/// How a number becomes an element under its scales, before its one rounding.
enum class Division : std::uint8_t {
  exact,       ///< divided by all of them, in binary64
  reciprocal,  ///< binary32, every operation rounded: times the reciprocal of the factor
  inverse,     ///< the same, but the multiplier comes first and the tensor's factor is its reciprocal
  quotient,    ///< binary32: divided by scale times factor
  of_inverse   ///< the same, but by scale over most times a reciprocal; the factor is its reciprocal
};
/// Which numbers count for a largest magnitude.
enum class Counted : std::uint8_t {
  finite,
  infinite,  ///< and infinities
  all        ///< and NaN, which is then the largest
};

/// How a power of two comes of a block's largest magnitude.
struct PowerRule {
  /// Of what the exponent is; but for `exact` of binary32, whose bits make the byte.
  enum class Of : std::uint8_t {
    exact,     ///< as ScaleRounding says, of a block of zeros 1
    size,      ///< of the magnitude; the element's largest exponent comes off
    quotient,  ///< of the magnitude over the element's largest number
    product    ///< the same by that number's reciprocal
  } of = Of::exact;
  std::uint32_t added = 0;     ///< to the bits, before the fraction is dropped
  std::uint32_t nothing = 0;   ///< up to these bits the scale's byte is 0
  std::int16_t infinite = -1;  ///< byte where those are an infinity's; -1: as they give, at most 254
  std::uint8_t nan = 255;      ///< byte of a block with a NaN, where NaN counts
  float times_least = 0x1p127F, times_nan = 0;  ///< what numbers under bytes 0 and 255 are multiplied by
  constexpr bool operator==(const PowerRule&) const = default;
};

/// As listings and the C interface have them; each ends with a null byte.
std::string_view name_of(ScaledBy by);
std::string_view name_of(ScaleRounding rounding);
std::string_view name_of(FactorOrder order);
std::string_view name_of(Division division);
std::string_view name_of(Counted counted);
/// The names of all, which find_factor_order() takes.
std::span<const std::string_view> factor_orders();
std::optional<FactorOrder> find_factor_order(std::string_view name);

struct Scaling {
  std::string_view name;  ///< as --scale and the C interface take it
  ScaledBy by = ScaledBy::nobody;
  Granularity a = {}, b = {};  ///< of factors of software; b.lanes: of scales of the instruction too
  ScaleRounding rounding = ScaleRounding::nearest_even;
  bool second_level = false;  ///< above the scales of the instruction one binary32 factor of the tensor
  FactorOrder order = FactorOrder::product;
  std::string_view activations = {};  ///< the scaling of a B that is no weight; empty: this one
  Division division = Division::exact;
  Counted counted = Counted::finite;
  float least = 0;  ///< least of a largest magnitude, of two levels of a scale
  double most = 0;  ///< what a largest magnitude becomes; 0: the element's largest number
  PowerRule power = {};
  float zero_scale = 0;       ///< of two levels: the scale in the place of one that is zero
  bool plain_zero = false;    ///< what is zero before it is rounded loses its sign
  bool power_factor = false;  ///< Division::inverse: the multiplier is cut to a power of two
  bool bare = false;  ///< Division::inverse: most times a reciprocal, 1 for zero and NaN, without limits else
  std::string_view source = {};  ///< whose scales these are

  [[nodiscard]] constexpr bool by_software() const {
    return by == ScaledBy::epilogue || by == ScaledBy::totals;
  }
  /// Factors that differ along K: binary32 totals take them.
  [[nodiscard]] constexpr bool along_k() const { return by == ScaledBy::totals; }
  constexpr bool operator==(const Scaling&) const = default;
};

/// The scalings that dtypes share: rows named as an enumerator would be.
namespace scalings {
// NOLINTBEGIN(readability-identifier-naming)
// clang-format off
inline constexpr Scaling none{"none"};
inline constexpr Scaling tensor{"tensor", ScaledBy::epilogue, kWholeTensor, kWholeTensor};
inline constexpr Scaling tensor_inverse{
    .name = "tensor-inverse", .by = ScaledBy::epilogue, .division = Division::inverse, .counted = Counted::infinite,
    .source = "Transformer Engine d0067d0, common/recipe/recipe_common.cuh:14 and common/cast/fp8/quantize_fp8.cuh:181, "
              "amax_epsilon 0; torchao 0.18.0, float8/float8_utils.py:32, where a tensor is finite and beyond 1e-12"};
inline constexpr Scaling row{
    .name = "row", .by = ScaledBy::epilogue, .a = kOneLane, .b = kOneLane, .order = FactorOrder::b_first,
    .source = "order: torch._scaled_mm with scales of rows, whose kernel computes D's transpose but for a few sizes "
              "(PyTorch 01386a0, ATen/native/cuda/RowwiseScaledMM.cu:175)"};
inline constexpr Scaling blocks{
    .name = "1x128", .by = ScaledBy::totals, .a = group_of(128), .b = group_of(128),
    .division = Division::reciprocal, .counted = Counted::all, .least = 1e-4F,
    .source = "DeepGEMM 54e2261, deep_gemm/utils/math.py:26 (per_token_cast_to_fp8, without ue8m0)"};
inline constexpr Scaling tiles{
    .name = "128x128", .by = ScaledBy::totals, .a = group_of(128), .b = tile_of(128, 128), .activations = "1x128",
    .division = Division::reciprocal, .counted = Counted::all, .least = 1e-4F,
    .source = "DeepSeek-V3 (arXiv 2412.19437, section 3.3); DeepGEMM 54e2261, deep_gemm/utils/math.py:51 "
              "(per_block_cast_to_fp8, without ue8m0)"};
inline constexpr Scaling mx{
    .name = "mx", .by = ScaledBy::instruction, .second_level = true, .division = Division::inverse,
    .counted = Counted::infinite,
    .source = "NVFP4 (Transformer Engine d0067d0, common/cast/nvfp4/core_nvfp4.cuh:36 and "
              "quantize_transpose_nvfp4.cuh:1299, 1 x 16 alone)"};
inline constexpr Scaling mx_reciprocal{
    .name = "mx-reciprocal", .by = ScaledBy::instruction, .second_level = true, .division = Division::reciprocal,
    .counted = Counted::all, .least = 0x1p-6F,
    .source = "torchao 0.18.0, prototype/mx_formats/nvfp4_tensor.py:772 (nvfp4_quantize with a per-tensor scale)"};
inline constexpr Scaling mx_floor{
    .name = "mx-floor", .by = ScaledBy::instruction, .rounding = ScaleRounding::down, .counted = Counted::all,
    .power = {.infinite = 255}, .source = "OCP Microscaling 1.0, section 6.3"};
inline constexpr Scaling mx_ceil{
    .name = "mx-ceil", .by = ScaledBy::instruction, .rounding = ScaleRounding::up, .counted = Counted::all,
    .power = {.infinite = 255}, .source = "PTX ISA 9.0, cvt.rp.satfinite.ue8m0x2.f32, of finite numbers"};
// clang-format on
// NOLINTEND(readability-identifier-naming)
}  // namespace scalings

/// The names that find_scalings() takes, in the order that listings print.
std::vector<std::string> scaling_names();
/// The scalings of this name: "mx" means both rules for powers of two. Empty for anything else.
std::vector<Scaling> find_scalings(std::string_view name);
/// Those that software applies, in the order that listings print.
std::vector<Scaling> software_scalings();

/// What operands are converted to.
struct GemmDtype {
  std::string_view name;   ///< "e4m3", "mxf8"
  std::string_view title;  ///< "FP8 E4M3"
  Format element = Format::none;
  Format scale = Format::none;  ///< of the scales that the instruction applies; none: it has none
  int scale_block = 0;          ///< elements of k per scale
  CastRule cast;
  Format output = Format::none;            ///< what libraries usually give back for such operands
  const Scaling* usual = &scalings::none;  ///< when the user names none
  bool scalable = false;                   ///< so few exponents that software scales, in any way
  const Scaling* other_usual = nullptr;    ///< beside `usual`, where there is another rule
  Format other = Format::none;             ///< of B where it has another type than A
  bool of_recipe = false;                  ///< only recipes have it: studies of types leave it out

  [[nodiscard]] constexpr Format element_b() const { return other == Format::none ? element : other; }
  [[nodiscard]] constexpr bool integer() const { return spec_of(element).integer(); }
};

/// Those whose operands have one type, in the order that listings print.
std::span<const GemmDtype> gemm_dtypes();
/// One of them, or a pair: "e4m3-e5m2".
const GemmDtype* find_gemm_dtype(std::string_view name);
/// A in one type and B in another ("e4m3", "e5m2"); null where no instruction takes both.
const GemmDtype* find_gemm_dtype(std::string_view a, std::string_view b);
/// The row whose instruction scales blocks of these elements by powers of two; null when there is none.
const GemmDtype* microscaled(const GemmDtype& dtype);
/// The scalings of such operands when the user names none.
std::vector<Scaling> usual_scalings(const GemmDtype& dtype);

/// One way in which people run products: which GPU multiplies what, scaled how.
struct Recipe {
  std::string_view name, arch, dtype;
  std::string_view scaling = {};  ///< empty: the usual one of the dtype
  std::string_view policy = "plain";
  std::string_view gradient = {};  ///< dtype of gradients in backward products; empty: as the other operands
  int history = 0;                 ///< the factor of a tensor is from the largest of so many tensors before
  std::string_view source = {};    ///< who runs it so
  std::string_view bytes_of = {};  ///< the packages, with versions, whose bytes it gives; empty: none's
};
/// What a file of src/quantize/recipes/ has: recipes, and the dtypes that only they use.
struct RecipeFile {
  std::span<const Recipe> recipes;
  std::span<const GemmDtype> dtypes = {};
};
/// All of them, by file and then as the file has them.
std::span<const Recipe> recipes();

}  // namespace mmaudit
