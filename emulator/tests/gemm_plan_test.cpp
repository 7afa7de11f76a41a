// predict(): slices as data against sums done by hand, and a plan with one wrong field against the right one.
#include "mmaudit/gemm_plan.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <utility>

#include "mmaudit/gemm_epilogue.hpp"
#include "tile.hpp"

namespace mmaudit::test {
namespace {

using Floats = std::vector<float>;
using Ranges = std::vector<KRange>;

GemmPlan plan_of(const char* instruction) {
  GemmPlan plan;
  plan.instruction = instruction_of(instruction);
  return plan;
}

/// A tf32 product whose partial sums cancel, so that D is what the roundings leave.
struct Sums {
  std::uint64_t m = 3, n = 5, k = 1000;
  Floats a, b;

  Sums() : a(m * k), b(k * n) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float& x : a) x = normal(random);
    for (float& x : b) x = normal(random);
    for (std::uint64_t i = 0; i < m; ++i)
      for (std::uint64_t p = k / 2; p < k; ++p) a[i * k + p] = -a[i * k + p - k / 2];
    for (std::uint64_t p = k / 2; p < k; ++p)
      for (std::uint64_t j = 0; j < n; ++j) b[p * n + j] = b[(p - k / 2) * n + j];
  }
  [[nodiscard]] Floats by(const GemmPlan& plan) const {
    const Datapath datapath = hopper_row(plan.instruction);
    Floats d(m * n, NAN);
    Matmul problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a = a.data();
    problem.b = b.data();
    problem.d = d.data();
    EXPECT_EQ(why_no_prediction(plan, datapath, problem), "");
    predict(plan, datapath, problem,
            [](const Instruction& instruction, const Datapath& model, const Matmul& product) {
              matmul(instruction, model, product);
            });
    return d;
  }
};

constexpr const char* kTf32 = "mma.m16n8k8.f32.tf32.tf32.f32";

TEST(GemmPlan, slices_are_whole_tiles) {
  GemmPlan plan = plan_of(kTf32);
  plan.tile_k = 32;
  plan.slices = 11;
  const auto even = slice_ranges_of(plan, 1000);  // 32 tiles, 3 of them per slice
  ASSERT_EQ(even.size(), 11U);
  EXPECT_EQ(even[1], Ranges({{96, 192}}));
  EXPECT_EQ(even[10], Ranges({{960, 1000}}));
  plan.slices = 10;  // 3 tiles for the first two slices, 3 for ...: 32 = 2 * 4 + 8 * 3
  plan.slice_rule = SliceRule::balanced;
  const auto balanced = slice_ranges_of(plan, 1000);
  ASSERT_EQ(balanced.size(), 10U);
  EXPECT_EQ(balanced[0], Ranges({{0, 128}}));
  EXPECT_EQ(balanced[2], Ranges({{256, 352}}));
  EXPECT_EQ(balanced[9], Ranges({{928, 1000}}));
  plan.slice_rule = SliceRule::balanced_last;
  const auto last = slice_ranges_of(plan, 1000);
  EXPECT_EQ(last[0], Ranges({{0, 96}}));
  EXPECT_EQ(last[9], Ranges({{896, 1000}}));
  EXPECT_EQ(slices_of(plan, 1000)[9], (KRange{896, 1000}));
  plan.slice_rule = SliceRule::cyclic;
  const auto cyclic = slice_ranges_of(plan, 1000);
  EXPECT_EQ(cyclic[1], Ranges({{32, 64}, {352, 384}, {672, 704}, {992, 1000}}));
  plan.slices = 1000;
  EXPECT_EQ(slice_ranges_of(plan, 40).size(), 2U);
  EXPECT_TRUE(slice_ranges_of(plan, 0).empty());
}

TEST(GemmPlan, truncated_slices_leave_out_the_end_of_k) {
  GemmPlan plan = plan_of(kTf32);
  plan.tile_k = 32;
  plan.slices = 3;
  plan.slice_rule = SliceRule::truncated;
  EXPECT_EQ(slices_of(plan, 194), (Ranges{{0, 64}, {64, 128}, {128, 192}}));  // floor(194 / 3) = 2 * 32
  EXPECT_EQ(slices_of(plan, 195), (Ranges{{0, 96}, {96, 192}, {192, 195}}));  // 65 takes a third tile
  EXPECT_EQ(slices_of(plan, 192), (Ranges{{0, 64}, {64, 128}, {128, 192}}));
  EXPECT_EQ(slices_of(plan, 2), (Ranges{{0, 2}}));
  EXPECT_TRUE(slices_of(plan, 0).empty());
  Sums sums, without;
  sums.k = without.k = 994;  // floor(994 / 31) = 32
  for (std::uint64_t i = 0; i < sums.m; ++i)
    for (std::uint64_t p = 992; p < sums.k; ++p) without.a[i * sums.k + p] = 0;
  plan.slices = 31;
  const Floats d = sums.by(plan);
  EXPECT_EQ(d, without.by(plan));
  plan.slice_rule = SliceRule::even;
  EXPECT_NE(d, sums.by(plan));
}

