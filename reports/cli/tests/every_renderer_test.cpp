// Every command draws its report in every format: the commands are those that have a manual page.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "example_inputs.hpp"
#include "mmaudit/report/report.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

using Words = std::vector<std::string>;

struct Example {
  std::string page;  ///< of the manual, without "mmaudit-" and ".1"
  Words arguments;   ///< a run that takes no GPU and a moment
};

constexpr const char* kInstruction = "mma.m16n8k16.f32.f16.f16.f32";
constexpr const char *kSweep = MMAUDIT_TEST_CORPUS "/../../docs/results/h200-sweep/chains.json.zst",
                     *kSass = MMAUDIT_TEST_CORPUS "/../../emulator/timing/tests/data/h200_sweep_loops.sass";

const std::vector<Example>& examples() {
  static const ExampleInputs inputs;
  static const std::string baseline = inputs / "baseline.json", square = inputs / "square.npy";
  static const std::vector<Example> all = {
      {"baseline-record",
       {"baseline", "record", "--on", "model", "--inst", "mma.m8n8k4.f64", "--out", baseline}},
      {"verify-campaign",
       {"verify", "campaign", "--on", "model", "--inst", "mma.m8n8k4.f64", "--dots", "1", "--seed", "1"}},
      {"baseline-diff", {"baseline", "diff", baseline, baseline}},
      {"baseline-diff", {"baseline", "diff", inputs / "check.json", inputs / "check.json"}},
      {"trace-diff", {"trace", "diff", inputs / "run.trace", inputs / "run.trace"}},
      {"verify-laws", {"verify", "laws", "--inst", "mma.m8n8k4.f64", "--dots", "1", "--seed", "1"}},

      {"explain", {"explain", "--inst", "mma.m16n8k16.f32.f16.f16.f32", "--a", "1,2^-12", "--b", "1,1"}},
      {"explain", {"explain", "--inst", "ex2.approx.f32", "--x", "0.3"}},
      {"list", {"list", "--functions"}},
      {"explain-layout", {"explain", "layout", "--inst", "mma.m16n8k16.f32.f16.f16.f32"}},
      {"convert", {"convert", "--to", "e4m3", "1.1,448,500,nan"}},
      {"list", {"list"}},
      {"doctor", {"doctor"}},
      {"audit", {"audit", "--a", square, "--b", square, "--no-b-transposed", "--dtype", "bf16"}},
      {"model", {"model", inputs / "model.safetensors", "--recipe", "fp8-tensor"}},
      {"matmul",
       {"matmul", "--inst", "mma.m16n8k16.f32.f16.f16.f32", "--a", square, "--b", square, "--out",
        inputs / "product.npy"}},
      {"gemm-decisions", {"gemm", "decisions"}},
      {"gemm-plans", {"gemm", "plans", "--families"}},
      {"gemm-predict",
       {"gemm", "predict", "--problem", inputs / "problem.json", "--plan", inputs / "plan.json", "--a",
        inputs / "ones.npy", "--b", inputs / "square.npy", "--out", inputs / "d.npy"}},
      {"attention-audit",
       {"attention", "audit", "--q", inputs / "ones.npy", "--k", inputs / "ones.npy", "--v",
        inputs / "ones.npy"}},
      {"attention-explain",
       {"attention", "explain", "--q", inputs / "ones.npy", "--k", inputs / "ones.npy", "--v",
        inputs / "ones.npy"}},
      {"attention-families", {"attention", "families"}},
      {"attention-invariant", {"attention", "invariant", "--most", "300"}},
      {"attention-predict",
       {"attention", "predict", "--q", inputs / "ones.npy", "--k", inputs / "ones.npy", "--v",
        inputs / "ones.npy", "--out", inputs / "o.npy"}},
      {"attention-compare",
       {"attention", "compare", "--q", inputs / "ones.npy", "--k", inputs / "ones.npy", "--v",
        inputs / "ones.npy", "--o", inputs / "o.npy"}},
      {"collective-predict",
       {"collective", "predict", "--x", inputs / "ones.npy", "--out", inputs / "sums.npy"}},
      {"collective-compare",
       {"collective", "compare", "--x", inputs / "ones.npy", "--y", inputs / "sums.npy"}},
      {"collective-layer",
       {"collective", "layer", "--a", inputs / "ones.npy", "--b", square, "--type", "f16", "--tp", "1",
        "--like", "h200-cublas-13.1"}},
      {"gemm-reveal",
       {"gemm", "reveal", std::string(MMAUDIT_FOREIGN_LIBRARY) + ":good", "--type", "f32", "--m", "8", "--n",
        "8", "--k", "32"}},
      {"convert-pack",
       {"convert", "pack", "--inst", "mma.sp.m16n8k32.f32.f16.f16.f32", "--prune", "--a", inputs / "ones.npy",
        "--out", inputs / "s.npy", "--metadata", inputs / "m.npy"}},
      {"probe",
       {"probe", "--inst", "mma.m8n8k4.f64.f64.f64.f64", "--library",
        std::string(MMAUDIT_FOREIGN_LIBRARY) + ":fused_f64", "--dots", "1"}},
      {"tcgen05-convolution", {"tcgen05", "convolution", "--lanes", "9", "--table", "54"}},
      {"tcgen05-rules", {"tcgen05", "rules"}},
      {"tcgen05-run", {"tcgen05", "run", inputs / "kernel.ptx", "--trace"}},
      {"screen", {"screen", "--list"}},
      {"sweep", {"sweep", "--list"}},
      {"sweep-census", {"sweep", "census"}},
      {"sweep-compare", {"sweep", "compare", kSweep, kSweep}},
      {"sweep-gate", {"sweep", "gate", kSweep, kSass, "--out", ::testing::TempDir() + "gated"}},
      {"sweep-report", {"sweep", "report", kSweep}},
      {"time", {"time", "--inst", kInstruction}},
      {"time-explain", {"time", "explain", "--inst", kInstruction}},
      {"time-gemm", {"time", "gemm"}},
      {"time-machines", {"time", "machines"}},
      {"time-sass", {"time", "sass", kSass, "--kernel", "MmaSp_m16n8k16_f16_f16_f16_f16EEELi6"}},
      {"verify", {"verify", "--corpus", MMAUDIT_TEST_CORPUS, "--inst", "mma.m16n8k8.f32.f16"}},
  };
  return all;
}

