#pragma once
// What register layouts mean, seen from outside: which elements of A, B and C meet in which element of D.
// Names of rows and columns are a convention that no run can show; the meetings are all there is to observe.
#include <cstdint>
#include <functional>
#include <vector>

#include "mmaudit/emulate.hpp"

namespace mmaudit::device {

/// A slot is a place in registers: lane * values + value. B of wgmma, which is in shared memory: k * n +
/// column.
struct Incidence {
  static constexpr std::int32_t kNever = -1;

  int slots_a = 0, slots_b = 0, slots_d = 0;
  std::vector<std::int32_t> partner;  ///< (slots_a, slots_d): the B slot that A's is multiplied with, kNever
  std::vector<std::int32_t> passed;   ///< (slots_d): where C's slot comes out when A and B are zero, kNever

  bool operator==(const Incidence&) const = default;
};

/// Runs one batch of tiles, on hardware or on the model.
using RunTiles = std::function<void(const TileView& batch)>;

/// What: the incidence that the maps of fragment.hpp declare. Errors: InputError when the instruction has no
/// maps or more than 2^26 pairs of slots.
Incidence declared_incidence(const Instruction& instruction);

/// What: the incidence that `run` shows, slot by slot: A holds a single one, B's slots hold the bits of their
/// own number, one bit a run. Tiles are placed through the declared maps, which are bijections: the single
/// one lands in the named slot whatever the map claims that slot means. `modifiers` go with every tile.
/// Errors: as declared_incidence(), and what `run` throws.
Incidence discovered_incidence(const Instruction& instruction, std::uint8_t modifiers, const RunTiles& run);

}  // namespace mmaudit::device
