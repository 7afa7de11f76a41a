// mmaudit sweep without a GPU: what it lists, refuses and compares.
#include <fstream>
#include <iterator>
#include <sstream>

#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/device/runner.hpp"
#include "program.hpp"
#include "sweeps/compare.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::cli::test {
namespace {

class Sweep : public Folder {
 protected:
  /// A sweep of one point that took so many cycles.
  std::string save(const std::string& name, double cycles) {
    sweeps::SweepResult result;
    result.provenance.gpu = "NVIDIA H200";
    result.provenance.compute_capability = 90;
    sweeps::Point point;
    point.subject = "ldmatrix.x4";
    point.axes = {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}};
    point.summaries = {{sweeps::tag::kCycles, cycles}, {sweeps::tag::kCyclesNoise, 0.001}};
    result.points = {point};
    corpus::write_file_atomically(path(name), std::string_view(sweeps::to_json(result)));
    return path(name);
  }

  static void refused(const Outcome& outcome, const std::string& part) {
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
};

TEST_F(Sweep, ListsSubjectsAndAxes) {
  const Outcome outcome = run({"sweep", "--list"});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  for (const char* part : {"wgmma.m64nNk16.f32.f16.f16", "ld.shared.v4.u32", "ways", "usual [1:6:1]"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part;
}

TEST_F(Sweep, RefusesInOneLine) {
  refused(run({"sweep", "-a", "warps=99"}), "allowed: 1 to 32");
  refused(run({"sweep", "-a", "colour=red"}), "allowed: NAME=VALUES");
  refused(run({"sweep", "--inst", "hmma"}), "--inst");
  const std::string good = save("good.json", 29);
  refused(run({"sweep", "compare", good, path("none.json")}), "cannot read");
  corpus::write_file_atomically(path("bad.json"), std::string_view("{\"meta\": 1}"));
  refused(run({"sweep", "compare", path("bad.json"), good}), "allowed: a result of `mmaudit sweep`");
}

TEST_F(Sweep, SaysSoWithoutAGpu) {
  if (!device::devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  const Outcome outcome = run({"sweep", "--out", path("out")});
  EXPECT_EQ(outcome.code, kEnvironment);
  EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
  EXPECT_EQ(files(), 0U) << "a folder was made for nothing";
}

TEST_F(Sweep, CompareFailsOnARegressionOnly) {
  const std::string before = save("before.json", 29), slower = save("slower.json", 31);
  EXPECT_EQ(run({"sweep", "compare", before, before}).code, kAllGood);
  EXPECT_EQ(run({"sweep", "compare", slower, before}).code, kAllGood);
  const Outcome outcome = run({"sweep", "compare", before, slower});
  EXPECT_EQ(outcome.code, kMismatch);
  EXPECT_NE(outcome.out.find("SLOW"), std::string::npos) << outcome.out;
}

TEST_F(Sweep, CompareSaysHowMuchOfTheOldItSaw) {
  sweeps::SweepResult old;
  for (int i = 0; i < 20; ++i) {
    sweeps::Point& point = old.points.emplace_back();
    point.subject = "ldmatrix.x4";
    point.axes = {{"scope", "sm"}, {"warps", std::to_string(i + 1)}, {"ilp", "1"}};
    point.summaries = {{sweeps::tag::kCycles, 29}, {sweeps::tag::kCyclesNoise, 0.001}};
  }
  sweeps::SweepResult part = old;
  part.points.resize(18);
  EXPECT_EQ(report_of(sweeps::compare(old, part)).tone, report::Tone::good);
  part.points.resize(17);
  const sweeps::Compared compared = sweeps::compare(old, part);
  EXPECT_EQ(report_of(compared).tone, report::Tone::bad);
  EXPECT_NE(report_of(compared).headline.find("17 of 20 points of OLD (85.0%, at least 90% are needed)"),
            std::string::npos)
      << report_of(compared).headline;
  EXPECT_EQ(report_of(compared, 0.85).tone, report::Tone::good);
  EXPECT_EQ(report_of(sweeps::compare(part, old)).tone, report::Tone::good) << "the new one may have more";
  old.points.clear();
  EXPECT_EQ(report_of(sweeps::compare(old, old), 0).tone, report::Tone::bad) << "nothing was compared";
}

TEST_F(Sweep, GateOfAnotherProgramIsRefused) {
  const std::string sweep = save("sweep.json", 29);
  for (const auto& [target, why] :
       {std::pair{"sm_90a", "other.sass: found no code of a measured point of"},
        {"sm_80", "other.sass: found no timed kernel for NVIDIA H200, allowed: "}}) {
    corpus::write_file_atomically(
        path("other.sass"),
        "\tcode for " + std::string(target) +
            "\n\t\tFunction : "
            "_ZN7mmaudit6sweeps5timedINS0_3MmaINS0_27Mma_m16n8k8_f32_f16_f16_f32EEELi1ELi16EEEvNS0_"
            "9TimedArgsE\n        /*0000*/                   CS2R R2, SR_CLOCKLO ;\n"
            "        /*0010*/                   CS2R R4, SR_CLOCKLO ;\n");
    refused(run({"sweep", "gate", sweep, path("other.sass"), "--out", path("gated")}), why);
  }
  EXPECT_EQ(files(), 2U);
}

TEST_F(Sweep, ReportPutsErrorsBesideRatesAndWritesAPage) {
  sweeps::SweepResult result;
  result.provenance.compute_capability = 90;
  const auto add = [&](const std::string& subject, std::vector<std::pair<std::string, std::string>> axes,
                       const std::string& tag, double value) {
    sweeps::Point point;
    point.subject = subject;
    point.axes = std::move(axes);
    point.summaries = {{tag, value}};
    result.points.push_back(point);
  };
  for (const char* ilp : {"1", "2"})
    add("mma.m16n8k16.f32.f16.f16.f32", {{"scope", "sm"}, {"init", "zero"}, {"warps", "4"}, {"ilp", ilp}},
        sweeps::tag::kFma, 341);
  for (const auto& [n, flops] :
       {std::pair{"64", 5e14}, {"256", 7.5e14}, {"128", 6e14}})  // the fastest counts
    add("wgmma.m64nNk16.f32.bf16.bf16", {{"scope", "gpu"}, {"init", "random"}, {"n", n}}, sweeps::tag::kFlops,
        flops);
  add("wgmma.m64nNk32.f32.e4m3.e4m3+promote", {{"scope", "gpu"}, {"init", "random"}, {"promote", "128"}},
      sweeps::tag::kFlops, 1.25e15);
  corpus::write_file_atomically(path("sweep.json"), std::string_view(sweeps::to_json(result)));
  const Outcome outcome = run({"sweep", "report", path("sweep.json"), "--html", path("sweep.html")});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  std::istringstream rows(outcome.out);
  int found = 0;
  for (std::string row; std::getline(rows, row);) {
    found += row.starts_with("  BF16") && row.find(" 750.0 ") != std::string::npos ? 1 : 0;
    found +=
        row.find("promote:128") != std::string::npos && row.find(" 1250.0 ") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(found, 2) << outcome.out;
  std::ifstream page(path("sweep.html"));
  const std::string html((std::istreambuf_iterator<char>(page)), {});
  for (const char* part :
       {"<!DOCTYPE html>", "class=\"heat\"", "relative error of the sum against speed", "FMA/clk/SM"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_EQ(html.find("<script"), html.rfind("<script"));  // the one that sorts tables
  EXPECT_EQ(html.find("http:"), std::string::npos);
}

TEST_F(Sweep, ReportTakesCeilingsOfOtherSweepsOfTheSameGpu) {
  const auto save_rate = [&](const std::string& name, const std::string& gpu, const std::string& subject,
                             std::pair<std::string, std::string> axis, const std::string& tag, double value) {
    sweeps::SweepResult result;
    result.provenance.gpu = gpu;
    result.points = {
        {.subject = subject, .axes = {{"scope", "gpu"}, std::move(axis)}, .summaries = {{tag, value}}}};
    corpus::write_file_atomically(path(name), std::string_view(sweeps::to_json(result)));
    return path(name);
  };
  const std::string memory = save_rate("memory.json", "X", "stream.ld.v4.u32", {"level", "memory"},
                                       sweeps::tag::kBytesPerSecond, 4e12),
                    tf32 = save_rate("tf32.json", "X", "wgmma.m64nNk8.f32.tf32.tf32", {"n", "256"},
                                     sweeps::tag::kFlops, 4e14),
                    s8 = save_rate("s8.json", "X", "wgmma.m64nNk32.s32.s8.s8", {"n", "256"},
                                   sweeps::tag::kFlops, 16e14),
                    other = save_rate("other.json", "Y", "wgmma.m64nNk32.s32.s8.s8", {"n", "256"},
                                      sweeps::tag::kFlops, 16e14);
  const Outcome outcome = run({"sweep", "report", memory, "--ceilings", tf32, "--ceilings", s8, "--html",
                               path("page.html"), "--md", path("page.md")});
  EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
  const auto text_in = [](const std::string& file) {
    std::ifstream stream(file);
    return std::string((std::istreambuf_iterator<char>(stream)), {});
  };
  const std::string markdown = text_in(path("page.md")), html = text_in(path("page.html"));
  EXPECT_NE(markdown.find("| tf32 | 400.0 | 100 | - |"), std::string::npos) << markdown;
  EXPECT_NE(markdown.find("| s8 | 1600.0 | 400 | - |"), std::string::npos);
  EXPECT_NE(html.find("tf32 meets memory at 100 FLOP per byte"), std::string::npos);
  EXPECT_NE(outcome.out.find("Roofline of each data type"), std::string::npos) << outcome.out;

  const std::size_t before = files();
  const auto report = [&](const std::string& sweep, const std::string& ceilings) {
    return run({"sweep", "report", sweep, "--ceilings", ceilings, "--html", path("none.html")});
  };
  refused(report(memory, other), "other.json: GPU: found Y (0 multiprocessors), allowed: X");
  refused(report(memory, save("cycles.json", 29)), "cycles.json: GPU: found NVIDIA H200 (0 multiprocessors)");
  refused(report(s8, tf32), "--ceilings: found no roofline, allowed: with ");
  refused(report(memory, path("none.json")), "cannot read");
  refused(run({"sweep", "report", memory, "--ceilings", tf32, "--md", tf32}), "found the file of --ceilings");
  EXPECT_EQ(files(), before + 1) << "a page was made for nothing";
}

TEST_F(Sweep, GemmAndCensusWithoutAGpu) {
  refused(run({"sweep", "gemm", "--size", "1000"}),
          "--size: found 1000, allowed: multiples of 256 up to 16384");
  const Outcome outcome = run({"sweep", "census"});
  EXPECT_EQ(outcome.code, kAllGood);
  EXPECT_TRUE(outcome.out.starts_with("target,subject,matrix,verdict"));
  refused(run({"sweep", "census", path("none.sass")}), "cannot read");
}

}  // namespace
}  // namespace mmaudit::cli::test
