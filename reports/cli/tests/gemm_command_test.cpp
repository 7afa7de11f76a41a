// mmaudit gemm as a user types it, where there is no GPU.
#include <bit>
#include <fstream>
#include <utility>
#include <vector>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

class GemmCommand : public Folder {
 protected:
  void SetUp() override {
    Folder::SetUp();
    // 1 - 1 + 2^-28, of which the last stands in the second half of an instruction with k = 16.
    std::vector<std::uint16_t> a(16), b(16, 0x3C00);
    a[0] = 0x3C00;
    a[1] = 0xBC00;
    a[8] = b[8] = 0x0400;
    corpus::write_npy(path("a.npy"), corpus::make_tensor<std::uint16_t>("a", corpus::DType::f16, {1, 16}, a));
    corpus::write_npy(path("b.npy"), corpus::make_tensor<std::uint16_t>("b", corpus::DType::f16, {16, 1}, b));
    write("problem.json", R"({"type": "f16", "d": "f32", "m": 1, "n": 1, "k": 16})");
    write("plan.json", R"({"instruction": "mma.m16n8k16.f32.f16.f16.f32"})");
    write(
        "call.json",
        R"({"algorithm": {}, "kernels": [{"name": "cutlass_80_tensorop_s16816gemm_f16_64x64_32x6_tn_align8"}]})");
  }
  void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text << '\n'; }
  Outcome predict(const char* option, const char* file, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"gemm", "predict",     "--problem", path("problem.json"),
                                          option, path(file),    "--a",       path("a.npy"),
                                          "--b",  path("b.npy"), "--out",     path("d.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  [[nodiscard]] std::uint32_t d() const { return corpus::load_tensor(path("d.npy")).as<std::uint32_t>()[0]; }
};

TEST_F(GemmCommand, TheArchitectureOfThePlanCounts) {
  // Hopper aligns all 16 products at once and loses the small one; Ampere takes 8 at a time.
  ASSERT_EQ(predict("--plan", "plan.json").code, kAllGood);
  EXPECT_EQ(d(), 0U);
  ASSERT_EQ(predict("--plan", "plan.json", {"--arch", "ampere"}).code, kAllGood);
  EXPECT_EQ(d(), 0x31800000U);
  write("plan.json", R"({"instruction": "wgmma.m64n8k16.f32.f16.f16"})");
  const Outcome lacking = predict("--plan", "plan.json", {"--arch", "ampere"});
  EXPECT_EQ(lacking.code, kBadInput);
  EXPECT_NE(lacking.err.find("found wgmma.m64n8k16.f32.f16.f16, allowed: an instruction of ampere"),
            std::string::npos)
      << lacking.err;
}

TEST_F(GemmCommand, AnEpilogueScalesTheSumAndAddsC) {
  corpus::write_npy(path("c.npy"), corpus::make_tensor<float>("c", corpus::DType::f32, {1, 1},
                                                              std::vector<float>{0x1p-27F}));
  const std::vector<std::string> all = {"--arch", "ampere", "--c", path("c.npy")};
  const std::string problem = R"({"type": "f16", "d": "f32", "m": 1, "n": 1, "k": 16)";
  write("problem.json", problem + R"(, "alpha": 3, "beta": 2})");
  for (const char* const slices : {"1", "2"}) {  // one chain, and slices that predict() adds itself
    write(
        "plan.json",
        R"({"instruction": "mma.m16n8k16.f32.f16.f16.f32", "tile_k": 8, "slice_order": "descending", "slices": )" +
            std::string(slices) + "}");
    const Outcome outcome = predict("--plan", "plan.json", all);
    ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
    EXPECT_NE(outcome.out.find("alpha 3 beta 2"), std::string::npos) << outcome.out;
    EXPECT_EQ(d(), std::bit_cast<std::uint32_t>(7 * 0x1p-28F)) << slices;
  }
  const Outcome lacking = predict("--plan", "plan.json");
  EXPECT_EQ(lacking.code, kBadInput);
  EXPECT_NE(lacking.err.find("--c: found none, allowed: a file where the problem has beta"),
            std::string::npos)
      << lacking.err;
  write("problem.json", problem + "}");
  EXPECT_EQ(predict("--plan", "plan.json", all).code, kBadInput);
}

TEST_F(GemmCommand, ACallHasAPlanOnlyWhereItWasRecorded) {
  const Outcome known = predict("--call", "call.json");
  EXPECT_EQ(known.code, kAllGood) << known.err;
  for (const char* const elsewhere : {"ampere", "ada"}) {
    const Outcome unknown = predict("--call", "call.json", {"--arch", elsewhere});
    EXPECT_EQ(unknown.code, kBadInput);
    EXPECT_NE(
        unknown.err.find("plans of these kernels are recorded on hopper, not on " + std::string(elsewhere)),
        std::string::npos)
        << unknown.err;
  }
}

TEST_F(GemmCommand, TheFormatsOfThePlanAreTheProblems) {
  const std::pair<const char*, const char*> refused[] = {
      {R"({"instruction": "mma.m16n8k16.f32.bf16.bf16.f32"})",
       "plan: instruction: found mma.m16n8k16.f32.bf16.bf16.f32, allowed: one of f16 and f16, as A and B of "
       "the "
       "problem are"},
      {R"({"scalar": true})",
       "plan: a, b: found f32 and f32, allowed: f16 and f16, as A and B of the problem are"},
      {R"({"instruction": "mma.m16n8k16.f32.f16.f16.f32", "output": "f16"})",
       "plan: output: found f16, allowed: f32, as D of the problem is"}};
  for (const auto& [plan, why] : refused) {
    write("plan.json", plan);
    const Outcome outcome = predict("--plan", "plan.json");
    EXPECT_EQ(outcome.code, kBadInput) << plan;
    EXPECT_NE(outcome.err.find(why), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::ifstream(path("d.npy")).good()) << "nothing is written";
  }
  write("plan.json", R"({"scalar": true, "a": "f16", "b": "f16"})");
  EXPECT_EQ(predict("--plan", "plan.json").code, kAllGood);
}

TEST_F(GemmCommand, AScalarPlanOfBinary64SumsInBinary64) {
  corpus::write_npy(path("a.npy"), corpus::make_tensor<double>("a", corpus::DType::f64, {1, 3},
                                                               std::vector<double>{1, 0x1p-50, -1}));
  corpus::write_npy(path("b.npy"), corpus::make_tensor<double>("b", corpus::DType::f64, {3, 1},
                                                               std::vector<double>{1, 1, 1}));
  write("problem.json", R"({"type": "f64", "m": 1, "n": 1, "k": 3})");
  write("plan.json", R"({"scalar": true, "a": "f64", "b": "f64", "output": "f64"})");
  const Outcome outcome = predict("--plan", "plan.json");
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_EQ(corpus::load_tensor(path("d.npy")).as<double>()[0], 0x1p-50);
}

TEST_F(GemmCommand, AProblemIsOneOnAnyNumberOfLines) {
  write("problem.json", "{\"type\": \"f16\", \"d\": \"f32\",\n \"m\": 1, \"n\": 1, \"k\": 16}");
  const Outcome spread = predict("--plan", "plan.json");
  EXPECT_EQ(spread.code, kAllGood) << spread.err;
  write("problem.json",
        "{\"type\": \"f16\", \"d\": \"f32\", \"m\": 1, \"n\": 1, \"k\": 16}\n"
        "{\"type\": \"f16\", \"m\": 2, \"n\": 1, \"k\": 16}");
  const Outcome two = predict("--plan", "plan.json");
  EXPECT_EQ(two.code, kBadInput);
  EXPECT_NE(two.err.find("problem.json: found 2 products, allowed: one"), std::string::npos) << two.err;
}

TEST_F(GemmCommand, ProductsOfALogThatAreLeftOutAreSaidSo) {
  const auto traced = [](const char* epilogue) {
    return std::string("[2026][cublasLt][1][Trace][cublasLtMatmul] Adesc=[type=R_16F rows=1 cols=16 ld=1] ") +
           "Bdesc=[type=R_16F rows=16 cols=1 ld=16] Ddesc=[type=R_32F rows=1 cols=1 ld=1] "
           "computeDesc=[computeType=COMPUTE_32F epilogue=" +
           epilogue + "]\n";
  };
  write("problem.json", traced("EPILOGUE_DEFAULT"));
  const Outcome all = predict("--plan", "plan.json");
  EXPECT_EQ(all.code, kAllGood);
  EXPECT_EQ(all.err, "");
  write("problem.json", traced("EPILOGUE_DEFAULT") + traced("EPILOGUE_DGELU"));
  const Outcome fewer = predict("--plan", "plan.json");
  EXPECT_EQ(fewer.code, kAllGood);
  EXPECT_EQ(lines(fewer.err), 1U) << fewer.err;
  EXPECT_NE(fewer.err.find("problem.json: 1 product of the log left out, first line 2: epilogue: found "
                           "EPILOGUE_DGELU, allowed: "),
            std::string::npos)
      << fewer.err;
}

TEST_F(GemmCommand, NumbersBeyondSenseAreOneLine) {
  const Outcome random = run({"gemm", "compare", "--random", "99999999999"});
  EXPECT_EQ(random.code, kBadInput);
  EXPECT_NE(random.err.find("--random: found 99999999999, allowed: 0 to 1000000"), std::string::npos)
      << random.err;
  const Outcome layer = run({"gemm", "invariant", "--n", "0", "--k", "8"});
  EXPECT_EQ(layer.code, kBadInput);
  EXPECT_NE(layer.err.find("gemm invariant: n: found 0, allowed: 1 to 2147483647"), std::string::npos)
      << layer.err;
}

}  // namespace
}  // namespace mmaudit::cli::test
