// Verdicts and samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <utility>

#include "../analysis/gemm/stages.hpp"
#include "gemm_fixture.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/report/gemm_study.hpp"
#include "render_result.hpp"

namespace mmaudit::report {
namespace {

TEST(GemmAudit, JudgesAndAdvises) {
  const Fixture fixture;
  const GemmAudit audit = audit_gemm(fixture.request);
  ASSERT_EQ(audit.rows_of.size(), 2U);
  EXPECT_EQ(audit.rows_of[0].verdict, GemmVerdict::fail);
  EXPECT_EQ(audit.rows_of[0].why.find("quantization"), 0U);
  EXPECT_EQ(audit.rows_of[0].advice, "passes here: bf16 --scale none");
  EXPECT_EQ(audit.rows_of[1].verdict, GemmVerdict::pass);
  EXPECT_FALSE(audit.rows_of[1].errors.interval);
  EXPECT_FALSE(audit.passes());
  ASSERT_EQ(audit.left_out.size(), 1U);
  EXPECT_NE(audit.left_out[0].find("f16"), std::string::npos);
}

TEST(GemmAudit, ATypeThatNeedsNoScaleTakesNone) {
  for (const Scaling& scaling : {scalings::tensor, scalings::row, scalings::blocks, scalings::mx_floor})
    EXPECT_EQ(combination("bf16", scaling, "plain").scaling, scalings::none);
}

TEST(GemmAudit, WhatSaysNothingIsNotJudged) {
  const auto verdict = [](const GemmAuditRequest& request, const char* why) {
    const GemmAudit audit = audit_gemm(request);
    EXPECT_FALSE(audit.passes());
    EXPECT_EQ(audit.count(GemmVerdict::not_judged), 2);
    EXPECT_NE(to_console(audit).find(why), std::string::npos) << to_console(audit);
  };
  Fixture zero;
  std::fill(zero.a.begin(), zero.a.end(), 0.0);
  verdict(zero.request, "the exact product is zero");
  Fixture one;  // of many
  one.a[7] = std::numeric_limits<double>::quiet_NaN();
  one.request.limit = 1;
  verdict(one.request, "20 of 240 elements have no finite exact value");
}

TEST(GemmAudit, TensorsThatSayNothingAreNotJudged) {
  // Of a whole tensor: the sample may have none of it.
  const TensorFacts good{"B", "y", "F32", {256, 20}, 5120, 0, 0, 0, 1, 1};
  const auto why = [&](TensorFacts facts) {
    Fixture fixture;
    fixture.request.limit = 1;
    fixture.request.tensors = {std::move(facts), good};
    const GemmAudit audit = audit_gemm(fixture.request);
    return audit.passes() ? std::string("PASS") : audit.rows_of[0].why;
  };
  EXPECT_EQ(why({"A", "x", "F32", {12, 256}, 3072, 0, 0, 3000, 1, 1, 900}), "PASS");
  EXPECT_EQ(why({"A", "x", "F32", {12, 256}, 3072, 1, 0, 0, 1, 1}),
            "A holds NaN: what they reach has no exact value");
  EXPECT_EQ(why({"A", "x", "F32", {12, 256}, 3072, 1, 1, 0, 1, 1}),
            "A holds NaN and infinities: what they reach has no exact value");
  EXPECT_EQ(why({"A", "x", "F32", {12, 256}, 3072, 0, 0, 3072, 0, 0, 3072}), "every element of A is zero");
  EXPECT_EQ(why({"A", "x", "F32", {12, 256}, 3072, 0, 0, 2304, 1, 1, 2304}),
            "the last 75% of A is zeros, as of a file cut short");
}

TEST(GemmAudit, OutputAndAccumulationAreNamed) {
  Fixture fixture;
  fixture.request.combinations = {combination("tf32", scalings::none, "plain", Format::bf16),
                                  combination("f16", scalings::none, "half", Format::f32)};
  fixture.request.limit = 1e-4;
  const GemmAudit audit = audit_gemm(fixture.request);
  EXPECT_EQ(audit.rows_of[0].why.find("rounding of D to bf16"), 0U);
  EXPECT_EQ(audit.rows_of[0].advice, "--d-format f32");
  EXPECT_EQ(audit.rows_of[1].why.find("accumulation"), 0U);
  EXPECT_EQ(audit.rows_of[1].advice, "binary32 accumulators");
}

TEST(GemmAudit, ASampleSaysHowSureItIs) {
  Fixture fixture;
  fixture.request.whole_m = fixture.request.whole_n = 1000;
  const GemmAudit audit = audit_gemm(fixture.request);
  const GemmErrors& errors = audit.rows_of[0].errors;
  ASSERT_TRUE(errors.interval);
  EXPECT_LT(errors.interval->low, errors.total);
  EXPECT_GT(errors.interval->high, errors.total);
  EXPECT_LT(errors.interval->high - errors.interval->low, errors.total);
  EXPECT_NE(audit.method.find("12 of 1000 rows"), std::string::npos);
  fixture.request.limit = errors.total;
  EXPECT_EQ(audit_gemm(fixture.request).rows_of[0].verdict, GemmVerdict::undecided);
}

TEST(GemmAudit, VerdictsByHand) {
  struct Case {
    double total, low, high, limit;  // low == high == total: everything was computed
    GemmVerdict verdict;
  };
  for (const Case& one : {Case{0.5, 0.5, 0.5, 0.5, GemmVerdict::pass},  // at the limit is within it
                          {0.5, 0.5, 0.5, 0.499, GemmVerdict::fail},
                          {0.5, 0.4, 0.6, 0.6, GemmVerdict::pass},
                          {0.5, 0.4, 0.6, 0.599, GemmVerdict::undecided},
                          {0.5, 0.4, 0.6, 0.4, GemmVerdict::undecided},
                          {0.5, 0.4, 0.6, 0.399, GemmVerdict::fail},
                          // The interval lies beside the estimate: both have to agree.
                          {0.5, 0.55, 0.6, 0.52, GemmVerdict::undecided},
                          {0.7, 0.4, 0.6, 0.65, GemmVerdict::undecided},
                          {0.7, 0.4, 0.6, 0.7, GemmVerdict::pass}}) {
    GemmAudit audit;
    audit.limit = one.limit;
    GemmAuditRow& row = audit.rows_of.emplace_back();
    row.errors.compared = row.errors.elements = 4;
    row.errors.total = one.total;
    if (one.low != one.high) row.errors.interval = Interval{one.low, one.high};
    judge(audit);
    EXPECT_EQ(audit.rows_of[0].verdict, one.verdict)
        << one.total << " in [" << one.low << ", " << one.high << "], limit " << one.limit;
    EXPECT_EQ(audit.passes(), one.verdict == GemmVerdict::pass);
    audit.rows_of[0].errors.overflow = 1;
    judge(audit);
    EXPECT_EQ(audit.rows_of[0].verdict, GemmVerdict::fail);
    audit.limit.reset();
    judge(audit);
    EXPECT_EQ(audit.rows_of[0].verdict, GemmVerdict::not_asked);
  }
}

TEST(GemmAudit, OneCombinationThatCannotBeJudgedDoesNotPass) {
  GemmAudit audit;
  for (const double total : {0.1, 0.2}) {
    GemmAuditRow& row = audit.rows_of.emplace_back();
    row.errors.compared = row.errors.elements = 4;
    row.errors.total = total;
  }
  for (const std::optional<double>& limit : {std::optional<double>{}, {0.5}}) {
    audit.limit = limit;
    audit.rows_of[1].errors.zero_product = false;
    judge(audit);
    EXPECT_EQ(exit_code(report_of(audit)), 0);
    audit.rows_of[1].errors.zero_product = true;  // as of the part of D that is computed for a slow datapath
    judge(audit);
    EXPECT_EQ(exit_code(report_of(audit)), 1);
    EXPECT_EQ(report_of(audit).headline.find("Not all that was asked for is judged: 1 of 2 combinations"), 0U)
        << report_of(audit).headline;
  }
}

TEST(GemmAudit, OfNoCombinationDoesNotPass) {
  GemmAudit audit;
  audit.limit = 1;
  EXPECT_FALSE(audit.passes());
}

GemmAuditRow judged_row(std::string dtype, std::string scaling, std::string accumulation, double total) {
  GemmAuditRow row;
  row.dtype = std::move(dtype), row.scaling = std::move(scaling), row.accumulation = std::move(accumulation);
  row.errors.compared = row.errors.elements = 1;
  row.errors.total = row.errors.quantization = total;
  return row;
}

TEST(GemmAudit, AdviceIsTheRowWithTheFewestChanges) {
  GemmAudit audit;
  audit.limit = 0.1;
  audit.rows_of = {judged_row("e4m3", "none", "plain", 1), judged_row("bf16", "none", "plain", 0.01),
                   judged_row("e4m3", "row", "promote:128", 0.01)};
  judge(audit);
  // Scaling and accumulation together are less of a change than another type.
  EXPECT_EQ(audit.rows_of[0].advice, "passes here: --scale row --policy promote:128");
  audit.rows_of.push_back(judged_row("e4m3", "row", "plain", 0.01));
  judge(audit);
  EXPECT_EQ(audit.rows_of[0].advice, "passes here: --scale row");
  audit.rows_of.push_back(judged_row("e4m3", "none", "promote:128", 0.01));
  judge(audit);
  EXPECT_EQ(audit.rows_of[0].advice, "passes here: --policy promote:128");
  for (GemmAuditRow& row : audit.rows_of) row.architecture = "another";
  audit.rows_of[0].architecture = "";
  judge(audit);
  EXPECT_EQ(audit.rows_of[0].advice, "--scale tensor");
}

TEST(GemmAudit, ReasonsByHand) {
  GemmAudit audit;
  audit.limit = 0.01;
  audit.rows_of = {judged_row("e4m3", "none", "plain", 0.5)};
  GemmAuditRow& row = audit.rows_of[0];
  const auto why = [&] {
    judge(audit);
    return row.why;
  };
  row.cast_a.elements = 10000, row.cast_b.elements = 1000;
  EXPECT_EQ(why(), "quantization, 5.0e-01");
  row.cast_b.underflow = 20;
  EXPECT_EQ(why(), "quantization, 5.0e-01: 2% become zero");
  row.cast_a.saturated = 20;  // fewer, and larger numbers
  EXPECT_EQ(why(), "quantization, 5.0e-01: 0.2% saturate");
  row.cast_a.saturated = 5;
  EXPECT_EQ(why(), "quantization, 5.0e-01: 2% become zero");
  row.errors.accumulation = 0.6, row.errors.output = 0.55;
  EXPECT_EQ(why(), "accumulation, 6.0e-01");
  row.errors.output = 0.7, row.output = Format::bf16;
  EXPECT_EQ(why(), "rounding of D to bf16, 7.0e-01");
}

TEST(GemmAudit, TheWiderSideOfTheIntervalIsShown) {
  GemmAudit audit;
  audit.rows_of = {judged_row("e4m3", "none", "plain", 0.5)};
  audit.rows_of[0].errors.interval = Interval{0.3, 0.55};
  judge(audit);
  EXPECT_NE(to_console(audit).find(" 40%"), std::string::npos) << to_console(audit);
  audit.rows_of[0].errors.interval = Interval{0.45, 0.65};
  EXPECT_NE(to_console(audit).find(" 30%"), std::string::npos) << to_console(audit);
}

TEST(GemmAudit, NothingFiniteIsNotJudged) {
  Fixture fixture;
  std::fill(fixture.a.begin(), fixture.a.end(), std::numeric_limits<double>::quiet_NaN());
  const GemmAudit audit = audit_gemm(fixture.request);
  EXPECT_EQ(audit.count(GemmVerdict::not_judged), 2);
  EXPECT_FALSE(audit.passes());
  EXPECT_NE(to_console(audit).find("judged."), std::string::npos) << to_console(audit);
  const auto row = nlohmann::json::parse(to_json(audit)).at("rows").at(0);
  EXPECT_TRUE(row.at("bias").is_null());
  EXPECT_EQ(row.at("verdict"), "NOT JUDGED");
}

TEST(GemmAudit, EmptyIsNotJudged) {
  GemmAuditRequest request = Fixture().request;
  const std::vector<double> b(15, 1.0);
  request.operands = {0, 5, 3, {}, b, {}, 0, 0};
  request.whole_m = 0;
  request.whole_n = 5;
  const GemmAudit audit = audit_gemm(request);
  EXPECT_EQ(audit.count(GemmVerdict::not_judged), 2);
  EXPECT_NE(to_console(audit).find("there is no element"), std::string::npos);
}

TEST(Sample, IsSortedDistinctAndRepeatable) {
  const std::vector<std::uint64_t> x = sampled(50, 1000, 3);
  EXPECT_EQ(x.size(), 50U);
  for (std::size_t i = 1; i < x.size(); ++i) EXPECT_LT(x[i - 1], x[i]);
  EXPECT_EQ(x, sampled(50, 1000, 3));
  EXPECT_NE(x, sampled(50, 1000, 4));
  EXPECT_EQ(sampled(9, 4, 1), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  EXPECT_EQ(sampled(3, 5, 1).size(), 3U);
  EXPECT_EQ(sampled(2, std::uint64_t{1} << 60, 1).size(), 2U);  // holds no list of all
  const SampleSize size = sample_size(4096, 4096, 4096, 1 << 16, 1 << 28);
  EXPECT_EQ(size.rows * size.columns, std::uint64_t{1} << 16);
  EXPECT_EQ(sample_size(2, 100000, 16, 1 << 16, 1 << 28).columns, 32768U);
  EXPECT_EQ(sample_size(0, 5, 3, 100, 100).rows, 0U);
  const SampleSize small = sample_size(2, 50, 16, 1 << 16, 1 << 28);
  EXPECT_EQ(small.rows, 2U);
  EXPECT_EQ(small.columns, 50U);
  EXPECT_EQ(sample_size(50, 2, 16, 1 << 16, 1 << 28).rows, 50U);
  // A limit of multiply-adds counts the depth.
  const SampleSize deep = sample_size(4096, 4096, 1 << 20, 1 << 16, 1 << 28);
  EXPECT_EQ(deep.rows * deep.columns, 256U);
}

}  // namespace
}  // namespace mmaudit::report
