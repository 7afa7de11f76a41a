// Kernels whose plan is known, seen as callables alone: reveal() finds the plan, and says so where there is
// none.
#include "mmaudit/probe/reveal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "mmaudit/error.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::test {
namespace {

using probe::GemmFinding;
using probe::UnknownGemm;

struct Kernel {
  const char* architecture;
  GemmPlan plan;
  std::uint64_t m = 16, n = 24, k = 512;
};

GemmPlan plan_of(const char* instruction, Format output = Format::f32) {
  GemmPlan plan;
  plan.instruction = find_instruction(instruction).value();
  plan.output = output;
  return plan;
}

Matmul problem_of(const Kernel& kernel, const void* a, const void* b, void* d) {
  Matmul problem;
  problem.batch = 1;
  problem.m = kernel.m;
  problem.n = kernel.n;
  problem.k = kernel.k;
  problem.a = a;
  problem.b = b;
  problem.d = d;
  return problem;
}

Datapath datapath_of(const char* architecture, const GemmPlan& plan) {
  return plan.scalar ? Datapath{}
                     : find_datapath(*find_architecture(architecture), plan.instruction)->datapath;
}

UnknownGemm played(const Kernel& kernel) {
  const Instruction inst = kernel.plan.instruction;
  UnknownGemm gemm{kernel.m, kernel.n, kernel.k, inst.a, inst.b, kernel.plan.output, false, {}};
  if (inst.a == Format::tf32) gemm.a = gemm.b = Format::f32;
  const Datapath datapath = datapath_of(kernel.architecture, kernel.plan);
  gemm.run = [kernel, datapath](const void* a, const void* b, const void* /*c*/, void* d) {
    const Matmul problem = problem_of(kernel, a, b, d);
    ASSERT_EQ(why_no_prediction(kernel.plan, datapath, problem), "");
    predict(
        kernel.plan, datapath, problem,
        [](const Instruction& one, const Datapath& model, const Matmul& work) { matmul(one, model, work); });
  };
  return gemm;
}

GemmFinding revealed(const UnknownGemm& gemm, const char* architecture) {
  const Architecture* known[] = {find_architecture(architecture)};
  return reveal(gemm, known, {.seed = 3});
}

/// Of 9 random products and one per kind of subnormals.
std::uint64_t elements(std::uint64_t of_d, const GemmFinding& found) {
  return of_d * (9 + found.subnormals.size());
}

void expect_found(const Kernel& kernel) {
  const GemmFinding found = revealed(played(kernel), kernel.architecture);
  SCOPED_TRACE(text_of(kernel.plan) + "\n" + text_of(found.tree, kernel.k));
  EXPECT_EQ(found.why_no_tree, "");
  ASSERT_TRUE(found.plan) << found.why_no_plan;
  const Datapath datapath = datapath_of(kernel.architecture, kernel.plan);
  const Datapath theirs = datapath_of(found.architecture.c_str(), *found.plan);
  EXPECT_EQ(probe::tree_of(*found.plan, theirs, kernel.k), probe::tree_of(kernel.plan, datapath, kernel.k));
  EXPECT_EQ(found.plan->input, kernel.plan.input);
  EXPECT_EQ(found.plan->output, kernel.plan.output);
  EXPECT_EQ(found.plan->partial, kernel.plan.partial);
  EXPECT_EQ(found.mismatches, 0U);
  EXPECT_EQ(found.verified, elements(kernel.m * kernel.n, found));
}

TEST(Reveal, chains_of_each_kind_of_instruction) {
  expect_found({"hopper", plan_of("wgmma.m64n8k16.f32.f16.f16")});
  expect_found({"hopper", plan_of("wgmma.m64n8k16.f32.bf16.bf16", Format::bf16)});
  expect_found({"hopper", plan_of("wgmma.m64n8k16.f16.f16.f16", Format::f16)});
  expect_found({"hopper", plan_of("mma.m16n8k8.f32.f16.f16.f32", Format::f16)});
  expect_found({"hopper", plan_of("wgmma.m64n8k32.f32.e4m3.e4m3")});
  expect_found({"hopper", plan_of("mma.m16n8k32.f32.e4m3.e5m2.f32")});
  expect_found({"ada", plan_of("mma.m16n8k32.f32.e4m3.e4m3.f32", Format::bf16)});
  expect_found({"ampere", plan_of("mma.m16n8k8.f32.tf32.tf32.f32")});
  expect_found({"volta", plan_of("mma.m8n8k4.f32.f16.f16.f32")});
  expect_found({"hopper", plan_of("mma.m8n8k4.f32.f16.f16.f32"), 8, 8, 100});
  expect_found({"hopper", plan_of("mma.m8n8k4.f64.f64.f64.f64", Format::f64), 8, 8, 64});
}

TEST(Reveal, promotion_and_slices) {
  Kernel kernel{"hopper", plan_of("wgmma.m64n8k32.f32.e4m3.e4m3", Format::bf16)};
  kernel.plan.promote = 128;
  expect_found(kernel);
  kernel = {"ampere", plan_of("mma.m16n8k8.f32.tf32.tf32.f32")};
  kernel.plan.slices = 3;
  kernel.plan.tile_k = 32;
  kernel.plan.input = InputRounding::nearest_even;
  expect_found(kernel);
  kernel.plan.slice_rule = SliceRule::balanced;
  kernel.plan.slices = 5;
  kernel.plan.input = InputRounding::nearest_away;
  expect_found(kernel);
  kernel = {"hopper", plan_of("wgmma.m64n8k16.f32.f16.f16", Format::f16)};
  kernel.plan.slices = 4;
  kernel.plan.partial = Format::f16;
  expect_found(kernel);
  kernel.plan.partial = Format::f32;
  for (const SliceOrder order : {SliceOrder::halved, SliceOrder::bisected}) {
    kernel.plan.slice_order = order;
    expect_found(kernel);
  }
  kernel.plan.slice_order = SliceOrder::paired;
  kernel.plan.slices = 5;
  expect_found(kernel);
  kernel.plan.slice_order = SliceOrder::ascending;
  kernel.plan.slices = 2;
  kernel.k = 96;
  expect_found(kernel);
}

/// Sums of lanes as a GEMV kernel has them: lane l takes tile after tile, then the lanes' sums are added.
struct Lanes {
  std::size_t count = 32, tile = 1;
  SliceOrder order = SliceOrder::halved;
  std::uint64_t promote = 0, k = 256;
  enum class Lie : std::uint8_t { none, a_lane_starts_late, first_two_swapped, one_element } lie = Lie::none;
  bool from_first = false;  ///< the total starts from a lane's sum, not from +0
};

template <typename Number>
UnknownGemm kernel_of(const Lanes& lanes) {
  constexpr Format kFormat = sizeof(Number) == sizeof(double) ? Format::f64 : Format::f32;
  UnknownGemm gemm{8, 8, lanes.k, kFormat, kFormat, kFormat, false, {}};
  using Lie = Lanes::Lie;
  std::vector<std::vector<std::size_t>> lists(lanes.count);
  for (std::size_t k = 0; k < lanes.k; ++k) lists[k / lanes.tile % lanes.count].push_back(k);
  if (lanes.lie == Lie::a_lane_starts_late) std::swap(lists.back()[0], lists.back()[2]);
  if (lanes.lie == Lie::first_two_swapped) std::swap(lists.back()[0], lists.back()[1]);
  gemm.run = [lanes, lists](const void* a, const void* b, const void* /*c*/, void* d) {
    const auto lane_sum = [&](std::vector<std::size_t> ks, std::size_t i, std::size_t j) {
      if (i == 0 && j == 7 && lanes.lie == Lie::one_element) std::reverse(ks.begin(), ks.end());
      Number total = 0, sum = 0;
      for (std::size_t at = 0; at < ks.size(); ++at) {
        if (lanes.promote != 0 && at % lanes.promote == 0) total += std::exchange(sum, Number{0});
        sum = std::fma(static_cast<const Number*>(a)[i * lanes.k + ks[at]],
                       static_cast<const Number*>(b)[ks[at] * 8 + j], sum);
      }
      return lanes.promote == 0 ? sum : total + sum;
    };
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        std::vector<Number> sums;
        sums.reserve(lists.size());
        for (const std::vector<std::size_t>& ks : lists) sums.push_back(lane_sum(ks, i, j));
        if (lanes.order == SliceOrder::descending) std::reverse(sums.begin(), sums.end());
        Number all = lanes.from_first ? std::exchange(sums[0], Number{-0.0}) : 0;
        for (std::size_t half = sums.size() / 2; lanes.order == SliceOrder::halved && half > 0; half /= 2)
          for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
        for (const Number sum : sums) all += sum;
        static_cast<Number*>(d)[i * 8 + j] = lanes.order == SliceOrder::halved ? sums[0] : all;
      }
  };
  return gemm;
}