TEST(GemmPlan, the_slices_apart_are_matmuls_slices) {
  const Sums sums;
  GemmPlan plan = plan_of(kTf32);
  plan.tile_k = 32;
  plan.slices = 4;  // 32 tiles: both rules cut them alike
  const Floats together = sums.by(plan);
  plan.slice_rule = SliceRule::balanced;
  EXPECT_EQ(sums.by(plan), together);
}

TEST(GemmPlan, every_field_changes_bits) {
  const Sums sums;
  GemmPlan plan = plan_of(kTf32);
  plan.tile_k = 32;
  plan.slices = 5;
  plan.input = InputRounding::nearest_even;
  const Floats right = sums.by(plan);
  std::vector<GemmPlan> wrong(12, plan);
  wrong[0].tile_k = 16;
  wrong[1].slices = 6;
  wrong[2].slice_order = SliceOrder::descending;
  wrong[3].slice_rule = SliceRule::balanced;
  wrong[4].promote = 128;
  wrong[5].input = InputRounding::toward_zero;
  wrong[6].partial = Format::bf16;
  wrong[7].total = Format::bf16;
  wrong[8].tile_k = 4;  // slices of 200: a cut inside an instruction
  wrong[9].slice_rule = SliceRule::cyclic;
  wrong[10].slice_order = SliceOrder::bisected;
  wrong[11].scalar = true;
  for (const GemmPlan& each : wrong) EXPECT_NE(sums.by(each), right) << text_of(each);
}

TEST(GemmPlan, sums_of_slices_are_added_in_order_and_rounded_first) {
  const Sums sums;
  GemmPlan plan = plan_of(kTf32);
  plan.tile_k = 8;
  plan.slices = 2;
  plan.slice_rule = SliceRule::balanced;
  plan.partial = Format::bf16;
  GemmPlan chain = plan_of(kTf32);
  Sums low = sums, high = sums;
  for (std::uint64_t i = 0; i < sums.m; ++i)
    for (std::uint64_t p = 0; p < sums.k; ++p) (p < 504 ? high : low).a[i * sums.k + p] = 0;
  const Floats first = low.by(chain), second = high.by(chain), d = sums.by(plan);
  const FormatSpec bf16 = spec_of(Format::bf16);
  const auto rounded = [&](float x) {
    return static_cast<float>(decode_value(encode_nearest_even(x, bf16), bf16));
  };
  for (std::size_t e = 0; e < d.size(); ++e) EXPECT_EQ(d[e], rounded(first[e]) + rounded(second[e]));
}

TEST(GemmPlan, the_rest_of_a_slice_comes_first) {
  Sums sums;
  GemmPlan plan = plan_of(kTf32), chain = plan;
  plan.head_tile = 32;  // 1000 mod 32 = 8
  EXPECT_EQ(sums.by(plan), sums.by(chain));
  sums.k = 993;  // 993 mod 32 = 1: one product and seven zeros, then 124 instructions
  Sums padded = sums;
  padded.k = 1000;
  for (std::uint64_t i = 0; i < sums.m; ++i)
    for (std::uint64_t p = 0; p < padded.k; ++p)
      padded.a[i * padded.k + p] = p == 0 ? sums.a[i * sums.k] : p < 8 ? 0 : sums.a[i * sums.k + p - 7];
  for (std::uint64_t p = 0; p < padded.k; ++p)
    for (std::uint64_t j = 0; j < sums.n; ++j)
      padded.b[p * sums.n + j] = p == 0 ? sums.b[j] : p < 8 ? 0 : sums.b[(p - 7) * sums.n + j];
  EXPECT_EQ(sums.by(plan), padded.by(chain));
  EXPECT_NE(sums.by(plan), sums.by(chain));
}

TEST(GemmPlan, lanes_of_scalar_sums_meet_in_a_tree) {
  const Sums sums;
  GemmPlan plan = plan_of(kTf32);
  plan.scalar = true;
  plan.tile_k = 64;
  plan.slices = 4;
  plan.slice_rule = SliceRule::cyclic;
  plan.slice_order = SliceOrder::halved;
  const Floats d = sums.by(plan);
  for (std::uint64_t i = 0; i < sums.m; ++i)
    for (std::uint64_t j = 0; j < sums.n; ++j) {
      float lane[4] = {};
      for (std::uint64_t p = 0; p < sums.k; ++p)
        lane[p / 64 % 4] = std::fma(sums.a[i * sums.k + p], sums.b[p * sums.n + j], lane[p / 64 % 4]);
      EXPECT_EQ(d[i * sums.n + j], (lane[0] + lane[2]) + (lane[1] + lane[3]));
    }
}

