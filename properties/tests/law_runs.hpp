#pragma once
// Laws over many rows, on all cores, with a seed that is printed.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "mmaudit/architecture.hpp"
#include "mmaudit/laws/check.hpp"

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

inline std::vector<Subject> subjects_of(const Architecture& architecture) {
  std::vector<Subject> all;
  for (Instruction is : kInstructions) {
    is = with_shape(is, kWgmmaMinN);
    const DatapathRow* row = find_datapath(architecture, is);
    if (row != nullptr && is.scale == Format::none) all.emplace_back(architecture, is, row->model);
  }
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
  std::mutex lock;
  std::atomic<std::size_t> next{0};
  const std::uint64_t seed = seed_of_run();
  const auto work = [&] {
    for (std::size_t i = next++; i < subjects.size(); i = next++)
      for (const Law& law : lawbook()) {
        if (!wanted(law)) continue;
        const LawResult result = check_law(law, subjects[i], backend, {.seed = seed, .dots = dots});
        const std::lock_guard guard(lock);
        Tally& tally = tallies[std::string(law.name)];
        (result.skipped.empty() ? tally.applied : tally.skipped) += 1;
        tally.judged += result.judged;
        if (result.good()) continue;
        ++tally.bad;
        ADD_FAILURE() << law.name << ", " << name_of(subjects[i].instruction) << " on " << backend.name
                      << ": " << result.complaint();
      }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  return tallies;
}

}  // namespace mmaudit::laws
