#include "mmaudit/gemm_combination.hpp"

#include <algorithm>

#include "mmaudit/names.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit {
namespace {

constexpr CastRule kNearestCast{CastRounding::nearest_even, false};
constexpr CastRule kSaturatingCast{CastRounding::nearest_even,
                                   true};                     // as cvt to 8 bits and fewer always does
constexpr CastRule kAway{CastRounding::nearest_away, false};  // cvt.rna.tf32
constexpr CastRule kCut{CastRounding::toward_zero, false};

// clang-format off
constexpr GemmDtype kDtypes[] = {
    {"e4m3", "FP8 E4M3", Format::e4m3, Format::none, 0, kSaturatingCast, Format::bf16, true},
    {"e5m2", "FP8 E5M2", Format::e5m2, Format::none, 0, kSaturatingCast, Format::bf16, true},
    {"e4m3fnuz", "FP8 E4M3FNUZ", Format::e4m3fnuz, Format::none, 0, kSaturatingCast, Format::bf16, true},
    {"e5m2fnuz", "FP8 E5M2FNUZ", Format::e5m2fnuz, Format::none, 0, kSaturatingCast, Format::bf16, true},
    {"bf16", "BF16", Format::bf16, Format::none, 0, kNearestCast, Format::bf16, false},
    {"f16", "FP16", Format::f16, Format::none, 0, kNearestCast, Format::f16, true},
    {"tf32", "TF32", Format::tf32, Format::none, 0, kAway, Format::f32, false},
    {"tf32-raw", "TF32, raw FP32 bits", Format::tf32, Format::none, 0, kCut, Format::f32, false},
    {"mxf8", "MXFP8 E4M3", Format::e4m3, Format::ue8m0, 32, kSaturatingCast, Format::bf16, false},
    {"mxf8-e5m2", "MXFP8 E5M2", Format::e5m2, Format::ue8m0, 32, kSaturatingCast, Format::bf16, false},
    {"mxf6", "MXFP6 E2M3", Format::e2m3, Format::ue8m0, 32, kSaturatingCast, Format::bf16, false},
    {"mxf6-e3m2", "MXFP6 E3M2", Format::e3m2, Format::ue8m0, 32, kSaturatingCast, Format::bf16, false},
    {"mxf4", "MXFP4", Format::e2m1, Format::ue8m0, 32, kSaturatingCast, Format::bf16, false},
    {"nvf4", "NVFP4", Format::e2m1, Format::ue4m3, 16, kSaturatingCast, Format::bf16, false},
};
constexpr GemmDtype kPairs[] = {
    {"e4m3-e5m2", "FP8 E4M3 x E5M2", Format::e4m3, Format::none, 0, kSaturatingCast, Format::bf16, true, Format::e5m2},
    {"e5m2-e4m3", "FP8 E5M2 x E4M3", Format::e5m2, Format::none, 0, kSaturatingCast, Format::bf16, true, Format::e4m3},
    {"e4m3fnuz-e5m2fnuz", "FP8 E4M3FNUZ x E5M2FNUZ", Format::e4m3fnuz, Format::none, 0, kSaturatingCast, Format::bf16, true, Format::e5m2fnuz},
    {"e5m2fnuz-e4m3fnuz", "FP8 E5M2FNUZ x E4M3FNUZ", Format::e5m2fnuz, Format::none, 0, kSaturatingCast, Format::bf16, true, Format::e4m3fnuz},
    {"mxf8-e4m3-e5m2", "MXFP8 E4M3 x E5M2", Format::e4m3, Format::ue8m0, 32, kSaturatingCast, Format::bf16, false, Format::e5m2},
    {"mxf8-e5m2-e4m3", "MXFP8 E5M2 x E4M3", Format::e5m2, Format::ue8m0, 32, kSaturatingCast, Format::bf16, false, Format::e4m3},
};
// clang-format on

/// What others call a row, where it is no format's name.
constexpr std::pair<std::string_view, std::string_view> kUsualNames[] = {
    {"nvfp4", "nvf4"}, {"mxfp4", "mxf4"},      {"mxfp8", "mxf8"},     {"mxfp8-e5m2", "mxf8-e5m2"},
    {"mxfp6", "mxf6"}, {"mxfp6-e2m3", "mxf6"}, {"mxf6-e2m3", "mxf6"}, {"mxfp6-e3m2", "mxf6-e3m2"}};

struct NamedScaling {
  std::string_view name;
  Scaling scaling;
};
constexpr NamedScaling kScalings[] = {{"none", Scaling::none},         {"tensor", Scaling::tensor},
                                      {"row", Scaling::row},           {"1x128", Scaling::blocks},
                                      {"128x128", Scaling::tiles},     {"mx", Scaling::mx},
                                      {"mx-floor", Scaling::mx_floor}, {"mx-ceil", Scaling::mx_ceil}};

/// Newest unit first, then AMD's, which no other GPU has; what is not here no kernel uses for a whole
/// product.
constexpr Op kPreference[] = {Op::tcgen05, Op::wgmma, Op::mma, Op::mfma};

int rank_of(Op op) {
  return static_cast<int>(std::find(std::begin(kPreference), std::end(kPreference), op) -
                          std::begin(kPreference));
}

bool computes(const Instruction& inst, const GemmDtype& dtype, Format sums) {
  return rank_of(inst.op) < static_cast<int>(std::size(kPreference)) && inst.a == dtype.element &&
         inst.b == dtype.element_b() && inst.d == sums && inst.c == sums && inst.scale == dtype.scale &&
         inst.scale_block == dtype.scale_block && !inst.satfinite;
}

std::string why_no_scaling(const GemmCombination& c) {
  const GemmDtype& dtype = c.dtype;
  if (by_instruction(c.scaling) && dtype.scale == Format::none)
    return "no instruction scales blocks of " + std::string(dtype.name);
  if (c.scaling == Scaling::none || dtype.scale != Format::none) return {};
  const bool leaves = c.accumulation.promote != 0 && kScaleBlock % c.accumulation.promote == 0;
  if (along_k(c.scaling) && !leaves)
    return "scales of 1x128 and 128x128 are applied when a sum leaves the tensor core: promote:128 or a "
           "divisor";
  return {};
}

template <typename Wanted>
const GemmDtype* find_row(const Wanted& wanted) {
  for (const std::span<const GemmDtype> table :
       {std::span<const GemmDtype>(kDtypes), std::span<const GemmDtype>(kPairs)})
    for (const GemmDtype& row : table)
      if (wanted(row)) return &row;
  return nullptr;
}

}  // namespace

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

