#pragma once
// What register layouts mean, seen from outside: which elements of A, B and C meet in which element of D.
// Names of rows and columns are a convention that no run can show; only the meetings can be observed.
#include <cstdint>
#include <vector>

#include "mmaudit/backend.hpp"

namespace mmaudit::device {

/// A slot is a place in registers: lane * values + value. B of wgmma lies in shared memory: k * n + column.
struct FragmentMeetings {
  static constexpr std::int32_t kNever = -1;

  int slots_a = 0, slots_b = 0, slots_d = 0;
  std::vector<std::int32_t> partner;  ///< (slots_a, slots_d): the B slot that the A slot is multiplied with
  std::vector<std::int32_t> passed;   ///< (slots_d): where C's slot comes out when A and B are zero

  bool operator==(const FragmentMeetings&) const = default;
};

/// What: the meetings that the maps of fragment.hpp declare. Errors: InputError when the instruction has no
/// maps or more than 2^26 pairs of slots.
FragmentMeetings declared_meetings(const Instruction& instruction);

/// What: the meetings that `backend` shows, slot by slot: A holds a single one, and B's slots hold the bits
/// of their numbers, one bit per run. Tiles are placed through the declared maps, which are bijections: the
/// single one lands in the named slot whatever the map claims that slot means. `modifiers` go with every
/// tile. Errors: as declared_meetings(), and what the backend throws.
FragmentMeetings probe_fragments(const Instruction& instruction, std::uint8_t modifiers,
                                 const Backend& backend);

}  // namespace mmaudit::device
