// mmaudit matmul with scales and factors as checkpoints keep them.
#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

using corpus::DType;
using Bytes = std::vector<std::uint8_t>;

constexpr const char *kNv4 = "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3",
                     *kMx8 = "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0";

class CheckpointOperands : public Folder {
 protected:
  template <class T>
  void save(const std::string& name, DType type, std::vector<std::uint64_t> shape,
            const std::vector<T>& values) {
    corpus::save_tensor(path(name), corpus::make_tensor<T>("x", type, std::move(shape), values));
  }
  void ones(const std::string& name, std::vector<std::uint64_t> shape, std::uint8_t code) {
    const std::uint64_t count = shape[0] * shape[1];
    save<std::uint8_t>(name, DType::u8, std::move(shape), Bytes(count, code));
  }
  Outcome multiplied(const char* instruction, std::vector<std::string> more) {
    more.insert(more.begin(), {"-q", "matmul", "--arch", "blackwell", "--inst", instruction, "--a",
                               path("A.npy"), "--b", path("B.npy"), "--out", path("D.npy")});
    return run(more);
  }
  /// The first row of D.
  std::vector<float> row(const char* instruction, const std::vector<std::string>& more) {
    const Outcome outcome = multiplied(instruction, more);
    EXPECT_EQ(outcome.code, kAllGood) << outcome.err;
    if (outcome.code != kAllGood) return {};
    const corpus::Tensor d = corpus::load_tensor(path("D.npy"));
    const auto all = d.as<float>();
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(d.shape[1])};
  }
};

TEST_F(CheckpointOperands, ScalesOfBLieAsItsFile) {
  ones("A.npy", {3, 80}, 2);  // e2m1 1
  ones("B.npy", {2, 80}, 4);  // e2m1 2, (N, K)
  // (N, K / 16) of ue4m3: 1, 2, 4, 1, 1 and 1, 1, 1, 2, 2; each times 16 products of 2.
  const Bytes scales = {0x38, 0x40, 0x48, 0x38, 0x38, 0x38, 0x38, 0x38, 0x40, 0x40};
  const std::vector<float> wanted = {32 * 9, 32 * 7};
  save("S.safetensors", DType::f8_e4m3, {2, 5}, scales);
  EXPECT_EQ(row(kNv4, {"--b-transposed", "--scale-b", path("S.safetensors:x")}), wanted);
  Bytes other(10);
  for (std::size_t n = 0; n < 2; ++n)
    for (std::size_t b = 0; b < 5; ++b) other[b * 2 + n] = scales[n * 5 + b];
  save("T.npy", DType::u8, {5, 2}, other);
  EXPECT_EQ(row(kNv4, {"--b-transposed", "--scale-b", path("T.npy")}), wanted) << "the product's own order";
  save("S.npy", DType::u8, {2, 5}, scales);
  const Outcome straight = [&] {
    ones("B.npy", {80, 2}, 4);
    return multiplied(kNv4, {"--scale-b", path("S.npy")});
  }();
  EXPECT_EQ(straight.code, kBadInput) << "only a transposed file has transposed scales";
  EXPECT_NE(straight.err.find("with rows and columns exchanged it fits"), std::string::npos) << straight.err;
}

TEST_F(CheckpointOperands, ASquareOfScalesLiesAsItsFile) {
  ones("A.npy", {1, 32}, 2);
  ones("B.npy", {2, 32}, 4);
  save("S.npy", DType::u8, {2, 2}, Bytes{0x38, 0x40, 0x48, 0x50});  // 1 2, 4 8
  EXPECT_EQ(row(kNv4, {"--b-transposed", "--scale-b", path("S.npy")}), (std::vector<float>{32 * 3, 32 * 12}));
}

