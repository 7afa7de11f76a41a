#pragma once
// One multiprocessor, cycle by cycle: four sub-cores with a scheduler each, their units, and the shared
// memory pipe that they feed. Deterministic: the same program gives the same cycles in every run.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/program.hpp"

namespace mmaudit::timing {

/// Why a warp did not issue.
enum class Wait : std::uint8_t { planned, barrier, registers, unit, queue, drain, not_chosen, block };
inline constexpr int kWaits = 8;
std::string_view name_of(Wait wait);

struct Launch {
  int warps = 1, blocks = 1;  ///< of all blocks together
  int trips = 64;             ///< of the loop
  Dependences dependences = Dependences::control_words;
  int recorded = 0;  ///< instructions to keep for a drawing
  // Of the scoreboard; switched off only to see a test fail.
  bool checks_raw = true, checks_waw = true;
};

/// One issued instruction, as a drawing shows it.
struct Event {
  int warp = 0, op = 0;
  std::uint64_t ready = 0, issue = 0, start = 0, free = 0, result = 0;
  Wait wait = Wait::planned;  ///< why it issued later than it could
};

struct Timing {
  double cycles_per_trip = 0;  ///< from the first warp's start to the last warp's end, over the trips
  double cycles_per_step = 0;
  double work_per_cycle = 0;  ///< of the multiprocessor
  std::uint64_t cycles = 0, instructions = 0;
  std::array<double, kUnits> busy{};   ///< share of the time, mean of the sub-cores
  std::array<double, kWaits> waits{};  ///< cycles per warp and trip
  double issue_busy = 0, shared_busy = 0;
  std::vector<Event> events;

  /// "tensor unit 98% busy", or what warps wait for most.
  [[nodiscard]] std::string bound() const;
};

/// What: runs `program` in every warp of one block. Range: 1 to 64 warps, one trip or more. Rounding: all
/// times are whole cycles (the tensor unit counts half cycles). Errors: InputError outside the
/// range; std::runtime_error when the program waits for a barrier that
/// nothing releases, nests calls deeper than 8, or returns without a call.
Timing simulate(const Machine& machine, const Program& program, const Launch& launch);

}  // namespace mmaudit::timing