template <typename Number>
void expect_lanes(const Lanes& lanes) {
  const UnknownGemm gemm = kernel_of<Number>(lanes);
  const GemmFinding found = revealed(gemm, "hopper");
  SCOPED_TRACE(std::to_string(lanes.count) + " lanes of " + std::to_string(lanes.tile) + ", k " +
               std::to_string(lanes.k) + "\n" + text_of(found.tree, lanes.k));
  ASSERT_TRUE(found.plan) << found.why_no_plan;
  GemmPlan plan;
  plan.instruction = scalar_instruction(gemm.a, gemm.b);
  plan.scalar = true;
  plan.lanes = lanes.count;
  plan.lane_tile = lanes.tile;
  plan.lane_order = lanes.order;
  plan.promote = lanes.promote;
  plan.output = gemm.d;
  EXPECT_EQ(probe::tree_of(*found.plan, {}, lanes.k), probe::tree_of(plan, {}, lanes.k));
  // Lanes of one tile each are slices as well.
  if (lanes.k >= lanes.count * lanes.tile) {
    EXPECT_EQ(text_of(*found.plan), text_of(plan));
  }
  EXPECT_EQ(found.mismatches, 0U);
  EXPECT_EQ(found.verified, elements(64, found));
}

TEST(Reveal, lanes_of_a_kernel_without_an_instruction) {
  for (const SliceOrder order : {SliceOrder::ascending, SliceOrder::halved, SliceOrder::descending})
    for (const std::uint64_t k : {256U, 250U, 33U}) expect_lanes<float>({.order = order, .k = k});
  expect_lanes<double>({.k = 250});
  expect_lanes<double>({.count = 64, .tile = 2, .order = SliceOrder::ascending, .k = 300});
  expect_lanes<float>({.count = 4, .order = SliceOrder::ascending, .k = 100});
  expect_lanes<float>({.count = 64, .tile = 8, .k = 1030});
  expect_lanes<float>({.count = 4, .tile = 32, .order = SliceOrder::ascending});
  expect_lanes<float>({.count = 3, .tile = 5, .order = SliceOrder::descending});
  // Lanes of one tile, of which the last one has a rest, or some none.
  expect_lanes<float>({.count = 8, .tile = 8, .k = 61});
  expect_lanes<float>({.count = 8, .tile = 16, .k = 89});
  expect_lanes<float>({.count = 16, .tile = 4, .order = SliceOrder::ascending, .k = 61});
  expect_lanes<float>({.count = 32, .k = 20});
  expect_lanes<float>({.count = 16, .order = SliceOrder::ascending, .promote = 8, .k = 500});
  expect_lanes<double>({.count = 8, .tile = 2, .promote = 4, .k = 96});
}

