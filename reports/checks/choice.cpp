#include "choice.hpp"

#include <algorithm>

#include "mmaudit/emulate.hpp"

namespace mmaudit::checks {

bool selected(std::string_view name, const std::vector<std::string>& parts) {
  return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
           return part == "all" || name.find(part) != std::string_view::npos;
         });
}

std::vector<Instruction> all_instructions(int n) {
  std::vector<Instruction> chosen;
  for (Instruction inst : kInstructions) {
    inst = with_shape(inst, n);
    if (has_shape(inst, inst.m, inst.n)) chosen.push_back(inst);
  }
  return chosen;
}

}  // namespace mmaudit::checks
