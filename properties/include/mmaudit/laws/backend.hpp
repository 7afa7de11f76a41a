#pragma once
// Who answers: the model, a wrong model, an oracle, the model on a GPU, the hardware. One interface, so that
// a law says the same of all of them.
#include <functional>
#include <memory>
#include <string>

#include "mmaudit/laws/tile.hpp"

namespace mmaudit::laws {

struct Backend {
  std::string name;
  /// Why it can't run `instruction` with these modifiers; empty: it can.
  std::function<std::string(const Instruction&, std::uint8_t)> why_not;
  /// D of every tile of the batch; called from several threads at once.
  std::function<void(const Instruction&, const TileBatch&)> run;
};

/// The model on this machine, every instruction by its row of `architecture`.
Backend host_model(const Architecture& architecture);
/// The same with one rule changed: instructions that `subject` has are computed by `wrong`.
Backend wrong_model(const Subject& subject, const AccumulatorModel& wrong, std::string name);
/// The rational reference model, slow.
Backend reference_model(const Architecture& architecture);

/// Fills D of every tile. All tiles are of one instruction.
void answer(const Backend& backend, std::span<Tile*> tiles);

}  // namespace mmaudit::laws