TEST(Reveal, lanes_of_short_formats_and_of_slices) {
  for (const Format format : {Format::f16, Format::bf16, Format::e4m3}) {
    Kernel kernel{"hopper", GemmPlan{}, 8, 8, 250};
    kernel.plan.instruction = scalar_instruction(format, format);
    kernel.plan.scalar = true;
    kernel.plan.lanes = 16;
    kernel.plan.lane_tile = 2;
    kernel.plan.lane_order = SliceOrder::halved;
    kernel.plan.output = format == Format::e4m3 ? Format::bf16 : format;
    expect_found(kernel);
    kernel.plan.slices = 3;
    kernel.plan.lane_order = SliceOrder::ascending;
    expect_found(kernel);
  }
}

TEST(Reveal, a_sum_that_starts_from_its_first_lane_is_a_plan_but_for_the_sign_of_zeros) {
  const GemmFinding found =
      revealed(kernel_of<float>({.count = 4, .order = SliceOrder::ascending, .from_first = true}), "hopper");
  EXPECT_FALSE(found.plan);
  EXPECT_EQ(found.why_no_plan,
            "plans with this tree give other bits on random data, but fma of f32 and f32, scalar, lanes 4 "
            "all but the "
            "sign of zeros");
  EXPECT_GT(found.mismatches, 0U);
}

TEST(Reveal, lanes_that_are_not_alike_have_no_plan) {
  for (const Lanes::Lie lie :
       {Lanes::Lie::a_lane_starts_late, Lanes::Lie::first_two_swapped, Lanes::Lie::one_element}) {
    const GemmFinding found = revealed(kernel_of<float>({.count = 8, .lie = lie}), "hopper");
    EXPECT_EQ(found.why_no_tree, "");
    EXPECT_FALSE(found.plan) << static_cast<int>(lie);
    const bool shown = lie == Lanes::Lie::a_lane_starts_late;
    EXPECT_EQ(found.why_no_plan, shown ? "no plan of an instruction of these architectures has this tree"
                                       : "plans with this tree give other bits on random data");
  }
}

/// The segments of TF32 kernels: the last ones are a tile longer, and their sums are added two by two.
TEST(Reveal, segments) {
  Kernel kernel{"hopper", plan_of("wgmma.m64n8k8.f32.tf32.tf32"), 32, 32, 1056};
  kernel.plan.tile_k = 32;
  kernel.plan.slice_rule = SliceRule::balanced_last;
  kernel.plan.slice_order = SliceOrder::bisected;
  kernel.plan.input = InputRounding::nearest_even;
  for (const std::uint64_t segments : {3U, 5U, 7U}) {
    kernel.plan.slices = segments;
    expect_found(kernel);
  }
}

TEST(Reveal, the_odd_one) {
  Kernel kernel{"hopper", plan_of("wgmma.m64n8k16.f32.f16.f16"), 16, 16, 1152};
  kernel.plan.promote = 96;
  kernel.plan.slices = 3;
  kernel.plan.slice_order = SliceOrder::descending;
  expect_found(kernel);
  kernel.k = 1000;
  kernel.plan.promote = 192;
  kernel.plan.tile_k = 64;
  expect_found(kernel);
}

/// C in the chain, or added by an epilogue.
UnknownGemm with_c(bool last) {
  Kernel kernel{"hopper", plan_of("wgmma.m64n8k16.f32.f16.f16"), 16, 16, 64};
  UnknownGemm gemm = played(kernel);
  gemm.with_c = true;
  gemm.run = [kernel, last](const void* a, const void* b, const void* c, void* d) {
    Matmul problem = problem_of(kernel, a, b, d);
    problem.c = c;
    if (last) problem.epilogue = Epilogue{1, 1, Format::f32};
    matmul(kernel.plan.instruction,
           find_datapath(*find_architecture("hopper"), kernel.plan.instruction)->datapath, problem);
  };
  return gemm;
}

