#pragma once
// Laws over many rows, on all cores, with a seed that is printed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include "mmaudit/laws/check.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::laws {

inline constexpr std::uint64_t kSeed = 20261121;

/// $MMAUDIT_SEED; else fixed in CI and fresh elsewhere. Printed, so that a run can be repeated.
inline std::uint64_t seed_of_run() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("MMAUDIT_SEED");
    const std::uint64_t drawn = given != nullptr               ? std::strtoull(given, nullptr, 10)
                                : std::getenv("CI") != nullptr ? kSeed
                                                               : std::random_device{}();
    std::printf("MMAUDIT_SEED=%llu\n", static_cast<unsigned long long>(drawn));
    return drawn;
  }();
  return seed;
}

/// Laws are not stated for block scales.
inline std::vector<Subject> unscaled_subjects(const Architecture& architecture) {
  std::vector<Subject> all = subjects_of(architecture);
  std::erase_if(all, [](const Subject& one) { return one.instruction.scale != Format::none; });
  return all;
}

struct Tally {
  int applied = 0, skipped = 0, bad = 0;
  std::uint64_t judged = 0;
};

/// Every law that `wanted` takes over every subject, on all cores; what is not good fails the test.
inline std::map<std::string, Tally> check_all(const Backend& backend, const std::vector<Subject>& subjects,
                                              std::uint64_t dots,
                                              const std::function<bool(const Law&)>& wanted) {
  std::map<std::string, Tally> tallies;
  const std::uint64_t seed = seed_of_run();
  std::vector<const Law*> chosen;
  for (const Law& law : lawbook())
    if (wanted(law)) chosen.push_back(&law);
  const auto done = [&](const LawResult& result) {
    Tally& tally = tallies[std::string(result.law->name)];
    (result.skipped.empty() ? tally.applied : tally.skipped) += 1;
    tally.judged += result.judged;
    if (result.good()) return;
    ++tally.bad;
    ADD_FAILURE() << result.law->name << ", " << name_of(result.instruction) << " on " << backend.name << ": "
                  << result.complaint();
  };
  const auto options = [&](const Law&, const Subject&) { return LawOptions{.seed = seed, .dots = dots}; };
  check_laws(chosen, subjects, backend, {.options = options, .done = done});
  return tallies;
}

}  // namespace mmaudit::laws
