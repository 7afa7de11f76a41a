// Every schedule against the direct convolution, on random shapes: bit for bit, integers also exactly.
#include "../src/operands.hpp"
#include "mmaudit/emulate.hpp"
#include "problems.hpp"

namespace mmaudit::conv::test {
namespace {

struct Unit {
  const char *architecture, *instruction;
};
constexpr Unit kFloats[] = {
    {"blackwell", "tcgen05.m128n16k16.kind_f16.f32.f16.f16"},
    {"blackwell", "tcgen05.m128n16k16.kind_f16.f16.f16.f16"},
    {"blackwell", "tcgen05.m128n16k16.kind_f16.f32.bf16.bf16"},
    {"blackwell", "tcgen05.m128n16k8.kind_tf32.f32.tf32.tf32"},
    {"blackwell", "tcgen05.m128n16k32.kind_f8f6f4.f32.e4m3.e5m2"},
    {"hopper", "wgmma.m64n8k16.f32.f16.f16"},
    {"hopper", "wgmma.m64n8k32.f32.e4m3.e4m3"},
    {"hopper", "mma.m16n8k4.f64.f64.f64.f64"},
    {"ampere", "mma.m16n8k16.f32.bf16.bf16.f32"},
    {"volta", "mma.m8n8k4.f32.f16.f16.f32"},
};
constexpr Unit kIntegers[] = {
    {"blackwell", "tcgen05.m128n16k32.kind_i8.s32.s8.s8"},
    {"blackwell", "tcgen05.m128n16k32.kind_i8.s32.u8.s8"},
    {"hopper", "wgmma.m64n8k32.s32.u8.u8"},
    {"ampere", "mma.m16n8k64.s32.s4.u4.s32"},
};

std::int64_t integer_of(std::uint64_t bits, const FormatSpec& format) {
  const int unused = 64 - format.value_bits();
  return format.encoding == Encoding::signed_integer ? static_cast<std::int64_t>(bits << unused) >> unused
                                                     : static_cast<std::int64_t>(bits << unused >> unused);
}

/// The sums of an instruction of integers, exactly: seven loops and no model.
std::vector<std::int64_t> exact_reference(const Problem& problem) {
  const Shape& shape = problem.shape;
  const FormatSpec a = spec_of(problem.instruction.a), b = spec_of(problem.instruction.b);
  std::vector<std::int64_t> outputs;
  for (int image = 0; image < shape.images; ++image) {
    for (int p = 0; p < shape.out_height(); ++p) {
      for (int q = 0; q < shape.out_width(); ++q) {
        for (int filter = 0; filter < shape.filters; ++filter) {
          std::int64_t sum = 0;
          for (int r = 0; r < shape.rows; ++r) {
            for (int s = 0; s < shape.columns; ++s) {
              const int y = p * shape.stride_y + r * shape.dilation_y - shape.padding_y;
              const int x = q * shape.stride_x + s * shape.dilation_x - shape.padding_x;
              if (y < 0 || y >= shape.height || x < 0 || x >= shape.width) continue;
              for (int channel = 0; channel < shape.channels; ++channel)
                sum += integer_of(activation(problem, {image, y, x}, channel), a) *
                       integer_of(weight(problem, filter, r, s, channel), b);
            }
          }
          outputs.push_back(sum);
        }
      }
    }
  }
  return outputs;
}

Shape random_shape(Random& random) {
  for (;;) {
    Shape shape;
    shape.images = random.in(1, 3);
    shape.height = random.in(1, 7);
    shape.width = random.in(1, 9);
    shape.channels = random.in(1, 20);
    shape.filters = random.in(1, 4);
    shape.rows = random.in(1, 3);
    shape.columns = random.in(1, 5);
    shape.stride_y = random.in(1, 2);
    shape.stride_x = random.in(1, 3);
    shape.padding_y = random.in(0, 2);
    shape.padding_x = random.in(0, 3);
    shape.dilation_y = random.in(1, 2);
    shape.dilation_x = random.in(1, 3);
    if (why_not(shape, 16).empty()) return shape;
  }
}

std::string text_of(const Shape& shape) {
  std::string text;
  for (const int value :
       {shape.images, shape.height, shape.width, shape.channels, shape.filters, shape.rows, shape.columns,
        shape.stride_y, shape.stride_x, shape.padding_y, shape.padding_x, shape.dilation_y, shape.dilation_x})
    text += std::to_string(value) + " ";
  return text;
}

/// Whole tiles by the model, in place of a GPU.
const Backend& tiles_of(const Datapath& datapath) {
  static Datapath used;
  static const Backend tiles = {
      .name = "tiles", .why_not = {}, .run = [](const Instruction& inst, const TileView& batch) {
        emulate(inst, used, batch);
      }};
  used = datapath;
  return tiles;
}

/// Every right schedule, and one of tensor memory's where the instruction has it. Returns whether it had.
bool check(const Problem& problem, int lanes, int turn, const std::vector<std::uint64_t>& wanted) {
  for (const Algorithm& one : kAlgorithms) {
    if (!one.right) continue;
    const Result result = convolve(problem, one, lanes);
    EXPECT_EQ(differences(result.d, wanted), 0) << one.name << " with " << lanes << " lanes";
    EXPECT_EQ(result.counts, counts_of(problem.shape, one, lanes, problem.instruction.k)) << one.name;
  }
  const Result by_tiles = convolve(problem, kAlgorithms[turn % 3], lanes, &tiles_of(problem.datapath));
  EXPECT_EQ(differences(by_tiles.d, wanted), 0) << "tiles with " << lanes << " lanes";
  const InTensorMemory ways[] = {{algorithm("halo"), lanes, true},
                                 {algorithm("halo"), lanes, false},
                                 {algorithm("shift"), lanes, false},
                                 {algorithm("im2col"), lanes, false}};
  const InTensorMemory& how = ways[turn % 4];
  if (problem.instruction.op != Op::tcgen05 || !why_not(problem, how).empty()) return false;
  const Result result = convolve(problem, how);
  EXPECT_EQ(differences(result.d, wanted), 0) << how.algorithm.name << " in tensor memory";
  EXPECT_EQ(result.counts.loads, counts_of(problem.shape, how.algorithm, lanes, problem.instruction.k).loads);
  return true;
}

TEST(RandomShapes, EveryScheduleGivesTheBitsOfTheReference) {
  Random random(20261123);
  int in_tensor_memory = 0, masked = 0, reloaded = 0;
  for (int turn = 0; turn < 500; ++turn) {
    const Shape shape = random_shape(random);
    const int lanes = random.in(1, 24);
    SCOPED_TRACE("shape " + text_of(shape) + "turn " + std::to_string(turn));
    const Unit floats = kFloats[turn % std::size(kFloats)], integers = kIntegers[turn % std::size(kIntegers)];
    const auto seed = static_cast<std::uint64_t>(turn);

    const Problem one = problem_of(shape, floats.architecture, floats.instruction, seed);
    in_tensor_memory += check(one, lanes, turn / 10, reference(one)) ? 1 : 0;

    const Problem two = problem_of(shape, integers.architecture, integers.instruction, seed);
    std::vector<std::uint64_t> exact;
    for (const std::int64_t sum : exact_reference(two)) exact.push_back(static_cast<std::uint32_t>(sum));
    EXPECT_EQ(differences(reference(two), exact), 0);
    in_tensor_memory += check(two, lanes, turn / 4, exact) ? 1 : 0;

    const Counts counts = counts_of(shape, algorithm("shift"), lanes, 16);
    masked += counts.masked != 0 ? 1 : 0;
    reloaded += counts.reloads != 0 ? 1 : 0;
    if (HasFailure()) return;
  }
  // The shapes reach what the schedules are for.
  EXPECT_GT(in_tensor_memory, 300);
  EXPECT_GT(masked, 100);
  EXPECT_GT(reloaded, 50);
}

}  // namespace
}  // namespace mmaudit::conv::test
