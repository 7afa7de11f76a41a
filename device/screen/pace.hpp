#pragma once
// How many rounds one call runs, what keeps the errors of all its launches, and who has ended.
#include <algorithm>
#include <cstddef>
#include <span>

#include "mmaudit/sweeps/timed_kernel.hpp"

namespace mmaudit::screen {

struct Paced {
  double seconds = 0;  ///< of the last launch
  int rounds = 0;      ///< of the last launch
  int calibrated_rounds =
      0;  ///< of the launches before it, which measured a round; errors count in these too
};

/// What: clears the counter of wrong checksums, then launches rounds for about `seconds`. Where
/// `seconds_per_round` is 0 it measures a round first; nothing clears the counter in between, so an error in
/// a measuring launch counts. Calls clear() and launch(rounds, first_round, last) -> seconds; `first_round`
/// counts from 0 in this call. `share_of_time`: busy part of a burst's period, or 1. `seconds_per_round` then
/// holds the last launch's, if that ran without bursts.
template <typename Clear, typename Launch>
Paced paced(double& seconds_per_round, double seconds, double share_of_time, const Clear& clear,
            const Launch& launch) {
  constexpr int kCalibratingRounds = 2;
  Paced out;
  clear();
  if (seconds_per_round == 0) {
    launch(kCalibratingRounds, 0, false);  // loads the code
    seconds_per_round = launch(kCalibratingRounds, kCalibratingRounds, false) / kCalibratingRounds;
    out.calibrated_rounds = 2 * kCalibratingRounds;
  }
  out.rounds = std::max(1, static_cast<int>(seconds * share_of_time / seconds_per_round));
  out.seconds = launch(out.rounds, out.calibrated_rounds, true);
  if (share_of_time == 1) seconds_per_round = out.seconds / out.rounds;
  return out;
}

/// Of memory that was filled with this byte before the launch: stamps that no slot has written. Such a slot
/// did not get to its end.
inline constexpr int kUnwritten = 0xff;
inline std::size_t unwritten(std::span<const sweeps::Stamp> stamps) {
  return static_cast<std::size_t>(std::count_if(stamps.begin(), stamps.end(), [](const sweeps::Stamp& stamp) {
    return stamp.multiprocessor == ~std::uint32_t{0};
  }));
}

}  // namespace mmaudit::screen
