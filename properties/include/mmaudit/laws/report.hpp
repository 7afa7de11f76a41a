#pragma once
// What laws said.
#include <string>
#include <vector>

#include "mmaudit/laws/check.hpp"

namespace mmaudit::laws {

/// All results of one law.
struct CheckedLaw {
  const Law* law = nullptr;
  std::vector<LawResult> results;
  bool may_be_silent = false;  ///< applying to nothing is no failure

  [[nodiscard]] std::size_t applied() const;
  [[nodiscard]] std::size_t bad() const;
  [[nodiscard]] std::uint64_t judged() const;
  [[nodiscard]] bool good() const { return bad() == 0 && (applied() > 0 || may_be_silent); }
};

struct LawReport {
  std::string on;  ///< the backend, or whose recordings were judged
  std::uint64_t seed = 0;
  std::string date;
  std::vector<CheckedLaw> laws;  ///< in the order of the lawbook

  [[nodiscard]] bool judged_something() const;
  [[nodiscard]] bool good() const;  ///< not where nothing was judged
};

/// A CUDA file that runs the instruction on the failing dot product and compares; empty where the instruction
/// is not a plain mma.
std::string cuda_repro(const Failure& failure);

}  // namespace mmaudit::laws