std::string_view name_of(Scaling scaling) {
  for (const NamedScaling& row : kScalings)
    if (row.scaling == scaling) return row.name;
  return "";
}

std::vector<std::string> scaling_names() {
  std::vector<std::string> names;
  for (const NamedScaling& row : kScalings) names.emplace_back(row.name);
  return names;
}

std::vector<Scaling> find_scalings(std::string_view name) {
  if (name == name_of(Scaling::mx)) return {Scaling::mx_floor, Scaling::mx_ceil};
  for (const NamedScaling& row : kScalings)
    if (row.name == name) return {row.scaling};
  return {};
}

Scaling usual_scaling(const GemmDtype& dtype) {
  if (dtype.scale != Format::none) return dtype.scale == Format::ue8m0 ? Scaling::mx_floor : Scaling::mx;
  return spec_of(dtype.element).storage_bits == 8 ? Scaling::tensor : Scaling::none;
}

std::vector<Scaling> usual_scalings(const GemmDtype& dtype) {
  if (dtype.scale == Format::ue8m0) return {Scaling::mx_floor, Scaling::mx_ceil};
  return {usual_scaling(dtype)};
}

std::string name_of(const Accumulation& accumulation) {
  if (accumulation.half) return "half";
  if (accumulation.promote != 0) return "promote:" + std::to_string(accumulation.promote);
  return accumulation.split_k > 1 ? "split-k:" + std::to_string(accumulation.split_k) : "plain";
}

