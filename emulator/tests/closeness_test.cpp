#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/gtest/gemm_close.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {
namespace {

/// A product of normally distributed numbers, with its D by the model.
struct Product {
  Product(const char* architecture, const char* name, std::uint64_t k, std::uint64_t promote = 0,
          std::uint64_t size = 48)
      : instruction(*find_instruction(name)),
        datapath(find_datapath(*find_architecture(architecture), instruction)->datapath),
        d(size * size * spec_of(instruction.d).storage_bytes()) {
    problem.m = problem.n = size, problem.k = k, problem.promote = promote;
    fill(a, spec_of(instruction.a), size * stored_k(instruction, problem));
    fill(b, spec_of(instruction.b), size * k);
    const std::uint64_t blocks = scale_blocks(instruction, problem);
    for (auto* scales : {&scale_a, &scale_b})
      for (std::uint64_t s = 0; s < size * blocks; ++s)
        scales->push_back(static_cast<std::uint8_t>(one_bits(spec_of(instruction.scale)) + random() % 4));
    problem.a = a.data(), problem.b = b.data(), problem.d = d.data();
    if (blocks != 0) problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
    if (is_sparse(instruction.op)) {
      const Sparsity sparsity = sparsity_of(instruction);
      metadata.resize(size * k / 2);
      for (std::size_t at = 0; at < metadata.size(); at += static_cast<std::size_t>(sparsity.kept))
        write_pattern(sparsity, static_cast<int>(random() % static_cast<unsigned>(patterns(sparsity))),
                      metadata.data() + at);
      problem.metadata = metadata.data();
    }
    compute();
  }

  void fill(std::vector<std::byte>& x, const FormatSpec& format, std::uint64_t count) {
    std::normal_distribution<double> normal;
    x.resize(count * format.storage_bytes());
    for (std::uint64_t i = 0; i < count; ++i)
      store_word(x.data(), format.storage_bytes(), i, encode_nearest_even(normal(random), format, true));
  }
  /// D of what the operands are now; the check then gets the operands of before.
  void compute() { matmul(instruction, datapath, problem); }
  [[nodiscard]] GemmCloseness check() const { return check_gemm_close(instruction, datapath, problem); }

  /// k of A and B in another order inside every `length` of k.
  void shuffle(std::uint64_t length) {
    std::vector<std::uint64_t> order(problem.k);
    std::iota(order.begin(), order.end(), 0);
    for (std::uint64_t first = 0; first < problem.k; first += length)
      std::shuffle(order.begin() + static_cast<std::ptrdiff_t>(first),
                   order.begin() + static_cast<std::ptrdiff_t>(first + length), random);
    const std::size_t of_a = spec_of(instruction.a).storage_bytes(),
                      of_b = spec_of(instruction.b).storage_bytes();
    const std::vector<std::byte> old_a = a, old_b = b;
    for (std::uint64_t k = 0; k < problem.k; ++k)
      for (std::uint64_t i = 0; i < problem.m; ++i) {
        store_word(a.data(), of_a, i * problem.k + k,
                   load_word(old_a.data(), of_a, i * problem.k + order[k]));
        store_word(b.data(), of_b, k * problem.n + i,
                   load_word(old_b.data(), of_b, order[k] * problem.n + i));
      }
  }

