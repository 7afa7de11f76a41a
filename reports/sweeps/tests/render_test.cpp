#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "fake_target.hpp"
#include "mmaudit/error.hpp"
#include "sweeps/compare.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps::test {
namespace {

SweepResult some() {
  FakeTarget target;
  return sweep_of(target, {"mma.m16n8k16.f32.f16", "wgmma.m64nNk16.f32.f16", "ld", "stmatrix"}, true);
}

std::string text_of(const Compared& compared) { return report::rendered(report_of(compared), "text"); }

TEST(Json, RoundTripKeepsEverything) {
  SweepResult before = some();
  before.provenance.version = "1";
  before.provenance.date = "2026-01-01";
  before.provenance.command = {"mmaudit", "sweep"};
  before.interrupted = true;
  before.points.front().summaries[tag::kCycles] = 24.1 + 1e-13;
  const SweepResult after = from_json(to_json(before), "x");
  EXPECT_EQ(after.provenance.gpu, before.provenance.gpu);
  EXPECT_EQ(after.provenance.nominal_hz, before.provenance.nominal_hz);
  EXPECT_EQ(after.provenance.command, before.provenance.command);
  EXPECT_EQ(after.axes, before.axes);
  EXPECT_EQ(after.provenance.date, before.provenance.date);
  EXPECT_TRUE(after.interrupted);
  EXPECT_EQ(after.rule.noise, before.rule.noise);
  // States of one subject stay together and in order.
  ASSERT_EQ(after.points.size(), before.points.size());
  for (const Point& point : before.points) {
    const Point* found = after.find(point.key());
    ASSERT_NE(found, nullptr) << point.key();
    EXPECT_EQ(*found, point);
  }
}

TEST(Json, HasTheLayoutOfNvbench) {
  const auto root = nlohmann::json::parse(to_json(some()));
  EXPECT_EQ(root["meta"]["schema"], kSchema);
  EXPECT_EQ(root["devices"][0]["number_of_sms"], 132);
  const auto& benchmark = root["benchmarks"][0];
  EXPECT_EQ(benchmark["axes"][0]["name"], "scope");
  const auto& state = benchmark["states"][0];
  EXPECT_EQ(state["is_skipped"], false);
  EXPECT_EQ(state["axis_values"].size(), benchmark["axes"].size());
  EXPECT_EQ(state["summaries"][0]["tag"], tag::kCycles);
  EXPECT_TRUE(state["summaries"][0]["data"][0]["value"].is_string());
}

TEST(Json, WhatItDoesNotWriteItRefuses) {
  const std::string good = to_json(some());
  const auto refuses = [](const std::string& text) {
    try {
      from_json(text, "file");
      return false;
    } catch (const InputError& error) {
      return std::string(error.what()).starts_with("file: ");
    }
  };
  const auto replaced = [&](const std::string& what, const std::string& with) {
    std::string text = good;
    text.replace(text.find(what), what.size(), with);
    return text;
  };
  EXPECT_FALSE(refuses(good));
  EXPECT_TRUE(refuses(""));
  EXPECT_TRUE(refuses("{}"));
  EXPECT_TRUE(refuses("[1]"));
  EXPECT_TRUE(refuses(replaced("mmaudit.sweep/1", "mmaudit.sweep/9")));
  EXPECT_TRUE(refuses(replaced("cycles/median", "cycles/modus")));
  EXPECT_TRUE(refuses(replaced("\"devices\"", "\"gadgets\"")));
}

TEST(Json, NumbersThatNoMeasurementHasAreRefused) {
  const auto good = nlohmann::ordered_json::parse(to_json(some()));
  const auto why = [](const nlohmann::ordered_json& root) -> std::string {
    try {
      from_json(root.dump(), "file");
      return {};
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const auto with = [&](const std::string& tag, const std::string& value) {
    auto root = good;
    auto& summaries = root["benchmarks"][0]["states"][0]["summaries"];
    for (auto& summary : summaries)
      if (summary["tag"] == tag) summary["data"][0]["value"] = value;
    return why(root);
  };
  EXPECT_EQ(why(good), "");
  EXPECT_EQ(with(tag::kCyclesNoise, "1"), "");
  EXPECT_EQ(with(tag::kCycles, "nan"),
            "file: cycles/median: found \"nan\", allowed: a number above 0, at most 1e+20");
  for (const char* value : {"inf", "1e308", "-17", "0", "-0.0"})
    for (const char* name : {tag::kCycles, tag::kFma})
      EXPECT_NE(with(name, value).find(std::string(name) + ": found"), std::string::npos) << name << value;
  for (const char* value : {"1e9", "nan", "-0.0"}) EXPECT_NE(with(tag::kCyclesNoise, value), "") << value;
  auto root = good;
  root["benchmarks"][0]["states"][0]["is_skipped"] = true;
  EXPECT_NE(why(root).find("is_skipped: found true"), std::string::npos) << why(root);
  root["benchmarks"][0]["states"][0]["skip_reason"] = "no room";
  EXPECT_NE(why(root).find("is_skipped: found true"), std::string::npos) << why(root);
}

TEST(Text, EveryWriterShowsLatencyAndThePapersNumber) {
  const SweepResult result = some();
  for (const char* format : {"text", "markdown"}) {
    const std::string text = report::rendered(report_of(result), format);
    EXPECT_NE(text.find("mma.m16n8k16.f32.f16.f16.f32"), std::string::npos);
    EXPECT_NE(text.find("24.1 (H800, Luo VIII)"), std::string::npos) << text;
    EXPECT_NE(text.find("128.0 (H800 PCIe, Luo IX)"), std::string::npos);
    EXPECT_NE(text.find("no stores here"), std::string::npos);
  }
}

TEST(Text, AxesThatAreWrittenOtherwiseHaveTheirPlaceInFigures) {
  FakeTarget target;
  SweepResult result = sweep_of(target, {"ldmatrix", "ld.relaxed"}, true);
  for (Point& point : result.points)
    for (auto& [name, value] : point.axes)
      if (name == "warps" || name == "ilp" || name == "kib") value.insert(0, "0");
  EXPECT_NE(report::rendered(report_of(result), "html").find("<svg"), std::string::npos);
}

TEST(Text, CsvHasALineAPointAndAsManyFieldsAsHeadings) {
  SweepResult result = some();
  result.points.back().skipped = "a, b and \"c\"";
  const std::string text = to_csv(result);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), result.points.size() + 1);
  EXPECT_NE(text.find("\"a, b and \"\"c\"\"\""), std::string::npos);
  const std::string head = text.substr(0, text.find('\n'));
  const std::string second = text.substr(head.size() + 1, text.find('\n', head.size() + 1) - head.size() - 1);
  EXPECT_EQ(std::count(head.begin(), head.end(), ','), std::count(second.begin(), second.end(), ','));
}

TEST(Text, SaysWhenTheProgramHadUncommittedChanges) {
  SweepResult result = some();
  result.provenance.revision = "0123456789ab";
  EXPECT_EQ(report_of(result).title, "Speed of Fake");
  result.provenance.revision += "-dirty";
  EXPECT_EQ(report_of(result).title, "Speed of Fake, by a program built from uncommitted changes");
}

TEST(Compare, SameFastSlowAmbiguous) {
  EXPECT_EQ(classify(100, 0.01, 100.9, 0.01, false), Change::same);
  EXPECT_EQ(classify(100, 0.01, 98, 0.01, false), Change::fast);
  EXPECT_EQ(classify(100, 0.01, 102, 0.01, false), Change::slow);
  EXPECT_EQ(classify(100, 0.01, 102, 0.05, false), Change::ambiguous) << "within the noise of one of the two";
  EXPECT_EQ(classify(100, 0.05, 102, 0.01, false), Change::ambiguous);
  EXPECT_EQ(classify(100, 0, 100.4, 0, false), Change::same) << "the least noise counts";
  EXPECT_EQ(classify(100, 0, 101, 0, false), Change::slow);
  EXPECT_EQ(classify(100, 0, 101, 0, true), Change::ambiguous);
  EXPECT_EQ(classify(0, 0, 1, 0, false), Change::ambiguous);
}

TEST(Compare, AThrottledMeasurementOnEitherSideIsAmbiguous) {
  FakeTarget target;
  const SweepResult before = sweep_of(target, {"ldmatrix"}, true);
  target.cycles = [](const Benchmark& benchmark, const Point& point) {
    return 1.1 * usual_cycles(benchmark, point);
  };
  SweepResult after = sweep_of(target, {"ldmatrix"}, true), throttled = before;
  EXPECT_EQ(compare(throttled, after).count(Change::ambiguous), 0);
  for (Point& point : throttled.points) point.summaries[tag::kThrottled] = 1;
  const int all = static_cast<int>(compare(before, after).points.size());
  EXPECT_EQ(compare(throttled, after).count(Change::ambiguous), all);
  EXPECT_EQ(compare(after, throttled).count(Change::ambiguous), all);
}

TEST(Compare, SeesBytesAndOperationsOfTheWholeGpu) {
  for (const char* rate : {tag::kBytesPerSecond, tag::kOperationsPerSecond, tag::kFlops}) {
    SweepResult before;
    before.points.push_back({.subject = "stream.ld.u32",
                             .axes = {{"scope", "gpu"}, {"warps", "32"}, {"level", "l2"}},
                             .summaries = {{rate, 8e12}}});
    SweepResult after = before;
    EXPECT_EQ(compare(before, after).count(Change::same), 1) << rate;
    after.points.front().summaries[rate] = 8e11;
    EXPECT_EQ(compare(before, after).count(Change::slow), 1) << rate;
    after.points.front().summaries.clear();
    EXPECT_EQ(compare(after, after).count(Change::ambiguous), 1) << "nothing to compare";
  }
}

TEST(Compare, FindsTheOnePointThatGotSlower) {
  FakeTarget target;
  const SweepResult before = sweep_of(target, {"ldmatrix"}, true);
  EXPECT_EQ(compare(before, before).count(Change::same), static_cast<int>(before.points.size()));
  target.cycles = [](const Benchmark& benchmark, const Point& point) {
    return usual_cycles(benchmark, point) * (point.key() == "ldmatrix.x2 scope=sm warps=4 ilp=1" ? 1.1 : 1);
  };
  SweepResult after = sweep_of(target, {"ldmatrix"}, true);
  const Compared compared = compare(before, after);
  EXPECT_EQ(compared.count(Change::slow), 1);
  EXPECT_NE(text_of(compared).find("SLOW"), std::string::npos);
  EXPECT_EQ(report::exit_code(report_of(compared)), 1);
  EXPECT_EQ(compare(after, before).count(Change::fast), 1);
  after.points.pop_back();
  EXPECT_EQ(compare(before, after).only_before.size(), 1U);
  EXPECT_EQ(compare(after, before).only_after.size(), 1U);
}

/// Two sweeps with few points in common: named where few are alone, counted per benchmark where many are.
TEST(Compare, ManyPointsThatOneSweepAloneHasAreCounted) {
  FakeTarget target;
  SweepResult before = sweep_of(target, {"ldmatrix"}, true);
  SweepResult after;
  after.points = {before.points.front()};
  const std::string text = text_of(compare(before, after));
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20) << text;
  EXPECT_NE(text.find("  GONE        9  ldmatrix.x2\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" 53 gone, 0"), std::string::npos);
  std::erase_if(before.points, [](const Point& point) { return point.subject != "ldmatrix.x2"; });
  before.points.resize(3);
  EXPECT_NE(text_of(compare(before, {})).find("       1  " + before.points[2].key() + "\n"),
            std::string::npos);
}

/// Each point a group of its own: minutes where a group is looked for among all, or a point for each group.
TEST(Text, ManyGroupsTakeNoTime) {
  SweepResult result;
  result.provenance = FakeTarget().provenance();
  for (int ways = 1; ways <= 30000; ++ways)
    result.points.push_back(
        {.subject = "ld.shared.u32",
         .axes = {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}, {"ways", std::to_string(ways)}},
         .summaries = {{tag::kCycles, 23}, {tag::kBytes, 5}}});
  EXPECT_FALSE(report_of(result).sections.empty());
}

/// Statements are read on a phone too: their cells may have several lines there.
TEST(Text, LongCellsOfAPageHaveSeveralLines) {
  FakeTarget target;
  const std::string page =
      report::rendered(report_of(sweep_of(target, {"ldmatrix", "ld.shared.u32"})), "html");
  EXPECT_NE(page.find("<td class=\"wrap long\">"), std::string::npos);
  EXPECT_NE(page.find("td.long {"), std::string::npos);
}

TEST(Json, MorePointsThanASweepHasAreRefused) {
  SweepResult result;
  result.provenance = FakeTarget().provenance();
  for (int i = 0; i <= 32768; ++i)
    result.points.push_back(
        {.subject = "x" + std::to_string(i), .axes = {}, .summaries = {{tag::kCycles, 1}}});
  try {
    from_json(to_json(result), "f");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "f: benchmarks: found more than 32768 states, allowed: at most so many");
  }
  result.points.pop_back();
  EXPECT_EQ(from_json(to_json(result), "f").points.size(), 32768U);
}

/// A sweep of memory has rates of no matrix instruction: no row, and no section of them.
TEST(Accuracy, HasOnlyRowsWithARate) {
  FakeTarget target;
  const SweepResult memory = sweep_of(target, {"ldmatrix"}, true);
  EXPECT_TRUE(accuracy_rows(memory).empty());
  report::Report report = report_of(memory);
  add_context(report, memory, {}, "", "");
  EXPECT_NE(report.sections.front().title, kAccuracyTitle);
  const SweepResult matrix = sweep_of(target, {"wgmma.m64nNk16.f32.bf16"}, true);
  const std::vector<AccuracyRow> rows = accuracy_rows(matrix);
  ASSERT_FALSE(rows.empty());
  for (const AccuracyRow& row : rows) EXPECT_TRUE(row.flops) << row.title;
}

}  // namespace
}  // namespace mmaudit::sweeps::test
