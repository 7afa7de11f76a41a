// Reports of other programs: figures as data through JSON, and the C interface that draws them.
#include <gtest/gtest.h>

#include <string>

#include "mmaudit/error.hpp"
#include "mmaudit/mmaudit.h"
#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

constexpr char kHostile[] = "<script>alert(1)</script>\"'&";

Report report_with_figures() {
  Report out{.title = "net", .headline = "Use it", .tone = Tone::good};
  Section section{.title = "Layers", .shown = kOnPage, .layout = Layout::wide};
  section.plots = {
      Curves{"figure-1", "errors", "layer", {"0", "1"}, {{"p", Format::tf32, true, {1e-3, std::nullopt}}}},
      Scatter{"figure-2", "time", "x", "y", {{"a", Format::bf16, false, 2, 0.5}}},
      Levels{.id = "figure-3",
             .title = "types",
             .x_title = "error",
             .names = {"all", "sums"},
             .rows = {{.label = "MXFP8", .remark = "mx", .colour = Format::e4m3, .values = {1e-2, 0.0}}},
             .limit = 0.1}};
  out.sections = {section};
  return out;
}

std::string drawn_by_c(const std::string& json, const char* format, int wanted = MMAUDIT_OK) {
  char* text = nullptr;
  EXPECT_EQ(mmaudit_render_report(json.c_str(), format, &text), wanted) << mmaudit_last_error();
  if (text == nullptr) return mmaudit_last_error();
  std::string out = text;
  mmaudit_free(text);
  return out;
}

std::string with_figure(const std::string& figure) {
  return R"({"schema": "mmaudit.report/1", "title": "t", "sections": [{"title": "s", "figures": [)" + figure +
         "]}]}";
}

TEST(ReportJson, FiguresComeBackAsTheyWere) {
  const Report report = report_with_figures(), again = report_of_json(to_json(report), "report");
  ASSERT_EQ(again.sections.size(), 1U);
  ASSERT_EQ(again.sections[0].plots.size(), 3U);
  EXPECT_EQ(again.sections[0].shown, static_cast<unsigned>(kOnPage));
  EXPECT_EQ(again.sections[0].layout, Layout::wide);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string svg = drawn(report.sections[0].plots[i]);
    EXPECT_EQ(drawn(again.sections[0].plots[i]), svg);
    EXPECT_NE(rendered(report, "html").find(svg), std::string::npos);
  }
  EXPECT_EQ(to_json(again), to_json(report));
}

TEST(ReportJson, RefusesFiguresThatCanNotBeDrawn) {
  const std::pair<const char*, const char*> bad[] = {
      {R"({"kind": "pie"})", "kind: found pie, allowed: curves, scatter, levels"},
      {R"({"kind": "curves", "labels": ["a", "b"], "curves": [{"name": "p", "values": [1]}]})",
       "values: found 1, allowed: 2 numbers"},
      {R"({"kind": "curves", "labels": ["a"], "curves": [{"name": "p", "values": ["x"]}]})",
       "found x, allowed: a number, null"},
      {R"({"kind": "levels", "names": ["a", "b", "c"], "rows": []})", "names: found 3, allowed: one name"},
      {R"({"kind": "scatter", "points": [{"name": "p", "x": 1e-320, "y": 1}]})", "1e-300 to 1e300"},
      {R"({"kind": "scatter", "points": [], "markup": "<svg>"})", "markup"},
      {R"("<svg onload=alert(1)>")", "object"}};
  for (const auto& [figure, line] : bad) {
    try {
      static_cast<void>(report_of_json(with_figure(figure), "report"));
      ADD_FAILURE() << figure;
    } catch (const InputError& refused) {
      EXPECT_NE(std::string(refused.what()).find(line), std::string::npos) << refused.what();
    }
  }
}

TEST(RenderReport, NothingFromOutsideBecomesMarkup) {
  Report report = report_with_figures();
  report.title = report.headline = report.sections[0].title = kHostile;
  for (Figure& plot : report.sections[0].plots)
    std::visit([](auto& one) { one.title = one.x_title = kHostile; }, plot);
  std::get<Curves>(report.sections[0].plots[0]).curves[0].name = kHostile;
  std::get<Curves>(report.sections[0].plots[0]).labels = {kHostile, kHostile};
  std::get<Scatter>(report.sections[0].plots[1]).points[0].name = kHostile;
  std::get<Levels>(report.sections[0].plots[2]).rows[0].label = kHostile;
  std::get<Levels>(report.sections[0].plots[2]).names = {kHostile, kHostile};
  for (const char* format : {"html", "svg"}) {
    const std::string page = drawn_by_c(to_json(report), format);
    EXPECT_EQ(page.find("<script>alert"), std::string::npos) << format;
    EXPECT_NE(page.find("&lt;script&gt;alert"), std::string::npos) << format;
  }
}

TEST(RenderReport, DrawsWhatTheProgramDraws) {
  const Report report = report_with_figures();
  for (const char* format : {"html", "markdown", "text"}) {
    const std::string text = drawn_by_c(to_json(report), format);
    EXPECT_NE(text.find("Use it"), std::string::npos) << format;
  }
  EXPECT_NE(drawn_by_c(to_json(report), nullptr).find("class=\"verdict good\""), std::string::npos);
  EXPECT_EQ(drawn_by_c(to_json(report), "svg").rfind("<svg xmlns=\"http://www.w3.org/2000/svg\"", 0), 0U);
}

TEST(RenderReport, RefusesInOneLine) {
  EXPECT_EQ(drawn_by_c("{", "html", MMAUDIT_BAD_INPUT), "report: found no valid JSON, allowed: a report");
  EXPECT_EQ(drawn_by_c(to_json(Report{.title = "t"}), "svg", MMAUDIT_BAD_INPUT),
            "format: found svg, allowed: a format for a report without figures");
  const std::string line = drawn_by_c(to_json(Report{.title = "t"}), "pdf", MMAUDIT_BAD_INPUT);
  EXPECT_EQ(line.rfind("format: found pdf, allowed: ", 0), 0U) << line;
  EXPECT_NE(line.find("markdown"), std::string::npos) << line;
  char* text = nullptr;
  EXPECT_EQ(mmaudit_render_report(nullptr, "html", &text), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(mmaudit_render_report(to_json(Report{.title = "t"}).c_str(), "html", nullptr), MMAUDIT_BAD_INPUT);
}

TEST(LevelsFigure, OneOrTwoMarksARowAndNothingWithoutANumber) {
  Levels plot{
      .id = "l", .title = "t", .x_title = "x", .names = {"a"}, .rows = {{.label = "r", .values = {0.5}}}};
  EXPECT_NE(levels(plot).find("class=\"mark"), std::string::npos);
  plot.rows[0].values = {std::nullopt};
  EXPECT_EQ(levels(plot), "");
}

}  // namespace
}  // namespace mmaudit::report
