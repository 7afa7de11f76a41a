// FLOP per byte, on rates that are known.
#include "sweeps/roofline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "mmaudit/error.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps::test {
namespace {

Point point(const char* subject, const char* level, const char* tag, double rate, const char* scope = "gpu") {
  return {.subject = subject,
          .axes = {{"scope", scope}, {"init", "zero"}, {"level", level}},
          .summaries = {{tag, rate}, {tag::kClock, 1.7e9}}};
}

SweepResult sweep_of(const char* revision, std::vector<Point> points) {
  SweepResult result;
  result.provenance.gpu = "GPU X";
  result.provenance.compute_capability = 90;
  result.provenance.multiprocessors = 100;
  result.provenance.date = "2026-01-02";
  result.provenance.revision = revision;
  result.points = std::move(points);
  return result;
}

SweepResult memory_sweep() {
  return sweep_of("memory", {point("stream.ld.v4.u32", "memory", tag::kBytesPerSecond, 3e12),
                             point("cp.async.bulk+inflight", "memory", tag::kBytesPerSecond, 4e12),
                             point("cp.async.bulk.global+inflight", "memory", tag::kBytesPerSecond, 9e12),
                             point("stream.ld.v4.u32", "l2", tag::kBytesPerSecond, 8e12),
                             point("stream.ld.v4.u32", "memory", tag::kBytesPerSecond, 9e12, "sm"),
                             point("wgmma.m64nNk16.f32.f16.f16", "", tag::kFlops, 700e12)});
}

SweepResult matrix_sweep() {
  return sweep_of("matrix", {point("wgmma.m64nNk16.f32.f16.f16", "", tag::kFlops, 800e12),
                             point("wgmma.m64nNk16.f16.f16.f16", "", tag::kFlops, 600e12),
                             point("wgmma.sp.m64nNk32.f32.f16.f16", "", tag::kFlops, 1600e12),
                             point("wgmma.m64nNk8.f32.tf32.tf32", "", tag::kFlops, 400e12),
                             point("wgmma.m64nNk32.s32.s8.s8", "", tag::kFlops, 9000e12, "energy"),
                             point("mma.m16n8k16.f64.f64.f64.f64", "", tag::kFlops, 64e12),
                             point("mma.m16n8k64.s32.s4.s4.s32", "", tag::kFlops, 48e12)});
}

/// "type, FLOP/B of memory, FLOP/B of L2, sweep" per row.
std::vector<std::string> rows_of(const report::Table& table) {
  std::vector<std::string> rows;
  for (const auto& row : table.rows)
    rows.push_back(row[0].text + " " + row[1].text + " " + row[2].text + " " + row[3].text + " " +
                   row.back().text);
  return rows;
}

TEST(Roofline, IsTheBestRateOverTheBestRead) {
  EXPECT_EQ(
      report::to_csv(roofline_table(ceilings_of(memory_sweep()))),
      "type of A,TFLOPS,FLOP/B of memory,FLOP/B of L2,MHz held,of peak held,operands,instruction,sweep\r\n"
      "f16,700.0,175,88,1700,-,zero,wgmma.m64nNk16.f32.f16.f16,\"2026-01-02, memory\"\r\n");
  EXPECT_TRUE(roofline_table(ceilings_of(matrix_sweep())).rows.empty()) << "nothing was read";
  SweepResult one = memory_sweep();
  std::erase_if(one.points, [](const Point& of) { return of.axis("level") == "l2"; });
  EXPECT_EQ(roofline_table(ceilings_of(one)).rows.front()[3].text, "-");
}

TEST(Roofline, HasARowPerTypeOfOtherSweepsOfTheGpu) {
  const SweepResult memory = memory_sweep(), matrix = matrix_sweep();
  const report::Table table = roofline_table(ceilings_of(memory, {&matrix, 1}));
  EXPECT_EQ(rows_of(table),
            (std::vector<std::string>{"f16 800.0 200 100 2026-01-02, matrix",
                                      "tf32 400.0 100 50 2026-01-02, matrix",
                                      "f64 64.0 16 8 2026-01-02, matrix", "s4 48.0 12 6 2026-01-02, matrix",
                                      "f16, sparse 1600.0 400 200 2026-01-02, matrix"}));
  EXPECT_EQ(rows_of(roofline_table(ceilings_of(matrix, {&memory, 1}))), rows_of(table))
      << "which file is which does not matter";
  EXPECT_NE(
      table.remark.find("Memory: 4.00 TB/s (cp.async.bulk+inflight, 1700 MHz held, 2026-01-02, memory)"),
      std::string::npos)
      << table.remark;
}

TEST(Roofline, WrongResultsDoNotCount) {
  SweepResult matrix = matrix_sweep();
  matrix.points.front().summaries[tag::kDiffering] = 1;
  const SweepResult memory = memory_sweep();
  EXPECT_EQ(rows_of(roofline_table(ceilings_of(memory, {&matrix, 1}))).front(),
            "f16 700.0 175 88 2026-01-02, memory");
}

TEST(Roofline, AnotherGpuIsRefusedAndAFileWithoutCeilings) {
  const SweepResult memory = memory_sweep();
  const auto why = [&](const SweepResult& other) -> std::string {
    try {
      require_ceilings(memory, other, "file");
      return {};
    } catch (const InputError& error) {
      return error.what();
    }
  };
  SweepResult other = matrix_sweep();
  EXPECT_EQ(why(other), "");
  EXPECT_EQ(why(memory), "") << "reads are ceilings too";
  other.provenance.driver = "another";
  EXPECT_EQ(why(other), "") << "the same GPU on another day";
  other.provenance.gpu = "GPU Y";
  EXPECT_EQ(why(other), "file: GPU: found GPU Y (100 multiprocessors), allowed: GPU X (100 multiprocessors)");
  other = matrix_sweep();
  other.provenance.multiprocessors = 14;
  EXPECT_EQ(why(other), "file: GPU: found GPU X (14 multiprocessors), allowed: GPU X (100 multiprocessors)");
  other = matrix_sweep();
  for (Point& of : other.points) of.set("scope", "sm");
  EXPECT_EQ(why(other),
            "file: found no ceiling, allowed: a sweep with scope=gpu of matrix instructions or of "
            "stream.ld.v4.u32 or cp.async.bulk+inflight");
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Roofline, FigureHasTheDenseTypesWhosePeakIsDocumented) {
  const SweepResult memory = memory_sweep();
  SweepResult matrix = matrix_sweep();
  const auto names = [&] {
    const std::string svg = roofline_figure(ceilings_of(memory, {&matrix, 1}));
    std::string found;
    for (const char* type : {"f16", "tf32", "f64", "s4", "sparse"})
      if (count_of(svg, std::string(">") + type + ": ") > 0) found += std::string(type) + " ";
    return found;
  };
  EXPECT_EQ(names(), "f16 tf32 f64 s4 ") << "where no peak is known all are drawn";
  for (Point& of : matrix.points)
    if (of.subject.find("s4") == std::string::npos) of.summaries[tag::kShareHeld] = 0.99;
  EXPECT_EQ(names(), "f16 tf32 f64 ");
  EXPECT_EQ(roofline_figure(ceilings_of(matrix)), "") << "no slope";
  EXPECT_EQ(roofline_figure(ceilings_of(sweep_of("", {memory.points.front()}))), "") << "no roof";
}

TEST(Roofline, IsASectionOfTheReport) {
  const SweepResult memory = memory_sweep(), matrix = matrix_sweep();
  const auto sections = [](const report::Report& report) {
    return std::count_if(report.sections.begin(), report.sections.end(), [](const report::Section& section) {
      return section.title == "Roofline of each data type" && section.figures.size() == 1 &&
             section.tables.front().rows.size() == 5;
    });
  };
  EXPECT_EQ(sections(report_of(memory, {&matrix, 1})), 1);
  EXPECT_EQ(sections(report_of(memory)), 0);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
