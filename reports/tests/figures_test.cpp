// Figures and pages of data that the caller brings.
#include "mmaudit/report/figures.hpp"

#include <gtest/gtest.h>

#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HeatMapFigure, ACellANumberAndNoneForWhatIsMissing) {
  HeatMap map{"grid", "rate <1>", "chains", "warps", {"1", "2"}, {"4", "8"}, {{10.0, 20.0}, {{}, 40.25}}, 1};
  const std::string svg = heat_map(map);
  EXPECT_EQ(count_of(svg, "<rect class=\"heat\""), 3);
  EXPECT_EQ(count_of(svg, ">40.2<"), 1) << svg;
  EXPECT_EQ(count_of(svg, "fill-opacity=\"0.50\""), 1) << "the largest is darkest";
  EXPECT_EQ(count_of(svg, "rate &lt;1&gt;"), 2);
  map.values = {{{}, {}}, {{}, {}}};
  EXPECT_EQ(heat_map(map), "");
}

TEST(ScatterFigure, PointsAboveZeroWithNumbersInALegend) {
  Scatter plot{"s", "title", "TFLOPS", "error", {}};
  EXPECT_EQ(scatter(plot), "");
  plot.points = {{"slow", Format::tf32, false, 480, 1e-5},
                 {"fast", Format::e4m3, true, 1700, 2e-3},
                 {"none", Format::f16, false, 1, 0}};
  const std::string svg = scatter(plot);
  EXPECT_EQ(count_of(svg, "class=\"mark"), 4) << "two points, two in the legend";
  EXPECT_EQ(count_of(svg, ">1 slow<"), 1);
  EXPECT_EQ(count_of(svg, ">2 fast<"), 1);
  EXPECT_EQ(count_of(svg, "none"), 0);
  EXPECT_EQ(count_of(svg, ">2000<"), 1) << "the axis ends at a round number";
}

TEST(CurvesFigure, OnePathACurve) {
  Curves plot{"c",
              "title",
              "N",
              {"8", "16"},
              {{"one", Format::tf32, false, {20.0, 21.0}}, {"two", Format::bf16, false, {{}, {}}}}};
  const std::string svg = curves(plot);
  EXPECT_EQ(count_of(svg, "<path class=\"curve"), 1);
  plot.curves.erase(plot.curves.begin());
  EXPECT_EQ(curves(plot), "");
}

TEST(CurvesFigure, TheTitleOfAnAxisIsEscaped) {
  const std::string svg =
      curves({"c", "title", "<meta a=\"b\">", {"1", "2"}, {{"one", Format::f16, false, {1.0, 2.0}}}});
  EXPECT_EQ(count_of(svg, "<meta"), 0) << svg;
  EXPECT_EQ(count_of(svg, "&lt;meta"), 1) << svg;
}

TEST(CellMapFigure, APathPerShadeAndNothingForAMissingCell) {
  CellMap map{"m", "t <1>", "line", "SM", "cycles", {{280, 280, 450}, {280, 0, 450}}, {{0, "7"}}, {{2, "2"}}};
  const std::string svg = cell_map(map);
  EXPECT_EQ(count_of(svg, "<path class=\"cell\""), 2) << svg;
  EXPECT_EQ(count_of(svg, "M0 0h1v2h-1zM1 0h1v1h-1z"), 1) << "neighbours below one another are one piece";
  EXPECT_EQ(count_of(svg, "M2 0h1v2h-1z"), 1);
  EXPECT_EQ(count_of(svg, ">450 cycles<"), 1);
  EXPECT_EQ(count_of(svg, "t &lt;1&gt;"), 1);
  map.rows = {{0, 0}};
  EXPECT_EQ(cell_map(map), "");
}

TEST(LevelFigure, ABoxEachWithItsLinesEscaped) {
  const LevelPicture picture{
      "l",
      "levels",
      {{{"near <b>", {"34 cycles"}, {"H800: 32"}}, {"other", {}, {}}}, {{"memory", {"1"}, {}}}}};
  const std::string svg = level_picture(picture);
  EXPECT_EQ(count_of(svg, "<rect class=\"frame\""), 3);
  EXPECT_EQ(count_of(svg, ">near &lt;b&gt;<"), 1) << svg;
  EXPECT_EQ(count_of(svg, ">34 cycles<"), 1);
  EXPECT_EQ(level_picture({}), "");
}

