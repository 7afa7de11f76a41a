#pragma once
// Which law notices which wrong model: every rule of a row changed by itself, every law asked.
#include <functional>

#include "mmaudit/generators/neighbours.hpp"
#include "mmaudit/laws/check.hpp"

namespace mmaudit::laws {

/// A wrong model of one instruction and the laws that it breaks, in the order of the book. Laws that an
/// oracle judges are asked only where no other law speaks up.
struct Mutant {
  Instruction instruction;
  gen::Neighbour neighbour;
  std::vector<const Law*> broken;

  /// Some law can tell it from a row that it is said to be equal to.
  [[nodiscard]] bool wrongly_excused() const { return !neighbour.invisible.empty() && !broken.empty(); }
  /// No law notices it, and nothing says why none could.
  [[nodiscard]] bool unnoticed() const { return neighbour.invisible.empty() && broken.empty(); }
};

struct MutationRun {
  std::uint64_t seed = 0;
  std::uint64_t dots = 3000;  ///< of every law on every wrong model; ten times as many where none notices
  unsigned threads = 0;       ///< 0: as many as there are cores
  std::function<void(const Mutant&)> done = nullptr;  ///< told of every one, one at a time
};

/// Every neighbour of every subject, in the order of the subjects and of neighbours().
std::vector<Mutant> mutate(std::span<const Subject> subjects, const MutationRun& how);

}  // namespace mmaudit::laws
