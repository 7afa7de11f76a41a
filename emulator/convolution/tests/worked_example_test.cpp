// The worked example of P. Luo's note on Blackwell, 1.2.1: H = W = 9, R = S = 3, output 7 x 9, two images.
#include <map>

#include "problems.hpp"

namespace mmaudit::conv::test {
namespace {

constexpr const char* kF16 = "tcgen05.m128n16k16.kind_f16.f32.f16.f16";
constexpr const char* kI8 = "tcgen05.m128n16k32.kind_i8.s32.s8.s8";

TEST(WorkedExample, SizesAreTheNotes) {
  const Shape shape;
  EXPECT_EQ(shape.out_height(), 7);
  EXPECT_EQ(shape.out_width(), 9);
  EXPECT_EQ(shape.outputs(), 378U);
}

// Figures 6 and 7: a tile of 16 lanes whose first nine are the last output row of image 0.
TEST(WorkedExample, LaneByLaneOverTheSeamOfTwoImages) {
  const Shape shape;
  const auto run = runs_of(shape)[0];
  const int first = 6 * 9;
  for (const char* const name : {"shift", "halo"}) {
    const std::vector<Place> places = schedule_of(shape, run, algorithm(name), first, 16);
    const std::vector<std::vector<Pixel>> lanes = lanes_at(places, true, 18);
    ASSERT_EQ(lanes.size(), 3U);
    for (int s = 0; s < 3; ++s) {
      for (int lane = 0; lane < 16; ++lane) {
        // Lane i holds number i + s of: one pixel of padding, row 6 of image 0, row 0 of image 1 from x = 0.
        const int slot = lane + s - 1;
        const Pixel wanted = slot < 0 ? Pixel{} : slot < 9 ? Pixel{0, 6, slot} : Pixel{1, 0, slot - 9};
        EXPECT_EQ(lanes[static_cast<std::size_t>(s)][static_cast<std::size_t>(lane)], wanted)
            << name << " s " << s << " lane " << lane;
        // The seam, both ways: lane 9 would read image 0 at s = 0, lane 8 image 1 at s = 2.
        const bool masked = (s == 0 && lane == 9) || (s == 2 && lane == 8);
        EXPECT_EQ(places[static_cast<std::size_t>(s)].masked[static_cast<std::size_t>(lane)], masked)
            << name << " s " << s << " lane " << lane;
      }
    }
  }
}

TEST(WorkedExample, LoadsAreSPlusLanesMinus1PerFilterRowAndTile) {
  const Shape shape;
  // Tiles of one output row: 14 tiles, 3 filter rows, 3 + 9 - 1 or 3 * 9 lanes each.
  EXPECT_EQ(counts_of(shape, algorithm("im2col"), 9, 16).loads, 1134U);
  EXPECT_EQ(counts_of(shape, algorithm("shift"), 9, 16).loads, 462U);
  EXPECT_EQ(counts_of(shape, algorithm("halo"), 9, 16).loads, 462U);
  EXPECT_EQ(counts_of(shape, algorithm("shift"), 9, 16).masked, 0U);
  // Tiles of 16 lanes: 7 whole ones and one of 14 lanes.
  EXPECT_EQ(counts_of(shape, algorithm("im2col"), 16, 16).loads, 1134U);
  EXPECT_EQ(counts_of(shape, algorithm("shift"), 16, 16).loads, 3U * (7 * 18 + 16));
  EXPECT_EQ(counts_of(shape, algorithm("shift"), 16, 16).reloads, 0U);
  // Twice the channels of an instruction: everything twice.
  Shape deep = shape;
  deep.channels = 17;
  EXPECT_EQ(counts_of(deep, algorithm("shift"), 9, 16).loads, 924U);
}

TEST(WorkedExample, EveryRightScheduleInEveryMemory) {
  for (const char* const name : {kF16, kI8}) {
    const Problem problem = problem_of({}, "blackwell", name, 1);
    const std::vector<std::uint64_t> wanted = reference(problem);
    for (const int lanes : {9, 16, 128}) {
      for (const Algorithm& one : kAlgorithms) {
        if (!one.right) continue;
        EXPECT_EQ(differences(convolve(problem, one, lanes).d, wanted), 0) << one.name << " " << lanes;
        for (const bool ashift : {false, true}) {
          const InTensorMemory how{one, lanes, ashift};
          if (why_not(problem, how).empty()) {
            const Result result = convolve(problem, how);
            EXPECT_EQ(differences(result.d, wanted), 0) << one.name << " " << lanes << ashift;
            EXPECT_EQ(result.counts.loads, counts_of(problem.shape, one, lanes, 16).loads);
          }
        }
      }
    }
  }
}

// Without masks both sides of every seam inside a tile are wrong, and nothing else is.
TEST(WorkedExample, WithoutMasksTheSeamsAreWrong) {
  const Problem problem = problem_of({}, "blackwell", kI8, 2);
  const std::vector<std::uint64_t> wanted = reference(problem);
  const std::vector<std::uint64_t> found = convolve(problem, algorithm("unmasked"), 16).d;
  EXPECT_GT(differences(found, wanted), 0);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t position = i / 3, q = position % 9, lane = position % 16;
    const bool seam = (q == 8 && lane != 15 && position != 125) || (q == 0 && lane != 0);
    EXPECT_EQ(found[i] != wanted[i], seam) << position;
  }
  // A tile of one output row has no seam.
  EXPECT_EQ(differences(convolve(problem, algorithm("unmasked"), 9).d, wanted), 0);
  const InTensorMemory how{algorithm("unmasked"), 16, false};
  ASSERT_EQ(why_not(problem, how), "");
  EXPECT_EQ(differences(convolve(problem, how).d, found), 0);
}

// The direction of Algorithm 3's listing: lanes move away from lane 0. The new pixel goes to the last lane.
// Then eight lanes of nine are wrong, 336 of 378 outputs; a wrong sum can equal the right one by chance. With
// small integers and one channel such chances occur, and some data give 335.
TEST(WorkedExample, TheDirectionOfTheListingIsWrongInEightLanesOfNine) {
  Shape small;
  small.channels = 1;
  std::map<int, int> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const bool few_bits : {false, true}) {
      const Problem problem = few_bits ? problem_of(small, "ampere", "mma.m16n8k64.s32.s4.s4.s32", seed)
                                       : problem_of({}, "blackwell", kI8, seed);
      const std::vector<std::uint64_t> wanted = reference(problem);
      const Result reversed = convolve(problem, algorithm("reversed"), 9);
      EXPECT_EQ(reversed.counts.loads, 462U);
      if (few_bits)
        ++seen[differences(reversed.d, wanted)];
      else
        EXPECT_EQ(differences(reversed.d, wanted), 336);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (i / 3 % 9 != 8) continue;
        EXPECT_EQ(reversed.d[i], wanted[i]) << i;
      }
    }
  }
  EXPECT_LE(seen.rbegin()->first, 336);
  EXPECT_GT(seen[335], 0);
}

}  // namespace
}  // namespace mmaudit::conv::test
