// mmaudit matmul as a user types it.
#include <nlohmann/json.hpp>

#include <cstring>
#include <numeric>

#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/scale_layout.hpp"
#include "mmaudit/sparse_pack.hpp"
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

TEST_F(MatmulCommand, ZeroIsASizeAndNotAnySize) {
  save<std::uint16_t>("K0.npy", DType::f16, {5, 0}, 0);
  save<std::uint16_t>("M0.npy", DType::f16, {0, 33}, 0);
  refused(matmul(kWgmmaF16, "K0.npy", "B.npy"), {"--b shape: found [1, 33, 7], allowed: [1, 0, any]"});
  refused(matmul(kWgmmaF16, "M0.npy", "B.npy", {"--c", path("C.npy")}),
          {"--c shape: found [1, 5, 7], allowed: [1, 0, 7]"});
}

TEST_F(MatmulCommand, AnySizeAndC) {
  const Outcome outcome = matmul(kWgmmaF16, "A.npy", "B.npy", {"--c", path("C.npy"), "--threads", "3"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_EQ(d().dtype, DType::f32);
  EXPECT_EQ(d().shape, (std::vector<std::uint64_t>{5, 7}));
  const Tensor result = d();
  for (const float x : result.as<float>()) EXPECT_EQ(x, 66.5F);
}

TEST_F(MatmulCommand, ATransposedFileIsTheSameB) {
  std::vector<float> b, transposed(std::size_t{33} * 7);
  for (std::size_t i = 0; i < transposed.size(); ++i) b.push_back(static_cast<float>(i % 50));
  for (std::size_t i = 0; i < transposed.size(); ++i) transposed[i % 7 * 33 + i / 7] = b[i];
  corpus::write_npy(path("B.npy"), corpus::make_tensor<float>("x", DType::f32, {33, 7}, b));
  corpus::write_npy(path("T.npy"), corpus::make_tensor<float>("x", DType::f32, {7, 33}, transposed));
  ASSERT_EQ(matmul(kWgmmaF16, "A.npy", "B.npy", {"--round", "rn"}).code, kAllGood);
  const Tensor expected = d();
  std::filesystem::remove(path("D.npy"));
  refused(matmul(kWgmmaF16, "A.npy", "T.npy", {"--round", "rn"}),
          {"--b shape: found [1, 7, 33]", "with rows and columns exchanged it fits"});
  const Outcome outcome = matmul(kWgmmaF16, "A.npy", "T.npy", {"--round", "rn", "--b-transposed"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_EQ(d().data, expected.data);
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

TEST_F(MatmulCommand, EpilogueFollowsTheSumOfEveryGpuThatHasBinary32) {
  const std::pair<const char*, const char*> sums[] = {
      {"cdna1", "v_mfma_f32_32x32x8f16"},      {"cdna2", "v_mfma_f32_32x32x8f16"},
      {"cdna3", "v_mfma_f32_32x32x8f16"},      {"cdna1", "v_mfma_f32_32x32x2f32"},
      {"volta", "mma.m8n8k4.f32.f16.f16.f32"}, {"hopper", "mma.m8n8k4.f32.f16.f16.f32"}};
  for (const auto& [gpu, inst] : sums) {
    const Outcome outcome =
        matmul(inst, "A.npy", "B.npy",
               {"--arch", gpu, "--c", path("C.npy"), "--alpha", "-1", "--beta", "1", "--round", "rn"});
    ASSERT_EQ(outcome.code, kAllGood) << gpu << ' ' << inst << outcome.err;
    const Tensor result = d();
    for (const float x : result.as<float>()) EXPECT_EQ(x, -65.5F) << gpu << ' ' << inst;
  }
  std::filesystem::remove(path("D.npy"));
  refused(
      matmul("v_mfma_f64_16x16x4f64", "A.npy", "B.npy", {"--arch", "cdna2", "--round", "rn", "--alpha", "2"}),
      {"epilogue: found sums of f64, allowed: sums of f32 or f16"});
}

TEST_F(MatmulCommand, SplitPlainAndSimdAgree) {
  ASSERT_EQ(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "2"}).code, kAllGood);
  const auto expected = d().data;
  ASSERT_EQ(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "2", "--plain"}).code, kAllGood);
  EXPECT_EQ(d().data, expected);
  ASSERT_EQ(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "2", "--simd", "portable"}).code, kAllGood);
  EXPECT_EQ(d().data, expected);
}