struct Exception {
  std::string page, reason;
};

const std::vector<Exception>& without_report() {
  static const std::vector<Exception> all = {
      {"attention", "a group of commands"},
      {"baseline", "a group of commands"},
      {"collective", "a group of commands"},
      {"attention-reveal", "needs mmaudit's Python; a torch test runs it"},
      {"collective-reveal", "needs torch; a torch test runs it"},
      {"trace", "a group of commands"},
      {"gemm", "a group of commands"},
      {"gemm-check", "needs a GPU; gemm_check_test draws a made-up one"},
      {"gemm-compare", "needs a GPU; gemm_compare_test draws a made-up one"},
      {"gemm-invariant", "needs a GPU; gemm_compare_test draws a made-up one"},
      {"tcgen05", "a group of commands"},
      {"completions", "prints a script"},
      {"man", "prints manual pages"},
      {"baseline-corpus", "needs a GPU; verdicts_test draws a made-up one"},
      {"time-grid", "takes seconds: every printed cell is simulated; paper_cells_test.cpp draws a grid"},
      {"sweep-gemm", "needs a GPU; gemm_report_test.cpp draws one"},
  };
  return all;
}

void expect_format(const std::string& text, std::string_view format, const std::string& command) {
  EXPECT_FALSE(text.empty()) << command << ' ' << format;
  if (format == "json") {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    ASSERT_TRUE(json.is_object()) << command;
    EXPECT_TRUE(json.contains("schema") || json.value("meta", nlohmann::json::object()).contains("schema"))
        << command;
  } else if (format == "html") {
    EXPECT_TRUE(text.starts_with("<!DOCTYPE html>")) << command;
  } else if (format == "junit") {
    EXPECT_NE(text.find("<testcase "), std::string::npos) << command;
  } else if (format == "markdown") {
    EXPECT_TRUE(text.starts_with("# ")) << command;
  } else if (format == "csv") {
    EXPECT_NE(text.find("\r\n"), std::string::npos) << command;
  }
}

class EveryRenderer : public Folder {
 protected:
  [[nodiscard]] Words pages() const {
    const std::string folder = path("manual");
    EXPECT_EQ(run({"man", "--out", folder}).code, 0);
    Words out;
    for (const auto& file : std::filesystem::directory_iterator(folder))
      if (const std::string name = file.path().stem().string(); name.starts_with("mmaudit-"))
        out.push_back(name.substr(8));
    EXPECT_GT(out.size(), 20U);
    return out;
  }
};

TEST_F(EveryRenderer, DrawsEveryCommand) {
  for (const Example& example : examples()) {
    Words words = example.arguments;
    words.insert(words.begin(), "-q");
    const int code = run(words).code;
    for (const report::Renderer& renderer : report::renderers()) {
      if (renderer.option.empty()) continue;
      Words asked = words;
      asked.emplace_back(renderer.option);
      const Outcome flag = renderer.name == "json" ? run(asked) : Outcome{kBadInput, "", ""};
      asked.emplace_back("-");
      const Outcome outcome = flag.code == kBadInput ? run(asked) : flag;
      EXPECT_EQ(outcome.code, code) << example.page << ' ' << renderer.option << ": " << outcome.err;
      expect_format(outcome.out, renderer.name, example.page);
    }
  }
}

TEST_F(EveryRenderer, NoCommandIsMissing) {
  for (const std::string& page : pages()) {
    const auto names = [&](const auto& one) { return one.page == page; };
    EXPECT_TRUE(std::any_of(examples().begin(), examples().end(), names) ||
                std::any_of(without_report().begin(), without_report().end(), names))
        << page;
  }
}

}  // namespace
}  // namespace mmaudit::cli::test
