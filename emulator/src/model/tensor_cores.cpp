#include "mmaudit/model/tensor_cores.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace mmaudit {
namespace {

/// In the order of CoreType: of mma and wmma, of wgmma, of tcgen05. Sources: ptxas 13.0; Volta's HMMA Raihan
/// et al.
constexpr std::array<std::string_view, 8> kOpcodes[] = {
    {"HMMA", "HMMA", "QMMA", "OMMA", "IMMA", "IMMA", "BMMA", "DMMA"},
    {"HGMMA", "HGMMA", "QGMMA", "", "IGMMA", "", "BGMMA", ""},
    {"UTCHMMA", "UTCHMMA", "UTCQMMA", "UTCOMMA", "UTCIMMA", "", "", ""}};

constexpr std::string_view kPtxas = "ptxas 13.0", kRaihan = "Raihan et al. 2019, III-C1";

constexpr bool any(const Instruction&) { return true; }
constexpr bool on_quads(const Instruction& inst) { return inst.m == 8 && inst.n == 8 && inst.k == 4; }
constexpr bool counts_xor(const Instruction& inst) { return inst.multiply == Multiply::xor_popc; }

/// A tensor core without an instruction that PTX has, and the one in its place; without: code.
struct Lacking {
  CoreType type;
  int from, to;  ///< compute capabilities
  std::string_view opcode;
  bool (*is_one)(const Instruction&) = any;
};
constexpr Lacking kLacking[] = {
    {CoreType::f16, 80, 999, "", on_quads},      // FFMA, HADD2 and FADD
    {CoreType::fp8, 90, 110, "HMMA"},            // F2FP, two of binary16, FADD
    {CoreType::int4, 90, 999, "IMMA"},           // two of 8 bits
    {CoreType::b1, 90, 90, "BMMA", counts_xor},  // two of AND
    {CoreType::b1, 100, 999, "IMMA"},            // of 8 bits, behind MOVM
};

bool fits(const Lacking& row, const Instruction& inst) {
  return core_type_of(inst) == row.type && !is_asynchronous(inst.op) && row.is_one(inst);
}

std::string_view native_opcode(const Instruction& inst) {
  const std::size_t kind = is_tcgen05(inst.op) ? 2 : is_wgmma(inst.op) ? 1 : 0;
  return kOpcodes[kind][static_cast<std::size_t>(*core_type_of(inst))];
}

}  // namespace

std::optional<CoreType> core_type_of(const Instruction& inst) {
  if (inst.op == Op::mfma) return std::nullopt;
  if (inst.kind == MmaKind::mxf4 || inst.kind == MmaKind::mxf4nvf4) return CoreType::fp4;
  switch (inst.a) {
    case Format::f16:
    case Format::bf16:
      return CoreType::f16;
    case Format::tf32:
      return CoreType::tf32;
    case Format::e4m3:
    case Format::e5m2:
    case Format::e3m2:
    case Format::e2m3:
      return CoreType::fp8;
    case Format::e2m1:
      return inst.kind == MmaKind::none ? CoreType::fp4 : CoreType::fp8;
    case Format::s8:
    case Format::u8:
      return CoreType::int8;
    case Format::s4:
    case Format::u4:
      return CoreType::int4;
    case Format::b1:
      return CoreType::b1;
    case Format::f64:
      return CoreType::f64;
    default:
      return std::nullopt;
  }
}

std::string_view name_of(UnitUse use) {
  constexpr std::string_view kNames[] = {"native", "converted", "no tensor core"};
  return kNames[static_cast<std::size_t>(use)];
}

std::optional<MatrixPath> path_of(const Architecture& architecture, const Instruction& inst) {
  if (!core_type_of(inst) || find_datapath(architecture, inst) == nullptr) return std::nullopt;
  const int capability = architecture.compute_capability;
  for (const Lacking& row : kLacking)
    if (row.from <= capability && capability <= row.to && fits(row, inst))
      return MatrixPath{row.opcode.empty() ? UnitUse::code : UnitUse::converted, row.opcode, kPtxas};
  return MatrixPath{UnitUse::native, native_opcode(inst), capability < 75 ? kRaihan : kPtxas};
}

std::vector<std::string_view> opcodes_of(const Instruction& inst) {
  if (!core_type_of(inst)) return {};
  std::vector<std::string_view> all{native_opcode(inst)};
  for (const Lacking& row : kLacking)
    if (fits(row, inst) && !row.opcode.empty() && row.opcode != all.front()) all.push_back(row.opcode);
  return all;
}

int core_ceiling(int compute_capability, CoreType type) {
  int most = 0;
  const Architecture* const architecture = find_architecture(compute_capability);
  if (architecture == nullptr || architecture->compute_capability != compute_capability) return 0;
  for (const CorePeak& peak : kCorePeaks)
    if (peak.architecture == architecture->name && peak.type == type && !peak.measured)
      most = std::max(most, peak.fma);
  return most;
}

const TensorCores* find_tensor_cores(std::string_view architecture) {
  const auto* const found =
      std::find_if(std::begin(kTensorCores), std::end(kTensorCores),
                   [&](const TensorCores& one) { return one.architecture == architecture; });
  return found == std::end(kTensorCores) ? nullptr : found;
}

std::optional<int> core_depth(const Architecture& architecture, const Instruction& inst) {
  const TensorCores* const cores = find_tensor_cores(architecture.name);
  const std::optional<MatrixPath> path = path_of(architecture, inst);
  if (cores == nullptr || cores->m == 0 || !path || path->use != UnitUse::native || is_sparse(inst.op) ||
      inst.a == Format::f64)
    return std::nullopt;
  const CorePeak* const peak = find_peak(architecture.name, *core_type_of(inst), is_asynchronous(inst.op));
  const int area = cores->per_sm * cores->m * cores->n;
  if (peak == nullptr || peak->measured || peak->fma % area != 0) return std::nullopt;
  return peak->fma / area;
}

}  // namespace mmaudit
