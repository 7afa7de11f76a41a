// What mmaudit probe says where no datapath gives every answer: the nearest one, and no claim about it.
#include "probe_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mmaudit/corpus/gemm_file.hpp"

namespace mmaudit::checks::test {
namespace {

probe::Finding found() {
  probe::Finding finding;
  finding.instruction = find_instruction("mma.m16n8k8.f32.f16.f16.f32").value();
  finding.steps = {"0-7"};
  finding.answers = 100;
  finding.claims.push_back({"block", "8", {{"4", probe::Fact{}, 1, ""}}});
  return finding;
}

bool says(const probe::Finding& finding, const char* part) {
  return rendered(report_of(finding, false), "text").find(part) != std::string::npos;
}

TEST(ProbeReport, the_nearest_datapath_is_shown_without_a_claim) {
  probe::Finding finding = found();
  EXPECT_TRUE(nlohmann::json::parse(report_of(finding, false).json()).at("claims").at(0).at("decided"));
  EXPECT_FALSE(says(finding, "The nearest datapath"));
  EXPECT_EQ(exit_code(report_of(finding, false)), 0);
  for (std::uint64_t* const wrong : {&finding.contradictions, &finding.mismatches}) {
    finding = found();
    *wrong = 3;
    finding.example = Mismatch{};
    EXPECT_TRUE(says(finding, "Steps: k 0-7\n") &&
                says(finding, "The nearest datapath\n  rule   value\n  block  8\n"))
        << rendered(report_of(finding, false), "text");
    EXPECT_EQ(exit_code(report_of(finding, false)), 1);
    EXPECT_FALSE(nlohmann::json::parse(report_of(finding, false).json()).at("claims").at(0).at("decided"));
  }
}

TEST(ProbeReport, a_plan_that_was_found_can_be_predicted_with) {
  probe::GemmFinding finding;
  finding.tree.k = 0;
  finding.plan.emplace();
  finding.plan->instruction = find_instruction("mma.m16n8k8.f32.f16.f16.f32").value();
  finding.plan->promote = 96;
  const probe::UnknownGemm gemm{1, 1, 1, Format::f16, Format::f16, Format::f32, false, {}};
  const auto fields = [&] {
    return nlohmann::json::parse(report_of(finding, gemm).json()).at("plan_fields");
  };
  EXPECT_EQ(corpus::gemm_plan_of(parse_json(fields().dump()), "x"), *finding.plan);
  finding.plan.emplace();
  finding.plan->instruction = scalar_instruction(Format::f16, Format::f16);
  finding.plan->scalar = true;
  finding.plan->output = Format::f16;
  EXPECT_EQ(corpus::gemm_plan_of(parse_json(fields().dump()), "x"), *finding.plan);
  finding.plan.reset();
  EXPECT_TRUE(fields().is_null());
}

}  // namespace
}  // namespace mmaudit::checks::test
