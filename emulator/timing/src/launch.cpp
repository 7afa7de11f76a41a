#include "launch.hpp"

#include <algorithm>
#include <cmath>

#include "mmaudit/error.hpp"

namespace mmaudit::timing {

void check_launch(const Program& program, const Launch& launch) {
  if (launch.warps < 1 || launch.warps > kMostWarps)
    throw InputError("warps: found " + std::to_string(launch.warps) + ", allowed: 1 to 64");
  if (launch.trips < 1)
    throw InputError("trips: found " + std::to_string(launch.trips) + ", allowed: 1 or more");
  if (program.ops.empty()) throw InputError("program: found no instruction, allowed: one or more");
  for (const TimedOp& op : program.ops) {
    const bool jumps = op.flow == Flow::loop || op.flow == Flow::jump || op.flow == Flow::call;
    if (jumps && (op.target < 0 || op.target >= static_cast<int>(program.ops.size())))
      throw InputError("program: found a branch that leaves the loop, allowed: one inside it");
    const auto fits = [](const Registers& registers) {
      return registers.first >= 0 && registers.first + registers.count <= kRegistersOfWarp;
    };
    if (!fits(op.destination) || !std::all_of(op.sources.begin(), op.sources.end(), fits))
      throw InputError("program: found a register beyond R255, allowed: R0 to R255");
  }
}

std::string_view name_of(Unit unit) {
  constexpr std::string_view kNames[kUnits] = {
      "issue",        "tensor unit",  "binary64 unit", "FMA unit",      "HFMA2.MMA unit", "ALU",
      "special unit", "uniform unit", "branch",        "shared memory", "memory"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string_view name_of(Wait wait) {
  constexpr std::string_view kNames[kWaits] = {
      "planned stalls", "barriers",      "registers",    "a busy unit",
      "a full queue",   "wgmma results", "another warp", "a barrier of the block"};
  return kNames[static_cast<std::size_t>(wait)];
}

std::string Timing::bound() const {
  constexpr double kBound = 0.9;
  const auto percent = [](double share) { return std::to_string(std::lround(100 * share)) + "%"; };
  if (shared_busy >= kBound) return "shared memory, " + percent(shared_busy) + " busy";
  const auto unit = static_cast<std::size_t>(std::max_element(busy.begin() + 1, busy.end()) - busy.begin());
  if (busy[unit] >= kBound)
    return std::string(name_of(static_cast<Unit>(unit))) + ", " + percent(busy[unit]) + " busy";
  if (issue_busy >= kBound) return "issue slots, " + percent(issue_busy) + " busy";
  const auto wait = static_cast<std::size_t>(std::max_element(waits.begin(), waits.end()) - waits.begin());
  return "warps waiting for " + std::string(name_of(static_cast<Wait>(wait))) + "; " +
         std::string(name_of(static_cast<Unit>(unit))) + " " + percent(busy[unit]) + " busy";
}

}  // namespace mmaudit::timing