std::optional<Accumulation> find_accumulation(std::string_view name) {
  Accumulation out;
  if (name == "plain" || name == "fast") return out;
  if (name == "half") {
    out.half = true;
    return out;
  }
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::uint64_t number = whole_number<std::uint64_t>(name.substr(colon + 1)).value_or(0);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 20;
  if (number == 0 || number > kMost) return std::nullopt;
  if (name.substr(0, colon) == "promote") {
    out.promote = number;
  } else if (name.substr(0, colon) == "split-k") {
    out.split_k = number;
  } else {
    return std::nullopt;
  }
  return out;
}

GemmCombination settled(GemmCombination combination) {
  GemmDtype& dtype = combination.dtype;
  Scaling& scaling = combination.scaling;
  if (by_instruction(scaling) && dtype.scale == Format::none)
    if (const GemmDtype* row = microscaled(dtype)) dtype = *row;
  if (dtype.scale != Format::none && !(dtype.scale == Format::ue8m0 && scaling == Scaling::mx_ceil))
    scaling = usual_scaling(dtype);
  if (dtype.scale == Format::none && !dtype.scalable) scaling = Scaling::none;
  if (combination.output == Format::none) combination.output = combination.dtype.output;
  return combination;
}

GemmPath find_path(const GemmCombination& c) {
  GemmPath path;
  path.why_not = why_no_scaling(c);
  if (!path.why_not.empty()) return path;
  const Format sums = c.accumulation.half ? Format::f16 : Format::f32;
  for (const Instruction& each : kInstructions) {
    const Instruction inst = with_shape(each, kWgmmaMinN);
    if (!computes(inst, c.dtype, sums) || (c.op && inst.op != *c.op)) continue;
    const DatapathEntry* datapath = find_datapath(*c.architecture, inst);
    if (datapath == nullptr) continue;
    const bool better = path.entry == nullptr || rank_of(inst.op) < rank_of(path.instruction.op) ||
                        (inst.op == path.instruction.op && inst.k > path.instruction.k);
    if (!better) continue;
    path.instruction = inst;
    path.entry = datapath;
  }
  if (path.entry == nullptr) {
    path.why_not = std::string(c.architecture->name)
                       .append(" has no instruction for ")
                       .append(c.dtype.name)
                       .append(c.accumulation.half ? " with binary16 sums" : "");
    path.lacks_dtype = !c.accumulation.half && !c.op;
    GemmCombination other = c;
    if (const GemmDtype* fnuz = find_gemm_dtype(std::string(c.dtype.name) + "fnuz")) other.dtype = *fnuz;
    if (other.dtype.name != c.dtype.name && find_path(other).entry != nullptr)
      path.why_not.append(" (its FP8 is ").append(other.dtype.name).append(")");
    return path;
  }
  const auto k = static_cast<std::uint64_t>(path.instruction.k);
  if (c.accumulation.promote % k != 0)
    path.why_not = name_of(path.instruction) + " has a k of " + std::to_string(k);
  if (c.accumulation.half && (c.accumulation.promote != 0 || c.accumulation.split_k > 1))
    path.why_not = "totals are binary32";
  return path;
}

GemmSubject subject_of(const GemmCombination& combination, const GemmPath& path) {
  return {.dtype = std::string(combination.dtype.name),
          .title = std::string(combination.dtype.title),
          .scaling = std::string(name_of(combination.scaling)),
          .accumulation = name_of(combination.accumulation),
          .output = combination.output,
          .instruction = name_of(path.instruction),
          .evidence = std::string(name_of(path.entry->evidence))};
}

}  // namespace mmaudit
