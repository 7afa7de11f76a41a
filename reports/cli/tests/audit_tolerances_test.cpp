// mmaudit audit --rtol --atol: whether a test with these tolerances would pass, and where not.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "audit_tensors.hpp"

namespace mmaudit::cli::test {
namespace {

using nlohmann::json;

/// To 8 significant bits, ties to even, of numbers whose bf16 is normal.
double bf16(double x) {
  const double unit = std::ldexp(1.0, std::ilogb(x) - 7);
  return std::nearbyint(x / unit) * unit;
}

/// D is rounded from whole numbers, which every sum holds: D[i, j] = (i + 1) of kColumns[j], from the last of
/// K.
class Tolerances : public AuditTensors {
 protected:
  static constexpr std::size_t kRows = 3;
  static constexpr double kColumns[] = {85, 89, 87, 200};
  void SetUp() override {
    AuditTensors::SetUp();
    std::vector<float> a(kRows * 32), b(std::size_t{32} * 4);
    for (std::size_t i = 0; i < kRows; ++i) a[i * 32 + 31] = static_cast<float>(i + 1);
    for (std::size_t j = 0; j < 4; ++j) b[std::size_t{31} * 4 + j] = static_cast<float>(kColumns[j]);
    b[0] = 1;  // times 0: so much of B is no zero at its end
    save_values("A.npy", {kRows, 32}, a);
    save_values("B.npy", {32, 4}, b);
  }
  Outcome tested(std::vector<std::string> more) {
    more.insert(more.begin(), {"--dtype", "bf16", "--d-format", "bf16", "--policy", "plain"});
    return audit(more);
  }
};

TEST_F(Tolerances, SaysHowManyAreBeyondAndWhere) {
  for (const double rtol : {0.0, 1e-3, 3.8e-3, 4e-3})
    for (const double atol : {0.0, 0.5, 0.73, 0.74, 1.0}) {
      // What numpy.allclose(D, exact, rtol, atol) compares.
      int beyond = 0;
      double farthest = 0;
      std::vector<int> first, worst;
      for (int i = 0; i < static_cast<int>(kRows); ++i)
        for (int j = 0; j < 4; ++j) {
          const double exact = (i + 1) * kColumns[j], off = std::fabs(bf16(exact) - exact);
          const double allowed = atol + rtol * exact;
          if (off <= allowed) continue;
          ++beyond;
          if (first.empty()) first = {i, j};
          if (worst.empty() || off / allowed > farthest) worst = {i, j}, farthest = off / allowed;
        }
      const Outcome outcome =
          tested({"--rtol", std::to_string(rtol), "--atol", std::to_string(atol), "--json", path("a.json")});
      EXPECT_EQ(outcome.code, beyond == 0 ? kAllGood : kMismatch) << rtol << " " << atol << outcome.err;
      const json all = json::parse(std::ifstream(path("a.json")));
      EXPECT_EQ(all.at("rtol"), rtol);
      EXPECT_EQ(all.at("atol"), atol);
      EXPECT_EQ(all.at("passes"), beyond == 0);
      const json& row = all.at("rows").at(0);
      EXPECT_EQ(row.at("verdict"), beyond == 0 ? "PASS" : "FAIL");
      const json& test = row.at("tolerance_test");
      EXPECT_EQ(test.at("elements"), 12);
      EXPECT_EQ(test.at("beyond"), beyond);
      for (const auto& [name, place] : {std::pair{"first", first}, {"worst", worst}}) {
        if (place.empty()) {
          EXPECT_TRUE(test.at(name).is_null());
          continue;
        }
        const double exact = (place[0] + 1) * kColumns[place[1]];
        EXPECT_EQ(test.at(name),
                  (json{{"row", place[0]}, {"column", place[1]}, {"exact", exact}, {"result", bf16(exact)}}));
      }
    }
}

TEST_F(Tolerances, SaysWhereInEveryForm) {
  const Outcome outcome = tested({"--rtol", "0.1%", "--json", path("a.json")});
  EXPECT_EQ(outcome.code, kMismatch);
  const json row = json::parse(std::ifstream(path("a.json"))).at("rows").at(0);
  // 267 becomes 268 and 261 becomes 260.
  EXPECT_EQ(row.at("why"), "2 of 12 elements beyond rtol 0.001, atol 0, the first D[2, 1]: 268, exact 267");
  // 1 - 0.001 * 261 of |260 - 261|, more than 1 - 0.001 * 267; three digits, rounded up.
  EXPECT_NEAR(row.at("tolerance_test").at("passing_atol").get<double>(), 1 - 0.261, 1e-12);
  EXPECT_NE(outcome.out.find("rtol 0.001, atol 0.739"), std::string::npos) << outcome.out;
  EXPECT_EQ(tested({"--rtol", "0.1%", "--atol", "0.739"}).code, kAllGood);
  EXPECT_EQ(tested({"--rtol", "0.1%", "--atol", "0.738"}).code, kMismatch);
  EXPECT_NE(outcome.out.find(", on "), std::string::npos) << "which GPU: " << outcome.out;
  // 1 / 261 is 0.0038314...
  EXPECT_EQ(tested({"--rtol", "0.00384"}).code, kAllGood);
  EXPECT_EQ(tested({"--rtol", "0.00383"}).code, kMismatch);
  EXPECT_EQ(tested({"--atol", "1"}).code, kAllGood);
  // Both limits hold, or it does not pass.
  EXPECT_EQ(tested({"--atol", "1", "--max-rel-fro", "1%"}).code, kAllGood);
  EXPECT_EQ(tested({"--atol", "1", "--max-rel-fro", "1e-6"}).code, kMismatch);
  EXPECT_EQ(tested({"--atol", "0", "--max-rel-fro", "1%"}).code, kMismatch);
  EXPECT_TRUE(json::parse(tested({"--json", "-"}).out).at("rows").at(0).at("tolerance_test").is_null());
  for (const auto& [format, text] :
       {std::pair{"--html", "D[2, 2] = 260, exact 261"}, {"--md", "D\\[2, 2\\] = 260, exact 261"}}) {
    ASSERT_EQ(tested({"--rtol", "0.1%", format, path("page")}).code, kMismatch);
    EXPECT_NE(read(path("page")).find(text), std::string::npos) << format;
  }
}

TEST_F(Tolerances, ASampleProvesNoPass) {
  const Outcome none = tested({"--atol", "5", "--sample", "4", "--json", path("a.json")});
  EXPECT_EQ(none.code, kMismatch);
  EXPECT_NE(none.out.find("UNDECIDED"), std::string::npos) << none.out;
  EXPECT_NE(json::parse(std::ifstream(path("a.json")))
                .at("rows")
                .at(0)
                .at("why")
                .get<std::string>()
                .find("no sampled element is beyond the tolerances"),
            std::string::npos);
  // Of a sample too, places are those of the whole D.
  std::vector<float> a, b;
  for (int i = 0; i < 40 * 32; ++i) a.push_back(0.3F + 0.0107F * static_cast<float>(i));
  for (int i = 0; i < 32 * 4; ++i) b.push_back(0.7F + 0.0131F * static_cast<float>(i));
  save_values("A.npy", {40, 32}, a);
  save_values("B.npy", {32, 4}, b);
  const Outcome some = tested({"--atol", "1e-9", "--sample", "8", "--json", path("a.json")});
  EXPECT_EQ(some.code, kMismatch) << some.out;
  const json all = json::parse(std::ifstream(path("a.json")));
  const json& worst = all.at("rows").at(0).at("tolerance_test").at("worst");
  EXPECT_EQ(worst.at("row"), all.at("rows").at(0).at("worst").at("row"));
  EXPECT_EQ(worst.at("column"), all.at("rows").at(0).at("worst").at("column"));
}

TEST_F(Tolerances, AnOverflowIsBeyondAll) {
  save_values("A.npy", {1, 2}, {300, 1});
  save_values("B.npy", {2, 3}, {300, 1, 1, 0, 2, 2});
  const Outcome outcome = audit({"--dtype", "f16", "--d-format", "f16", "--policy", "plain", "--rtol", "10",
                                 "--atol", "1e9", "--json", path("a.json")});
  EXPECT_EQ(outcome.code, kMismatch) << outcome.err;
  const json test = json::parse(std::ifstream(path("a.json"))).at("rows").at(0).at("tolerance_test");
  EXPECT_EQ(test.at("beyond"), 1);
  EXPECT_TRUE(test.at("first").at("result").is_null());
  EXPECT_EQ(test.at("first").at("exact"), 90000);
}

TEST_F(Tolerances, RefusesInOneLine) {
  for (const char* bad : {"-1", "nan", "inf", "x"}) {
    refused(tested({"--rtol", bad}), {"--rtol", bad});
    refused(tested({"--atol", bad}), {"--atol", bad});
  }
  refused(run({"audit", "--rtol", "0.1"}), {"--rtol: found without tensors"});
  refused(run({"audit", "--capture", path("c.safetensors"), "--atol", "0.1"}),
          {"--rtol, --atol: found with --capture, allowed: with --a and --b"});
}

}  // namespace
}  // namespace mmaudit::cli::test
