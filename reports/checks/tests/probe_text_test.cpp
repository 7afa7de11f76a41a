// What mmaudit probe says where no datapath gives every answer: the nearest one, and no claim about it.
#include "probe_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  return to_text(finding, false).find(part) != std::string::npos;
}

TEST(ProbeText, the_nearest_datapath_is_shown_without_a_claim) {
  probe::Finding finding = found();
  EXPECT_TRUE(nlohmann::json::parse(to_json(finding)).at("claims").at(0).at("decided"));
  EXPECT_FALSE(says(finding, "the nearest one"));
  for (std::uint64_t* const wrong : {&finding.contradictions, &finding.mismatches}) {
    finding = found();
    *wrong = 3;
    finding.example = Mismatch{};
    EXPECT_TRUE(says(finding, "the nearest one:\nsteps: k 0-7\n  block                 8\n"))
        << to_text(finding, false);
    EXPECT_FALSE(nlohmann::json::parse(to_json(finding)).at("claims").at(0).at("decided"));
  }
}

}  // namespace
}  // namespace mmaudit::checks::test