TEST(Reveal, the_place_of_c) {
  const GemmFinding first = revealed(with_c(false), "hopper");
  EXPECT_EQ(first.c_place, "in the first step, one more addend");
  ASSERT_TRUE(first.plan) << first.why_no_plan;
  EXPECT_EQ(first.plan->c_place, CPlace::chain);
  const GemmFinding last = revealed(with_c(true), "hopper");
  EXPECT_EQ(last.c_place, "added last, to the finished sum");
  ASSERT_TRUE(last.plan) << last.why_no_plan;
  EXPECT_EQ(last.plan->c_place, CPlace::epilogue);
  for (const GemmFinding* const found : {&first, &last}) {
    EXPECT_TRUE(found->random_c);
    EXPECT_EQ(found->verified, elements(256, *found));
  }
}

/// D of f32 by a function of the chain of fma over a range of K that starts from a number, and of C.
using Chain = std::function<float(float start, std::size_t first, std::size_t last)>;
UnknownGemm sums_with_c(const std::function<float(const Chain& chain, float c, bool corner)>& sum) {
  UnknownGemm gemm{8, 8, 48, Format::f32, Format::f32, Format::f32, true, {}};
  gemm.run = [sum](const void* a, const void* b, const void* c, void* d) {
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        const auto chain = [&](float start, std::size_t first, std::size_t last) {
          for (std::size_t k = first; k < last; ++k)
            start = std::fma(static_cast<const float*>(a)[i * 48 + k],
                             static_cast<const float*>(b)[k * 8 + j], start);
          return start;
        };
        static_cast<float*>(d)[i * 8 + j] =
            sum(chain, static_cast<const float*>(c)[i * 8 + j], i == 0 && j == 7);
      }
  };
  return gemm;
}

TEST(Reveal, c_and_its_factor_in_an_epilogue) {
  const auto expect = [](double alpha, double beta, EpilogueRule rule, auto&& end) {
    const GemmFinding found = revealed(
        sums_with_c([&](const Chain& chain, float c, bool /*corner*/) { return end(chain(0, 0, 48), c); }),
        "hopper");
    ASSERT_TRUE(found.plan) << found.why_no_plan;
    EXPECT_EQ(found.alpha, alpha);
    EXPECT_EQ(found.beta, beta);
    EXPECT_EQ(found.plan->epilogue, rule);
    EXPECT_EQ(found.plan->c_place, CPlace::epilogue);
    EXPECT_EQ(found.c_place, "added last, to the finished sum");
    EXPECT_TRUE(found.random_c);
    EXPECT_EQ(found.verified, elements(64, found));
  };
  constexpr float kAlpha = 1.7F, kBeta = -0.3F;
  expect(1, 1, EpilogueRule::fused_sum, [](float sum, float c) { return sum + c; });
  expect(1, 2, EpilogueRule::fused_sum, [](float sum, float c) { return sum + 2 * c; });
  expect(kAlpha, kBeta, EpilogueRule::fused_sum,
         [](float sum, float c) { return std::fma(kAlpha, sum, kBeta * c); });
  expect(kAlpha, kBeta, EpilogueRule::fused_c,
         [](float sum, float c) { return std::fma(kBeta, c, kAlpha * sum); });
  expect(kAlpha, kBeta, EpilogueRule::rounded_sum, [](float sum, float c) {
    volatile float both = kAlpha * sum;  // no fma
    return both + kBeta * c;
  });
}

TEST(Reveal, c_starts_a_chain_or_a_total) {
  const auto expect = [](CPlace place, const std::function<float(const Chain&, float)>& sum) {
    const GemmFinding found = revealed(
        sums_with_c([&](const Chain& chain, float c, bool /*corner*/) { return sum(chain, c); }), "hopper");
    ASSERT_TRUE(found.plan) << found.why_no_plan;
    EXPECT_TRUE(found.random_c);
    EXPECT_EQ(found.plan->c_place, place);
    EXPECT_EQ(found.verified, elements(64, found));
  };
  expect(CPlace::chain, [](const Chain& chain, float c) { return chain(c, 0, 48); });
  expect(CPlace::chain, [](const Chain& chain, float c) { return chain(c, 0, 24) + chain(0, 24, 48); });
  // Promotion from C on; then slices of which the last one is longer.
  expect(CPlace::chain, [](const Chain& chain, float c) { return (c + chain(0, 0, 24)) + chain(0, 24, 48); });
  expect(CPlace::total, [](const Chain& chain, float c) { return (c + chain(0, 0, 16)) + chain(0, 16, 48); });
}

