// mmaudit matmul as a user types it.
#include <nlohmann/json.hpp>

#include <numeric>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

using corpus::DType;
using corpus::Tensor;

constexpr const char* kWgmmaF16 = "wgmma.m64n64k16.f32.f16.f16";

class MatmulCommand : public Folder {
 protected:
  template <typename T>
  void save(const std::string& name, DType dtype, std::vector<std::uint64_t> shape, const T& value) {
    const auto count = std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
    corpus::write_npy(path(name),
                      corpus::make_tensor<T>("x", dtype, std::move(shape), std::vector<T>(count, value)));
  }
  void SetUp() override {
    Folder::SetUp();
    save<std::uint16_t>("A.npy", DType::f16, {5, 33}, 0x3C00);
    save<std::uint16_t>("B.npy", DType::f16, {33, 7}, 0x4000);
    save<float>("C.npy", DType::f32, {5, 7}, 0.5F);
    save<std::uint8_t>("A8.npy", DType::u8, {2, 3, 256}, 0x38);  // e4m3 1
    save<std::uint8_t>("B8.npy", DType::u8, {2, 256, 4}, 0x38);
  }
  Outcome matmul(const std::string& instruction, const std::string& a, const std::string& b,
                 std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"-q",    "matmul", "--inst", instruction, "--a",
                                          path(a), "--b",    path(b),  "--out",     path("D.npy")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  [[nodiscard]] Tensor d() const { return corpus::load_tensor(path("D.npy")); }
  void refused(const Outcome& outcome, const std::vector<std::string>& parts) {
    EXPECT_EQ(outcome.code, kBadInput);
    EXPECT_EQ(lines(outcome.err), 1U) << outcome.err;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err << part;
    EXPECT_FALSE(std::filesystem::exists(path("D.npy")));
  }
};

TEST_F(MatmulCommand, AnySizeAndC) {
  const Outcome outcome = matmul(kWgmmaF16, "A.npy", "B.npy", {"--c", path("C.npy"), "--threads", "3"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_EQ(d().dtype, DType::f32);
  EXPECT_EQ(d().shape, (std::vector<std::uint64_t>{5, 7}));
  const Tensor result = d();
  for (const float x : result.as<float>()) EXPECT_EQ(x, 66.5F);
}

TEST_F(MatmulCommand, BytesAreFp8AndRawInIsRawOut) {
  const Outcome outcome =
      matmul("wgmma.m64n64k32.f32.e4m3.e4m3", "A8.npy", "B8.npy", {"--promote", "128", "--json"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  const Tensor result = d();
  EXPECT_EQ(result.dtype, DType::u32);
  EXPECT_EQ(result.shape, (std::vector<std::uint64_t>{2, 3, 4}));
  for (const std::uint32_t x : result.as<std::uint32_t>()) EXPECT_EQ(x, 0x43800000U);  // 256
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["fast"], true);
}

TEST_F(MatmulCommand, EpilogueRoundsOnceToItsFormat) {
  save<std::uint16_t>("C16.npy", DType::bf16, {5, 7}, 0x3F80);
  // .npy has no bf16: the file comes back as raw bits, and so does D.
  const Outcome outcome =
      matmul(kWgmmaF16, "A.npy", "B.npy",
             {"--c", path("C16.npy"), "--alpha", "0.5", "--beta", "4", "--d-format", "bf16"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  const Tensor result = d();
  for (const std::uint16_t x : result.as<std::uint16_t>()) EXPECT_EQ(x, 0x4214U);  // 33 + 4 = 37
}

TEST_F(MatmulCommand, SplitPlainAndSimdAgree) {
  ASSERT_EQ(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "2"}).code, kAllGood);
  const auto expected = d().data;
  ASSERT_EQ(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "2", "--plain"}).code, kAllGood);
  EXPECT_EQ(d().data, expected);
  ASSERT_EQ(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "2", "--simd", "portable"}).code, kAllGood);
  EXPECT_EQ(d().data, expected);
}

TEST_F(MatmulCommand, RefusesInOneLine) {
  refused(matmul(kWgmmaF16, "B.npy", "B.npy"), {"--b shape", "[1, 33, 7]", "[1, 7, any]"});
  refused(matmul(kWgmmaF16, "A.npy", "B8.npy"), {"--b dtype", "U8", "F16"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--promote", "20"}), {"promote", "20", "multiple of k = 16"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "0"}), {"split_k", "allowed: 1 or more"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "-1"}),
          {"--split-k", "-1", "allowed: 0 or more"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--d-format", "e4m3"}), {"e4m3", "f32, f16, bf16"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--simd", "sse9"}), {"--simd", "portable"});
  refused(matmul("mma.m8n8k4.f32.f16.f16.f16", "A.npy", "B.npy", {"--arch", "volta"}),
          {"C of f16", "D of f32"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--memory", "100"}), {"--memory", "operands", "100 bytes"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--memory", "100000"}),
          {"--memory", "result", "100000 bytes"});
}

}  // namespace
}  // namespace mmaudit::cli::test
