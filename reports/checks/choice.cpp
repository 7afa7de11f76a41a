#include "choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "every_part.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::checks {

bool selected(std::string_view name, const std::vector<std::string>& parts) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
           return part == "all" || (!part.empty() && name.find(part) != std::string_view::npos);
         });
}

bool selected(const Instruction& instruction, const std::vector<std::string>& parts) {
  return selected(name_of(instruction), parts) ||
         std::any_of(parts.begin(), parts.end(),
                     [&](const std::string& part) { return means(part, instruction); });
}

void refuse_part(std::string_view option, const std::string& part, std::string_view allowed) {
  refuse("{}: found {}, allowed: {}{}", option, in_quotes(part), allowed, nearest_text({part}));
}

std::string nearest_text(const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    if (const std::string nearest = nearest_instruction(part); !nearest.empty())
      return fmt::format(" (the nearest is {})", nearest);
  return {};
}

std::vector<Instruction> all_instructions(int n, int m) {
  std::vector<Instruction> chosen;
  for (Instruction inst : kInstructions) {
    if (inst.m == 0) inst.m = static_cast<std::int16_t>(m);
    inst = with_shape(inst, n);
    if (has_shape(inst, inst.m, inst.n)) chosen.push_back(inst);
  }
  return chosen;
}

std::optional<Instruction> shallowest(const Architecture& architecture, std::size_t least_k,
                                      const std::function<bool(const Instruction&)>& fits) {
  std::optional<Instruction> best;
  for (const Instruction& inst : all_instructions(kWgmmaMinN))
    if (static_cast<std::size_t>(inst.k) >= least_k && (!best || inst.k < best->k) && fits(inst) &&
        find_datapath(architecture, inst) != nullptr)
      best = inst;
  return best;
}

const Architecture& architecture_of(const device::DeviceInfo& gpu) {
  if (const Architecture* found = find_architecture(gpu.compute_capability)) return *found;
  throw EnvironmentError(fmt::format("{}: compute capability {}: the model does not have it", gpu.name,
                                     capability_text(gpu.compute_capability)));
}

}  // namespace mmaudit::checks
