#include "mmaudit/model/architecture.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

// Every file of architectures/, listed by CMake.
#include "architecture_includes.hpp"

namespace mmaudit {
namespace {

/// Oldest first.
constexpr auto kArchitectures = [] {
  std::array all{
#include "architecture_list.hpp"
  };
  std::sort(all.begin(), all.end(), [](const Architecture& x, const Architecture& y) {
    return x.compute_capability < y.compute_capability;
  });
  return all;
}();

// In the order of MatrixUnit.
constexpr std::string_view kUnits[] = {
    "mma.884",       "mma.f16",          "mma.tf32",      "mma.fp8",          "mma.f64",
    "wgmma.f16",     "wgmma.tf32",       "wgmma.fp8",     "mma.int8",         "mma.int4",
    "mma.b1",        "wgmma.int8",       "wgmma.b1",      "mma.f8f6f4",       "mma.mxf8f6f4",
    "mma.mxf4",      "mma.mxf4nvf4",     "tcgen05.f16",   "tcgen05.tf32",     "tcgen05.f8f6f4",
    "tcgen05.int8",  "tcgen05.mxf8f6f4", "tcgen05.mxf4",  "tcgen05.mxf4nvf4", "mma.sp.f16",
    "mma.sp.tf32",   "mma.sp.fp8",       "mma.sp.int8",   "mma.sp.int4",      "wgmma.sp.f16",
    "wgmma.sp.tf32", "wgmma.sp.fp8",     "wgmma.sp.int8", "wmma.f16",         "wmma.tf32",
    "wmma.f64",      "wmma.int8",        "wmma.int4",     "wmma.b1"};
static_assert(std::size(kUnits) == static_cast<std::size_t>(MatrixUnit::wmma_b1) + 1);

// In the order of Evidence.
constexpr std::string_view kEvidence[] = {"recorded", "replayed", "literature", "user"};

bool equal_ignoring_case(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](unsigned char p, unsigned char q) { return std::tolower(p) == std::tolower(q); });
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& one : kArchitectures) {
    if (equal_ignoring_case(one.name, name)) return &one;
    for (const std::string_view alias : one.aliases)
      if (equal_ignoring_case(alias, name)) return &one;
  }
  return nullptr;
}

const Architecture* find_architecture(int compute_capability) {
  return find_architecture("sm_" + std::to_string(compute_capability));
}

const DatapathEntry* find_datapath(const Architecture& architecture, const Instruction& instruction) {
  if (architecture.compute_capability < instruction.min_compute_capability) return nullptr;
  for (const DatapathEntry& entry : architecture.datapaths)
    if (entry.unit == instruction.unit && entry.output == instruction.d &&
        (entry.addend == Format::none || entry.addend == instruction.c))
      return &entry;
  return nullptr;
}

std::string_view name_of(MatrixUnit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

std::string_view name_of(Evidence evidence) { return kEvidence[static_cast<std::size_t>(evidence)]; }

}  // namespace mmaudit
