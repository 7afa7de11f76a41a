#pragma once
// What a simulation remembers between two cycles.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "launch.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {

using Time = std::uint64_t;
inline constexpr Time kNever = std::numeric_limits<Time>::max();
inline constexpr int kSubcores = 4, kBarriers = 6, kMostQueued = 16, kMostDepth = 8;
inline constexpr std::size_t kBanks = kRegisterBanks;
inline constexpr int kMostPlaces = kMostWarps / kSubcores;

/// A barrier that is released at a time.
struct Release {
  Time at = 0;
  std::int16_t warp = 0;
  std::int8_t barrier = 0;
};
inline constexpr auto kLater = [](const Release& x, const Release& y) { return x.at > y.at; };

/// What every cycle asks for comes first.
struct Warp {
  Time ready = 0;  ///< by its control words
  Time rank = 0;   ///< of a whole kernel: the least goes first
  std::int32_t at = 0;
  std::uint8_t held = 0;  ///< barriers not yet released, as a mask
  std::int32_t pending[kBarriers] = {};
  Wait wait = Wait::planned;
  bool done = false;
  std::uint8_t depth = 0;
  std::int32_t trips = 0;
  Time released = 0;  ///< by the barrier of its block; kNever: warps are missing
  Time drained = 0;   ///< everything sent to the tensor unit is done
  Time ended = 0;
  std::int32_t stack[kMostDepth] = {};
};

/// A load or store on its way through the shared memory pipe.
struct Access {
  std::int16_t warp = 0;
  std::int32_t op = 0, left = 0;
  std::int32_t event = -1;
  Time since = 0;
  std::int32_t record = -1;  ///< of a whole kernel: among the accesses of its block
};

/// The access that a sub-core sends next.
struct Head {
  Time next_wavefront = kNever, since = 0;
};

struct Subcore {
  int number = 0;                                 ///< warp `place` of it is warp place * kSubcores + number
  int count = 0;                                  ///< warps
  std::array<Time, kMostPlaces> look;             ///< of each warp: it cannot issue before
  std::array<std::uint8_t, kMostPlaces> order{};  ///< places, least rank first
  int last = -1;                                  ///< place of the one that issued last
  Time wake = 0;                                  ///< nothing can issue before
  Time free2[kUnits] = {};                        ///< half cycles
  Time busy2[kUnits] = {};
  Time starts2[kMostQueued] = {};  ///< of the latest mma
  std::uint64_t sent = 0;
  int accumulating = -1;  ///< the warp of the latest mma
  Registers accumulator;
  Time accumulator_ready2 = 0;
  std::vector<Access> accesses;  ///< a ring
  int first = 0, queued = 0;
  Time next_wavefront = 0;
  Time last_issue = 0;
  // Registers.
  std::array<Time, kBanks> bank_free{}, bank_kept{};
  Time blocked = 0;  ///< nothing can issue before
  std::uint64_t issued = 0;
};

}  // namespace mmaudit::timing
