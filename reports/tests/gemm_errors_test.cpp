// Errors of whole products: the split, the model behind it, the bound, the counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "gemm_problems.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/report/audit.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/splitmix64.hpp"
#include "render_result.hpp"

namespace mmaudit::report {
namespace {

TEST(ExactProduct, IsWithinItsBound) {
  Problem problem = drawn(Distribution::log_normal, 9, 11, 700);
  problem.a[0] = 1e18, problem.a[1] = 1, problem.a[2] = -1e18;
  for (std::uint64_t j = 0; j < 3; ++j) problem.b[j * 11] = 1;
  const std::vector<double> found =
      exact_product(problem.operands(), {.threads = 3, .level = {}, .progress = {}});
  for (std::uint64_t i = 0; i < problem.m; ++i)
    for (std::uint64_t j = 0; j < problem.n; ++j) {
      Wide sum = 0, size = 0;
      for (std::uint64_t k = 0; k < problem.k; ++k) {
        const Wide product = static_cast<Wide>(problem.a[i * problem.k + k]) * problem.b[k * problem.n + j];
        sum += product;
        size += product < 0 ? -product : product;
      }
      const double error = std::fabs(static_cast<double>(found[i * problem.n + j] - sum));
      EXPECT_LE(error, 0x1p-48 * static_cast<double>(size));
    }
}

TEST(ExactProduct, WhatAnAdditionLosesIsKept) {
  // 2^53 + 1 is 2^53 in binary64, and 2^53 + 1 + 1 is not.
  Problem problem = filled(1, 1, 200, 0, 1);
  problem.a[0] = 0x1p53, problem.a[100] = problem.a[199] = 1;
  EXPECT_EQ(exact_product(problem.operands()), std::vector<double>{0x1p53 + 2});
}

TEST(ExactProduct, CIsAdded) {
  const std::vector<double> a = {1, 2}, b = {3, 4, 5, 6}, c = {100, -0.5};
  const GemmOperands operands{1, 2, 2, a, b, c, 0, 0};
  EXPECT_EQ(exact_product(operands), (std::vector<double>{113, 15.5}));
  const GemmCombination f16 = combination("hopper", "f16", scalings::none, "plain");
  EXPECT_EQ(convert_operands(f16.dtype, f16.scaling, operands).product, exact_product(operands));
}

TEST(GemmErrors, DecibelsAngleAndRowsAreOfTheSameErrors) {
  Problem problem = drawn(Distribution::normal, 12, 7, 256);
  for (std::uint64_t k = 0; k < problem.k; ++k)
    problem.a[5 * problem.k + k] *= k == 9 ? 1e4 : 1;  // a row's outlier
  const Computed x = computed(combination("hopper", "e4m3", scalings::row, "plain"), problem);
  double together = 0, exact = 0, result = 0, worst = 0;
  std::uint64_t row_of_worst = 0;
  for (std::uint64_t i = 0; i < problem.m; ++i) {
    double error = 0, size = 0;
    for (std::uint64_t e = i * problem.n; e < (i + 1) * problem.n; ++e) {
      const double a = x.exact[e], d = x.elements.result[e];
      together += a * d, exact += a * a, result += d * d;
      error += (d - a) * (d - a), size += a * a;
    }
    if (std::sqrt(error / size) > worst) worst = std::sqrt(error / size), row_of_worst = i;
  }
  EXPECT_NEAR(x.errors.cosine, together / std::sqrt(exact * result), 1e-12);
  EXPECT_DOUBLE_EQ(x.errors.sqnr(), -20 * std::log10(x.errors.total));
  ASSERT_EQ(x.errors.rows.size(), 8U);
  EXPECT_EQ(x.errors.rows[0].row, row_of_worst);
  EXPECT_NEAR(x.errors.rows[0].error, worst, 1e-12);
  EXPECT_GE(x.errors.rows[0].error, x.errors.middle_row);
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

TEST(GemmErrors, APowerOfTwoChangesNoFigure) {
  const Problem problem = drawn(Distribution::normal, 8, 9, 300);
  const Computed x = computed(combination("hopper", "e4m3", scalings::tensor, "plain"), problem);
  const Interval interval = total_interval(x.exact, x.elements, 9, false, false, 1);
  EXPECT_GT(x.errors.total, 0);
  for (const int power : {-900, -400, 400, 900}) {
    Computed y = x;
    for (std::vector<double>* values :
         {&y.exact, &y.converted.product, &y.elements.accumulator, &y.elements.result, &y.elements.bound})
      for (double& value : *values) value = std::ldexp(value, power);
    const GemmErrors errors = errors_of(y.exact, y.converted, y.elements, Format::bf16);
    for (const auto figure : {&GemmErrors::total, &GemmErrors::quantization, &GemmErrors::accumulation,
                              &GemmErrors::output, &GemmErrors::bias})
      EXPECT_EQ(errors.*figure, x.errors.*figure) << power;
    EXPECT_EQ(errors.bound, x.errors.bound) << power;
    const Interval scaled = total_interval(y.exact, y.elements, 9, false, false, 1);
    EXPECT_EQ(scaled.low, interval.low) << power;
    EXPECT_EQ(scaled.high, interval.high) << power;
  }
}

TEST(GemmErrors, AKnownCase) {
  Problem problem = filled(1, 1, 32, 0, 0);
  problem.a[0] = 448, problem.b[0] = 1;
  problem.a[5] = 0.140625, problem.b[5] = 0.375;
  const Computed x = computed(combination("hopper", "e4m3", scalings::none, "plain", Format::f32), problem);
  EXPECT_EQ(x.exact[0], 448.052734375);
  EXPECT_EQ(x.converted.product[0], 448.052734375);
  EXPECT_EQ(x.elements.accumulator[0], 448.03125);
  EXPECT_EQ(x.errors.accumulation, 0.021484375 / 448.052734375);
  EXPECT_EQ(x.errors.quantization, 0);
  EXPECT_EQ(x.errors.output, 0);
  EXPECT_LT(x.errors.accumulation_drift, 0);
  // BF16 has 8 significand bits: 448.
  const Computed y = computed(combination("hopper", "e4m3", scalings::none, "plain", Format::bf16), problem);
  EXPECT_EQ(y.elements.result[0], 448);
  EXPECT_EQ(y.errors.max_ulp, 0.052734375 / 2);
}

/// Errors of elements that were not computed: 2 columns.
GemmErrors errors_by_hand(const std::vector<double>& exact, const std::vector<double>& converted,
                          const std::vector<double>& accumulator, const std::vector<double>& result,
                          const std::vector<double>& bound = {}) {
  ConvertedOperands operands;
  operands.m = exact.size() / 2;
  operands.n = 2;
  operands.product = converted;
  return errors_of(exact, operands, {accumulator, result, bound}, Format::bf16);
}

TEST(GemmErrors, EveryFigureByHand) {
  const GemmErrors errors =
      errors_by_hand({4, -8, 2, 1}, {5, -8, 2, 1}, {5, -7.5, 2.25, 1}, {6, -11, 4, 1}, {1, 1, 0.3125, 0});
  EXPECT_EQ(errors.elements, 4U);
  EXPECT_EQ(errors.compared, 4U);
  // Errors 2, -3, 2, 0; the exact squares are 16 + 64 + 4 + 1, the magnitudes 15.
  EXPECT_DOUBLE_EQ(errors.total, std::sqrt(17.0 / 85));
  EXPECT_DOUBLE_EQ(errors.quantization, std::sqrt(1.0 / 85));
  EXPECT_DOUBLE_EQ(errors.accumulation, std::sqrt(0.3125 / 85));
  EXPECT_DOUBLE_EQ(errors.output, std::sqrt(16.3125 / 85));
  EXPECT_DOUBLE_EQ(errors.bias, 1.0 / 15);
  EXPECT_DOUBLE_EQ(errors.magnitude_bias, 7.0 / 15);
  EXPECT_DOUBLE_EQ(errors.accumulation_drift, -0.25 / 16);  // the converted magnitudes are 5 + 8 + 2 + 1
  EXPECT_DOUBLE_EQ(*errors.bound, std::sqrt(2.09765625 / 85));
  EXPECT_DOUBLE_EQ(errors.of_bound, 0.8);
  // Units of bfloat16: 1/32 at 4, 1/16 at 8, 1/64 at 2.
  EXPECT_EQ(errors.max_ulp, 128);
  EXPECT_EQ(errors.p50_ulp, 64);
  EXPECT_EQ(errors.worst_row, 0U);
  EXPECT_EQ(errors.worst_column, 1U);
  EXPECT_EQ(errors.worst_exact, -8);
  EXPECT_EQ(errors.worst_result, -11);
}

TEST(GemmErrors, PercentilesByHand) {
  // 11, 10 ... 0 units: half of the way from the least to the largest is 5.5, 99% of it 10.89.
  const std::vector<double> ones(12, 1.0);
  std::vector<double> result;
  for (int i = 11; i >= 0; --i) result.push_back(1 + i * 0x1p-7);
  const GemmErrors errors = errors_by_hand(ones, ones, ones, result);
  EXPECT_EQ(errors.p50_ulp, 6);
  EXPECT_EQ(errors.p99_ulp, 11);
  EXPECT_FALSE(errors.bound);
}

TEST(GemmErrors, WhatIsNotFiniteIsCountedAndLeftOut) {
  const double infinity = std::numeric_limits<double>::infinity();
  const GemmErrors errors =
      errors_by_hand({infinity, 2, 2, 2}, {1, infinity, 2, 2}, {1, 1, 2, 2}, {1, 1, infinity, 3});
  EXPECT_EQ(errors.elements, 4U);
  EXPECT_EQ(errors.no_exact, 1U);
  EXPECT_EQ(errors.overflow, 2U);
  EXPECT_EQ(errors.compared, 1U);
  EXPECT_DOUBLE_EQ(errors.total, 0.5);
}

/// The interval by its definition: products drawn one by one with the same random numbers, and every drawn
/// row and column added up as often as it was drawn.
Interval interval_by_hand(const std::vector<double>& exact, const std::vector<double>& result,
                          std::uint64_t columns, bool whole_rows, bool whole_columns, std::uint64_t seed) {
  const std::uint64_t rows = exact.size() / columns;
  std::vector<double> found;
  for (std::uint64_t resample = 0; resample < 400; ++resample) {
    const auto drawn = [&](std::uint64_t count, bool whole, std::uint64_t stream) {
      std::vector<std::uint64_t> which;
      for (std::uint64_t i = 0; i < count; ++i)
        which.push_back(whole ? i : PlacedDraws(mixed(seed) + 2 * resample + stream).below(count, i));
      return which;
    };
    double error = 0, size = 0;
    for (const std::uint64_t i : drawn(rows, whole_rows, 0))
      for (const std::uint64_t j : drawn(columns, whole_columns, 1)) {
        const double x = exact[i * columns + j], d = result[i * columns + j];
        error += (d - x) * (d - x);
        size += x * x;
      }
    found.push_back(std::sqrt(error / size));
  }
  std::sort(found.begin(), found.end());
  return {found[10], found[389]};  // 2.5% of 400 lie outside at either end
}

TEST(GemmErrors, TheIntervalIsABootstrapOverRowsAndColumns) {
  // Errors and sizes that differ from row to row, and otherwise from column to column.
  constexpr std::uint64_t kRows = 9, kColumns = 8;
  std::vector<double> exact, result;
  for (std::uint64_t i = 0; i < kRows; ++i)
    for (std::uint64_t j = 0; j < kColumns; ++j) {
      exact.push_back(1 + static_cast<double>(i * j % 4) + static_cast<double>(j));
      result.push_back(exact.back() * (1 + 0.01 * static_cast<double>((i * i + 3 * j) % 11)));
    }
  const GemmElements elements{{}, result, {}};
  for (const bool whole_rows : {false, true})
    for (const bool whole_columns : {false, true}) {
      const Interval found = total_interval(exact, elements, kColumns, whole_rows, whole_columns, 3);
      const Interval expected = interval_by_hand(exact, result, kColumns, whole_rows, whole_columns, 3);
      EXPECT_NEAR(found.low, expected.low, 1e-12 * expected.low) << whole_rows << whole_columns;
      EXPECT_NEAR(found.high, expected.high, 1e-12 * expected.high) << whole_rows << whole_columns;
      EXPECT_EQ(whole_rows && whole_columns, found.low == found.high);
    }
}

TEST(GemmErrors, AFewRowsOrColumnsBoundNothing) {
  const std::vector<double> exact(64, 1);
  const GemmElements elements{{}, std::vector<double>(64, 1.001), {}};
  const auto bounded = [&](std::size_t rows, std::uint64_t columns, bool whole_rows, bool whole_columns) {
    return std::isfinite(total_interval(std::span(exact).first(rows * columns), elements, columns, whole_rows,
                                        whole_columns, 1)
                             .high);
  };
  EXPECT_FALSE(bounded(1, 1, false, false));
  EXPECT_FALSE(bounded(7, 8, false, false));
  EXPECT_FALSE(bounded(8, 7, false, false));
  EXPECT_TRUE(bounded(8, 8, false, false));
  EXPECT_TRUE(bounded(7, 8, true, false));
  EXPECT_TRUE(bounded(8, 1, false, true));
}

TEST(GemmErrors, ScalesOfTheInstructionReachIt) {
  // Powers of two apart, and small enough numbers in every block: nothing is lost.
  Problem problem = filled(3, 2, 128, 0, 0);
  for (std::uint64_t k = 0; k < 128; ++k) {
    const double scale = std::ldexp(1.0, static_cast<int>(k / 32) * 5 - 10);
    for (std::uint64_t i = 0; i < 3; ++i) problem.a[i * 128 + k] = scale * (k % 2 == 0 ? 6 : -1.5);
    for (std::uint64_t j = 0; j < 2; ++j) problem.b[k * 2 + j] = (k % 3 == 0 ? 4 : 1) / scale;
  }
  const Computed x =
      computed(combination("blackwell", "mxf4", scalings::mx_floor, "plain", Format::f32), problem);
  EXPECT_EQ(x.converted.product, x.exact);
  EXPECT_EQ(x.elements.result, x.exact);
  EXPECT_EQ(x.errors.total, 0);
}

TEST(GemmErrors, TruncationDriftsAndRoundingToNearestDoesNot) {
  Problem problem = drawn(Distribution::uniform, 8, 32, 4096);
  for (auto* operand : {&problem.a, &problem.b})
    for (double& x : *operand) x = std::fabs(x);
  const GemmErrors cut = computed(combination("hopper", "bf16", scalings::none, "plain"), problem).errors;
  EXPECT_LT(cut.accumulation_drift, -0.9 * cut.accumulation);
  const GemmErrors nearest = computed(combination("hopper", "f16", scalings::none, "half"), problem).errors;
  EXPECT_LT(std::fabs(nearest.accumulation_drift), 0.3 * nearest.accumulation);
}

TEST(GemmErrors, PromotionHelpsFp8) {
  const Problem problem = drawn(Distribution::normal, 4, 32, 16384);
  const auto accumulation = [&](const char* how) {
    return computed(combination("hopper", "e4m3", scalings::tensor, how), problem).errors.accumulation;
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

TEST(GemmErrors, TheBoundCountsTheRoundingOfTheTotals) {
  // 2^24 once, then ones: every promotion rounds its one away, and nothing else is lost.
  Problem problem = filled(1, 1, 65536, 0, 1);
  for (std::uint64_t k = 0; k < problem.k; k += 32) problem.a[k] = 1;
  problem.a[0] = 0x1p24;
  const GemmErrors errors =
      computed(combination("hopper", "bf16", scalings::none, "promote:32", Format::f32), problem).errors;
  EXPECT_EQ(errors.worst_exact, 0x1p24 + 2047);
  EXPECT_EQ(errors.worst_result, 0x1p24);
  EXPECT_LE(errors.of_bound, 1);
  EXPECT_GT(errors.of_bound, 0.2);
}

TEST(GemmErrors, CIsAddedInOneRounding) {
  // Scales of 1 + 2^-12, whose product binary32 rounds to 1 + 2^-11; the sum is 448 * 448 + 2^-6. The scaled
  // sum, 200802 + 2^-6 + 2^-17, is no binary32 number: only one fma keeps its last bit.
  constexpr double kScale = 1 + 0x1p-12;
  Problem problem = filled(1, 1, 32, 0, 0);
  problem.a[0] = problem.b[0] = 448 * kScale;
  problem.a[1] = problem.b[1] = 0.125 * kScale;
  GemmCombination c = combination("hopper", "e4m3", scalings::tensor, "plain", Format::f32);
  c.op = Op::mma;  // wgmma would cut 2^-6 off
  const ConvertedOperands converted = convert_operands(c.dtype, c.scaling, problem.operands());
  const std::vector<double> addend = {-200802};
  const GemmElements elements = compute_elements(c, find_path(c), converted, addend);
  EXPECT_EQ(elements.result[0], 0x1p-6 + 0x1p-17);
}

TEST(GemmErrors, TheBoundIsOfTheScaledSum) {
  // The same tensors 2^20 times as large have scales, errors and bounds 2^20 times as large.
  const GemmCombination c = combination("hopper", "e4m3", scalings::tensor, "plain", Format::f32);
  Problem problem = drawn(Distribution::uniform, 2, 3, 256);
  const Computed small = computed(c, problem);
  for (double& x : problem.a) x *= 0x1p20;
  const Computed large = computed(c, problem);
  for (std::size_t e = 0; e < small.exact.size(); ++e)
    EXPECT_DOUBLE_EQ(large.elements.bound[e], 0x1p20 * small.elements.bound[e]);
  EXPECT_DOUBLE_EQ(large.errors.of_bound, small.errors.of_bound);
}

TEST(GemmPath, TakesTheNewestUnitAndTheDeepestInstruction) {
  EXPECT_EQ(name_of(find_path(combination("hopper", "f16", scalings::none, "plain")).instruction),
            "wgmma.m64n8k16.f32.f16.f16");
  GemmCombination mma = combination("hopper", "f16", scalings::none, "plain");
  mma.op = Op::mma;
  EXPECT_EQ(name_of(find_path(mma).instruction), "mma.m16n8k16.f32.f16.f16.f32");
  EXPECT_EQ(name_of(find_path(combination("ada", "e4m3", scalings::tensor, "plain")).instruction),
            "mma.m16n8k32.f32.e4m3.e4m3.f32");
}

TEST(GemmPath, SaysWhyNot) {
  const auto why = [](const GemmCombination& c) { return find_path(c).why_not; };
  EXPECT_EQ(why(combination("hopper", "mxf8", scalings::mx, "plain")), "hopper has no instruction for mxf8");
  EXPECT_EQ(why(combination("hopper", "bf16", scalings::tensor, "plain")), "");  // takes none
  EXPECT_NE(why(combination("hopper", "e4m3", scalings::blocks, "plain")), "");
  EXPECT_NE(why(combination("hopper", "e4m3", scalings::none, "promote:40")), "");
  EXPECT_NE(why(combination("volta", "bf16", scalings::none, "plain")), "");
  EXPECT_EQ(combination("blackwell", "e4m3", scalings::mx, "plain").dtype.name, "mxf8");
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