TEST_F(CheckpointOperands, OneScalePer128x128) {
  ones("A.npy", {1, 160}, 0x38);              // e4m3 1
  ones("B.npy", {130, 160}, 0x38);            // (N, K)
  const Bytes scales = {127, 128, 129, 130};  // 1 2, 4 8
  save("S.npy", DType::u8, {2, 2}, scales);
  save("S.safetensors", DType::f8_e8m0, {2, 2}, scales);
  for (const char* file : {"S.npy", "S.safetensors:x"}) {
    const std::vector<float> d = row(kMx8, {"--b-transposed", "--scale-b", path(file)});
    ASSERT_EQ(d.size(), 130U);
    for (std::size_t n = 0; n < d.size(); ++n)
      EXPECT_EQ(d[n], n < 128 ? 128 + 2 * 32 : 4 * 128 + 8 * 32) << n;
  }
  save("S.npy", DType::u8, {3, 2}, Bytes(6, 127));
  const Outcome wrong = multiplied(kMx8, {"--b-transposed", "--scale-b", path("S.npy")});
  EXPECT_EQ(wrong.code, kBadInput);
  EXPECT_EQ(lines(wrong.err), 1U) << wrong.err;
}

TEST_F(CheckpointOperands, TwoCodesPerByteWhereTheNameSaysSo) {
  ones("A.npy", {1, 64}, 2);     // e2m1 1
  const Bytes packed(64, 0x42);  // 1, then 2
  const auto named = [&](const std::string& name) {
    corpus::save_tensor(
        path("P.safetensors"),
        corpus::make_tensor<std::uint8_t>(name, DType::u8, {2, 32}, std::span<const std::uint8_t>(packed)));
    return run({"-q", "matmul", "--arch", "blackwell", "--inst", kNv4, "--a", path("A.npy"), "--b",
                path("P.safetensors:" + name), "--b-transposed", "--out", path("D.npy")});
  };
  for (const char* name : {"a.weight", "a.weight_packed"}) {
    const Outcome outcome = named(name);
    ASSERT_EQ(outcome.code, kAllGood) << outcome.err;
    const corpus::Tensor d = corpus::load_tensor(path("D.npy"));
    for (const float one : d.as<float>()) EXPECT_EQ(one, 32 * 1 + 32 * 2);
  }
  const Outcome other = named("a.codes");
  EXPECT_EQ(other.code, kBadInput);
  EXPECT_EQ(lines(other.err), 1U) << other.err;
}

TEST_F(CheckpointOperands, AGlobalScaleIsAReciprocal) {
  ones("A.npy", {1, 64}, 2);
  ones("B.npy", {64, 2}, 4);
  const std::vector<float> factor = {8};
  for (const auto& [name, wanted] :
       {std::pair{"a.weight_global_scale", 16.0F}, {"a.weight_scale_2", 1024.0F}}) {
    corpus::save_tensor(path("F.safetensors"),
                        corpus::make_tensor<float>(name, DType::f32, {1}, std::span<const float>(factor)));
    EXPECT_EQ(row(kNv4, {"--factor-b", path("F.safetensors:" + std::string(name)), "--d-format", "f32"}),
              (std::vector<float>{wanted, wanted}));
  }
}

TEST_F(CheckpointOperands, FactorsOfAnyFloatingType) {
  ones("A.npy", {1, 64}, 2);
  ones("B.npy", {64, 1}, 4);
  const auto with = [&](const std::string& file) { return row(kNv4, {"--factor-b", path(file)}); };
  save("F64.npy", DType::f64, {}, std::vector<double>{0.1});
  EXPECT_EQ(with("F64.npy"), (std::vector<float>{128 * 0.1F}));
  save("F.safetensors", DType::bf16, {1, 1}, std::vector<std::uint16_t>{0x3E00});  // 0.125
  EXPECT_EQ(with("F.safetensors"), std::vector<float>{16});
  save("F16.npy", DType::f16, {1}, std::vector<std::uint16_t>{0x3800});  // 0.5
  EXPECT_EQ(with("F16.npy"), std::vector<float>{64});
  save("large.npy", DType::f64, {1}, std::vector<double>{1e300});
  save("two.npy", DType::f64, {2}, std::vector<double>{1, 2});
  save("whole.npy", DType::i32, {1}, std::vector<std::int32_t>{1});
  for (const auto& [file, words] : {std::pair{"large.npy", "found inf, allowed: a finite number"},
                                    {"two.npy", "found F64 [2], allowed: one number"},
                                    {"whole.npy", "found I32 [1], allowed: one number of"}}) {
    const Outcome refused = multiplied(kNv4, {"--factor-a", path(file)});
    EXPECT_EQ(refused.code, kBadInput);
    EXPECT_NE(refused.err.find(words), std::string::npos) << refused.err;
  }
}

}  // namespace
}  // namespace mmaudit::cli::test