constexpr const char* kNv4 = "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3";

TEST_F(MatmulCommand, BlockScalesInBothLayoutsAndFactors) {
  save<std::uint8_t>("A4.npy", DType::u8, {3, 80}, 2);  // e2m1 1
  save<std::uint8_t>("B4.npy", DType::u8, {80, 2}, 4);  // e2m1 2
  corpus::Tensor scale_a =
      corpus::make_tensor<std::uint8_t>("x", DType::u8, {3, 5}, std::vector<std::uint8_t>(15, 0x38));  // 1
  scale_a.data[5 + 4] = std::byte{0x48};  // row 1, last block: 4
  corpus::write_npy(path("SA.npy"), scale_a);
  const auto* plain = reinterpret_cast<const std::uint8_t*>(scale_a.data.data());
  const auto blocked = blocked_scales(plain, ScaleOwner::a, 1, 3, 5);
  corpus::write_npy(path("SAB.npy"),
                    corpus::make_tensor<std::uint8_t>("x", DType::u8, {blocked.size()}, blocked));
  corpus::write_npy(path("SBB.npy"), corpus::make_tensor<std::uint8_t>(
                                         "x", DType::u8, {1, 2, 512}, std::vector<std::uint8_t>(1024, 0x38)));
  const auto expect = [&](const std::vector<std::string>& more, float row0, float row1) {
    std::vector<std::string> all = {"--arch", "blackwell", "--scale-a", path("SA.npy")};
    all.insert(all.end(), more.begin(), more.end());
    const Outcome outcome = matmul(kNv4, "A4.npy", "B4.npy", all);
    ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
    const Tensor result = d();
    ASSERT_EQ(result.shape, (std::vector<std::uint64_t>{3, 2}));
    std::vector<float> found(6);
    std::memcpy(found.data(), result.data.data(), result.data.size());
    EXPECT_EQ(found, (std::vector<float>{row0, row0, row1, row1, row0, row0}));
  };
  expect({}, 160, 256);
  expect({"--plain"}, 160, 256);
  expect({"--factor-a", "0.5", "--factor-b", "0.25"}, 20, 32);
  save<float>("F.npy", DType::f32, {1}, 0.125F);
  expect({"--factor-b", path("F.npy"), "--alpha", "2"}, 40, 64);
  const Outcome blocked_too = matmul(kNv4, "A4.npy", "B4.npy",
                                     {"--arch", "blackwell", "--scale-a", path("SAB.npy"), "--scale-b",
                                      path("SBB.npy"), "--scale-layout", "blocked"});
  ASSERT_EQ(blocked_too.code, kAllGood) << blocked_too.err;
  const Tensor result = d();
  EXPECT_EQ(result.as<std::uint32_t>()[2], 0x43800000U);  // 256
}