TEST(GemmPlan, slices_of_lanes_are_added_one_after_another) {
  const Sums sums;
  GemmPlan plan = plan_of(kTf32);
  plan.scalar = true;
  plan.tile_k = 1;
  plan.slices = 3;
  plan.lanes = 4;
  plan.lane_tile = 2;
  plan.lane_order = SliceOrder::halved;
  plan.promote = 8;
  const Floats d = sums.by(plan);
  const std::uint64_t slice = (sums.k + 2) / 3;
  for (std::uint64_t i = 0; i < sums.m; ++i)
    for (std::uint64_t j = 0; j < sums.n; ++j) {
      float total = 0;
      for (std::uint64_t first = 0; first < sums.k; first += slice) {
        float lane[4] = {}, run[4] = {};
        int taken[4] = {};
        for (std::uint64_t p = first; p < std::min(first + slice, sums.k); ++p) {
          const std::uint64_t l = (p - first) / 2 % 4;
          run[l] = std::fma(sums.a[i * sums.k + p], sums.b[p * sums.n + j], run[l]);
          if (++taken[l] % 8 != 0) continue;
          lane[l] += run[l];
          run[l] = 0;
        }
        for (int l = 0; l < 4; ++l)
          if (taken[l] % 8 != 0) lane[l] += run[l];
        total += (lane[0] + lane[2]) + (lane[1] + lane[3]);
      }
      EXPECT_EQ(d[i * sums.n + j], total);
    }
}

TEST(GemmPlan, refusals_name_the_field) {
  GemmPlan plan = plan_of(kTf32);
  const Datapath datapath = hopper_row(plan.instruction);
  plan.head_tile = 12;
  EXPECT_EQ(why_no_prediction(plan, datapath, Matmul{}),
            "head_tile: found 12, allowed: a multiple of k = 8 of the instruction");
  plan.head_tile = 0;
  plan.lanes = 2;
  EXPECT_EQ(why_no_prediction(plan, datapath, Matmul{}), "lanes: found 2, allowed: 1 but with scalar");
  plan.lanes = 3;
  plan.lane_order = SliceOrder::halved;
  EXPECT_EQ(why_no_prediction(plan, datapath, Matmul{}),
            "lanes: found 3, allowed: a power of two where their sums are halved");
  plan.lanes = 1;
  plan.tile_k = 16;
  plan.partial = Format::e4m3;
  EXPECT_EQ(why_no_prediction(plan, datapath, Matmul{}), "partial: found e4m3, allowed: f32, f16, bf16");
}

/// D of one element: products p[k] * 1, in f32, from a plan of the f32 format.
float scalar_sum(const GemmPlan& plan, const std::vector<float>& p, float c) {
  const std::vector<float> ones(p.size(), 1);
  float d = 0;
  Matmul problem;
  problem.batch = problem.m = problem.n = 1;
  problem.k = p.size();
  problem.a = p.data();
  problem.b = ones.data();
  problem.c = &c;
  problem.d = &d;
  EXPECT_EQ(why_no_prediction(plan, {}, problem), "");
  predict(plan, {}, problem, nullptr);
  return d;
}

TEST(GemmPlan, c_starts_a_chain_or_a_total) {
  GemmPlan plan;
  plan.instruction = scalar_instruction(Format::f32, Format::f32);
  plan.scalar = true;
  // 2^24 swallows a 1 that meets it; c is -2^24.
  const std::vector<float> p{0x1p24F, 1, 1, 1, 1, 1};
  constexpr float kC = -0x1p24F;
  EXPECT_EQ(scalar_sum(plan, p, kC), 0x1p24F);  // no epilogue, no C
  plan.c_place = CPlace::chain;
  EXPECT_EQ(scalar_sum(plan, p, kC), 5);
  EXPECT_EQ(scalar_sum(plan, {}, kC), kC);
  plan.promote = 2;
  EXPECT_EQ(scalar_sum(plan, p, kC), 4);
  plan.promote = 0;
  plan.slices = 2;
  EXPECT_EQ(scalar_sum(plan, p, kC), 5);
  plan.c_place = CPlace::total;
  EXPECT_EQ(scalar_sum(plan, p, kC), 3);
  EXPECT_EQ(scalar_sum(plan, {1}, 2), 3);
  plan.slices = 1;
  plan.lanes = 2;
  EXPECT_EQ(scalar_sum(plan, p, kC), 3);  // lane 0: 2^24
  plan.slices = 3;
  EXPECT_EQ(scalar_sum(plan, p, kC), 4);
  EXPECT_EQ(scalar_sum(plan, {1}, 2), 3);
  plan.output = Format::f16;
  Matmul problem;
  const std::uint16_t one = 0x3C00;
  std::uint16_t d = 0;
  const float a = 0x1p-11F, b = 1;
  problem.batch = problem.m = problem.n = problem.k = 1;
  problem.a = &a;
  problem.b = &b;
  problem.c = &one;
  problem.d = &d;
  predict(plan, {}, problem, nullptr);
  EXPECT_EQ(d, 0x3C00);  // 1 + 2^-11, a tie, is rounded once
}