TEST(Reveal, a_place_of_c_that_no_plan_says_leaves_the_products_plan) {
  const GemmFinding inside = revealed(sums_with_c([](const Chain& chain, float c, bool /*corner*/) {
                                        return chain(chain(0, 0, 24) + c, 24, 48);
                                      }),
                                      "hopper");
  EXPECT_EQ(inside.c_place, "inside the sum");
  EXPECT_TRUE(inside.plan) << inside.why_no_plan;
  EXPECT_FALSE(inside.random_c);
  // c has the place of one that starts the chain, but joins it after the first product was rounded.
  const GemmFinding second = revealed(sums_with_c([](const Chain& chain, float c, bool /*corner*/) {
                                        return chain(chain(0, 0, 1) + c, 1, 48);
                                      }),
                                      "hopper");
  EXPECT_EQ(second.c_place, "in the first step, one more addend");
  EXPECT_TRUE(second.plan) << second.why_no_plan;
  EXPECT_FALSE(second.random_c);
}

TEST(Reveal, a_function_that_adds_c_otherwise_has_no_plan) {
  const GemmFinding early = revealed(
      sums_with_c([](const Chain& chain, float c, bool /*corner*/) { return chain(0.5F * c, 0, 48); }),
      "hopper");
  EXPECT_FALSE(early.plan);
  EXPECT_EQ(early.beta, 0.5);
  EXPECT_EQ(early.c_place, "not found: masks show it where alpha and beta are 1");
  const GemmFinding one_element = revealed(sums_with_c([](const Chain& chain, float c, bool corner) {
                                             return chain(0, 0, 48) + (corner ? 1.5F * c : c);
                                           }),
                                           "hopper");
  EXPECT_FALSE(one_element.plan);
  EXPECT_GT(one_element.mismatches, 0U);
}

TEST(Reveal, a_function_that_ignores_c_is_no_sum_with_c) {
  UnknownGemm gemm = played({"hopper", plan_of("wgmma.m64n8k16.f32.f16.f16"), 8, 8, 32});
  gemm.with_c = true;
  const GemmFinding found = revealed(gemm, "hopper");
  EXPECT_EQ(found.why_no_tree, "the sum of 32 equal products and a c as large as each is 32 of them");
  EXPECT_FALSE(found.plan);
}

// Float sums of a CPU loop: one product at a time, multiplied and added with two roundings.
enum class Loop : std::uint8_t { ascending, pairwise, from_both_ends };
UnknownGemm loop(Loop order) {
  UnknownGemm gemm{8, 8, 16, Format::f32, Format::f32, Format::f32, false, {}};
  gemm.run = [order](const void* a, const void* b, const void* /*c*/, void* d) {
    const auto* x = static_cast<const float*>(a);
    const auto* y = static_cast<const float*>(b);
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        float part[16], sum = 0;
        for (std::size_t k = 0; k < 16; ++k) part[k] = x[i * 16 + k] * y[k * 8 + j];
        for (std::size_t width = 8; order == Loop::pairwise && width != 0; width /= 2)
          for (std::size_t k = 0; k < width; ++k) part[k] += part[k + width];
        for (std::size_t k = 0; order == Loop::ascending && k < 16; ++k) sum += part[k];
        for (std::size_t k = 0; order == Loop::from_both_ends && k < 8; ++k) {
          sum += part[k];
          sum += part[15 - k];
        }
        static_cast<float*>(d)[i * 8 + j] = order == Loop::pairwise ? part[0] : sum;
      }
  };
  return gemm;
}

TEST(Reveal, a_chain_of_fma_without_an_instruction) {
  UnknownGemm gemm{8, 8, 64, Format::f32, Format::f32, Format::f32, false, {}};
  for (const std::uint64_t promote : {64U, 16U}) {
    gemm.run = [promote](const void* a, const void* b, const void* /*c*/, void* d) {
      const auto* x = static_cast<const float*>(a);
      const auto* y = static_cast<const float*>(b);
      for (std::size_t i = 0; i < 8; ++i)
        for (std::size_t j = 0; j < 8; ++j) {
          float total = 0;
          for (std::size_t from = 0; from < 64; from += promote) {
            float sum = 0;
            for (std::size_t k = from; k < from + promote; ++k)
              sum = std::fma(x[i * 64 + k], y[k * 8 + j], sum);
            total = promote == 64 ? sum : total + sum;  // one chain alone may be -0
          }
          static_cast<float*>(d)[i * 8 + j] = total;
        }
    };
    const GemmFinding found = revealed(gemm, "hopper");
    ASSERT_TRUE(found.plan) << found.why_no_plan;
    EXPECT_TRUE(found.plan->scalar);
    EXPECT_EQ(found.plan->promote, promote == 64 ? 0U : promote);
    EXPECT_EQ(found.mismatches, 0U);
  }
}

