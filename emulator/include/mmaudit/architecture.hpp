#pragma once
// GPU generations as rows. Behaviour code never names one; it is handed an AccumulatorModel.
#include <optional>
#include <span>
#include <string_view>

#include "mmaudit/instruction.hpp"
#include "mmaudit/model.hpp"

namespace mmaudit {

/// The arithmetic of one unit of one generation for one output format.
struct DatapathRow {
  Datapath path;
  Format output;
  AccumulatorModel model;
  Evidence evidence;
  std::string_view source;  ///< where L, F, floor and the rules come from
};

struct Architecture {
  std::string_view name;                      ///< what listings print
  std::span<const std::string_view> aliases;  ///< accepted besides the name, case-insensitive
  int compute_capability;                     ///< ten times major plus minor
  std::span<const DatapathRow> datapaths;
};

/// Every architecture, oldest first.
std::span<const Architecture> architectures();

/// By name or alias ("hopper", "sm_90", "sm_90a", "h100", "h200"), case-insensitive; null when unknown.
const Architecture* find_architecture(std::string_view name);

/// The row that computes `instruction` on `architecture`; null when the hardware lacks the instruction.
const DatapathRow* find_datapath(const Architecture& architecture, const Instruction& instruction);

std::string_view name_of(Datapath path);
std::string_view name_of(Evidence evidence);

}  // namespace mmaudit
