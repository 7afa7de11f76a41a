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
    write("call.json", R"({"algorithm": {}, "kernels": [{"name": "cutlass_80_tensorop_s16816gemm_f16"}]})");
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

}  // namespace
}  // namespace mmaudit::cli::test
