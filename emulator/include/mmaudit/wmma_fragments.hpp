#pragma once
// Fragments of wmma, which the PTX ISA leaves open: what is known of them, GPU by GPU. hmma: since Turing a
// wmma is a few HMMA or IMMA, and a lane holds of each 8 rows of an operand what it holds of one of theirs.
// Volta's: volta.hpp.
#include <span>
#include <string_view>

#include "mmaudit/fragment.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/volta.hpp"

namespace mmaudit::hmma {

/// What: a lane of each group of four holds `packed` neighbours of a column (`down`) or of a row, the groups
/// lie side by side across. Parts of 8 across: `pairs` puts two of them before the next part along (the 16
/// rows that an HMMA takes), else the parts along come first. `copies`: registers that repeat all of it.
constexpr FragmentMap fragment(int rows, int cols, bool down, int packed, bool pairs, int copies = 1) {
  constexpr int kGroup = 4, kPart = 8;
  const int along = down ? rows : cols, across = down ? cols : rows;
  const auto mode = [&](int extent, int step_along, int step_across) {
    return down ? Mode{extent, step_along, step_across} : Mode{extent, step_across, step_along};
  };
  const int first = pairs && across > kPart ? 2 : 1;
  FragmentMap map{.rows = rows,
                  .cols = cols,
                  .lanes = kWarpLanes,
                  .values = rows * cols * copies / kWarpLanes,
                  .lane = {mode(kGroup, packed, 0), mode(kPart, 0, 1)},
                  .value = {}};
  map.value[0] = mode(packed, 1, 0);
  map.value[1] = mode(first, 0, kPart);
  map.value[2] = mode(along / (kGroup * packed), kGroup * packed, 0);
  map.value[3] = mode(across / kPart / first, 0, first * kPart);
  map.value[4] = {copies, 0, 0};
  return map;
}

/// A, B, and C or D of a wmma of integers or 16-bit numbers. Of m8n32k16 of binary16 the HMMA multiply B by
/// A. Source: SASS of wmma.load for sm_75 by ptxas 13.0.
FragmentMap fragment_a(const Instruction& wmma, int copies = 1);
FragmentMap fragment_b(const Instruction& wmma, int copies = 1);
FragmentMap fragment_accumulator(const Instruction& wmma);

}  // namespace mmaudit::hmma

namespace mmaudit {

/// Known maps of one architecture.
struct WmmaFragments {
  std::string_view architecture, instructions;  ///< names; a space after each instruction
  Evidence evidence;
  std::string_view source;
  bool transposes;  ///< 8 x 8 parts of 16-bit numbers in registers (MOVM)
  bool any_layout;  ///< else the maps are of A by rows, B by columns and accumulators by rows
  FragmentMap (*a)(const Instruction&, volta::Layout);
  FragmentMap (*b)(const Instruction&, volta::Layout);
  FragmentMap (*accumulator)(const Instruction&, Format);

  [[nodiscard]] bool holds(const Instruction& instruction) const;
};

/// All that is known, one architecture after another.
std::span<const WmmaFragments> published_wmma_fragments();

/// What is known of `instruction` on an architecture, by its name; null: nothing.
const WmmaFragments* find_wmma_fragments(std::string_view architecture, const Instruction& instruction);

/// How a warp fetches or stores a fragment: accesses of a lane, bits of each, sectors of 32 bytes that the
/// warp touches, each access counted by itself.
struct FragmentAccesses {
  int count = 0, bits = 0, sectors = 0;
};
/// What: the accesses of wmma.load or wmma.store. Shapes: a matrix that lies alone in memory, its rows
/// (columns where `by_columns`) one behind another. `transposes`: 16-bit numbers that lie the other way are
/// moved as 8 x 8 parts and transposed in registers. Source: Raihan et al., section III-C; ptxas 13.0 for
/// sm_75.
FragmentAccesses accesses_of(const FragmentMap& map, int element_bits, bool by_columns, bool transposes);

}  // namespace mmaudit
