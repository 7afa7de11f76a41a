#pragma once
// Which mutants the laws notice.
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/laws/check.hpp"
#include "mmaudit/mutants/mutants.hpp"

namespace mmaudit::laws {

/// A mutant of one instruction and the laws that it breaks, in the order of the book. Laws that an oracle
/// judges are asked only where no other law notices.
struct JudgedMutant : Mutant {
  Instruction instruction;
  std::vector<const Law*> broken;

  /// Some law tells it apart although its reason says that no input can.
  [[nodiscard]] bool wrongly_excused() const { return !invisible.empty() && !broken.empty(); }
  /// No law notices it, and no reason says why.
  [[nodiscard]] bool survives() const { return invisible.empty() && broken.empty(); }
};

struct MutationRun {
  std::uint64_t seed = 0;
  std::uint64_t dots = 3000;  ///< per law and mutant; ten times as many where no law notices
  unsigned threads = 0;       ///< 0: as many as there are cores
  std::function<void(const JudgedMutant&)> done = nullptr;  ///< told of every one, one at a time
};

/// Every mutant of every subject, in the order of the subjects and of mutants_of().
std::vector<JudgedMutant> judge_mutants(std::span<const Subject> subjects, const MutationRun& how);

}  // namespace mmaudit::laws