std::uint64_t bits_of(double x, Format format) { return encode_nearest_even(x, spec_of(format)); }

GemmPlan running_plan(Format format) {
  GemmPlan plan;
  plan.instruction = scalar_instruction(format, format);
  plan.scalar = true;
  plan.running = plan.output = format;
  return plan;
}

/// D of one element, all of one short format: products a[k] * b[k], and c where it starts a chain.
std::uint64_t short_sum(const GemmPlan& plan, const std::vector<double>& a, const std::vector<double>& b,
                        double c = 0) {
  const Format format = plan.instruction.a;
  std::vector<std::uint16_t> of_a, of_b;
  for (const double x : a) of_a.push_back(static_cast<std::uint16_t>(bits_of(x, format)));
  for (const double x : b) of_b.push_back(static_cast<std::uint16_t>(bits_of(x, format)));
  const auto of_c = static_cast<std::uint16_t>(bits_of(c, format));
  std::uint16_t d = 0;
  Matmul problem;
  problem.m = problem.n = 1;
  problem.k = a.size();
  problem.a = of_a.data();
  problem.b = of_b.data();
  problem.c = plan.c_place == CPlace::epilogue ? nullptr : &of_c;
  problem.d = &d;
  EXPECT_EQ(why_no_prediction(plan, {}, problem), "");
  predict(plan, {}, problem, nullptr);
  return d;
}

TEST(GemmPlan, every_fma_is_rounded_once_to_the_running_format) {
  const GemmPlan f16 = running_plan(Format::f16), bf16 = running_plan(Format::bf16);
  EXPECT_EQ(short_sum(f16, {2048, 1, 1}, {1, 1, 1}), bits_of(2048, Format::f16));
  EXPECT_EQ(short_sum(f16, {0x1p-14, -0x1p-24}, {1, 1}), 0x3FFU);  // subnormals are kept
  EXPECT_EQ(short_sum(f16, {0x1p-20, 0x1p-24}, {0x1p-20, 1}), 1U);
  EXPECT_EQ(short_sum(f16, {65504, 15}, {1, 1}), bits_of(65504, Format::f16));
  EXPECT_EQ(short_sum(f16, {65504, 16}, {1, 1}), 0x7C00U);
  EXPECT_EQ(short_sum(f16, {256, 256}, {256, -256}), 0x7C00U);  // the product of finite ones is finite
  EXPECT_EQ(short_sum(f16, {-0x1p-14}, {0x1p-14}), 0x8000U);
  EXPECT_EQ(short_sum(bf16, {INFINITY, 1}, {0, 1}), 0x7FFFU);
  EXPECT_EQ(short_sum(bf16, {0x1p-70}, {0x1p-63}), 1U);
  EXPECT_EQ(short_sum(bf16, {0x1p-70, 0x1.8p-71}, {0x1p-63, 0x1p-63}), 2U);  // 1.75 units
  // A product that is a tie, and a c far below it: binary64 has not both.
  for (int a = 128; a < 256; ++a)
    for (int b = 128; b < 256; ++b)
      for (const double c : {0x1p-60, -0x1p-60, 0x1p-133, -0x1p-133, 0.0}) {
        GemmPlan plan = bf16;
        plan.c_place = CPlace::chain;
        const double near = c == 0 ? 0 : std::copysign(0x1p-20, c);
        ASSERT_EQ(short_sum(plan, {double(a)}, {double(b)}, c), bits_of(a * b + near, Format::bf16))
            << a << ' ' << b << ' ' << c;
      }
}

