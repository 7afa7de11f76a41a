// The model against the reference model of rational arithmetic: 2 * 10^7 dot products, every row of every
// generation. Two implementations that share nothing but the tables.
#include "law_runs.hpp"

namespace mmaudit::laws {
namespace {

TEST(Follows, TheModelIsTheReferenceOnTwentyMillionDots) {
  constexpr std::uint64_t kDots = 20'000'000;
  std::vector<Subject> subjects;
  for (const Architecture& architecture : architectures())
    for (const Subject& one : unscaled_subjects(architecture)) subjects.push_back(one);
  std::uint64_t judged = 0;
  for (const Architecture& architecture : architectures()) {
    const auto own = unscaled_subjects(architecture);
    const auto tallies = check_all(model_backend(architecture), own, kDots / subjects.size() + 1,
                                   [](const Law& law) { return law.slow; });
    for (const auto& [name, tally] : tallies) judged += tally.judged;
  }
  std::printf("%llu dot products against the reference model\n", static_cast<unsigned long long>(judged));
  EXPECT_GE(judged, kDots);
}

}  // namespace
}  // namespace mmaudit::laws
