// What is said, drawn and printed of an audit of a product.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <utility>

#include "gemm/audit_tables.hpp"
#include "gemm/stages.hpp"
#include "gemm_fixture.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/report/gemm_study.hpp"
#include "render_result.hpp"

namespace mmaudit::report {
namespace {

TEST(GemmAudit, WritersKeepHostileNamesInTheirPlace) {
  GemmAudit audit = audit_gemm(Fixture().request);
  const std::string hostile = "<script>alert(\"x\")</script>&|`\x1b[2J\n,\"";
  audit.tensors = {{"A", hostile, hostile, {1, 2}, 2, 0, 0, 0, 1, 1}};
  for (GemmAuditRow& row : audit.rows_of)
    row.architecture = row.why = hostile, row.verdict = GemmVerdict::fail;
  EXPECT_EQ(to_markdown(audit).find("<script"), std::string::npos);
  EXPECT_EQ(rendered(report_of(audit), "junit").find("<script"), std::string::npos);
  const std::string html = to_html(audit);
  EXPECT_EQ(html.find("<script>"), html.rfind("<script"));
  EXPECT_EQ(html.find("alert(\"x\")"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
  EXPECT_EQ(to_console(audit).find("\x1b[2J"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(to_json(audit)).at("schema"), "mmaudit.audit.gemm/1");
  EXPECT_NE(rendered(report_of(audit), "csv").find("alert(\"\"x\"\")"), std::string::npos);
}

TEST(GemmAudit, TheWorstElementIsExplained) {
  Fixture fixture;
  const std::vector<std::uint64_t> rows = {3, 8, 9, 20, 21, 22, 23, 24, 25, 26, 27, 900};
  fixture.request.rows = rows;
  fixture.request.combinations = {
      combination("e4m3", scalings::tensor, "plain"), combination("e4m3", scalings::blocks, "promote:128"),
      combination("e4m3", scalings::row, "promote:32"), combination("e5m2", scalings::none, "split-k:4")};
  const GemmAudit audit = audit_gemm(fixture.request);
  ASSERT_EQ(audit.rows_of.size(), 4U);
  for (const GemmAuditRow& row : audit.rows_of) {
    ASSERT_TRUE(row.worst);
    const WorstElement& worst = *row.worst;
    EXPECT_NE(std::find(rows.begin(), rows.end(), worst.row), rows.end());
    EXPECT_EQ(row.errors.worst_row, worst.row);
    EXPECT_EQ(worst.exact, row.errors.worst_exact);
    EXPECT_EQ(worst.result, row.errors.worst_result);
    EXPECT_EQ(worst.terms.size(), 8U);
    const auto change = [](const WorstTerm& x) {
      return std::fabs(x.converted_a * x.converted_b - x.a * x.b);
    };
    EXPECT_GE(change(worst.terms[0]), change(worst.terms[7]));
    EXPECT_GT(change(worst.terms[7]), 0);
    if (row.accumulation == "split-k:4") {
      EXPECT_TRUE(worst.steps.empty());
      continue;
    }
    // The element alone, one cut of K after another, ends where the whole product does.
    ASSERT_FALSE(worst.steps.empty());
    EXPECT_EQ(worst.steps.back().k, 256U);
    EXPECT_EQ(worst.steps.back().sum, worst.accumulator);
    EXPECT_NEAR(worst.steps.back().converted, worst.converted, 1e-12 * worst.magnitudes);
  }
}

TEST(GemmAudit, SaysFirstWhatToUse) {
  Fixture fixture;
  GemmAudit audit = audit_gemm(fixture.request);
  const std::string text = to_console(audit);
  EXPECT_EQ(text.find("Use bf16 with plain sums (error 2."), 0U) << text;
  EXPECT_NE(
      text.find("limit 0.01); e4m3 fails on quantization.\nLeast error of types that never pass: e4m3 3."),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("1 of 2 combinations stay within"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(to_json(audit));
  EXPECT_EQ(json.at("use").at(0).at("dtype"), "bf16");
  EXPECT_EQ(json.at("bf16_total"), audit.rows_of[1].errors.total);
  audit.rows_of[0].verdict = GemmVerdict::pass;  // fewer bits go before fewer errors
  EXPECT_EQ(to_console(audit).find("Use e4m3 with scale tensor"), 0U);
  audit.rows_of[1].verdict = audit.rows_of[0].verdict = GemmVerdict::fail;
  EXPECT_EQ(to_console(audit).find("Nothing passes. bf16 with plain sums comes nearest"), 0U);
  audit.limit.reset();
  for (GemmAuditRow& row : audit.rows_of) row.verdict = GemmVerdict::not_asked;
  EXPECT_NE(to_console(audit).find("Least error of every type: e4m3 3."), std::string::npos)
      << to_console(audit);
  const auto first = [&] { return nlohmann::json::parse(to_json(audit)).at("headline").get<std::string>(); };
  EXPECT_EQ(first().find("Use e4m3 with scale tensor and plain sums where a relative error of 3."), 0U)
      << first();
  EXPECT_NE(first().find(" is allowed, bf16 with plain sums for 2."), std::string::npos) << first();
  audit.rows_of[0].errors.total = audit.rows_of[1].errors.total;  // the wider type gains nothing
  EXPECT_EQ(first().find("bf16 with plain sums for"), std::string::npos) << first();
  for (GemmAuditRow& row : audit.rows_of) row.errors.overflow = 1;
  EXPECT_EQ(
      first().find("Every combination overflows or leaves rows or columns of D without a number; no limit"),
      0U)
      << first();
}

TEST(GemmAudit, ErrorsThatReadAlikeHaveOneColourUnlessALimitIsBetween) {
  const HeatScale reference{3.0298e-3, false}, limit{3.0298e-3, true};
  EXPECT_EQ(reference.colour_of(3.0296e-3), 3);
  EXPECT_EQ(reference.colour_of(3.0302e-3), 3) << "both are printed as 3.03e-03";
  EXPECT_EQ(reference.colour_of(3.04e-3), 4);
  EXPECT_EQ(limit.colour_of(3.0296e-3), 3);
  EXPECT_EQ(limit.colour_of(3.0302e-3), 4) << "beyond the limit";
  EXPECT_EQ(limit.colour_of(6.0510e-3), limit.colour_of(6.0548e-3));
  EXPECT_EQ(limit.colour_of(0), 0);
  EXPECT_EQ(limit.colour_of(std::numeric_limits<double>::infinity()), 7);
}

TEST(GemmAudit, EveryCauseIsSaidOnce) {
  Fixture fixture;
  fixture.request.combinations.clear();
  for (const char* dtype : {"e4m3", "e5m2", "bf16"})
    for (const Scaling& scaling : {scalings::none, scalings::tensor, scalings::row})
      for (const char* policy : {"plain", "promote:128"})
        fixture.request.combinations.push_back(combination(dtype, scaling, policy));
  const std::string text = to_console(audit_gemm(fixture.request));
  EXPECT_NE(text.find("e4m3 none, tensor, row; e5m2 none, tensor, row: FAIL (quantization, total 3."),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("FAIL ("), text.rfind("FAIL (")) << text;
}

TEST(GemmAudit, AChannelThatStandsOutIsNamed) {
  Fixture fixture;
  for (std::size_t i = 0; i < 12; ++i) fixture.a[i * 256 + 77] *= 200;
  fixture.request.operands = {12, 20, 256, fixture.a, fixture.b, {}, 0, 0};
  const GemmAudit audit = audit_gemm(fixture.request);
  const ChannelStudy& study = audit.rows_of[0].channels;
  EXPECT_EQ(study.wide, std::vector<std::uint64_t>{77});
  EXPECT_GT(study.wide_share, 0.9);
  double all = 0;
  for (const ChannelShare& one : study.channels) all += one.share;
  EXPECT_LE(all, 1 + 1e-12);
  EXPECT_EQ(study.channels[0].k, 77U);
  ASSERT_TRUE(study.kept);
  EXPECT_LT(*study.kept, 0.5 * audit.rows_of[0].errors.quantization);
  const std::string headline = nlohmann::json::parse(to_json(audit)).at("headline");
  EXPECT_NE(headline.find("; e4m3 fails on channel 77."), std::string::npos) << headline;
  fixture.request.limit = 0.9 * *study.kept;
  const std::string strict = nlohmann::json::parse(to_json(audit_gemm(fixture.request))).at("headline");
  EXPECT_NE(strict.find("e4m3 fails on quantization"), std::string::npos) << strict;
  EXPECT_TRUE(audit.rows_of[1].channels.wide.empty()) << "BF16 is as wide as what it would be kept in";
  const Fixture plain;
  const GemmAudit none = audit_gemm(plain.request);
  EXPECT_TRUE(none.rows_of[0].channels.wide.empty());
  EXPECT_EQ(none.rows_of[0].channels.channels.size(), 8U);
}

TEST(GemmAudit, SharesAddUpToTheErrorOfOneElement) {
  // One k at a time is one product: its square is the whole error of a K of 1.
  Fixture fixture;
  fixture.request.operands = {12, 20, 1, std::span(fixture.a).first(12), std::span(fixture.b).first(20),
                              {}, 0,  0};
  const GemmAudit audit = audit_gemm(fixture.request);
  EXPECT_EQ(audit.rows_of[0].channels.channels.at(0).share, 1);
}

TEST(GemmAudit, TheMapShowsWhereTheErrorIs) {
  Fixture fixture;
  // Row 5; beside it the other rows become zero.
  for (std::size_t k = 0; k < 256; ++k) fixture.a[1280 + k] *= 1e7;
  fixture.request.operands = {12, 20, 256, fixture.a, fixture.b, {}, 0, 0};
  const GemmAudit audit = audit_gemm(fixture.request);
  const ErrorMap& map = audit.rows_of[0].map;
  ASSERT_EQ(map.rows.size(), 12U);
  ASSERT_EQ(map.columns.size(), 16U);
  for (std::size_t row = 0; row < 12; ++row)
    for (std::size_t column = 0; column < 16; ++column)
      EXPECT_EQ(map.errors[row * 16 + column] == 1.0, row != 5) << row << " " << column;
  double weighted = 0;
  for (const auto& error : map.errors) weighted = std::max(weighted, *error);
  EXPECT_GT(weighted, audit.rows_of[0].errors.total) << "a band alone is worse than the whole";
}

TEST(GemmAudit, TheMatrixHasEveryCombinationAndGreysTheRest) {
  Fixture fixture;
  fixture.request.combinations.push_back(combination("bf16", scalings::none, "half"));
  const std::string html = to_html(audit_gemm(fixture.request));
  EXPECT_NE(html.find("class=\"n absent\" title=\"hopper has no instruction for bf16 with"),
            std::string::npos);
  EXPECT_EQ(html.find("title=\"no instruction scales blocks of f16\""), std::string::npos) << "no GPU has it";
  EXPECT_NE(html.find("class=\"n h5\" title=\"e4m3 tensor plain: 3."), std::string::npos)
      << "2 to 4 times the limit";
  EXPECT_NE(html.find("class=\"n h2\" title=\"bf16 none plain: 2."), std::string::npos)
      << "a quarter to half of it";
}

TEST(GemmAudit, OperandsOfTwoTypes) {
  EXPECT_EQ(find_gemm_dtype("e4m3", "e5m2")->name, "e4m3-e5m2");
  EXPECT_EQ(find_gemm_dtype("mxf8-e5m2", "mxf8")->name, "mxf8-e5m2-e4m3");
  EXPECT_EQ(find_gemm_dtype("bf16", "bf16")->name, "bf16");
  EXPECT_EQ(find_gemm_dtype("e4m3", "bf16"), nullptr);
  EXPECT_EQ(find_gemm_dtype("e4m3", "mxf8-e5m2"), nullptr);
  EXPECT_EQ(find_gemm_dtype("e4m3", ""), nullptr);
  Fixture fixture;
  fixture.request.combinations = {
      combination("e4m3", scalings::tensor, "plain"), combination("e4m3-e5m2", scalings::tensor, "plain"),
      combination("e5m2-e4m3", scalings::tensor, "plain"), combination("e5m2", scalings::tensor, "plain")};
  const GemmAudit audit = audit_gemm(fixture.request);
  ASSERT_EQ(audit.rows_of.size(), 4U);
  const auto& rows = audit.rows_of;
  EXPECT_NE(rows[1].instruction.find("e4m3.e5m2"), std::string::npos);
  EXPECT_NE(rows[2].instruction.find("e5m2.e4m3"), std::string::npos);
  // Each operand loses what it loses beside one of its own type.
  EXPECT_EQ(rows[1].cast_a.bits_lost, rows[0].cast_a.bits_lost);
  EXPECT_EQ(rows[1].cast_b.bits_lost, rows[3].cast_b.bits_lost);
  EXPECT_EQ(rows[2].cast_a.bits_lost, rows[3].cast_a.bits_lost);
  EXPECT_EQ(rows[2].cast_b.bits_lost, rows[0].cast_b.bits_lost);
  for (const GemmAuditRow& row : {rows[1], rows[2]}) {
    EXPECT_GT(row.errors.quantization, rows[0].errors.quantization);
    EXPECT_LT(row.errors.quantization, rows[3].errors.quantization);
    EXPECT_LE(row.errors.of_bound, 1);
  }
}

TEST(GemmAudit, BitsLostAreThoseOfTheFormat) {
  Fixture fixture;
  const GemmAudit audit = audit_gemm(fixture.request);
  const CastCounts& e4m3 = audit.rows_of[0].cast_a;
  const CastCounts& bf16 = audit.rows_of[1].cast_a;
  const auto past = [](const CastCounts& counts, std::size_t bits) {
    return std::accumulate(counts.bits_lost.begin() + static_cast<std::ptrdiff_t>(bits),
                           counts.bits_lost.end(), std::uint64_t{0});
  };
  EXPECT_EQ(past(e4m3, 0), 12U * 256U);
  EXPECT_EQ(past(bf16, 17), 0U);  // half an ulp of 8 bits is 2^-9 of the number or less
  EXPECT_GT(past(bf16, 14), 0U);
  EXPECT_GT(past(e4m3, 20), 0U);
  EXPECT_EQ(past(e4m3, 24), e4m3.underflow);
}

TEST(GemmAudit, FindingsSayWhatIsWrong) {
  GemmAudit audit = audit_gemm(Fixture().request);
  EXPECT_EQ(to_html(audit).find("What is wrong"), std::string::npos);
  audit.tensors = {{"A", "x", "F32", {12, 256}, 3072, 3072, 0, 0, 0, 0},
                   {"B", "y", "F32", {256, 20}, 5120, 0, 7, 5113, 0, 0},
                   {"C", "z", "F32", {0, 20}, 0, 0, 0, 0, 0, 0}};
  for (const std::string& text : {to_html(audit), to_console(audit), to_markdown(audit)})
    for (const char* found :
         {"Every element of A is NaN", "7 of 5,120 elements of B are infinite", "C is empty"})
      EXPECT_NE(text.find(found), std::string::npos) << found;
}

TEST(GemmAudit, APageOfManyRowsIsShort) {
  GemmAudit audit = audit_gemm(Fixture().request);
  audit.rows_of[0].worst.reset();
  audit.rows_of.resize(30000, audit.rows_of[0]);
  audit.remarks.resize(1000000, "again");
  const std::string html = to_html(audit);
  EXPECT_LT(html.size(), 4000000U);
  EXPECT_NE(html.find("2,000 of 30,000 rows"), std::string::npos);
}

TEST(GemmAudit, FitsATerminal) {
  Fixture fixture;
  fixture.request.whole_m = 4096;
  std::istringstream lines(to_console(audit_gemm(fixture.request)));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110U) << line;
}

}  // namespace
}  // namespace mmaudit::report