TEST(GemmPlan, c_that_starts_a_short_chain_is_rounded_first) {
  GemmPlan plan = running_plan(Format::f16);
  plan.output = Format::f32;
  plan.c_place = CPlace::chain;
  const auto one = static_cast<std::uint16_t>(bits_of(1, Format::f16));
  const float c = 0x1.001p+11F;  // 2048.5: exact with 1 it would be 2050
  float d = 0;
  Matmul problem;
  problem.m = problem.n = problem.k = 1;
  problem.a = problem.b = &one;
  problem.c = &c;
  problem.d = &d;
  predict(plan, {}, problem, nullptr);
  EXPECT_EQ(d, 2048);
  plan.slices = 2;
  plan.c_place = CPlace::total;
  predict(plan, {}, problem, nullptr);
  EXPECT_EQ(d, 2049.5F);
}

/// Sums of numbers of a short format by loops of the test; exponents are so near that binary64 is exact.
TEST(GemmPlan, short_chains_have_slices_lanes_and_promotion) {
  constexpr std::uint64_t kK = 61;
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (const Format format : {Format::f16, Format::bf16}) {
    const FormatSpec spec = spec_of(format);
    const auto rounded = [&](double x) { return decode_value(encode_nearest_even(x, spec), spec); };
    int differ = 0;
    for (int i = 0; i < 50; ++i) {
      std::vector<double> a(kK), b(kK);
      for (auto* const all : {&a, &b})
        for (double& x : *all) x = rounded(normal(random));
      const auto chain = [&](std::uint64_t first, std::uint64_t last, std::uint64_t step = 1) {
        double sum = 0;
        for (std::uint64_t k = first; k < last; k += step) sum = rounded(std::fma(a[k], b[k], sum));
        return static_cast<float>(sum);
      };
      GemmPlan plan = running_plan(format);
      EXPECT_EQ(short_sum(plan, a, b), bits_of(chain(0, kK), format));
      GemmPlan wide = plan;
      wide.running = Format::f32;
      differ += short_sum(wide, a, b) != short_sum(plan, a, b) ? 1 : 0;
      plan.lanes = 2;
      EXPECT_EQ(short_sum(plan, a, b), bits_of(chain(0, kK, 2) + chain(1, kK, 2), format));
      plan.lanes = 1;
      plan.promote = 40;
      EXPECT_EQ(short_sum(plan, a, b), bits_of(chain(0, 40) + chain(40, kK), format));
      plan.promote = 0;
      plan.tile_k = 21;
      plan.slices = 3;
      const float first = chain(0, 21), second = chain(21, 42), third = chain(42, kK);
      EXPECT_EQ(short_sum(plan, a, b), bits_of(first + second + third, format));
      plan.total = format;
      EXPECT_EQ(short_sum(plan, a, b),
                bits_of(static_cast<float>(rounded(double{first} + second)) + third, format));
    }
    EXPECT_GT(differ, 20);
  }
}

TEST(GemmPlan, short_chains_take_numbers_of_their_format_alone) {
  const auto why = [](Format a, Format running) {
    GemmPlan plan = running_plan(running);
    plan.instruction = scalar_instruction(a, a);
    plan.output = a == Format::f64 ? Format::f64 : Format::f32;
    return why_no_prediction(plan, {}, {});
  };
  EXPECT_EQ(why(Format::f16, Format::f16), "");
  EXPECT_EQ(why(Format::e5m2, Format::f16), "");
  EXPECT_EQ(why(Format::e4m3, Format::bf16), "");
  EXPECT_EQ(why(Format::bf16, Format::f16),
            "running: found f16, allowed: f32, or a format that has every number of bf16");
  EXPECT_EQ(why(Format::f16, Format::bf16),
            "running: found bf16, allowed: f32, or a format that has every number of f16");
  EXPECT_EQ(why(Format::tf32, Format::bf16),
            "running: found bf16, allowed: f32, or a format that has every number of tf32");
  EXPECT_EQ(why(Format::f16, Format::e4m3), "running: found e4m3, allowed: f32, f16, bf16");
  EXPECT_EQ(why(Format::f64, Format::f16), "running: found f16, allowed: f32 (as the sums are: binary64)");
  GemmPlan plan = plan_of(kTf32);
  plan.running = Format::f16;
  EXPECT_EQ(why_no_prediction(plan, hopper_row(plan.instruction), {}),
            "running: found f16, allowed: f32 but with scalar");
  EXPECT_EQ(text_of(running_plan(Format::f16)), "fma of f16 and f16, scalar, running f16, output f16");
}

