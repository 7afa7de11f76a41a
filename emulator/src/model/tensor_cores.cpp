#include "mmaudit/model/tensor_cores.hpp"

#include <algorithm>
#include <iterator>

#include "mmaudit/datapath_text.hpp"

namespace mmaudit {
namespace {

/// Products per step where alignment shows them; 0 elsewhere.
int step_of(const Architecture& architecture, const Instruction& instruction) {
  const DatapathEntry* const entry = find_datapath(architecture, instruction);
  if (entry == nullptr || is_sparse(instruction.op)) return 0;
  const Datapath& datapath = entry->datapath;
  const bool steps =
      datapath.arithmetic == Arithmetic::fused_dot_add || datapath.arithmetic == Arithmetic::grouped_dot_add;
  return steps && cuts_anything(datapath) ? products_per_step_of(instruction, datapath) : 0;
}

int f16_step_of(const Architecture& architecture) {
  int most = 0;
  for (const Instruction& one : kInstructions)
    if (one.a == Format::f16) most = std::max(most, step_of(architecture, one));
  return most;
}

}  // namespace

const TensorCores* find_tensor_cores(std::string_view architecture) {
  const auto* const found =
      std::find_if(std::begin(kTensorCores), std::end(kTensorCores),
                   [&](const TensorCores& one) { return one.architecture == architecture; });
  return found == std::end(kTensorCores) ? nullptr : found;
}

std::optional<int> core_depth(const Architecture& architecture, const Instruction& instruction) {
  if (find_tensor_cores(architecture.name) == nullptr) return std::nullopt;
  const bool int8 = instruction.a == Format::s8 || instruction.a == Format::u8;
  const int depth = !int8 ? step_of(architecture, instruction)
                    : is_sparse(instruction.op) || find_datapath(architecture, instruction) == nullptr
                        ? 0
                        : kInt8DepthOverF16 * f16_step_of(architecture);
  return depth == 0 ? std::nullopt : std::optional<int>(depth);
}

}  // namespace mmaudit
