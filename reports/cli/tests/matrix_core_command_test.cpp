// What the program says of AMD's matrix cores, and of instructions that a GPU lacks.
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

constexpr const char* kF16 = "v_mfma_f32_32x32x8f16";

Outcome explained(const char* gpu, const char* a, const char* b, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"explain", "--arch", gpu, "--inst", kF16, "--a", a, "--b", b};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments);
}

TEST(MatrixCoreCommand, a_trace_holds_every_product_as_stored_and_as_taken) {
  const auto first = [](const char* gpu, const char* a, const char* b) {
    const auto json = nlohmann::json::parse(explained(gpu, a, b, {"--json"}).out);
    return json.at("traces").at(0).at("stages").at(0).at("products").at(0);
  };
  for (const char* gpu : {"cdna1", "cdna2", "cdna3"}) {
    const auto inf = first(gpu, "inf,1", "1,1");
    EXPECT_EQ(inf.at("product"), "inf") << gpu;
    EXPECT_EQ(inf.at("taken"), "inf") << gpu;
    EXPECT_EQ(inf.at("a"), "7c00") << gpu;
    EXPECT_EQ(first(gpu, "-inf", "0").at("product"), "nan") << gpu;
  }
  const auto subnormal = first("cdna2", "2^-24", "1");
  EXPECT_EQ(subnormal.at("product"), 0x1p-24);
  EXPECT_EQ(subnormal.at("taken"), 0.0);
  EXPECT_EQ(subnormal.at("flushed"), true);
  EXPECT_EQ(first("cdna3", "2^-24", "1").at("taken"), 0x1p-24);
}

TEST(MatrixCoreCommand, the_text_lists_what_decides) {
  const std::string special = explained("cdna3", "inf,nan,1,3", "0,1,1,1").out;
  for (const char* part : {"0x7c00 = inf", "0x7fff = nan", "D = 0x7fc00000 = nan"})
    EXPECT_NE(special.find(part), std::string::npos) << part << '\n' << special;
  EXPECT_EQ(special.find("-nan"), std::string::npos) << special;
  const std::string flushed = explained("cdna2", "2^-24,1", "1,2^-24").out,
                    why = "taken as 0: a subnormal factor is flushed";
  const std::size_t once = flushed.find(why);
  ASSERT_NE(once, std::string::npos) << flushed;
  EXPECT_NE(flushed.find(why, once + 1), std::string::npos) << flushed;
  const std::string c = explained("cdna2", "0", "0", {"--c", "2^-149"}).out;
  EXPECT_NE(c.find("taken as 0: a subnormal c is flushed"), std::string::npos) << c;
  EXPECT_EQ(explained("cdna3", "2^-24,1", "1,2^-24").out.find("taken as"), std::string::npos);
}

TEST(MatrixCoreCommand, a_product_beyond_binary32_or_below_it_says_so) {
  const auto text = [](const char* gpu, const char* a, const char* b) {
    return run({"explain", "--arch", gpu, "--inst", "v_mfma_f32_16x16x16bf16_1k", "--a", a, "--b", b}).out;
  };
  for (const char* gpu : {"cdna2", "cdna3"})
    EXPECT_NE(text(gpu, "2^64", "2^64").find("taken as inf: it overflows"), std::string::npos) << gpu;
  EXPECT_NE(text("cdna2", "2^-100", "2^-30").find("taken as 0: it is flushed"), std::string::npos);
}

TEST(MatrixCoreCommand, lanes_of_amd_are_not_described) {
  const Outcome outcome = run({"explain", "layout", "--inst", kF16});
  EXPECT_EQ(outcome.code, kBadInput);
  EXPECT_NE(outcome.err.find("AMD"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("tcgen05"), std::string::npos) << outcome.err;
}

TEST(MatrixCoreCommand, time_refuses_what_the_gpu_lacks) {
  const std::pair<const char*, const char*> lacking[] = {{"hopper", "v_mfma_f32_16x16x16f16"},
                                                         {"tu102", "mma.sp.m16n8k32.f32.f16.f16.f32"},
                                                         {"tu102", "mma.m16n8k8.f32.bf16.bf16.f32"},
                                                         {"ga100", "wgmma.m64n64k16.f32.f16.f16"}};
  for (const auto& [gpu, inst] : lacking)
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"time"}, {"time", "grid"}, {"time", "explain"}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--arch", gpu, "--inst", inst});
      const Outcome outcome = run(arguments);
      EXPECT_EQ(outcome.code, kBadInput) << gpu << ' ' << inst << outcome.out;
      EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
      EXPECT_NE(outcome.err.find("--inst: "), std::string::npos) << outcome.err;
    }
  EXPECT_EQ(run({"time", "--arch", "tu102", "--inst", "mma.m16n8k8.f32.f16.f16.f32"}).code, kAllGood);
}

}  // namespace
}  // namespace mmaudit::cli::test
