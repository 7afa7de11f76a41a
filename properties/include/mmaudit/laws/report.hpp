#pragma once
// What laws said, for a person or a program: a line per law, and a dot product that broke one.
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

/// A line per law, and why results are not good; `reasons`: also why instructions are skipped.
std::string to_text(const LawReport& report, bool reasons);
std::string to_json(const LawReport& report);

/// Hex and values, what was found and what the law allows, and the commands that explain (`where`: its --arch
/// and --model) and replay it.
std::string describe(const Failure& failure, const Law& law, const std::string& where,
                     const std::string& replay);
std::string replay_command(const Failure& failure, const std::string& backend,
                           const Architecture& architecture, const std::string& regressions);

/// A CUDA file that runs the instruction on the failing dot product and compares; empty where the instruction
/// is not a plain mma.
std::string cuda_repro(const Failure& failure);

}  // namespace mmaudit::laws
