#pragma once
// Who answers: the model, a wrong model, an oracle, the model on a GPU, the hardware. One interface, so that
// a law says the same of all of them.
#include <string>

#include "mmaudit/backend.hpp"
#include "mmaudit/laws/tile.hpp"

namespace mmaudit::laws {

using mmaudit::Backend;

/// The same with one rule changed: instructions that `subject` has are computed by `wrong`.
Backend wrong_model(const Subject& subject, const Datapath& wrong, std::string name);
/// The rational reference model, slow.
Backend reference_model(const Architecture& architecture);

/// Fills D of every tile. All tiles are of one instruction.
void answer(const Backend& backend, std::span<Tile*> tiles);

}  // namespace mmaudit::laws