TEST(RooflineFigure, ALinePerSlopeAndRoofAndAMarkPerRidge) {
  Roofline plot{"r", "title", {{"memory", "4.00 TB/s", 4e12}, {"L2 <b>", "8.00 TB/s", 8e12}}, {}};
  EXPECT_EQ(roofline(plot), "") << "no roof";
  plot.roofs = {{"tf32", Format::tf32, 400e12}, {"f16", Format::f16, 800e12}, {"bf16", Format::bf16, 816e12}};
  const std::string svg = roofline(plot);
  EXPECT_EQ(count_of(svg, "<line class=\"total\""), 2);
  EXPECT_EQ(count_of(svg, "<line class=\"curve tf32\""), 2) << "one in the legend";
  EXPECT_EQ(count_of(svg, "class=\"mark tf32\""), 3) << "two ridges and the legend";
  EXPECT_EQ(count_of(svg,
                     "tf32: 400.0 TFLOPS, meets L2 &lt;b&gt; at 50 FLOP per byte, meets memory at 100 "
                     "FLOP per byte."),
            1)
      << svg;
  EXPECT_EQ(count_of(svg, ">bf16, f16<"), 1) << "roofs close together share a label";
  EXPECT_EQ(count_of(svg, ">tf32<"), 2) << "label and legend";
  plot.slopes.clear();
  EXPECT_EQ(roofline(plot), "") << "no slope";
}

/// A slope meets a roof where bytes times FLOP per byte are the roof, in the drawing too.
TEST(RooflineFigure, SlopesEndAtTheHighestRoof) {
  const std::string svg = roofline(
      {"r", "t", {{"memory", "1 TB/s", 1e12}}, {{"f16", Format::f16, 1e14}, {"f64", Format::f64, 1e13}}});
  // x: 10^0 to 10^3, y: 10^12 to 10^15.
  EXPECT_EQ(count_of(svg, "<line class=\"total\" x1=\"48.0\" y1=\"300.0\" x2=\"269.3\" y2=\"108.0\"/>"), 1)
      << svg;
  EXPECT_EQ(count_of(svg, "<line class=\"curve f64\" x1=\"158.7\" y1=\"204.0\" x2=\"380.0\" y2=\"204.0\"/>"),
            1)
      << svg;
}

TEST(HistogramFigure, ABarPerBinAndGroup) {
  const Histogram plot{
      "h", "title", "cycles",
      16,  1000,    {{"near", Format::tf32, {256, 257, 272}}, {"far", Format::bf16, {272, 450, 5000}}}};
  const std::string svg = histogram(plot);
  EXPECT_EQ(count_of(svg, "<rect class=\"bar tf32\""), 2 + 1) << "two bins and the legend";
  EXPECT_EQ(count_of(svg, "<rect class=\"bar bf16\""), 2 + 1) << "what is above the end is not drawn";
  EXPECT_EQ(histogram({}), "");
}

TEST(Page, HoldsWhatIsGivenEscapedAndLoadsNothing) {
  Report report{.title = "A & B", .meta = {"lead"}};
  report.sections = {{.title = "card",
                      .remark = "remark",
                      .figures = {"<svg></svg>"},
                      .tables = {{.title = "", .columns = {"x"}, .rows = {{"<1>"}}}},
                      .folded = true},
                     {.title = "empty card", .tables = {{.title = "", .columns = {"x"}}}}};
  const std::string page = rendered(report, "html");
  for (const char* part : {"<title>A &amp; B</title>", "&lt;1&gt;", "<details>", "default-src 'none'",
                           "<svg></svg>", "<script"})  // the one that sorts tables
    EXPECT_EQ(count_of(page, part), 1) << part;
  for (const char* part : {"empty card", "http:", "https:", "url("})
    EXPECT_EQ(count_of(page, part), 0) << part;
}

}  // namespace
}  // namespace mmaudit::report
