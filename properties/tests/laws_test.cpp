// The laws, held against the model and the reference model of every generation.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include "mmaudit/architecture.hpp"
#include "mmaudit/laws/check.hpp"

namespace mmaudit::laws {
namespace {

constexpr std::uint64_t kSeed = 20261121;

std::vector<Subject> subjects_of(const Architecture& architecture) {
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

/// Every law over every subject, on all cores.
std::map<std::string, Tally> check_all(const Backend& backend, const std::vector<Subject>& subjects,
                                       std::uint64_t dots) {
  std::map<std::string, Tally> tallies;
  std::mutex lock;
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < subjects.size(); i = next++)
      for (const Law& law : lawbook()) {
        const LawResult result = check_law(law, subjects[i], backend, {kSeed, dots, {}});
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

TEST(Laws, TheModelOfHopperObeysEveryOne) {
  const Architecture& hopper = *find_architecture("hopper");
  for (const auto& [name, tally] : check_all(host_model(hopper), subjects_of(hopper), 4000)) {
    EXPECT_GT(tally.applied, 0) << name << " applied to nothing";
    std::printf("%-34s %4d rows, %4d skipped, %10llu judged\n", name.c_str(), tally.applied, tally.skipped,
                static_cast<unsigned long long>(tally.judged));
  }
}

TEST(Laws, TheModelOfEveryGenerationObeysThem) {
  for (const Architecture& architecture : architectures())
    check_all(host_model(architecture), subjects_of(architecture), 500);
}

TEST(Laws, TheReferenceModelObeysThem) {
  const Architecture& hopper = *find_architecture("hopper");
  check_all(reference_model(hopper), subjects_of(hopper), 300);
}

}  // namespace
}  // namespace mmaudit::laws