template <typename Number>
void expect_every_element_starts_from_its_c(std::uint64_t promote) {
  // More than a block of rows and columns of the vector code, and none of both whole.
  constexpr std::size_t kM = 9, kN = 37, kK = 50;
  constexpr Format kFormat = sizeof(Number) == sizeof(double) ? Format::f64 : Format::f32;
  GemmPlan plan;
  plan.instruction = scalar_instruction(kFormat, kFormat);
  plan.scalar = true;
  plan.promote = promote;
  plan.c_place = CPlace::chain;
  plan.output = kFormat;
  std::mt19937_64 random(7);
  std::normal_distribution<Number> number;
  std::vector<Number> a(kM * kK), b(kK * kN), c(kM * kN), d(kM * kN);
  for (auto* const all : {&a, &b, &c})
    for (Number& each : *all) each = number(random);
  Matmul problem;
  problem.batch = 1;
  problem.m = kM;
  problem.n = kN;
  problem.k = kK;
  problem.a = a.data();
  problem.b = b.data();
  problem.c = c.data();
  problem.d = d.data();
  ASSERT_EQ(why_no_prediction(plan, {}, problem), "");
  predict(plan, {}, problem, nullptr);
  const std::size_t stride = promote == 0 ? kK : promote;
  for (std::size_t i = 0; i < kM; ++i)
    for (std::size_t j = 0; j < kN; ++j) {
      Number total = c[i * kN + j];
      for (std::size_t first = 0; first < kK; first += stride) {
        Number sum = promote == 0 ? total : Number{0};
        for (std::size_t k = first; k < std::min(first + stride, kK); ++k)
          sum = std::fma(a[i * kK + k], b[k * kN + j], sum);
        total = promote == 0 ? sum : total + sum;
      }
      ASSERT_EQ(d[i * kN + j], total) << i << ' ' << j;
    }
}

TEST(GemmPlan, every_element_starts_from_its_c) {
  for (const std::uint64_t promote : {0U, 8U}) {
    expect_every_element_starts_from_its_c<float>(promote);
    expect_every_element_starts_from_its_c<double>(promote);
  }
}

TEST(GemmPlan, c_has_no_place_in_a_total_that_is_none) {
  GemmPlan plan;
  plan.instruction = scalar_instruction(Format::f32, Format::f32);
  plan.scalar = true;
  plan.c_place = CPlace::total;
  const std::string why =
      "c_place: found total, allowed: epilogue, chain but with slices or lanes added to a total";
  EXPECT_EQ(why_no_prediction(plan, {}, {}), why);
  plan.lanes = 2;
  EXPECT_EQ(why_no_prediction(plan, {}, {}), "");
  plan.lane_order = SliceOrder::halved;
  EXPECT_EQ(why_no_prediction(plan, {}, {}), why);
  plan.c_place = CPlace::chain;
  EXPECT_EQ(why_no_prediction(plan, {}, {}), "");
  Matmul problem;
  problem.epilogue = Epilogue{};
  EXPECT_EQ(why_no_prediction(plan, {}, problem),
            "c_place: found chain, allowed: epilogue where there is one");
  GemmProblem scaled;
  scaled.type = Format::f32;
  scaled.m = scaled.n = scaled.k = 1;
  scaled.beta = 1;
  EXPECT_EQ(why_no_gemm(scaled, plan, {}), "");
  scaled.alpha = 2;
  EXPECT_EQ(why_no_gemm(scaled, plan, {}),
            "c_place: found chain, allowed: epilogue but for a problem that is A B or A B + C");
}

TEST(GemmPlan, a_change_names_the_fields) {
  GemmPlan before = plan_of(kTf32);
  EXPECT_EQ(change_of(before, before), "");
  before.slices = 4;
  GemmPlan after = before;
  after.slices = 6;
  after.slice_order = SliceOrder::descending;
  after.tile_k = 64;
  after.partial = Format::bf16;
  EXPECT_EQ(change_of(before, after),
            "tile k none -> 64; slices 4 -> 6; slice order ascending -> descending; partial f32 -> bf16");
  after = before;
  after.scalar = true;
  after.instruction = scalar_instruction(Format::tf32, Format::tf32);
  EXPECT_EQ(change_of(before, after),
            "instruction mma.m16n8k8.f32.tf32.tf32.f32 -> fma of tf32 and tf32; scalar no -> yes");
}

TEST(GemmPlan, words_are_read_back) {
  GemmPlan plan = plan_of(kTf32);
  EXPECT_EQ(gemm_plan_in(text_of(plan)), plan);
  plan.tile_k = 32;
  plan.slices = 3;
  plan.slice_rule = SliceRule::balanced_last;
  plan.slice_order = SliceOrder::bisected;
  plan.partial = Format::f16;
  plan.total = Format::bf16;
  plan.head_tile = 16;
  plan.promote = 128;
  plan.input = InputRounding::nearest_even;
  plan.output = Format::bf16;
  EXPECT_EQ(gemm_plan_in(text_of(plan)), plan);
  plan.instruction = instruction_of("v_mfma_f32_32x32x1f32");  // an instruction of k = 1 is no scalar one
  EXPECT_EQ(gemm_plan_in(text_of(plan)), plan);
  plan.scalar = true;
  plan.instruction = scalar_instruction(Format::e5m2, Format::e4m3);
  plan.running = Format::f16;
  EXPECT_EQ(gemm_plan_in(text_of(plan)), plan);
  for (const char* const other :
       {"", "unknown", "fma of f16", "fma of f16 and x", "mma.m16n8k8.f32.tf32.tf32.f32, ",
        "mma.m16n8k8.f32.tf32.tf32.f32, slices 0", "mma.m16n8k8.f32.tf32.tf32.f32, slices 3x",
        "mma.m16n8k8.f32.tf32.tf32.f32, slice rule odd", "mma.m16n8k8.f32.tf32.tf32.f32, colour red"})
    EXPECT_FALSE(gemm_plan_in(other)) << other;
}

