#include "mmaudit/backend.hpp"

#include <stdexcept>
#include <utility>

#include "mmaudit/emulate.hpp"

namespace mmaudit {

Backend backend_by_datapath(
    const Architecture& architecture, std::string name,
    std::function<void(const Instruction& instruction, const Datapath& datapath, const TileView& batch)>
        run) {
  const auto why_not = [&architecture](const Instruction& inst, std::uint8_t /*modifiers*/) {
    return find_datapath(architecture, inst) != nullptr
               ? std::string()
               : std::string(architecture.name) + " has no " + name_of(inst);
  };
  const auto by_datapath = [&architecture, run = std::move(run)](const Instruction& inst,
                                                                 const TileView& batch) {
    const DatapathEntry* entry = find_datapath(architecture, inst);
    if (entry == nullptr) throw std::invalid_argument("no datapath for " + name_of(inst));
    run(inst, entry->datapath, batch);
  };
  return {std::move(name), why_not, by_datapath};
}

Backend model_backend(const Architecture& architecture) {
  return backend_by_datapath(architecture, "model of " + std::string(architecture.name), emulate);
}

}  // namespace mmaudit