  Instruction instruction;
  Datapath datapath;
  std::mt19937 random{7};
  std::vector<std::byte> a, b, d;
  std::vector<std::uint8_t> scale_a, scale_b, metadata;
  Matmul problem;
};

constexpr std::uint64_t kDepth = 2048;

struct Kind {
  const char *architecture, *name;
  std::uint64_t promote, chain;  ///< chain: k that one running sum or one scale covers
};

constexpr Kind kDense[] = {
    {"hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", 0, kDepth},
    {"hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", 128, 128},
    {"hopper", "wgmma.m64n64k32.f16.e5m2.e5m2", 0, kDepth},
    {"hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32", 0, kDepth},
    {"hopper", "mma.m16n8k16.f32.f16.f16.f32", 0, kDepth},
    {"hopper", "mma.m16n8k16.f16.f16.f16.f16", 0, kDepth},
    {"hopper", "mma.m16n8k8.f32.tf32.tf32.f32", 0, kDepth},
    {"ampere", "mma.m16n8k16.f32.bf16.bf16.f32", 1024, 1024},
    {"blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0", 0, 32},
    {"blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0", 128, 32},
    {"blackwell", "tcgen05.m128n64k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0", 0, 32},
    {"blackwell", "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3", 0, 16},
};

class OfEveryKind : public testing::TestWithParam<Kind> {};

TEST_P(OfEveryKind, TheModelPassesAndItsErrorsAreAsLargeAsPredicted) {
  const Kind kind = GetParam();
  const Product one(kind.architecture, kind.name, kDepth, kind.promote);
  const GemmCloseness found = one.check();
  EXPECT_TRUE(found.close()) << found.explanation();
  EXPECT_EQ(found.bit_exact, found.elements);
  EXPECT_GEMM_CLOSE(one.instruction, one.datapath, one.problem);

  const GemmTolerance tolerance = gemm_tolerance(one.instruction, one.datapath, one.problem, 2);
  const FormatSpec d = spec_of(one.instruction.d);
  double mean = 0, square = 0, variance = 0, count = 0;
  for (std::size_t e = 0; e < tolerance.exact.size(); ++e) {
    const double error = decode_value(load_word(one.d.data(), d.storage_bytes(), e), d) - tolerance.exact[e];
    ASSERT_LE(std::fabs(error), tolerance.bound[e]);
    const double beside = error - tolerance.drift[e];
    square += beside * beside, variance += tolerance.deviation[e] * tolerance.deviation[e];
    if (tolerance.deviation[e] == 0) continue;
    const double score = beside / tolerance.deviation[e];
    mean += std::copysign(score, score * tolerance.exact[e]), ++count;
  }
  if (variance == 0) {  // every sum is exact, and so is the model's
    EXPECT_EQ(square, 0);
    return;
  }
  EXPECT_NEAR(mean / count, 0, 0.3);
  EXPECT_NEAR(std::sqrt(square / variance), 1, 0.3);
}

TEST_P(OfEveryKind, AnotherOrderInsideTheInstructionsPasses) {
  const Kind kind = GetParam();
  Product one(kind.architecture, kind.name, kDepth, kind.promote);
  one.shuffle(std::min<std::uint64_t>(kind.chain, static_cast<std::uint64_t>(one.instruction.k)));
  const GemmCloseness found = one.check();
  EXPECT_TRUE(found.close()) << found.explanation();
}

TEST_P(OfEveryKind, AMissingInstructionIsCaught) {
  const Kind kind = GetParam();
  Product one(kind.architecture, kind.name, kDepth, kind.promote);
  const auto k = static_cast<std::uint64_t>(one.instruction.k),
             bytes = std::uint64_t{spec_of(one.instruction.a).storage_bytes()};
  const std::vector<std::byte> whole = one.a;
  for (std::uint64_t i = 0; i < one.problem.m; ++i)
    std::fill_n(one.a.begin() + static_cast<std::ptrdiff_t>((i * kDepth + 1024) * bytes), k * bytes,
                std::byte{});
  one.compute();
  one.a = whole;
  EXPECT_FALSE(one.check().close()) << one.check().explanation();
}

TEST_P(OfEveryKind, OneElementOffByATwoHundredAndFiftySixthIsCaughtAndNamed) {
  const Kind kind = GetParam();
  Product one(kind.architecture, kind.name, kDepth, kind.promote);
  const FormatSpec d = spec_of(one.instruction.d);
  const std::size_t at = 5 * 48 + 7, bytes = d.storage_bytes();
  const double value = decode_value(load_word(one.d.data(), bytes, at), d);
  store_word(one.d.data(), bytes, at, encode_nearest_even(value * (1 + 0x1p-8), d));
  const GemmCloseness found = one.check();
  EXPECT_FALSE(found.close()) << found.explanation();
  EXPECT_EQ(found.bit_exact, found.elements - 1);
  EXPECT_EQ(found.worst_row, 5U);
  EXPECT_EQ(found.worst_column, 7U);
  EXPECT_FALSE(gemm_is_close(one.instruction, one.datapath, one.problem));
}

std::string words(const testing::TestParamInfo<Kind>& info) {
  std::string name = std::string(info.param.architecture) + "_" + info.param.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name + "_" + std::to_string(info.param.promote);
}
INSTANTIATE_TEST_SUITE_P(Closeness, OfEveryKind, testing::ValuesIn(kDense), words);

TEST(Closeness, AWrongPromotionIntervalIsCaught) {
  for (const std::uint64_t claimed : {64U, 128U, 512U})
    for (const std::uint64_t real : {std::uint64_t{0}, claimed / 2, claimed, claimed * 2}) {
      Product one("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", kDepth, real, 64);
      one.problem.promote = claimed;
      const GemmCloseness found = one.check();
      EXPECT_EQ(found.close(), real == claimed) << claimed << " " << real << ": " << found.explanation();
    }
}

TEST(Closeness, SplitsAndNoPromotionOfHalvesAreCaught) {
  for (const bool split : {false, true}) {
    Product one("hopper", "mma.m16n8k16.f32.f16.f16.f32", kDepth, split ? 0 : 128);
    one.problem.promote = 0;
    one.problem.split_k = split ? 8 : 1;
    EXPECT_FALSE(one.check().close()) << one.check().explanation();
  }
}

TEST(Closeness, SwappedScalesAreCaught) {
  for (const char* name : {"tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0",
                           "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3"}) {
    Product one("blackwell", name, kDepth);
    const auto scale_a = one.scale_a;
    std::swap(one.scale_a[3], one.scale_a[4]);
    if (one.scale_a[3] == one.scale_a[4]) ++one.scale_a[3];
    one.compute();
    one.scale_a = scale_a;
    const GemmCloseness row = one.check();
    EXPECT_FALSE(row.close()) << row.explanation();
    std::swap(one.problem.scale_a, one.problem.scale_b);
    one.compute();
    std::swap(one.problem.scale_a, one.problem.scale_b);
    EXPECT_FALSE(one.check().close()) << one.check().explanation();
  }
}

TEST(Closeness, OfSparseProducts) {
  Product one("hopper", "wgmma.sp.m64n64k64.f32.e4m3.e4m3", kDepth);
  EXPECT_GEMM_CLOSE(one.instruction, one.datapath, one.problem);
  std::swap(one.metadata[0], one.metadata[2]);
  one.compute();
  std::swap(one.metadata[0], one.metadata[2]);
  const auto metadata = one.metadata;
  for (std::size_t at = 0; at < 64; at += 2) one.metadata[at] = 0, one.metadata[at + 1] = 1;
  one.compute();
  one.metadata = metadata;
  EXPECT_FALSE(one.check().close()) << one.check().explanation();
}

TEST(Closeness, BitExactIsNeverVacuous) {
  Product one("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", 64, 0, 4);
  std::fill(one.a.begin(), one.a.end(), std::byte{});
  one.compute();
  EXPECT_GEMM_CLOSE(one.instruction, one.datapath, one.problem);
  one.b[0] = std::byte{0x7F};  // a NaN
  one.compute();
  EXPECT_GEMM_CLOSE(one.instruction, one.datapath, one.problem);
  float wrong = 0;
  std::memcpy(one.d.data(), &wrong, sizeof wrong);
  EXPECT_FALSE(gemm_is_close(one.instruction, one.datapath, one.problem));
}

TEST(Closeness, ExactSumsAllowNothingElse) {
  Product one("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", 64, 0, 8);
  std::fill(one.a.begin(), one.a.end(), std::byte{0x38});
  std::fill(one.b.begin(), one.b.end(), std::byte{0x40});
  one.compute();
  const GemmTolerance tolerance = gemm_tolerance(one.instruction, one.datapath, one.problem);
  EXPECT_EQ(tolerance.deviation[0], 0);
  EXPECT_EQ(tolerance.exact[0], 128);
  const float wrong = 128.0078125F;
  std::memcpy(one.d.data(), &wrong, sizeof wrong);
  EXPECT_EQ(one.check().beyond, 1U);
  EXPECT_FALSE(one.check().close());
}

TEST(Closeness, OfNothingIsNoPass) {
  Product one("hopper", "mma.m16n8k16.f32.f16.f16.f32", 16, 0, 1);
  one.problem.m = 0;
  EXPECT_FALSE(one.check().close());
}

TEST(Closeness, FalseAlarmsOfOtherOrdersAreRare) {
  Product one("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", 512, 128, 32);
  int alarms = 0;
  for (int run = 0; run < 100; ++run) {
    one.shuffle(32);
    alarms += one.check().close() ? 0 : 1;
  }
  EXPECT_EQ(alarms, 0);
}

}  // namespace
}  // namespace mmaudit
