// mmaudit audit --a --b on AMD's v_mfma: which instruction, and sums as docs/numerics.md says.
#include <cmath>
#include <nlohmann/json.hpp>

#include "audit_tensors.hpp"

namespace mmaudit::cli::test {
namespace {

/// Without line breaks.
std::string flat(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (const char one = c == '\n' ? ' ' : c; one != ' ' || out.empty() || out.back() != ' ') out += one;
  return out;
}

class AuditAmd : public AuditTensors {
 protected:
  nlohmann::json rows(std::vector<std::string> how) {
    how.insert(how.end(), {"--policy", "plain", "--json", "-"});
    const Outcome found = audit(how);
    return found.out.empty() ? nlohmann::json(found.err) : nlohmann::json::parse(found.out).at("rows");
  }
};

TEST_F(AuditAmd, EveryTypeThatTheGpuHas) {
  const Outcome found =
      audit({"--arch", "cdna3,cdna2,h200", "--dtype", "e4m3,bf16,f16,tf32", "--max-rel-fro", "1%"});
  const std::string text = flat(found.out);
  for (const char* const said : {"cdna2 has no e4m3, tf32.", "cdna3 has no e4m3.",
                                 "cdna3 has no instruction for e4m3 (its FP8 is e4m3fnuz)"})
    EXPECT_NE(text.find(said), std::string::npos) << said << text;
  EXPECT_EQ(text.find("cdna2 has no instruction for e4m3 ("), std::string::npos) << text;
  const std::pair<std::vector<std::string>, const char*> instructions[] = {
      {{"--arch", "cdna1", "--dtype", "bf16"}, "v_mfma_f32_16x16x8bf16"},
      {{"--arch", "cdna2", "--dtype", "bf16"}, "v_mfma_f32_16x16x16bf16_1k"},
      {{"--arch", "cdna3", "--dtype", "tf32", "--unit", "mfma"}, "v_mfma_f32_16x16x8_xf32"},
      {{"--arch", "cdna3", "--dtype-a", "e4m3fnuz", "--dtype-b", "e5m2fnuz"}, "v_mfma_f32_16x16x32_fp8_bf8"}};
  for (const auto& [how, name] : instructions) {
    const nlohmann::json found_rows = rows(how);
    ASSERT_EQ(found_rows.size(), 1U) << found_rows;
    EXPECT_EQ(found_rows[0].at("instruction"), name);
    EXPECT_EQ(found_rows[0].at("evidence"), "literature");
  }
  refused(audit({"--dtype", "bf16", "--unit", "mfma"}), {"hopper has no instruction for bf16"});
  refused(audit({"--dtype", "e4m3fnuz"}), {"hopper has no instruction for e4m3fnuz"});
}

TEST_F(AuditAmd, ProductsAreAddedAsTheRowsSay) {
  // 1 + 3 * 2^-24: added exactly it rounds up to 1 + 2^-22, in rounded pairs down to 1 + 2^-23.
  save_values("A.npy", {1, 4}, {1, 0x1p-12F, 0x1p-12F, 0x1p-12F});
  save_values("B.npy", {4, 1}, {1, 0x1p-12F, 0x1p-12F, 0x1p-12F});
  const std::pair<const char*, double> biases[] = {
      {"cdna1", 0x1p-24}, {"cdna2", -0x1p-24}, {"cdna3", 0x1p-24}};
  for (const auto& [gpu, bias] : biases) {
    const nlohmann::json found = rows({"--arch", gpu, "--dtype", "f16", "--d-format", "f32"});
    EXPECT_NEAR(found[0].at("bias").get<double>(), bias, 0x1p-40) << gpu;
  }
}

TEST_F(AuditAmd, OnlyCdna2ReadsSubnormalsAsZero) {
  save_values("A.npy", {1, 4}, {0x1p-20F, 0x1p-20F, 0x1p-20F, 0x1p-20F});
  save_values("B.npy", {4, 1}, {1, 1, 1, 1});
  const std::pair<const char*, double> totals[] = {{"cdna1", 0}, {"cdna2", 1}, {"cdna3", 0}};
  for (const auto& [gpu, total] : totals) {
    const nlohmann::json found = rows({"--arch", gpu, "--dtype", "f16", "--d-format", "f32"});
    EXPECT_EQ(found[0].at("relative_frobenius").at("total"), total) << gpu;
  }
}

TEST_F(AuditAmd, FnuzHasItsOwnRangeAndNoMinusZero) {
  // 240 is e4m3fnuz's largest number; a negative number that underflows is 0, not the NaN in -0's place.
  save_values("A.npy", {1, 4}, {240, -1e-6F, -0.0F, 0x1p-10F});
  save_values("B.npy", {4, 1}, {1, 1, 1, -240});
  const nlohmann::json found =
      rows({"--arch", "cdna3", "--dtype", "e4m3fnuz", "--scale", "none", "--d-format", "f32"});
  const nlohmann::json& worst = found[0].at("worst");
  EXPECT_EQ(found[0].at("compared"), 1);
  EXPECT_EQ(worst.at("result"), 240 - 240 * 0x1p-10) << found[0];
}

}  // namespace
}  // namespace mmaudit::cli::test