TEST(GemmPlan, says_what_is_not_the_default) {
  GemmPlan plan = plan_of(kTf32);
  plan.tile_k = 32;
  plan.slices = 3;
  plan.slice_order = SliceOrder::descending;
  EXPECT_EQ(text_of(plan), "mma.m16n8k8.f32.tf32.tf32.f32, tile k 32, slices 3, slice order descending");
}

/// A (3, 37), B (37, 21) in binary64, by a plan.
struct WideSums {
  std::uint64_t m = 3, n = 21, k = 37;
  std::vector<double> a, b;

  WideSums() : a(m * k), b(k * n) {
    std::mt19937_64 random(8);
    std::normal_distribution<double> normal;
    for (double& x : a) x = normal(random);
    for (double& x : b) x = normal(random);
  }
  [[nodiscard]] double chain(std::uint64_t row, std::uint64_t column, std::uint64_t first, std::uint64_t last,
                             std::uint64_t step = 1) const {
    double sum = 0;
    for (std::uint64_t p = first; p < last; p += step) sum = std::fma(a[row * k + p], b[p * n + column], sum);
    return sum;
  }
  [[nodiscard]] std::vector<double> by(const GemmPlan& plan) const {
    std::vector<double> d(m * n, NAN);
    Matmul problem;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a = a.data();
    problem.b = b.data();
    problem.d = d.data();
    const Datapath datapath = plan.scalar ? Datapath{} : hopper_row(plan.instruction);
    EXPECT_EQ(why_no_prediction(plan, datapath, problem), "");
    predict(plan, datapath, problem,
            [](const Instruction& instruction, const Datapath& model, const Matmul& product) {
              matmul(instruction, model, product);
            });
    return d;
  }
};

GemmPlan wide_plan(bool scalar) {
  GemmPlan plan = plan_of("mma.m16n8k16.f64.f64.f64.f64");
  if (scalar) plan.instruction = scalar_instruction(Format::f64, Format::f64);
  plan.scalar = scalar;
  plan.output = Format::f64;
  return plan;
}

TEST(GemmPlan, binary64_sums_stay_binary64) {
  const WideSums sums;
  for (const bool scalar : {false, true}) {
    GemmPlan plan = wide_plan(scalar);
    const std::vector<double> whole = sums.by(plan);
    plan.tile_k = 16;
    plan.slices = 3;
    const std::vector<double> ascending = sums.by(plan);
    plan.slice_order = SliceOrder::descending;
    const std::vector<double> descending = sums.by(plan);
    int differ = 0;
    for (std::uint64_t i = 0; i < sums.m; ++i)
      for (std::uint64_t j = 0; j < sums.n; ++j) {
        const std::uint64_t e = i * sums.n + j;
        const double first = sums.chain(i, j, 0, 16), second = sums.chain(i, j, 16, 32),
                     third = sums.chain(i, j, 32, 37);
        EXPECT_EQ(whole[e], sums.chain(i, j, 0, 37));
        EXPECT_EQ(ascending[e], first + second + third);
        EXPECT_EQ(descending[e], third + second + first);
        differ += ascending[e] != whole[e] && ascending[e] != descending[e] ? 1 : 0;
      }
    EXPECT_GT(differ, 0);
  }
  GemmPlan lanes = wide_plan(true);
  lanes.lanes = 2;
  EXPECT_EQ(sums.by(lanes)[4], sums.chain(0, 4, 0, 37, 2) + sums.chain(0, 4, 1, 37, 2));
  lanes.lanes = 1;
  lanes.promote = 8;
  double total = 0;
  for (std::uint64_t p = 0; p < sums.k; p += 8)
    total += sums.chain(2, 20, p, std::min<std::uint64_t>(p + 8, sums.k));
  EXPECT_EQ(sums.by(lanes)[2 * sums.n + 20], total);
}

