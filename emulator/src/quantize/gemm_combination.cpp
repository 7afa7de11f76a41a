#include "mmaudit/gemm_combination.hpp"

#include <algorithm>

#include "mmaudit/names.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit {
namespace {

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
  if (c.scaling.by == ScaledBy::instruction && dtype.scale == Format::none)
    return "no instruction scales blocks of " + std::string(dtype.name);
  if (dtype.scale != Format::none || !c.scaling.along_k()) return {};
  if (c.accumulation.promote == 0 || c.scaling.a.k % c.accumulation.promote != 0)
    return "scales of 1x128 and 128x128 are applied when a sum leaves the tensor core: promote:128 or a "
           "divisor";
  return {};
}

}  // namespace

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
  if (scaling.by == ScaledBy::instruction && dtype.scale == Format::none)
    if (const GemmDtype* row = microscaled(dtype)) dtype = *row;
  const std::vector<Scaling> usual = usual_scalings(dtype);
  for (const Scaling& own : usual)
    if (own.name == scaling.name) scaling = own;  // by a name that others have too
  const bool fits = std::find(usual.begin(), usual.end(), scaling) != usual.end() ||
                    (usual[0].second_level && scaling.second_level);  // another rule of both levels
  if (!dtype.scalable && !fits) scaling = usual[0];
  if (combination.output == Format::none) combination.output = combination.dtype.output;
  return combination;
}

GemmPath find_path(const GemmCombination& c) {
  GemmPath path;
  path.why_not = why_no_scaling(c);
  if (!path.why_not.empty()) return path;
  const bool integer = c.dtype.integer();
  const Format sums = c.accumulation.half ? Format::f16 : integer ? Format::s32 : Format::f32;
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
  if ((c.accumulation.half || integer) && (c.accumulation.promote != 0 || c.accumulation.split_k > 1))
    path.why_not = "totals are binary32";
  return path;
}

GemmSubject subject_of(const GemmCombination& combination, const GemmPath& path) {
  return {.dtype = std::string(combination.dtype.name),
          .title = std::string(combination.dtype.title),
          .scaling = std::string(combination.scaling.name),
          .accumulation = name_of(combination.accumulation),
          .output = combination.output,
          .instruction = name_of(path.instruction),
          .evidence = std::string(name_of(path.entry->evidence))};
}

}  // namespace mmaudit
