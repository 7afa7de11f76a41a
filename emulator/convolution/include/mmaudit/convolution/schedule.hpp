#pragma once
// Schedules: which lane loads which pixel when, which shifts move the pixels on, and which lanes an
// instruction leaves out. They differ in what they load; the index map and the order of k are the same.
// Source: P. Luo's note on Blackwell, 1.2.1 and 1.2.2 (its Algorithms 2, 3 and 3.b).
#include <cstdint>
#include <string_view>
#include <vector>

#include "mmaudit/convolution/shape.hpp"

namespace mmaudit::conv {

enum class Loading : std::uint8_t {
  each_place,   ///< every lane before every instruction: no reuse
  last_lanes,   ///< every lane once per run; after a shift the lanes at its end
  first_lanes,  ///< the same, but after a shift the lanes at its begin
  ahead         ///< all pixels of a run before its first instruction, in lanes beyond the tile's: the halo
};

struct Algorithm {
  std::string_view name;
  Loading loading = Loading::each_place;
  bool down = true;   ///< a shift gives lane i what lane i + 1 held; false: what lane i - 1 held
  bool masks = true;  ///< lanes that read padding and hold a pixel are left out
  bool right = true;  ///< false: it gives wrong outputs, on purpose
  std::string_view what;
};

/// Algorithm 3 is here in the direction of the note's Figure 7, with masks. Its listing moves the lanes the
/// other way, loads lane 0 (mma_n = 0) and has no masks: "printed". Every row but the last two gives the same
/// output.
inline constexpr Algorithm kAlgorithms[] = {
    {"im2col", Loading::each_place, true, true, true, "loads every lane for every place of the filter"},
    {"shift", Loading::last_lanes, true, true, true, "shifts between places, loads the last lanes"},
    {"halo", Loading::ahead, true, true, true, "loads the halo ahead, then shifts alone"},
    {"printed", Loading::first_lanes, false, false, false, "lane i takes lane i - 1's, loads lane 0"},
    {"unmasked", Loading::last_lanes, true, false, false, "shift, with no lane left out"},
};

struct Load {
  int lane = 0;
  Pixel pixel;  ///< padding: zeros, as TMA fills in
};

/// One place of the filter in a tile, in this order: shifts, loads, the instruction.
struct Place {
  int s = 0;
  int shifts = 0;
  std::vector<Load> loads;
  int reloads = 0;           ///< of the loads: what a shift should have brought and could not
  std::vector<bool> masked;  ///< lane of the tile -> left out
};

/// What: the schedule of one run for the tile of output positions first .. first + lanes - 1. Where two
/// output rows of a tile read different pixels through one lane (an output narrower than the input), the
/// later one is loaded again. Shapes: `masked` of every place has `lanes` entries.
std::vector<Place> schedule_of(const Shape& shape, const Run& run, const Algorithm& algorithm, int first,
                               int lanes);

/// Lanes that a tile of `lanes` output positions takes with its halo.
int lanes_with_halo(const std::vector<Run>& runs, const Algorithm& algorithm, int lanes);

/// What a schedule asks for. A load is one lane: the pixels that one lane holds for one instruction's k.
struct Counts {
  std::uint64_t loads = 0, reloads = 0, shifts = 0, instructions = 0, masked = 0;

  friend constexpr bool operator==(const Counts&, const Counts&) = default;
};

/// What: counts of the whole convolution, in tiles of `lanes` output positions, with `k` channels per
/// instruction.
Counts counts_of(const Shape& shape, const Algorithm& algorithm, int lanes, int k);

/// What: the pixels in the lanes of a tile at each place of a run, as the instruction reads them.
std::vector<std::vector<Pixel>> lanes_at(const std::vector<Place>& places, bool down, int lanes);

/// Moves lanes as one shift does: the lane at the end keeps what it held. Source: PTX ISA 9.0, 9.7.16.9.3.
void shift_lanes(std::vector<Pixel>& lanes, bool down);

}  // namespace mmaudit::conv
