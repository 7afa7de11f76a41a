// An error in any launch of a call counts, also in those that measure a round.
#include "screen/pace.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace mmaudit::screen {
namespace {

/// A GPU whose round takes 1 ms and that errs once, in the launch with this number.
struct FakeGpu {
  int wrong_launch = -1;
  int launches = 0, count = 0, rounds = 0;
  double seconds_per_round = 0;

  Paced call(double seconds, double share_of_time = 1) {
    return paced(
        seconds_per_round, seconds, share_of_time, [this] { count = 0; },
        [this](int now, int first, bool last) {
          EXPECT_EQ(first, rounds);
          EXPECT_EQ(last, now > 2);
          rounds += now;
          if (launches++ == wrong_launch) ++count;
          return 1e-3 * now;
        });
  }
};

TEST(Pace, AnErrorInAnyLaunchCounts) {
  for (int wrong = 0; wrong < 3; ++wrong) {
    FakeGpu gpu{.wrong_launch = wrong};
    const Paced first = gpu.call(0.5);
    EXPECT_EQ(gpu.launches, 3);
    EXPECT_EQ(gpu.count, 1) << wrong;
    EXPECT_EQ(first.calibrated_rounds + first.rounds, gpu.rounds);
  }
}

TEST(Pace, MeasuresOnceAndClearsBetweenCalls) {
  FakeGpu gpu{.wrong_launch = 0};
  EXPECT_NEAR(gpu.call(0.5).rounds, 500, 1);
  gpu.rounds = 0;
  const Paced bursts = gpu.call(0.5, 0.5);
  EXPECT_EQ(gpu.launches, 4);
  EXPECT_EQ(gpu.count, 0);
  EXPECT_EQ(bursts.calibrated_rounds, 0);
  EXPECT_NEAR(bursts.rounds, 250, 1);
}

TEST(Pace, ASlotThatDoesNotEndIsCounted) {
  std::vector<sweeps::Stamp> stamps(4);
  EXPECT_EQ(unwritten(stamps), 0U);
  for (const std::size_t slot : {std::size_t{1}, std::size_t{3}})
    std::memset(static_cast<void*>(&stamps[slot]), kUnwritten, sizeof(sweeps::Stamp));
  EXPECT_EQ(unwritten(stamps), 2U);
}

}  // namespace
}  // namespace mmaudit::screen