/// A chain of fma that are rounded to the format of A and B; `slices` of K are added in binary32, or rounded
/// to it too. D may be f32.
struct ShortChain {
  Format format = Format::f16, d = Format::f16;
  std::size_t k = 256, slices = 1, rounded_every = 1;
  bool short_total = false, with_c = false;  ///< C starts the chain of the first slice
};
UnknownGemm kernel_of(const ShortChain& chain) {
  UnknownGemm gemm{8, 8, chain.k, chain.format, chain.format, chain.d, chain.with_c, {}};
  gemm.run = [chain](const void* a, const void* b, const void* c, void* d) {
    const FormatSpec spec = spec_of(chain.format), of_d = spec_of(chain.d);
    const auto value = [&](const void* from, std::size_t at) {
      return decode_value(static_cast<const std::uint16_t*>(from)[at], spec);
    };
    const auto rounded = [&](double x) { return decode_value(encode_nearest_even(x, spec), spec); };
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) {
        float total = 0;
        for (std::size_t slice = 0, length = chain.k / chain.slices; slice < chain.slices; ++slice) {
          double sum = 0;
          if (chain.with_c && slice == 0)
            sum = rounded(decode_value(load_word(c, of_d.storage_bytes(), i * 8 + j), of_d));
          for (std::size_t k = slice * length; k < (slice + 1) * length; ++k) {
            // Of bf16 a tie of the product alone, where binary64 lost the sum: rounded the way of the sum.
            const double x = value(a, i * chain.k + k), y = value(b, k * 8 + j), both = x * y;
            double next = std::fma(x, y, sum);
            if (next == both && sum != 0) next = std::nextafter(both, sum > 0 ? INFINITY : -INFINITY);
            sum = k % chain.rounded_every == 0 ? rounded(next) : static_cast<float>(next);
          }
          total = chain.slices == 1 ? static_cast<float>(sum) : total + static_cast<float>(sum);
          if (chain.short_total) total = static_cast<float>(rounded(total));
        }
        store_word(d, of_d.storage_bytes(), i * 8 + j, encode_nearest_even(total, of_d));
      }
  };
  return gemm;
}

TEST(Reveal, chains_of_fma_that_are_rounded_to_a_short_format) {
  const auto expect = [](const ShortChain& chain, const std::string& words) {
    const GemmFinding found = revealed(kernel_of(chain), "hopper");
    ASSERT_TRUE(found.plan) << words << ": " << found.why_no_tree << found.why_no_plan;
    EXPECT_EQ(text_of(*found.plan), words);
    EXPECT_EQ(found.mismatches, 0U);
    EXPECT_EQ(found.verified, elements(64, found));
  };
  expect({}, "fma of f16 and f16, scalar, running f16, output f16");
  expect({.format = Format::bf16, .d = Format::bf16},
         "fma of bf16 and bf16, scalar, running bf16, output bf16");
  expect({.slices = 4}, "fma of f16 and f16, scalar, running f16, promote 64, output f16");
  expect({.slices = 4, .short_total = true},
         "fma of f16 and f16, scalar, running f16, tile k 64, slices 4, total f16, output f16");
  // A large value of f32 is no number of the sums.
  expect({.d = Format::f32, .k = 600}, "fma of f16 and f16, scalar, running f16");
  expect({.format = Format::bf16, .d = Format::f32}, "fma of bf16 and bf16, scalar, running bf16");
  for (const Format d : {Format::f16, Format::f32})
    expect({.d = d, .k = 64, .with_c = true}, "fma of f16 and f16, scalar, running f16, c place chain" +
                                                  std::string(d == Format::f16 ? ", output f16" : ""));
}

TEST(Reveal, a_chain_of_which_every_second_fma_is_rounded_has_no_plan) {
  for (const Format format : {Format::f16, Format::bf16}) {
    const GemmFinding found =
        revealed(kernel_of({.format = format, .d = format, .rounded_every = 2}), "hopper");
    EXPECT_EQ(found.why_no_tree, "");
    EXPECT_FALSE(found.plan);
    EXPECT_GT(found.mismatches, 0U);
  }
}

TEST(Reveal, products_rounded_one_by_one_are_lanes_of_one) {
  const GemmFinding pairs = revealed(loop(Loop::pairwise), "hopper");
  ASSERT_EQ(pairs.tree.children.size(), 2U);
  const std::vector<std::uint64_t> even{0, 2, 4, 6, 8, 10, 12, 14};
  EXPECT_EQ(leaves_of(pairs.tree.children[0]), even);
  ASSERT_TRUE(pairs.plan) << pairs.why_no_plan;
  EXPECT_EQ(text_of(*pairs.plan), "fma of f32 and f32, scalar, lanes 16, lane order halved");
  const GemmFinding chain = revealed(loop(Loop::ascending), "hopper");
  EXPECT_EQ(text_of(chain.tree, 16).substr(0, 10), "k 0-15: 15");
  ASSERT_TRUE(chain.plan) << chain.why_no_plan;
  EXPECT_EQ(text_of(*chain.plan), "fma of f32 and f32, scalar, lanes 16");
}

TEST(Reveal, a_tree_without_a_plan_is_shown) {
  const GemmFinding found = revealed(loop(Loop::from_both_ends), "hopper");
  EXPECT_EQ(found.why_no_tree, "");
  EXPECT_FALSE(found.plan);
  EXPECT_EQ(leaves_of(found.tree).size(), 16U);
  ASSERT_EQ(found.tree.children.size(), 2U);
  EXPECT_EQ(leaves_of(found.tree.children[1]), std::vector<std::uint64_t>{8});
}

