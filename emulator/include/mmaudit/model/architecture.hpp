#pragma once
// GPU generations as data. Behaviour code never names one; it is handed a Datapath.
#include <span>
#include <string_view>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit {

/// The arithmetic of one unit of one generation for one output format.
struct DatapathEntry {
  MatrixUnit unit;
  Format output;
  Datapath datapath;
  Evidence evidence = Evidence::literature;
  std::string_view source = {};  ///< where L, F, floor and the rules come from
  Format addend = Format::none;  ///< only for C of this format; none: whatever C is
};

struct Architecture {
  std::string_view name;                      ///< what listings print
  std::span<const std::string_view> aliases;  ///< accepted besides the name, case-insensitive
  /// Ten times major plus minor; the least that the datapaths stand for. Of AMD the gfx number, gfx90a: 910.
  int compute_capability;
  std::span<const DatapathEntry> datapaths;
  std::string_view target = {};  ///< "gfx908"; empty: NVIDIA, whose target is the compute capability
};

inline constexpr std::string_view kDefaultArchitecture = "hopper";  ///< where the user names none

/// Every architecture, oldest first.
std::span<const Architecture> architectures();

/// By name or alias ("hopper", "sm_90", "sm_90a", "h100", "h200"), case-insensitive; null when unknown.
const Architecture* find_architecture(std::string_view name);

/// The architecture that stands for a compute capability (ten times major plus minor): the one with the alias
/// "sm_<that number>"; null when there is none.
const Architecture* find_architecture(int compute_capability);

/// The datapath that computes `instruction` on `architecture`; null when the hardware lacks the instruction.
const DatapathEntry* find_datapath(const Architecture& architecture, const Instruction& instruction);

std::string_view name_of(Evidence evidence);

}  // namespace mmaudit
