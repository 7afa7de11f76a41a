// What the writers write is what docs/schema publishes.
#include <gtest/gtest.h>

#include "json_schema.hpp"
#include "mmaudit/report/audit.hpp"
#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {
namespace {

using nlohmann::json;
using Lines = std::vector<std::string>;

test::JsonSchema schema(const std::string& name) {
  return test::JsonSchema(std::string(MMAUDIT_SCHEMAS) + "/" + name + ".schema.json");
}

TEST(Schema, AnAuditIsAsPublished) {
  const Architecture& hopper = *find_architecture("hopper");
  AuditResult result = run_audit(hopper, model_backend(hopper), {.rounds = 3, .max_length = 12});
  result.verification.rows = {{"x", 10, 1, "recorded"}};
  GemmStudyOptions options;
  options.depths = {16, 32};
  options.rows = options.columns = 2;
  result.gemm = study_gemm(hopper, options);
  json value = json::parse(to_json(result));
  EXPECT_EQ(schema("audit-2").errors(value), Lines{});
  value["gemm"]["curves"][0]["points"][0].erase("ulp");
  value["formats"][0]["infinity"] = "yes";
  value["more"] = 1;
  EXPECT_EQ(schema("audit-2").errors(value).size(), 3U);
}

TEST(Schema, AnAuditOfTensorsIsAsPublished) {
  const std::vector<double> a = draw_a(Distribution::normal, 6, 64, 1),
                            b = draw_b(Distribution::normal, 64, 5, 1);
  GemmAuditRequest request;
  for (const char* dtype : {"e4m3", "f16", "mxf8"})
    for (const char* how : {"plain", "half", "split-k:2"})
      request.combinations.push_back(settled({find_architecture(dtype[0] == 'm' ? "blackwell" : "hopper"),
                                              *find_gemm_dtype(dtype),
                                              scalings::none,
                                              *find_accumulation(how),
                                              Format::none,
                                              {}}));
  request.operands = {6, 5, 64, a, b, {}, 0, 0};
  for (const bool sampled : {false, true})
    for (const bool limit : {false, true}) {
      request.whole_m = sampled ? 100 : 6;
      request.whole_n = 5;
      request.limit = limit ? std::optional(1e-3) : std::nullopt;
      request.tolerances = limit ? std::optional(Tolerances{0.02, 0}) : std::nullopt;
      GemmAudit audit = audit_gemm(request);
      audit.tensors = {{"A", "a.npy", "F32", {6, 64}, 384, 0, 0, 0, 1, 1}};
      EXPECT_EQ(schema("audit-gemm-1").errors(json::parse(to_json(audit))), Lines{});
    }
  request.operands = {0, 5, 64, {}, b, {}, 0, 0};
  json value = json::parse(to_json(audit_gemm(request)));
  EXPECT_EQ(schema("audit-gemm-1").errors(value), Lines{});
  value["rows"][0]["cast_a"]["bits_lost"].erase(0);
  value["rows"][0]["evidence"] = "rumour";
  EXPECT_EQ(schema("audit-gemm-1").errors(value).size(), 2U);
}

}  // namespace
}  // namespace mmaudit::report
