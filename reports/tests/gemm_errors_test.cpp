// Errors of whole products: the split, the model behind it, the bound, the counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "../src/gemm/fast_cast.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/report/render.hpp"
#include "render_result.hpp"

namespace mmaudit::report {
namespace {

__extension__ using Wide = __float128;

struct Problem {
  std::uint64_t m, n, k;
  std::vector<double> a, b;
  [[nodiscard]] GemmOperands operands() const { return {m, n, k, a, b, {}, 0, 0}; }
};

Problem drawn(Distribution distribution, std::uint64_t m, std::uint64_t n, std::uint64_t k,
              std::uint64_t seed = 1) {
  return {m, n, k, draw_a(distribution, m, k, seed), draw_b(distribution, k, n, seed)};
}

Problem filled(std::uint64_t m, std::uint64_t n, std::uint64_t k, double a, double b) {
  return {m, n, k, std::vector<double>(m * k, a), std::vector<double>(k * n, b)};
}

GemmCombination combination(const char* architecture, const char* dtype, Scaling scaling, const char* how,
                            Format output = Format::none) {
  return settled({find_architecture(architecture),
                  *find_gemm_dtype(dtype),
                  scaling,
                  *find_accumulation(how),
                  output,
                  {}});
}

struct Computed {
  std::vector<double> exact;
  ConvertedOperands converted;
  GemmElements elements;
  GemmErrors errors;
};

Computed computed(const GemmCombination& c, const Problem& problem) {
  const GemmPath path = find_path(c);
  EXPECT_EQ(path.why_not, "");
  Computed out{
      exact_product(problem.operands()), convert_operands(c.dtype, c.scaling, problem.operands()), {}, {}};
  out.elements = compute_elements(c, path, out.converted, {});
  out.errors = errors_of(out.exact, out.converted, out.elements, c.output);
  return out;
}

const GemmCombination kSome[] = {
    combination("hopper", "e4m3", Scaling::tensor, "plain"),
    combination("hopper", "e4m3", Scaling::blocks, "promote:128"),
    combination("hopper", "e5m2", Scaling::row, "promote:32"),
    combination("hopper", "e4m3", Scaling::none, "half"),
    combination("hopper", "bf16", Scaling::none, "plain"),
    combination("hopper", "f16", Scaling::none, "half"),
    combination("hopper", "f16", Scaling::none, "split-k:3"),
    combination("hopper", "tf32", Scaling::none, "split-k:4"),
    combination("ada", "e4m3", Scaling::tensor, "plain"),
    combination("volta", "f16", Scaling::none, "plain"),
    combination("blackwell", "mxf8", Scaling::mx, "promote:64"),
    combination("blackwell", "nvf4", Scaling::mx, "plain"),
};

TEST(FastCast, IsEncodeValue) {
  std::uint64_t x = 1;
  for (const GemmDtype& dtype : gemm_dtypes()) {
    const FormatSpec format = spec_of(dtype.element);
    const FastCast cast(format, dtype.cast);
    for (int i = 0; i < 20000; ++i) {
      x = x * 6364136223846793005U + 1442695040888963407U;
      // Any bits, and numbers around the format's range with few or many bits.
      double value = std::bit_cast<double>(x);
      if (i % 2 != 0)
        value = std::ldexp(static_cast<double>(x >> 40) / 0x1p23 - 1, static_cast<int>(x & 31) - 20);
      if (i % 4 == 1) value = std::ldexp(std::nearbyint(std::ldexp(value, 12)), -12);
      ASSERT_EQ(cast(value), encode_value(value, format, dtype.cast)) << dtype.name << " " << value;
    }
  }
}

TEST(ExactProduct, IsWithinItsBound) {
  Problem problem = drawn(Distribution::log_normal, 9, 11, 700);
  problem.a[0] = 1e18, problem.a[1] = 1, problem.a[2] = -1e18;
  for (std::uint64_t j = 0; j < 3; ++j) problem.b[j * 11] = 1;
  const std::vector<double> found = exact_product(problem.operands(), {3, {}});
  for (std::uint64_t i = 0; i < problem.m; ++i)
    for (std::uint64_t j = 0; j < problem.n; ++j) {
      Wide sum = 0, size = 0;
      for (std::uint64_t k = 0; k < problem.k; ++k) {
        const Wide product = static_cast<Wide>(problem.a[i * problem.k + k]) * problem.b[k * problem.n + j];
        sum += product;
        size += product < 0 ? -product : product;
      }
      const double error = std::fabs(static_cast<double>(found[i * problem.n + j] - sum));
      EXPECT_LE(error, 0x1p-52 * static_cast<double>(size));
    }
}

TEST(GemmErrors, SplitsAddUp) {
  for (const GemmCombination& c : kSome) {
    const Problem problem = drawn(Distribution::student_t3, 5, 7, 300);
    const Computed x = computed(c, problem);
    for (std::size_t e = 0; e < x.exact.size(); ++e) {
      const double q = x.converted.product[e], s = x.elements.accumulator[e], d = x.elements.result[e];
      if (!std::isfinite(d)) continue;
      const double parts = (q - x.exact[e]) + (s - q) + (d - s);
      const double most = std::max({std::fabs(q), std::fabs(s), std::fabs(d), std::fabs(x.exact[e])});
      EXPECT_LE(std::fabs(parts - (d - x.exact[e])), 0x1p-50 * most);
    }
    // And the norms obey the triangle.
    const GemmErrors& errors = x.errors;
    EXPECT_LE(errors.total, (errors.quantization + errors.accumulation + errors.output) * (1 + 1e-12));
  }
}

TEST(GemmErrors, AKnownCase) {
  Problem problem = filled(1, 1, 32, 0, 0);
  problem.a[0] = 448, problem.b[0] = 1;
  problem.a[5] = 0.140625, problem.b[5] = 0.375;
  const Computed x = computed(combination("hopper", "e4m3", Scaling::none, "plain", Format::f32), problem);
  EXPECT_EQ(x.exact[0], 448.052734375);
  EXPECT_EQ(x.converted.product[0], 448.052734375);
  EXPECT_EQ(x.elements.accumulator[0], 448.03125);
  EXPECT_EQ(x.errors.accumulation, 0.021484375 / 448.052734375);
  EXPECT_EQ(x.errors.quantization, 0);
  EXPECT_EQ(x.errors.output, 0);
  EXPECT_LT(x.errors.accumulation_drift, 0);
  // BF16 has 8 significand bits: 448.
  const Computed y = computed(combination("hopper", "e4m3", Scaling::none, "plain", Format::bf16), problem);
  EXPECT_EQ(y.elements.result[0], 448);
  EXPECT_EQ(y.errors.max_ulp, 0.052734375 / 2);
}

TEST(GemmErrors, ScalesOfTheInstructionReachIt) {
  // Powers of two apart, and small enough numbers in every block: nothing is lost.
  Problem problem = filled(3, 2, 128, 0, 0);
  for (std::uint64_t k = 0; k < 128; ++k) {
    const double scale = std::ldexp(1.0, static_cast<int>(k / 32) * 5 - 10);
    for (std::uint64_t i = 0; i < 3; ++i) problem.a[i * 128 + k] = scale * (k % 2 == 0 ? 6 : -1.5);
    for (std::uint64_t j = 0; j < 2; ++j) problem.b[k * 2 + j] = (k % 3 == 0 ? 4 : 1) / scale;
  }
  const Computed x = computed(combination("blackwell", "mxf4", Scaling::mx, "plain", Format::f32), problem);
  EXPECT_EQ(x.converted.product, x.exact);
  EXPECT_EQ(x.elements.result, x.exact);
  EXPECT_EQ(x.errors.total, 0);
}

TEST(GemmErrors, TruncationDriftsAndRoundingToNearestDoesNot) {
  Problem problem = drawn(Distribution::uniform, 8, 32, 4096);
  for (auto* operand : {&problem.a, &problem.b})
    for (double& x : *operand) x = std::fabs(x);
  const GemmErrors cut = computed(combination("hopper", "bf16", Scaling::none, "plain"), problem).errors;
  EXPECT_LT(cut.accumulation_drift, -0.9 * cut.accumulation);
  const GemmErrors nearest = computed(combination("hopper", "f16", Scaling::none, "half"), problem).errors;
  EXPECT_LT(std::fabs(nearest.accumulation_drift), 0.3 * nearest.accumulation);
}

TEST(GemmErrors, PromotionHelpsFp8) {
  const Problem problem = drawn(Distribution::normal, 4, 32, 16384);
  const auto accumulation = [&](const char* how) {
    return computed(combination("hopper", "e4m3", Scaling::tensor, how), problem).errors.accumulation;
  };
  EXPECT_LT(accumulation("promote:128"), accumulation("plain") / 10);
}

TEST(GemmErrors, StayInTheBound) {
  double reached = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const GemmCombination& c : kSome)
      for (const std::uint64_t k : {64U, 500U, 1024U}) {
        Problem problem = drawn(kDistributions[seed % 6], 4, 5, k, seed);
        if (seed % 2 == 0)  // sums that only grow come closest
          for (auto* operand : {&problem.a, &problem.b})
            for (double& x : *operand) x = std::fabs(x);
        const GemmErrors errors = computed(c, problem).errors;
        ASSERT_TRUE(errors.bound.has_value());
        EXPECT_LE(errors.of_bound, 1) << c.dtype.name << " " << name_of(c.accumulation) << " K " << k;
        reached = std::max(reached, errors.of_bound);
      }
  EXPECT_GT(reached, 0.01);  // not a bound that nothing could ever break
}

TEST(GemmErrors, CountsWhatIsLost) {
  const Computed small =
      computed(combination("hopper", "e4m3", Scaling::none, "plain"), filled(2, 2, 64, 1e-6, 1e-6));
  EXPECT_EQ(small.converted.a.counts.underflow, 128U);
  EXPECT_EQ(small.errors.quantization, 1);
  const Computed large =
      computed(combination("hopper", "e4m3", Scaling::none, "plain"), filled(2, 2, 64, 1000, 1));
  EXPECT_EQ(large.converted.a.counts.saturated, 128U);
  EXPECT_EQ(large.converted.b.counts.saturated, 0U);
  const Computed tiny =
      computed(combination("hopper", "e4m3", Scaling::none, "plain"), filled(2, 2, 64, 0x1p-8, 1));
  EXPECT_EQ(tiny.converted.a.counts.subnormal, 128U);
  const Computed half =
      computed(combination("hopper", "f16", Scaling::none, "half"), filled(2, 2, 64, 200, 200));
  EXPECT_EQ(half.errors.overflow, 4U);
  EXPECT_EQ(half.errors.compared, 0U);
  Problem nan = filled(2, 2, 64, 1, 1);
  nan.a[3] = std::numeric_limits<double>::quiet_NaN();
  const Computed some = computed(combination("hopper", "bf16", Scaling::none, "plain"), nan);
  EXPECT_EQ(some.errors.no_exact, 2U);
  EXPECT_EQ(some.errors.compared, 2U);
  EXPECT_EQ(some.errors.total, 0);
}

TEST(GemmPath, SaysWhyNot) {
  const auto why = [](const GemmCombination& c) { return find_path(c).why_not; };
  EXPECT_EQ(why(combination("hopper", "mxf8", Scaling::mx, "plain")), "hopper has no instruction for mxf8");
  EXPECT_NE(why(combination("hopper", "bf16", Scaling::tensor, "plain")), "");
  EXPECT_NE(why(combination("hopper", "e4m3", Scaling::blocks, "plain")), "");
  EXPECT_NE(why(combination("hopper", "e4m3", Scaling::none, "promote:40")), "");
  EXPECT_NE(why(combination("volta", "bf16", Scaling::none, "plain")), "");
  EXPECT_EQ(combination("blackwell", "e4m3", Scaling::mx, "plain").dtype.name, "mxf8");
  EXPECT_FALSE(find_accumulation("promote:0"));
  EXPECT_FALSE(find_accumulation("promote:1x"));
}

TEST(GemmStudy, SameForAnyNumberOfThreads) {
  GemmStudyOptions options;
  options.depths = {16, 64, 300};
  options.threads = 1;
  AuditResult one, three;
  one.gemm = study_gemm(*find_architecture("blackwell"), options);
  options.threads = 3;
  three.gemm = study_gemm(*find_architecture("blackwell"), options);
  EXPECT_EQ(to_json(one), to_json(three));
  EXPECT_GT(one.gemm.curves.size(), 100U);
  for (const GemmCurve& curve : one.gemm.curves) ASSERT_EQ(curve.points.size(), 3U);
  EXPECT_NE(to_console(one).find("Error of whole products, K = 300"), std::string::npos);
}

}  // namespace
}  // namespace mmaudit::report