TEST_F(MatmulCommand, RefusesScalesAndMetadataInOneLine) {
  save<std::uint8_t>("A4.npy", DType::u8, {3, 80}, 2);
  save<std::uint8_t>("B4.npy", DType::u8, {80, 2}, 4);
  save<std::uint8_t>("S4.npy", DType::u8, {3, 4}, 0x38);
  const auto scaled = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--arch", "blackwell"});
    return matmul(kNv4, "A4.npy", "B4.npy", more);
  };
  refused(scaled({"--scale-a", path("S4.npy")}), {"--scale-a shape", "[1, 3, 4]", "[1, 3, 5]"});
  refused(scaled({"--scale-a", path("C.npy")}), {"--scale-a dtype", "F32", "U8", "F8_E4M3"});
  refused(scaled({"--scale-b", path("S4.npy"), "--scale-layout", "blocked"}),
          {"--scale-b shape", "[3, 4]", "[1024]", "128 x 4"});
  refused(scaled({"--scale-layout", "tiled"}), {"--scale-layout", "tiled", "blocked"});
  refused(scaled({"--factor-a", "x"}), {"x"});
  refused(scaled({"--factor-a", path("A.npy")}), {"--factor-a", "F16", "one number of"});
  for (const char* bad : {"nan", "inf", "1e400"})
    refused(scaled({"--factor-a", bad}), {"--factor-a: found", bad, "finite"});
  save<std::uint32_t>("NaN.npy", DType::f32, {1}, 0x7FC00000U);
  refused(scaled({"--factor-b", path("NaN.npy")}), {"--factor-b: found nan", "finite"});
  refused(scaled({"--factor-a", "1e30", "--factor-b", "1e30"}), {"product beyond binary32"});
  refused(scaled({"--scale-layout", "blocked"}), {"--scale-layout: found blocked without scales"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--scale-a", path("S4.npy")}),
          {"--scale-a", "block-scaled instructions only"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--metadata", path("S4.npy")}), {"--metadata", "sparse"});
  refused(matmul("mma.sp.m16n8k32.f32.f16.f16.f32", "A.npy", "B.npy"), {"--b shape", "[1, 66, any]"});
  save<std::uint16_t>("BS.npy", DType::f16, {66, 7}, 0x4000);
  refused(matmul("mma.sp.m16n8k32.f32.f16.f16.f32", "A.npy", "BS.npy"), {"--metadata", "none"});
}

TEST_F(MatmulCommand, PackedIsTheDenseProductOfWhatStays) {
  // Small integers: every order of summation gives the same.
  std::vector<std::uint16_t> dense(320), b(192);
  for (std::size_t i = 0; i < dense.size(); ++i)
    dense[i] = static_cast<std::uint16_t>(
        encode_nearest_even(static_cast<double>(i * 7 % 9) - 4, spec_of(Format::f16)));
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] =
        static_cast<std::uint16_t>(encode_nearest_even(static_cast<double>(i % 5) - 2, spec_of(Format::f16)));
  corpus::write_npy(path("X.npy"), corpus::make_tensor<std::uint16_t>("x", DType::f16, {5, 64}, dense));
  corpus::write_npy(path("W.npy"), corpus::make_tensor<std::uint16_t>("x", DType::f16, {64, 3}, b));
  const char* sparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
  std::vector<std::string> pack = {"-q",          "convert", "pack",        "--inst",     sparse,       "--a",
                                   path("X.npy"), "--out",   path("S.npy"), "--metadata", path("P.npy")};
  const Outcome refusal = run(pack);
  EXPECT_EQ(refusal.code, kBadInput);
  EXPECT_NE(refusal.err.find("found more than 2 of 4"), std::string::npos) << refusal.err;
  pack.emplace_back("--prune");
  const Outcome packed = run(pack);
  ASSERT_EQ(packed.code, kAllGood) << packed.err;
  ASSERT_EQ(matmul(sparse, "S.npy", "W.npy", {"--metadata", path("P.npy")}).code, kAllGood);
  const auto found = d().data;
  const Tensor stored = corpus::load_tensor(path("S.npy")), metadata = corpus::load_tensor(path("P.npy"));
  const Sparsity two_of_four = sparsity_of(*find_instruction(sparse));
  corpus::Tensor expanded = corpus::make_tensor<std::uint16_t>("x", DType::f16, {5, 64}, dense);
  expanded.data = expand_sparse(two_of_four, spec_of(Format::f16), stored.data.data(),
                                reinterpret_cast<const std::uint8_t*>(metadata.data.data()), 5, 64);
  corpus::write_npy(path("E.npy"), expanded);
  ASSERT_EQ(matmul("mma.m16n8k16.f32.f16.f16.f32", "E.npy", "W.npy").code, kAllGood);
  EXPECT_EQ(d().data, found);
  // What was packed is packed again as it is, without a word about pruning.
  const std::vector<std::string> again = {"-q",           "convert",    "pack",        "--inst",
                                          sparse,         "--a",        path("E.npy"), "--out",
                                          path("S2.npy"), "--metadata", path("P2.npy")};
  EXPECT_EQ(run(again).code, kAllGood);
  EXPECT_EQ(corpus::load_tensor(path("S2.npy")).data, stored.data);
}

TEST_F(MatmulCommand, SchemesOfSlices) {
  save<double>("A64.npy", DType::f64, {5, 33}, 1.0 / 3);
  save<double>("B64.npy", DType::f64, {33, 7}, 3);
  save<float>("A32.npy", DType::f32, {5, 33}, 1.0F / 3);
  save<float>("B32.npy", DType::f32, {33, 7}, 3);
  const auto scheme = [&](const char* name, const char* bits, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"-q",       "matmul",
                                      "--scheme", name,
                                      "--a",      path(std::string("A") + bits + ".npy"),
                                      "--b",      path(std::string("B") + bits + ".npy"),
                                      "--out",    path("D.npy")};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  Outcome outcome = scheme("ozaki1:auto", "64");
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find(" by ")), "ozaki1:8 (36 products)");
  EXPECT_EQ(d().shape, (std::vector<std::uint64_t>{5, 7}));
  double value = 0;
  std::memcpy(&value, d().data.data(), sizeof value);
  EXPECT_NEAR(value, 33, 1e-14);
  outcome = scheme("bf16x9", "32", {"--arch", "blackwell"});
  ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
  EXPECT_NE(outcome.out.find("tcgen05."), std::string::npos) << outcome.out;
  std::filesystem::remove(path("D.npy"));
  refused(scheme("bf16", "32"), {"--scheme: found bf16, allowed: tf32x3, ", "cublas-f64:1 to cublas-f64:10"});
  refused(scheme("cublas-f64:11", "64"), {"--scheme: found cublas-f64:11"});
  refused(scheme("bf16x3", "32", {"--alpha", "2"}), {"--alpha: found with --scheme, allowed: without it"});
  refused(scheme("bf16x3", "32", {"--promote", "24"}), {"promote: found 24, allowed: a multiple of k = 16"});
  refused(scheme("bf16x3", "32", {"--inst", kWgmmaF16}), {"inst: found ", "allowed: a dense one of bf16"});
  refused(scheme("bf16x3", "32", {"--arch", "volta"}), {"--arch: found volta", "an instruction of bf16"});
  refused(run({"-q", "matmul", "--a", path("A32.npy"), "--b", path("B32.npy"), "--out", path("D.npy")}),
          {"--inst: found nothing, allowed: an instruction, or --scheme"});
}

TEST_F(MatmulCommand, RefusesInOneLine) {
  refused(matmul(kWgmmaF16, "B.npy", "B.npy"), {"--b shape", "[1, 33, 7]", "[1, 7, any]"});
  refused(matmul(kWgmmaF16, "A.npy", "B8.npy"), {"--b dtype", "U8", "F16"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--promote", "20"}), {"promote", "20", "multiple of k = 16"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "0"}), {"split_k", "allowed: 1 or more"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--split-k", "-1"}),
          {"--split-k", "-1", "allowed: 0 or more"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--d-format", "e4m3"}), {"e4m3", "f32, f16, bf16"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--beta", "1"}), {"--beta: found 1 without --c"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--simd", "sse9"}), {"--simd", "portable"});
  refused(matmul("mma.m8n8k4.f32.f16.f16.f16", "A.npy", "B.npy", {"--arch", "volta"}),
          {"C of f16", "D of f32"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--memory", "100"}), {"--memory", "operands", "100 bytes"});
  refused(matmul(kWgmmaF16, "A.npy", "B.npy", {"--memory", "100000"}),
          {"--memory", "result", "100000 bytes"});
}

}  // namespace
}  // namespace mmaudit::cli::test
