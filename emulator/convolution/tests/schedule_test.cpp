// Index map, order of k, schedules and refusals, by hand.
#include "problems.hpp"

namespace mmaudit::conv::test {
namespace {

TEST(Shape, RefusesWhatCannotBeComputed) {
  const auto with = [](auto change) {
    Shape shape;
    change(shape);
    return why_not(shape, 16);
  };
  EXPECT_EQ(why_not(Shape{}, 16), "");
  EXPECT_EQ(with([](Shape& x) { x.images = 0; }), "images: found 0, allowed: 1 to 65536");
  EXPECT_EQ(with([](Shape& x) { x.padding_x = -1; }), "padding: found -1, allowed: 0 to 65536");
  EXPECT_EQ(with([](Shape& x) { x.filters = 65537; }), "filters: found 65537, allowed: 1 to 65536");
  EXPECT_EQ(with([](Shape& x) { x.dilation_y = 5; }),
            "height: found 9 with padding, allowed: 11 or more, which the filter spans");
  EXPECT_EQ(with([](Shape& x) { x.columns = 12; }),
            "width: found 11 with padding, allowed: 12 or more, which the filter spans");
  EXPECT_EQ(with([](Shape& x) { x.height = x.width = 65536; }),
            "activations: found 137438953472, allowed: 67108864 or less");
  EXPECT_EQ(with([](Shape& x) { x.filters = x.channels = 65536; }),
            "weights: found 38654705664, allowed: 67108864 or less");
  EXPECT_EQ(with([](Shape& x) {
              x.channels = x.images = 1;
              x.height = x.width = 1024;
              x.filters = 65;
            }),
            "outputs: found 68024320, allowed: 67108864 or less");
  EXPECT_EQ(with([](Shape& x) {
              x.height = x.width = 512;
              x.filters = 8;
            }),
            "multiply-adds: found 601620480, allowed: 268435456 or less");
}

TEST(Shape, IndexMapByHand) {
  Shape shape;
  shape.stride_x = 2;
  shape.dilation_y = 3;  // output 3 x 5
  EXPECT_EQ(shape.out_height(), 3);
  EXPECT_EQ(shape.out_width(), 5);
  EXPECT_EQ(pixel_at(shape, 0, 0, 0), Pixel{});
  EXPECT_EQ(pixel_at(shape, 0, 2, 1), (Pixel{0, 6, 0}));
  EXPECT_EQ(pixel_at(shape, 15 + 5 + 4, 1, 1), (Pixel{1, 4, 8}));
  EXPECT_EQ(pixel_at(shape, 15 + 5 + 4, 1, 2), Pixel{});
}

TEST(Shape, RunsFollowStrideAndDilation) {
  const auto runs = [](int stride, int dilation) {
    Shape shape;
    shape.rows = 1;
    shape.columns = 5;
    shape.width = 40;
    shape.stride_x = stride;
    shape.dilation_x = dilation;
    return runs_of(shape);
  };
  const std::vector<int> all{0, 1, 2, 3, 4}, even{0, 2, 4}, odd{1, 3};
  ASSERT_EQ(runs(1, 1).size(), 1U);
  EXPECT_EQ(runs(1, 1)[0].s, all);
  EXPECT_EQ(runs(1, 3)[0].s, all);
  EXPECT_EQ(runs(1, 3)[0].lanes_per_shift, 3);
  EXPECT_EQ(runs(2, 2)[0].s, all);
  EXPECT_EQ(runs(2, 2)[0].lanes_per_shift, 1);
  ASSERT_EQ(runs(2, 1).size(), 2U);
  EXPECT_EQ(runs(2, 1)[0].s, even);
  EXPECT_EQ(runs(2, 1)[1].s, odd);
  EXPECT_EQ(runs(4, 6)[0].s, even);
  EXPECT_EQ(runs(4, 6)[0].lanes_per_shift, 3);
  EXPECT_EQ(runs(9, 1).size(), 5U);
}

// An output narrower than its input: rows of a tile meet in a lane, and the schedule loads one of them again.
TEST(Schedule, ReloadsWhereOutputRowsMeetWithoutPadding) {
  Shape shape;
  shape.padding_x = 0;  // output 7 x 7
  const Counts whole_row = counts_of(shape, algorithm("shift"), 7, 16),
               over_rows = counts_of(shape, algorithm("shift"), 14, 16);
  EXPECT_EQ(whole_row.loads, 14U * 3 * (7 + 2));
  EXPECT_EQ(whole_row.reloads, 0U);
  EXPECT_GT(over_rows.reloads, 0U);
  EXPECT_EQ(over_rows.masked, 0U);
}

TEST(Schedule, TensorMemoryRefuses) {
  const Problem problem = problem_of({}, "blackwell", "tcgen05.m128n16k16.kind_f16.f32.f16.f16", 1);
  const auto why = [&](const char* name, int lanes, bool ashift) {
    return why_not(problem, InTensorMemory{algorithm(name), lanes, ashift});
  };
  EXPECT_EQ(why("halo", 30, false), "");
  EXPECT_EQ(why("halo", 31, false), "lanes: found 33 with the halo, allowed: 1 to 32, which a shift moves");
  EXPECT_EQ(why("shift", 32, false), "");
  EXPECT_EQ(why("shift", 0, false), "lanes: found 0 with the halo, allowed: 1 to 32, which a shift moves");
  EXPECT_EQ(why("shift", 16, true), "ashift: found shift, allowed: halo: the lane after must be there");
  EXPECT_EQ(why("printed", 9, false),
            "algorithm: found a shift to the lane after, allowed: .down, which is the one that PTX has");
  Problem other = problem;
  other.shape.filters = 257;
  EXPECT_EQ(why_not(other, InTensorMemory{algorithm("halo"), 16, false}),
            "filters: found 257, allowed: 1 to 256, the N of one instruction");
  other = problem_of({}, "hopper", "wgmma.m64n8k16.f32.f16.f16", 1);
  EXPECT_EQ(
      why_not(other, InTensorMemory{algorithm("halo"), 16, false}),
      "instruction: found wgmma.m64n8k16.f32.f16.f16, allowed: tcgen05 of kind f16, tf32, f8f6f4 or i8, "
      "with elements of 8 bits or more");
}

TEST(Schedule, InstructionsThatMakeNoChain) {
  EXPECT_EQ(why_not(*find_instruction("mma.m16n8k16.f32.f16.f16.f32")), "");
  EXPECT_EQ(why_not(*find_instruction("mma.sp.m16n8k32.f32.f16.f16.f32")),
            "instruction: found a sparse one, allowed: a dense one without block scales, of numbers");
  EXPECT_EQ(why_not(*find_instruction("mma.m16n8k256.s32.b1.b1.s32.xor.popc")),
            "instruction: found single bits, allowed: a dense one without block scales, of numbers");
  EXPECT_EQ(why_not(*find_instruction("tcgen05.m128n16k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0")),
            "instruction: found block scales, allowed: a dense one without block scales, of numbers");
}

// .ashift does every second shift: as many loads, two shifts per run fewer or more.
TEST(Schedule, AshiftTakesThePlaceOfTheShiftsBetween) {
  Shape shape;
  shape.columns = 2;
  shape.padding_x = 1;
  const Problem problem = problem_of(shape, "blackwell", "tcgen05.m128n16k16.kind_f16.f32.f16.f16", 1);
  const Result shifted = convolve(problem, InTensorMemory{algorithm("halo"), 16, false}),
               by_instruction = convolve(problem, InTensorMemory{algorithm("halo"), 16, true});
  EXPECT_EQ(shifted.d, by_instruction.d);
  EXPECT_EQ(shifted.counts.loads, by_instruction.counts.loads);
  EXPECT_GT(shifted.counts.shifts, 0U);
  EXPECT_EQ(by_instruction.counts.shifts, 0U);
}

// Zeros filled in meet an infinite weight as 0 * Inf = NaN; a masked lane does not.
TEST(Schedule, AMaskIsNotAZeroForAnInfiniteWeight) {
  Problem problem = problem_of({}, "blackwell", "tcgen05.m128n16k16.kind_f16.f32.f16.f16", 1);
  store_bits(problem.weights, 2, 0, spec_of(Format::f16).infinity_bits());  // filter 0, r = s = 0
  const std::vector<std::uint64_t> zeros = reference(problem),
                                   masks = convolve(problem, algorithm("shift"), 16).d;
  EXPECT_EQ(differences(convolve(problem, algorithm("im2col"), 16).d, zeros), 0);
  for (std::size_t i = 0; i < zeros.size(); ++i) {
    const std::size_t position = i / 3;
    EXPECT_EQ(zeros[i] != masks[i], i % 3 == 0 && position % 9 == 0 && position % 16 != 0) << position;
  }
}

}  // namespace
}  // namespace mmaudit::conv::test