// The same tree with another rounding of partial sums is not the same bits.
TEST(Reveal, a_descending_chain_takes_as_many_calls_as_an_ascending_one) {
  const auto calls = [](bool up) {
    UnknownGemm gemm{8, 8, 256, Format::f32, Format::f32, Format::f32, false, {}};
    gemm.run = [up](const void* a, const void* b, const void* /*c*/, void* d) {
      for (std::uint64_t i = 0; i < 8; ++i)
        for (std::uint64_t j = 0; j < 8; ++j) {
          float sum = 0;
          for (std::uint64_t p = 0; p < 256; ++p) {
            const std::uint64_t k = up ? p : 255 - p;
            sum = std::fma(static_cast<const float*>(a)[i * 256 + k], static_cast<const float*>(b)[k * 8 + j],
                           sum);
          }
          static_cast<float*>(d)[i * 8 + j] = sum;
        }
    };
    const GemmFinding found = revealed(gemm, "hopper");
    EXPECT_EQ(found.why_no_tree, "");
    EXPECT_NE(text_of(found.tree, 256).find(up ? "in ascending order" : "in descending order"),
              std::string::npos);
    return found.calls;
  };
  EXPECT_LT(calls(true), 50U);
  EXPECT_LT(calls(false), 100U);
}

TEST(Reveal, what_does_not_add_every_product_once_has_no_tree) {
  const auto found_by = [](const std::function<float(const float* a, const float* b, std::uint64_t k)>& dot) {
    UnknownGemm gemm{8, 8, 64, Format::f32, Format::f32, Format::f32, false, {}};
    gemm.run = [&](const void* a, const void* b, const void* /*c*/, void* d) {
      for (std::uint64_t i = 0; i < 8; ++i)
        for (std::uint64_t j = 0; j < 8; ++j) {
          std::vector<float> column(64);
          for (std::uint64_t p = 0; p < 64; ++p) column[p] = static_cast<const float*>(b)[p * 8 + j];
          static_cast<float*>(d)[i * 8 + j] = dot(static_cast<const float*>(a) + i * 64, column.data(), 64);
        }
    };
    return revealed(gemm, "hopper");
  };
  const auto chain = [](const float* a, const float* b, std::uint64_t k) {
    float sum = 0;
    for (std::uint64_t p = 0; p < k; ++p) sum = std::fma(a[p], b[p], sum);
    return sum;
  };
  EXPECT_EQ(found_by([](auto...) { return 0.0F; }).why_no_tree, "the sum of 64 equal products is 0 of them");
  EXPECT_EQ(found_by([&](auto* a, auto* b, auto) { return chain(a, b, 63); }).why_no_tree,
            "the sum of 64 equal products is 63 of them");
  EXPECT_EQ(found_by([&](auto* a, auto* b, auto k) { return 2 * chain(a, b, k); }).why_no_tree,
            "the sum of 64 equal products is 128 of them");
  EXPECT_EQ(found_by([](auto...) { return NAN; }).why_no_tree,
            "the sum of 64 equal products is no whole number of them");
  std::uint64_t calls = 0;
  const GemmFinding changing = found_by([&](const float* a, const float* b, std::uint64_t k) {
    float sum = 0;  // from either end, in no order that repeats
    const bool up = (++calls * 0x9E3779B97F4A7C15U >> 60) % 3 != 0;
    for (std::uint64_t p = 0; p < k; ++p) sum = std::fma(a[up ? p : k - 1 - p], b[up ? p : k - 1 - p], sum);
    return sum;
  });
  EXPECT_EQ(changing.why_no_tree, "calls with the same operands give other bits");
  EXPECT_FALSE(changing.plan);
}

TEST(Reveal, a_wrong_rounding_is_no_plan) {
  UnknownGemm gemm = played({"hopper", plan_of("wgmma.m64n8k16.f32.f16.f16"), 8, 8, 64});
  const auto exact = gemm.run;
  gemm.run = [exact](const void* a, const void* b, const void* c, void* d) {
    exact(a, b, c, d);
    auto* bits = static_cast<std::uint32_t*>(d);
    for (std::size_t i = 0; i < 64; ++i) bits[i] &= ~std::uint32_t{1};
  };
  const GemmFinding found = revealed(gemm, "hopper");
  EXPECT_EQ(found.why_no_tree, "");
  EXPECT_FALSE(found.plan);
  EXPECT_EQ(found.why_no_plan, "plans with this tree give other bits on random data");
  EXPECT_GT(found.mismatches, 0U);
}

/// A chain of fma that takes subnormals of some of its numbers for zeros.
struct Flushes {
  bool a = false, b = false, c = false, sums = false, d = false;
  bool c_first = false;  ///< the chain starts from C
};
GemmFinding chain_that_flushes(const Flushes& flushes, bool with_c, std::uint64_t m, std::uint64_t n,
                               std::uint64_t length) {
  UnknownGemm gemm{m, n, length, Format::f32, Format::f32, Format::f32, with_c, {}};
  gemm.run = [=](const void* a, const void* b, const void* c, void* d) {
    const auto read = [](float x, bool zero) { return zero && std::abs(x) < 0x1p-126F ? 0.0F : x; };
    const auto at = [&](const void* from, std::size_t i, bool zero) {
      return read(static_cast<const float*>(from)[i], zero);
    };
    for (std::uint64_t i = 0; i < m; ++i)
      for (std::uint64_t j = 0; j < n; ++j) {
        float sum = flushes.c_first ? at(c, i * n + j, flushes.c) : 0;
        for (std::uint64_t k = 0; k < length; ++k)
          sum = read(std::fma(at(a, i * length + k, flushes.a), at(b, k * n + j, flushes.b), sum),
                     flushes.sums);
        if (with_c && !flushes.c_first) sum += at(c, i * n + j, flushes.c);
        static_cast<float*>(d)[i * n + j] = read(sum, flushes.d);
      }
  };
  return revealed(gemm, "hopper");
}