TEST(GemmPlan, paired_slices_are_added_two_by_two) {
  using Pairs = std::vector<std::vector<std::uint64_t>>;
  EXPECT_EQ(paired_slices(1), Pairs({{0}}));
  EXPECT_EQ(paired_slices(2), Pairs({{0, 1}}));
  EXPECT_EQ(paired_slices(3), Pairs({{0, 2}, {1}}));
  EXPECT_EQ(paired_slices(4), Pairs({{0, 2}, {3}, {1}}));
  EXPECT_EQ(paired_slices(7), Pairs({{0, 4}, {6}, {1, 5}, {2}, {3}}));
  EXPECT_EQ(paired_slices(10), Pairs({{0, 5}, {9}, {1, 6}, {2, 7}, {3, 8}, {4}}));
  const WideSums sums;
  GemmPlan plan = wide_plan(true);
  plan.tile_k = 4;
  plan.slices = 7;
  plan.slice_rule = SliceRule::cyclic;
  const std::vector<double> ascending = sums.by(plan);
  plan.slice_order = SliceOrder::paired;
  const std::vector<double> paired = sums.by(plan);
  int differ = 0;
  for (std::uint64_t i = 0; i < sums.m; ++i)
    for (std::uint64_t j = 0; j < sums.n; ++j) {
      const auto slice = [&](std::uint64_t s) {
        double sum = 0;
        for (std::uint64_t p = 0; p < sums.k; ++p)
          if (p / 4 % 7 == s) sum = std::fma(sums.a[i * sums.k + p], sums.b[p * sums.n + j], sum);
        return sum;
      };
      const double expected = slice(0) + slice(4) + slice(6) + (slice(1) + slice(5)) + slice(2) + slice(3);
      EXPECT_EQ(paired[i * sums.n + j], expected);
      differ += expected != ascending[i * sums.n + j] ? 1 : 0;
    }
  EXPECT_GT(differ, 0);
  plan.slices = 40;  // 10 tiles: slices 10 to 39 have none, and the order is that of 40
  const std::vector<double> many = sums.by(plan);
  double total = 0;
  for (std::uint64_t s = 0; s < 10; ++s)
    total += sums.chain(0, 0, 4 * s, std::min<std::uint64_t>(4 * s + 4, 37));
  EXPECT_EQ(many[0], total);
}

TEST(GemmPlan, binary64_has_no_narrower_sums) {
  double d = 0;
  Matmul problem;
  problem.m = problem.n = problem.k = 1;
  problem.a = problem.b = problem.d = &d;
  const auto why = [&](const GemmPlan& plan) { return why_no_prediction(plan, Datapath{}, problem); };
  GemmPlan plan = wide_plan(true);
  EXPECT_EQ(why(plan), "");
  plan.partial = Format::f16;
  EXPECT_EQ(why(plan), "partial: found f16, allowed: f32 (as the sums are: binary64)");
  plan.partial = Format::f32;
  plan.output = Format::f32;
  EXPECT_EQ(why(plan), "output: found f32, allowed: f64 alone where the sums are f64");
  plan = plan_of(kTf32);
  plan.total = Format::f64;
  EXPECT_EQ(why(plan), "total: found f64, allowed: f32, f16, bf16");
}

/// Sizes around the blocks that fma products are cut into, against one chain at a time.
TEST(GemmPlan, scalar_products_of_every_size_are_chains) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  for (const std::uint64_t m : {1U, 4U, 5U, 70U})
    for (const std::uint64_t n : {1U, 15U, 16U, 33U})
      for (const std::uint64_t promote : {0U, 8U}) {
        const std::uint64_t k = 29;
        Floats a(m * k), b(k * n), d(m * n, NAN);
        for (float& x : a) x = normal(random);
        for (float& x : b) x = normal(random);
        GemmPlan plan;
        plan.instruction = scalar_instruction(Format::f32, Format::f32);
        plan.scalar = true;
        plan.promote = promote;
        Matmul problem;
        problem.m = m;
        problem.n = n;
        problem.k = k;
        problem.a = a.data();
        problem.b = b.data();
        problem.d = d.data();
        predict(plan, Datapath{}, problem, {});
        for (std::uint64_t i = 0; i < m; ++i)
          for (std::uint64_t j = 0; j < n; ++j) {
            float total = 0, sum = 0;
            for (std::uint64_t p = 0; p < k; ++p) {
              if (promote != 0 && p % promote == 0 && p != 0) total += std::exchange(sum, 0.0F);
              sum = std::fma(a[i * k + p], b[p * n + j], sum);
            }
            ASSERT_EQ(d[i * n + j], total + sum) << m << " " << n << " " << promote << " " << i << " " << j;
          }
      }
}

}  // namespace
}  // namespace mmaudit::test
