// A check that compared nothing is no pass, and a report says what was left out.
#include <gtest/gtest.h>

#include "baseline.hpp"
#include "law_check.hpp"
#include "mutation_score.hpp"
#include "record.hpp"
#include "verify.hpp"

namespace mmaudit::checks::test {
namespace {

using report::Tone;

TEST(Verdicts, NothingIsNoPass) {
  BaselineDiff diff;
  EXPECT_EQ(report_of(diff).tone, Tone::bad);
  EXPECT_EQ(report_of(VerifyReport{}).tone, Tone::bad);
  diff.instructions = diff.dots = 1;
  EXPECT_EQ(report_of(diff).tone, Tone::good);
  diff.added = {"mma"};
  EXPECT_EQ(report_of(diff).tone, Tone::bad);
  EXPECT_EQ(report_of(laws::LawReport{}, false, "").tone, Tone::bad);
  const std::vector<RecordingScore> no_scores;
  EXPECT_EQ(report_of(no_scores, false).tone, Tone::bad);
  EXPECT_EQ(report_of(LawScore{}).tone, Tone::bad);
}

TEST(Verdicts, AMutantThatSurvivesFails) {
  const Instruction inst = find_instruction("mma.m8n8k4.f64.f64.f64.f64").value();
  std::vector<RecordingScore> scores = {{inst, 64, std::vector<ScoredMutant>(2)}};
  for (ScoredMutant& one : scores[0].mutants) {
    one.rule = "F";
    one.change = "25 -> 24";
    one.instruction = inst;
    one.recorded = 7;
    one.input_class = "normal";
  }
  const report::Report good = report_of(scores, true);
  EXPECT_EQ(good.tone, Tone::good);
  EXPECT_NE(report::rendered(good, "text").find("F: 25 -> 24   2           2        14  normal"),
            std::string::npos)
      << report::rendered(good, "text");
  scores[0].mutants[1].recorded = 0;
  const report::Report bad = report_of(scores, true);
  EXPECT_EQ(bad.tone, Tone::bad);
  EXPECT_NE(report::rendered(bad, "text").find("SURVIVED in mma.m8n8k4"), std::string::npos);
  EXPECT_NE(bad.json().find("\"survivors\": 1"), std::string::npos) << bad.json();
  // What a reason calls equal may stay; beside the laws it may not be told apart.
  LawScore beside{"ampere", 1, scores[0].mutants};
  beside.mutants[1].invisible = "no reason";
  EXPECT_EQ(report_of(beside).tone, Tone::good);
  beside.mutants[0].invisible = "no reason";
  EXPECT_EQ(report_of(beside).tone, Tone::bad);
}

TEST(Verdicts, ProductsThatTheLibraryRefusesAreCounted) {
  Baseline baseline;
  baseline.products.resize(3);
  EXPECT_EQ(report_of(baseline, "b.json").tone, Tone::plain);
  baseline.products_refused = 2;
  baseline.left_out = {"cuBLASLt x: status 15", "cuBLASLt y: status 7"};
  EXPECT_NE(report_of(baseline, "b.json").headline.find("refuses 2 of 5 products"), std::string::npos);
  EXPECT_EQ(report_of(baseline, "b.json").tone, Tone::plain);
  baseline.products.clear();
  const report::Report none = report_of(baseline, "b.json");
  EXPECT_EQ(none.tone, Tone::bad);
  EXPECT_NE(none.headline.find("status 7"), std::string::npos) << none.headline;
}

TEST(Verdicts, RecordSaysWhatIsMissing) {
  RecordReport recorded;
  recorded.question.provenance.gpu = "NVIDIA H200";
  recorded.instructions = {{"mma.x", "", 0, "needs another GPU"}};
  EXPECT_EQ(report_of(recorded).tone, Tone::bad) << "nothing was recorded";
  recorded.instructions.push_back({"mma.y", "mma.y.safetensors", 512, ""});
  const report::Report some = report_of(recorded);
  EXPECT_EQ(some.tone, Tone::note);
  const std::string text = report::rendered(some, "text");
  EXPECT_NE(text.find("1 of 2 instructions of NVIDIA H200"), std::string::npos) << text;
  EXPECT_NE(text.find("needs another GPU"), std::string::npos) << text;
  recorded.instructions.erase(recorded.instructions.begin());
  EXPECT_EQ(report_of(recorded).tone, Tone::good);
}

}  // namespace
}  // namespace mmaudit::checks::test