TEST(Reveal, subnormals_count) {
  const auto said = [](const std::string& which) {
    return "plans with this tree give other bits on random data, but fma of f32 and f32, scalar all but "
           "subnormals of " +
           which;
  };
  const GemmFinding plain = chain_that_flushes({}, false, 8, 8, 64);
  EXPECT_TRUE(plain.plan);
  EXPECT_EQ(plain.subnormals, (std::vector<std::string>{"A", "B", "sums", "D"}));
  const GemmFinding with_c = chain_that_flushes({}, true, 8, 8, 64);
  EXPECT_TRUE(with_c.random_c);
  EXPECT_EQ(with_c.subnormals, (std::vector<std::string>{"A", "B", "C", "sums", "D"}));
  const std::pair<Flushes, const char*> cases[] = {
      {{.a = true}, "A"},
      {{.b = true}, "B"},
      {{.a = true, .b = true}, "A, of B"},
      {{.d = true}, "D"},
      {{.sums = true, .d = true}, "sums, of D"},
      {{.a = true, .b = true, .sums = true}, "A, of B, of sums, of D"}};
  for (const auto& [flushes, which] : cases) {
    const GemmFinding found = chain_that_flushes(flushes, false, 8, 8, 64);
    EXPECT_FALSE(found.plan) << which;
    EXPECT_EQ(found.why_no_plan, said(which));
    EXPECT_GT(found.mismatches, 0U);
  }
  EXPECT_EQ(chain_that_flushes({.a = true}, false, 24, 16, 960).why_no_plan, said("A"));
}

TEST(Reveal, subnormals_of_c_count) {
  const std::string begin =
      "plans with this tree give other bits on random data, but fma of f32 and f32, scalar";
  const GemmFinding last = chain_that_flushes({.c = true}, true, 8, 8, 64);
  EXPECT_FALSE(last.plan);
  EXPECT_EQ(last.why_no_plan, begin + " all but subnormals of C");
  const GemmFinding first = chain_that_flushes({.c = true, .c_first = true}, true, 8, 8, 64);
  EXPECT_TRUE(first.plan) << "with C = 0 there is one";
  EXPECT_FALSE(first.random_c);
  EXPECT_EQ(first.why_no_c, begin + ", c place chain all but subnormals of C");
}

/// Formats narrower than the sums have subnormals whose products are normal numbers.
TEST(Reveal, subnormals_of_short_formats_count) {
  for (const bool flushes : {false, true}) {
    Kernel kernel{"hopper", plan_of("wgmma.m64n8k16.f32.f16.f16"), 8, 8, 64};
    UnknownGemm gemm = played(kernel);
    const auto exact = gemm.run;
    gemm.run = [=](const void* a, const void* b, const void* c, void* d) {
      std::vector<std::uint16_t> copy(static_cast<const std::uint16_t*>(a),
                                      static_cast<const std::uint16_t*>(a) + 512);
      for (std::uint16_t& x : copy)
        if (flushes && (x & 0x7C00) == 0) x &= 0x8000;
      exact(copy.data(), b, c, d);
    };
    const GemmFinding found = revealed(gemm, "hopper");
    EXPECT_EQ(found.subnormals, (std::vector<std::string>{"A", "B"}));
    EXPECT_EQ(found.plan.has_value(), !flushes);
    EXPECT_EQ(found.why_no_plan.find("all but subnormals of A") != std::string::npos, flushes)
        << found.why_no_plan;
  }
}

TEST(Reveal, ranges_of_k_are_short) {
  EXPECT_EQ(probe::ranges_of({0, 1, 2, 3, 16, 17, 30}), "0-3, 16-17, 30");
  EXPECT_EQ(probe::ranges_of({0, 4, 8, 12, 13, 14}), "0, 4, ..., 12, 13-14");
  EXPECT_EQ(probe::ranges_of({1, 3, 5}), "1, 3, 5");
  EXPECT_EQ(probe::ranges_of({5}), "5");
  EXPECT_EQ(probe::ranges_of({}), "");
}

TEST(Reveal, formats_without_masks_are_refused) {
  UnknownGemm gemm = played({"hopper", plan_of("wgmma.m64n8k16.f32.f16.f16"), 8, 8, 64});
  gemm.a = Format::s8;
  EXPECT_THROW(revealed(gemm, "hopper"), InputError);
  gemm.a = gemm.b = Format::e2m3;
  EXPECT_THROW(revealed(gemm, "hopper"), InputError);
}

}  // namespace
}  // namespace mmaudit::test
