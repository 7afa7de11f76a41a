#include "mmaudit/recipe.hpp"

#include <algorithm>
#include <array>

#include "mmaudit/names.hpp"

// Every file of recipes/, listed by CMake.
#include "recipe_includes.hpp"

namespace mmaudit {
namespace {

constexpr CastRule kNearestCast{CastRounding::nearest_even, false};
constexpr CastRule kSaturatingCast{CastRounding::nearest_even,
                                   true};                     // as cvt to 8 bits and fewer always does
constexpr CastRule kAway{CastRounding::nearest_away, false};  // cvt.rna.tf32
constexpr CastRule kCut{CastRounding::toward_zero, false};

constexpr const Scaling *kPlain = &scalings::none, *kTensor = &scalings::tensor, *kLevels = &scalings::mx;

/// Elements that software scales, of B perhaps others.
constexpr GemmDtype fp8(std::string_view name, std::string_view title, Format a, Format b = Format::none) {
  return {name, title, a, Format::none, 0, kSaturatingCast, Format::bf16, kTensor, true, nullptr, b};
}
/// Elements under one power of two per 32.
constexpr GemmDtype mx(std::string_view name, std::string_view title, Format a, Format b = Format::none) {
  return {name,
          title,
          a,
          Format::ue8m0,
          32,
          kSaturatingCast,
          Format::bf16,
          &scalings::mx_floor,
          false,
          &scalings::mx_ceil,
          b};
}

// clang-format off
constexpr GemmDtype kOwnDtypes[] = {
    fp8("e4m3", "FP8 E4M3", Format::e4m3),
    fp8("e5m2", "FP8 E5M2", Format::e5m2),
    fp8("e4m3fnuz", "FP8 E4M3FNUZ", Format::e4m3fnuz),
    fp8("e5m2fnuz", "FP8 E5M2FNUZ", Format::e5m2fnuz),
    {"bf16", "BF16", Format::bf16, Format::none, 0, kNearestCast, Format::bf16, kPlain},
    {"f16", "FP16", Format::f16, Format::none, 0, kNearestCast, Format::f16, kPlain, true},
    {"tf32", "TF32", Format::tf32, Format::none, 0, kAway, Format::f32, kPlain},
    {"tf32-raw", "TF32, raw FP32 bits", Format::tf32, Format::none, 0, kCut, Format::f32, kPlain},
    mx("mxf8", "MXFP8 E4M3", Format::e4m3),
    mx("mxf8-e5m2", "MXFP8 E5M2", Format::e5m2),
    mx("mxf6", "MXFP6 E2M3", Format::e2m3),
    mx("mxf6-e3m2", "MXFP6 E3M2", Format::e3m2),
    mx("mxf4", "MXFP4", Format::e2m1),
    {"nvf4", "NVFP4", Format::e2m1, Format::ue4m3, 16, kSaturatingCast, Format::bf16, kLevels},
};
constexpr GemmDtype kPairs[] = {
    fp8("e4m3-e5m2", "FP8 E4M3 x E5M2", Format::e4m3, Format::e5m2),
    fp8("e5m2-e4m3", "FP8 E5M2 x E4M3", Format::e5m2, Format::e4m3),
    fp8("e4m3fnuz-e5m2fnuz", "FP8 E4M3FNUZ x E5M2FNUZ", Format::e4m3fnuz, Format::e5m2fnuz),
    fp8("e5m2fnuz-e4m3fnuz", "FP8 E5M2FNUZ x E4M3FNUZ", Format::e5m2fnuz, Format::e4m3fnuz),
    mx("mxf8-e4m3-e5m2", "MXFP8 E4M3 x E5M2", Format::e4m3, Format::e5m2),
    mx("mxf8-e5m2-e4m3", "MXFP8 E5M2 x E4M3", Format::e5m2, Format::e4m3),
};
// clang-format on

/// What others call a row, where it is no format's name.
constexpr std::pair<std::string_view, std::string_view> kUsualNames[] = {
    {"nvfp4", "nvf4"}, {"mxfp4", "mxf4"},      {"mxfp8", "mxf8"},     {"mxfp8-e5m2", "mxf8-e5m2"},
    {"mxfp6", "mxf6"}, {"mxfp6-e2m3", "mxf6"}, {"mxf6-e2m3", "mxf6"}, {"mxfp6-e3m2", "mxf6-e3m2"}};

constexpr Scaling kScalings[] = {
    scalings::none,  scalings::tensor, scalings::tensor_inverse, scalings::row,      scalings::blocks,
    scalings::tiles, scalings::mx,     scalings::mx_reciprocal,  scalings::mx_floor, scalings::mx_ceil};

// In the order of their enumerators.
constexpr std::string_view kScaledBy[] = {"nobody", "epilogue", "totals", "instruction"};
constexpr std::string_view kRoundings[] = {"nearest-even", "down", "up"};
constexpr std::string_view kOrders[] = {"product", "a-first", "b-first"};
constexpr std::string_view kDivisions[] = {"exact", "reciprocal", "inverse", "quotient", "of-inverse"};
constexpr std::string_view kCounted[] = {"finite", "infinite", "all"};

constexpr RecipeFile kFiles[] = {
#include "recipe_list.hpp"
};

/// `own`, and then what `part` of every file has.
template <std::size_t Count, typename Row, std::size_t Own>
constexpr std::array<Row, Count> joined(const std::array<Row, Own>& own,
                                        std::span<const Row> RecipeFile::*part) {
  std::array<Row, Count> all{};
  auto at = std::copy(own.begin(), own.end(), all.begin());
  for (const RecipeFile& file : kFiles) at = std::copy((file.*part).begin(), (file.*part).end(), at);
  return all;
}
template <typename Row>
constexpr std::size_t count_of(std::span<const Row> RecipeFile::*part) {
  std::size_t count = 0;
  for (const RecipeFile& file : kFiles) count += (file.*part).size();
  return count;
}

constexpr auto kRecipes =
    joined<count_of(&RecipeFile::recipes)>(std::array<Recipe, 0>{}, &RecipeFile::recipes);
constexpr auto kFiledDtypes = [] {
  auto all = joined<std::size(kOwnDtypes) + count_of(&RecipeFile::dtypes)>(std::to_array(kOwnDtypes),
                                                                           &RecipeFile::dtypes);
  for (std::size_t i = std::size(kOwnDtypes); i < all.size(); ++i) all[i].of_recipe = true;
  return all;
}();

/// A narrow float that an instruction takes and no row above has: software scales it.
constexpr bool is_further(const NamedFormat& format) {
  return !format.names.ptx_kind.empty() &&
         std::none_of(kFiledDtypes.begin(), kFiledDtypes.end(),
                      [&](const GemmDtype& row) { return row.element == format.spec.id; });
}

constexpr auto kDtypes = [] {
  constexpr auto kFurther = std::count_if(std::begin(kFormats), std::end(kFormats), is_further);
  std::array<GemmDtype, kFiledDtypes.size() + static_cast<std::size_t>(kFurther)> all{};
  auto* out = std::copy(kFiledDtypes.begin(), kFiledDtypes.end(), all.data());
  for (const NamedFormat& format : kFormats)
    if (is_further(format)) *out++ = fp8(format.name, format.title, format.spec.id);
  return all;
}();

template <typename Wanted>
const GemmDtype* find_row(const Wanted& wanted) {
  for (const std::span<const GemmDtype> table :
       {std::span<const GemmDtype>(kDtypes), std::span<const GemmDtype>(kPairs)})
    for (const GemmDtype& row : table)
      if (wanted(row)) return &row;
  return nullptr;
}

}  // namespace

std::string_view name_of(ScaledBy by) { return kScaledBy[static_cast<std::size_t>(by)]; }
std::string_view name_of(ScaleRounding rounding) { return kRoundings[static_cast<std::size_t>(rounding)]; }
std::string_view name_of(FactorOrder order) { return kOrders[static_cast<std::size_t>(order)]; }
std::string_view name_of(Division division) { return kDivisions[static_cast<std::size_t>(division)]; }
std::string_view name_of(Counted counted) { return kCounted[static_cast<std::size_t>(counted)]; }

std::span<const std::string_view> factor_orders() { return kOrders; }

std::optional<FactorOrder> find_factor_order(std::string_view name) {
  const auto found = std::find(std::begin(kOrders), std::end(kOrders), name);
  if (found == std::end(kOrders)) return std::nullopt;
  return static_cast<FactorOrder>(found - std::begin(kOrders));
}

std::span<const Recipe> recipes() { return kRecipes; }

std::span<const GemmDtype> gemm_dtypes() { return kDtypes; }

const GemmDtype* find_gemm_dtype(std::string_view name) {
  for (const auto& [usual, own] : kUsualNames)
    if (usual == name) name = own;
  if (const GemmDtype* row = find_row([&](const GemmDtype& each) { return each.name == name; })) return row;
  const auto format = read_format(name);
  return format ? find_row([&](const GemmDtype& row) { return row.name == name_of(*format); }) : nullptr;
}

const GemmDtype* find_gemm_dtype(std::string_view a, std::string_view b) {
  const GemmDtype *of_a = find_gemm_dtype(a), *of_b = find_gemm_dtype(b);
  if (of_a == of_b || of_a == nullptr || of_b == nullptr) return of_a == of_b ? of_a : nullptr;
  return find_row([&](const GemmDtype& row) {
    return row.other != Format::none && row.element == of_a->element && row.other == of_b->element &&
           row.scale == of_a->scale && row.scale == of_b->scale;
  });
}

const GemmDtype* microscaled(const GemmDtype& dtype) {
  return find_row([&](const GemmDtype& row) {
    return row.element == dtype.element && row.element_b() == dtype.element_b() && row.scale == Format::ue8m0;
  });
}

std::vector<std::string> scaling_names() {
  std::vector<std::string> names;
  for (const Scaling& row : kScalings) names.emplace_back(row.name);
  return names;
}

std::vector<Scaling> find_scalings(std::string_view name) {
  if (name == scalings::mx.name) return {scalings::mx_floor, scalings::mx_ceil};
  for (const Scaling& row : kScalings)
    if (row.name == name) return {row};
  for (const GemmDtype& dtype : kDtypes)  // one that only a recipe's type has
    if (dtype.usual->name == name) return {*dtype.usual};
  return {};
}

std::vector<Scaling> software_scalings() {
  std::vector<Scaling> out;
  std::copy_if(std::begin(kScalings), std::end(kScalings), std::back_inserter(out),
               [](const Scaling& row) { return row.by_software(); });
  return out;
}

std::vector<Scaling> usual_scalings(const GemmDtype& dtype) {
  if (dtype.other_usual != nullptr) return {*dtype.usual, *dtype.other_usual};
  return {*dtype.usual};
}

}  // namespace mmaudit
