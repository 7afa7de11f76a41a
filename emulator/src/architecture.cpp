#include "mmaudit/model/architecture.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include "architectures/ada.hpp"
#include "architectures/ampere.hpp"
#include "architectures/blackwell.hpp"
#include "architectures/blackwell_rtx.hpp"
#include "architectures/ga10x.hpp"
#include "architectures/hopper.hpp"
#include "architectures/turing.hpp"
#include "architectures/volta.hpp"

namespace mmaudit {
namespace {

// clang-format off
/// Oldest first.
constexpr Architecture kArchitectures[] = {
    generations::kVolta,
    generations::kTuring,
    generations::kAmpere,
    generations::kGa10x,
    generations::kAda,
    generations::kHopper,
    generations::kBlackwell,
    generations::kBlackwellRtx,
};
// clang-format on

bool equal_ignoring_case(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](unsigned char p, unsigned char q) { return std::tolower(p) == std::tolower(q); });
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& row : kArchitectures) {
    if (equal_ignoring_case(row.name, name)) return &row;
    for (const std::string_view alias : row.aliases)
      if (equal_ignoring_case(alias, name)) return &row;
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

std::string_view name_of(MatrixUnit unit) {
  switch (unit) {
    case MatrixUnit::mma_884:
      return "mma.884";
    case MatrixUnit::mma_f16:
      return "mma.f16";
    case MatrixUnit::mma_tf32:
      return "mma.tf32";
    case MatrixUnit::mma_fp8:
      return "mma.fp8";
    case MatrixUnit::mma_f64:
      return "mma.f64";
    case MatrixUnit::wgmma_f16:
      return "wgmma.f16";
    case MatrixUnit::wgmma_tf32:
      return "wgmma.tf32";
    case MatrixUnit::wgmma_fp8:
      return "wgmma.fp8";
    case MatrixUnit::mma_i8:
      return "mma.int8";
    case MatrixUnit::mma_i4:
      return "mma.int4";
    case MatrixUnit::mma_b1:
      return "mma.b1";
    case MatrixUnit::wgmma_i8:
      return "wgmma.int8";
    case MatrixUnit::wgmma_b1:
      return "wgmma.b1";
    case MatrixUnit::mma_f8f6f4:
      return "mma.f8f6f4";
    case MatrixUnit::mma_mxf8f6f4:
      return "mma.mxf8f6f4";
    case MatrixUnit::mma_mxf4:
      return "mma.mxf4";
    case MatrixUnit::mma_mxf4nvf4:
      return "mma.mxf4nvf4";
    case MatrixUnit::tcgen05_f16:
      return "tcgen05.f16";
    case MatrixUnit::tcgen05_tf32:
      return "tcgen05.tf32";
    case MatrixUnit::tcgen05_f8f6f4:
      return "tcgen05.f8f6f4";
    case MatrixUnit::tcgen05_i8:
      return "tcgen05.int8";
    case MatrixUnit::tcgen05_mxf8f6f4:
      return "tcgen05.mxf8f6f4";
    case MatrixUnit::tcgen05_mxf4:
      return "tcgen05.mxf4";
    case MatrixUnit::tcgen05_mxf4nvf4:
      return "tcgen05.mxf4nvf4";
    case MatrixUnit::mma_sp_f16:
      return "mma.sp.f16";
    case MatrixUnit::mma_sp_tf32:
      return "mma.sp.tf32";
    case MatrixUnit::mma_sp_fp8:
      return "mma.sp.fp8";
    case MatrixUnit::mma_sp_i8:
      return "mma.sp.int8";
    case MatrixUnit::mma_sp_i4:
      return "mma.sp.int4";
    case MatrixUnit::wgmma_sp_f16:
      return "wgmma.sp.f16";
    case MatrixUnit::wgmma_sp_tf32:
      return "wgmma.sp.tf32";
    case MatrixUnit::wgmma_sp_fp8:
      return "wgmma.sp.fp8";
    case MatrixUnit::wgmma_sp_i8:
      return "wgmma.sp.int8";
    case MatrixUnit::wmma_f16:
      return "wmma.f16";
    case MatrixUnit::wmma_tf32:
      return "wmma.tf32";
    case MatrixUnit::wmma_f64:
      return "wmma.f64";
    case MatrixUnit::wmma_i8:
      return "wmma.int8";
    case MatrixUnit::wmma_i4:
      return "wmma.int4";
    case MatrixUnit::wmma_b1:
      return "wmma.b1";
  }
  return "unknown";
}

std::string_view name_of(Evidence evidence) {
  switch (evidence) {
    case Evidence::recorded:
      return "recorded";
    case Evidence::replayed:
      return "replayed";
    case Evidence::literature:
      return "literature";
    case Evidence::user:
      return "user";
  }
  return "unknown";
}

}  // namespace mmaudit
