#include "mmaudit/backend.hpp"

#include <stdexcept>

#include "mmaudit/emulate.hpp"

namespace mmaudit {

Backend model_backend(const Architecture& architecture) {
  return {.name = "model of " + std::string(architecture.name),
          .why_not =
              [&architecture](const Instruction& inst, std::uint8_t /*modifiers*/) {
                return find_datapath(architecture, inst) != nullptr
                           ? std::string()
                           : std::string(architecture.name) + " has no " + name_of(inst);
              },
          .run =
              [&architecture](const Instruction& inst, const TileView& batch) {
                const DatapathEntry* entry = find_datapath(architecture, inst);
                if (entry == nullptr) throw std::invalid_argument("no datapath for " + name_of(inst));
                emulate(inst, entry->datapath, batch);
              }};
}

}  // namespace mmaudit
