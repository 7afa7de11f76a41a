// The C interface: the same bits as the model, one line for what it refuses, nothing written before that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "c_interface.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/mmaudit.h"
#include "mmaudit/scale_layout.hpp"

namespace mmaudit {
namespace {

TEST(CInterface, SaysWhatItIs) {
  EXPECT_EQ(mmaudit_abi(), MMAUDIT_ABI);
  EXPECT_EQ(std::string(mmaudit_version()).find('.'), 1U);
  EXPECT_NE(std::string(mmaudit_revision()), "");
}

TEST(CInterface, ListsWhatTheHeadersHave) {
  EXPECT_EQ(mmaudit_architecture_count(), architectures().size());
  EXPECT_STREQ(mmaudit_architecture_name(0), architectures()[0].name.data());
  EXPECT_EQ(mmaudit_architecture_name(mmaudit_architecture_count()), nullptr);
  auto format = zeroed<mmaudit_format>();
  for (std::size_t i = 0; i < mmaudit_format_count(); ++i) {
    ASSERT_EQ(mmaudit_format_at(i, &format), MMAUDIT_OK);
    EXPECT_EQ(format.storage_bits, spec_of(find_format(format.name).value()).storage_bits);
  }
  EXPECT_EQ(mmaudit_format_at(mmaudit_format_count(), &format), MMAUDIT_BAD_INPUT);
  ASSERT_EQ(mmaudit_find_format("fp8_e4m3", &format), MMAUDIT_OK);
  EXPECT_STREQ(format.file, "F8_E4M3");
  EXPECT_STREQ(format.torch, "float8_e4m3fn");
  EXPECT_EQ(format.numpy, nullptr);
  auto row = zeroed<mmaudit_instruction>();
  for (std::size_t i = 0; i < mmaudit_instruction_count("sm_90"); ++i) {
    ASSERT_EQ(mmaudit_instruction_at("sm_90", i, &row), MMAUDIT_OK);
    EXPECT_STREQ(row.evidence, "recorded") << row.name;
  }
  ASSERT_EQ(mmaudit_find_instruction("blackwell_rtx", kScaled, &row), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_STREQ(row.scale, "ue4m3");
  EXPECT_EQ(row.scale_block, 16U);
  EXPECT_EQ(mmaudit_instruction_count("nothing"), 0U);
  char* text = nullptr;
  ASSERT_EQ(mmaudit_list("hopper", &text), MMAUDIT_OK);
  const std::string json = taken_json(text);
  EXPECT_NE(json.find(kF16), std::string::npos);
  EXPECT_EQ(json.find("\"volta\""), std::string::npos);
}

TEST(CInterface, AnOlderStructureGetsWhatItHas) {
  mmaudit_format format{};
  format.size = offsetof(mmaudit_format, value_bits);
  format.value_bits = 77;
  ASSERT_EQ(mmaudit_find_format("f16", &format), MMAUDIT_OK);
  EXPECT_EQ(format.storage_bits, 16U);
  EXPECT_EQ(format.value_bits, 77U);
  struct Newer {
    mmaudit_cast cast;
    std::uint64_t more;
  } newer{};
  newer.cast.size = sizeof newer;
  newer.cast.from = newer.cast.to = "f16";
  EXPECT_EQ(mmaudit_convert(&newer.cast), MMAUDIT_OK) << mmaudit_last_error();
  newer.more = 1;
  EXPECT_EQ(mmaudit_convert(&newer.cast), MMAUDIT_BAD_INPUT);
}

TEST(CInterface, TilesAreThoseOfTheModel) {
  const Instruction inst = find_instruction(kFp8).value();
  const auto a = bits<std::uint8_t>(std::size_t{2} * 64 * 32, 1),
             b = bits<std::uint8_t>(std::size_t{2} * 32 * 64, 2);
  const auto c = bits<std::uint32_t>(std::size_t{2} * 64 * 64, 3);
  const std::vector<std::uint8_t> modifiers = {kScaleDZero, kNegateA};
  std::vector<std::uint32_t> d(c.size()), expected(c.size());
  auto work = zeroed<mmaudit_tiles>();
  work.inst = kFp8;
  work.tiles = 2;
  work.a = in(a);
  work.b = in(b);
  work.c = in(c);
  work.d = out(d);
  work.modifiers = in(modifiers);
  ASSERT_EQ(mmaudit_emulate(&work), MMAUDIT_OK) << mmaudit_last_error();
  TileView batch;
  batch.tiles = 2;
  batch.a = a.data();
  batch.b = b.data();
  batch.c = c.data();
  batch.d = expected.data();
  batch.modifiers = modifiers.data();
  emulate(inst, find_datapath(*find_architecture("hopper"), inst)->datapath, batch);
  EXPECT_EQ(d, expected);

  std::vector<std::uint32_t> both = c;  // D in place of C
  work.c = in(both);
  work.d = out(both);
  ASSERT_EQ(mmaudit_emulate(&work), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(both, expected);
}

TEST(CInterface, ProductsAreThoseOfTheModel) {
  const Instruction inst = find_instruction(kFp8).value();
  const Datapath& model = find_datapath(*find_architecture("hopper"), inst)->datapath;
  const auto a = bits<std::uint8_t>(std::size_t{5} * 100, 1), b = bits<std::uint8_t>(std::size_t{100} * 7, 2);
  const auto c = bits<std::uint16_t>(std::size_t{5} * 7, 3);
  std::vector<std::uint16_t> d(c.size()), expected(c.size());
  auto work = zeroed<mmaudit_product>();
  work.inst = kFp8;
  work.batch = 1;
  work.m = 5;
  work.n = 7;
  work.k = 100;
  work.a = in(a);
  work.b = in(b);
  work.c = in(c);
  work.d = out(d);
  work.promote = 64;
  work.split_k = 2;
  work.epilogue = 1;
  work.alpha = 0.5F;
  work.beta = 2;
  work.d_format = "bf16";
  ASSERT_EQ(mmaudit_matmul(&work), MMAUDIT_OK) << mmaudit_last_error();
  Matmul problem;
  problem.m = 5;
  problem.n = 7;
  problem.k = 100;
  problem.a = a.data();
  problem.b = b.data();
  problem.c = c.data();
  problem.d = expected.data();
  problem.promote = 64;
  problem.split_k = 2;
  problem.epilogue = Epilogue{0.5F, 2, Format::bf16};
  matmul(inst, model, problem);
  EXPECT_EQ(d, expected);
  std::uint64_t bytes = 0;
  ASSERT_EQ(mmaudit_matmul_bytes(&work, &bytes), MMAUDIT_OK);
  MatmulOptions options;
  options.threads = 0;
  EXPECT_EQ(bytes, matmul_bytes(inst, problem, options));
}

TEST(CInterface, ScaledProductsInBothLayouts) {
  constexpr const char* kNv4 = "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3";
  constexpr std::size_t kM = 5, kN = 7, kK = 100, kBlocks = 7;
  const Instruction inst = find_instruction(kNv4).value();
  const Datapath& model = find_datapath(*find_architecture("blackwell"), inst)->datapath;
  auto a = bits<std::uint8_t>(kM * kK, 1), b = bits<std::uint8_t>(kK * kN, 2);
  for (auto* operand : {&a, &b})
    for (std::uint8_t& x : *operand) x &= 15U;
  const auto scale_a = bits<std::uint8_t>(kM * kBlocks, 3), scale_b = bits<std::uint8_t>(kBlocks * kN, 4);
  std::vector<std::uint32_t> d(kM * kN), expected(kM * kN);
  Matmul problem;
  problem.m = kM, problem.n = kN, problem.k = kK;
  problem.a = a.data(), problem.b = b.data(), problem.d = expected.data();
  problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
  matmul(inst, model, problem);
  auto work = zeroed<mmaudit_product>();
  work.arch = "blackwell";
  work.inst = kNv4;
  work.batch = 1, work.m = kM, work.n = kN, work.k = kK;
  work.split_k = 1;
  work.a = in(a), work.b = in(b), work.d = out(d);
  work.scale_a = in(scale_a), work.scale_b = in(scale_b);
  ASSERT_EQ(mmaudit_matmul(&work), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(d, expected);
  const auto blocked_a = blocked_scales(scale_a.data(), ScaleOwner::a, 1, kM, kBlocks);
  const auto blocked_b = blocked_scales(scale_b.data(), ScaleOwner::b, 1, kN, kBlocks);
  work.scale_layout = "blocked";
  EXPECT_EQ(mmaudit_matmul(&work), MMAUDIT_BAD_INPUT);
  EXPECT_NE(std::string(mmaudit_last_error()).find("scale_a: found 35 bytes, allowed: 1024 bytes"),
            std::string::npos)
      << mmaudit_last_error();
  work.scale_a = in(blocked_a), work.scale_b = in(blocked_b);
  d.assign(d.size(), 0);
  ASSERT_EQ(mmaudit_matmul(&work), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(d, expected);
  work.scale_layout = "swizzled";
  EXPECT_EQ(mmaudit_matmul(&work), MMAUDIT_BAD_INPUT);
  EXPECT_STREQ(mmaudit_last_error(), "scale_layout: found swizzled, allowed: rows, blocked");
  work.scale_layout = nullptr;
  work.inst = kFp8;
  EXPECT_EQ(mmaudit_matmul(&work), MMAUDIT_BAD_INPUT);
}

TEST(CInterface, SparseProductsNeedMetadata) {
  const std::vector<std::uint16_t> a = {0x3C00, 0x4000, 0x4200, 0x4400};  // 1 2 3 4
  std::vector<std::uint16_t> b(8);
  for (std::size_t k = 0; k < 8; ++k) b[k] = static_cast<std::uint16_t>((k + 15) << 10);  // 2^k
  std::vector<std::uint8_t> metadata = {1, 3, 0, 2};
  std::vector<float> d(1);
  auto work = zeroed<mmaudit_product>();
  work.inst = kSparse;
  work.batch = work.m = work.n = work.split_k = 1;
  work.k = 8;
  work.a = in(a), work.b = in(b), work.d = out(d);
  EXPECT_EQ(mmaudit_matmul(&work), MMAUDIT_BAD_INPUT);
  work.metadata = in(metadata);
  ASSERT_EQ(mmaudit_matmul(&work), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(d[0], 1 * 2.0F + 2 * 8.0F + 3 * 16.0F + 4 * 64.0F);
  metadata[3] = 0;
  EXPECT_EQ(mmaudit_matmul(&work), MMAUDIT_BAD_INPUT);
  EXPECT_STREQ(mmaudit_last_error(),
               "metadata: matrix 0 row 0 group 1: found 0 0, allowed: two of 0 to 3, ascending");
}

TEST(CInterface, BoundsAProductAndChecksOne) {
  constexpr std::size_t kDepth = 512;
  std::vector<std::uint8_t> a(3 * kDepth), b(kDepth * 4);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<std::uint8_t>(0x28U + i * 7 % 16);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<std::uint8_t>(0x28U + i * 5 % 16);
  std::vector<float> d(12);
  std::vector<double> exact(12), bound(12);
  auto work = zeroed<mmaudit_product>();
  work.inst = kFp8;
  work.batch = 1;
  work.m = 3;
  work.n = 4;
  work.k = kDepth;
  work.split_k = 1;
  work.a = in(a);
  work.b = in(b);
  ASSERT_EQ(mmaudit_gemm_tolerance(&work, out(exact), out(bound)), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(mmaudit_gemm_tolerance(&work, {}, {}), MMAUDIT_OK);
  work.d = out(d);
  ASSERT_EQ(mmaudit_matmul(&work), MMAUDIT_OK) << mmaudit_last_error();
  for (std::size_t i = 0; i < d.size(); ++i) {
    EXPECT_GT(bound[i], 0);
    EXPECT_LT(bound[i], exact[i]);
    EXPECT_LE(std::fabs(static_cast<double>(d[i]) - exact[i]), bound[i]);
  }
  auto check = zeroed<mmaudit_gemm_check>();
  ASSERT_EQ(mmaudit_check_gemm(&work, &check, nullptr), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(check.within, 1);
  EXPECT_EQ(check.vacuous, 0);
  EXPECT_EQ(check.elements, 12U);
  d[6] += static_cast<float>(3 * bound[6]);
  char* line = nullptr;
  ASSERT_EQ(mmaudit_check_gemm(&work, &check, &line), MMAUDIT_OK);
  EXPECT_NE(taken_json(line), "");
  EXPECT_EQ(check.within, 0);
  EXPECT_EQ(check.beyond, 1U);
  EXPECT_EQ(check.worst_row, 1U);
  EXPECT_EQ(check.worst_column, 2U);
  EXPECT_EQ(check.worst_found, static_cast<double>(d[6]));
  EXPECT_EQ(check.worst_bound, bound[6]);
  exact.pop_back();
  EXPECT_EQ(mmaudit_gemm_tolerance(&work, out(exact), {}), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(std::string(mmaudit_last_error()).find("exact: found"), 0U) << mmaudit_last_error();
  EXPECT_EQ(mmaudit_check_gemm(&work, nullptr, nullptr), MMAUDIT_BAD_INPUT);
  work.d = {};
  EXPECT_EQ(mmaudit_check_gemm(&work, &check, nullptr), MMAUDIT_BAD_INPUT);
  work.epilogue = 1;
  work.alpha = 2;
  exact.push_back(0);
  const double of_one = exact[0];
  EXPECT_EQ(mmaudit_gemm_tolerance(&work, out(exact), {}), MMAUDIT_OK);
  EXPECT_EQ(exact[0], 2 * of_one);
}

TEST(CInterface, ExplainsAndConverts) {
  std::vector<std::uint16_t> a(16), b(16);
  a[0] = 0x3C00, b[0] = 0x4000;
  auto dot = zeroed<mmaudit_dot>();
  dot.inst = kF16;
  dot.a = in(a);
  dot.b = in(b);
  char* text = nullptr;
  ASSERT_EQ(mmaudit_explain(&dot, &text), MMAUDIT_OK) << mmaudit_last_error();
  const std::string json = taken_json(text);
  EXPECT_NE(json.find(R"("d":"40000000")"), std::string::npos) << json;
  EXPECT_EQ(mmaudit_explain(&dot, nullptr), MMAUDIT_BAD_INPUT);

  const std::vector<float> source = {1.1F, 500, -0.0001F, 448};
  std::vector<std::uint8_t> result(4);
  auto counts = zeroed<mmaudit_cast_counts>();
  auto cast = zeroed<mmaudit_cast>();
  cast.from = "f32";
  cast.to = "e4m3";
  cast.source = in(source);
  cast.result = out(result);
  cast.counts = &counts;
  ASSERT_EQ(mmaudit_convert(&cast), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(result, (std::vector<std::uint8_t>{0x39, 0x7F, 0x80, 0x7E}));
  EXPECT_EQ(counts.exact, 1U);
  EXPECT_EQ(counts.inexact, 2U);
  EXPECT_EQ(counts.overflow, 1U);
  EXPECT_EQ(counts.underflow, 1U);
}

/// Counts how often it is asked; D of a * b alone that is not 0 fails.
struct ProductOfOnes {
  std::size_t asked = 0;
  static std::size_t first_failing(void* user, std::size_t count, const mmaudit_dot* dots) {
    ++static_cast<ProductOfOnes*>(user)->asked;
    const auto* a = static_cast<const std::uint16_t*>(dots->a.data);
    const auto* b = static_cast<const std::uint16_t*>(dots->b.data);
    if (dots->a.bytes != count * 16 * 2 || dots->b.bytes != count * 16 * 2 || dots->c.bytes != count * 4)
      return 0;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < 16; ++k)
        if (a[i * 16 + k] != 0 && b[i * 16 + k] != 0) return i;
    return count;
  }
};

TEST(CInterface, ShrinksADotProductToOneProductOfOnes) {
  const std::vector<std::uint16_t> a = bits<std::uint16_t>(16, 5), b = bits<std::uint16_t>(16, 6);
  const std::vector<std::uint32_t> c = {0x3FC00000};
  std::vector<std::uint16_t> small_a(16, 9), small_b(16, 9);
  std::vector<std::uint32_t> small_c(1, 9);
  auto work = zeroed<mmaudit_dot>();
  work.inst = kF16;
  work.a = in(a);
  work.b = in(b);
  work.c = in(c);
  auto result = zeroed<mmaudit_shrunk>();
  result.a = out(small_a);
  result.b = out(small_b);
  result.c = out(small_c);
  ProductOfOnes fails;
  ASSERT_EQ(mmaudit_shrink(&work, ProductOfOnes::first_failing, &fails, &result), MMAUDIT_OK)
      << mmaudit_last_error();
  EXPECT_GT(fails.asked, 5U);
  EXPECT_EQ(small_c[0], 0U);
  EXPECT_EQ(std::count(small_a.begin(), small_a.end(), 0x3C00), 1);
  EXPECT_EQ(std::count(small_a.begin(), small_a.end(), 0), 15);
  EXPECT_EQ(std::count(small_b.begin(), small_b.end(), 0x3C00), 1);
  EXPECT_EQ(std::count(small_b.begin(), small_b.end(), 0), 15);
  result.b.bytes = 2;
  small_a.assign(16, 9);
  EXPECT_EQ(mmaudit_shrink(&work, ProductOfOnes::first_failing, &fails, &result), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(std::string(mmaudit_last_error()).substr(0, 2), "b:") << mmaudit_last_error();
  EXPECT_EQ(mmaudit_shrink(&work, nullptr, &fails, &result), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(small_a[0], 9);
}

TEST(CInterface, SlicesOfKReachTheModel) {
  // 2^24 and three ones: one chain loses every one, two slices keep the two of the second.
  std::vector<std::uint16_t> a(64), b(64);
  a[0] = b[0] = 0x6C00;
  for (const std::size_t k : {16U, 32U, 48U}) a[k] = b[k] = 0x3C00;
  std::vector<float> d(1);
  auto work = zeroed<mmaudit_product>();
  work.inst = kF16;
  work.batch = work.m = work.n = 1;
  work.k = 64;
  work.a = in(a);
  work.b = in(b);
  work.d = out(d);
  for (const std::uint64_t slices : {1U, 2U}) {
    work.split_k = slices;
    ASSERT_EQ(mmaudit_matmul(&work), MMAUDIT_OK) << mmaudit_last_error();
    EXPECT_EQ(d[0], slices == 1 ? 0x1p24F : 0x1p24F + 2);
  }
}

TEST(CInterface, AProductOfALibraryHasAnEpilogueAndABatch) {
  // Sums of one product each, 2 * 3 + bias; the second product of the batch has the same A.
  const std::vector<float> a = {2, 0}, b = {3, 0, -3, 0}, c = {10, 20}, bias = {0.5F};
  std::vector<float> d(2, -1);
  auto work = zeroed<mmaudit_gemm>();
  work.type = "f32";
  work.plan = "scalar=true epilogue=fused_c";
  work.problem = "alpha=2 beta=0.25 bias=true activation=relu batch=2 stride_a=0";
  work.m = work.n = 1;
  work.k = 2;
  work.a = in(a);
  work.b = in(b);
  work.c = in(c);
  work.bias = in(bias);
  work.d = out(d);
  ASSERT_EQ(mmaudit_gemm_predict(&work, nullptr), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(d, (std::vector<float>{15, 0}));  // 12 + 2.5 + 0.5; -12 + 5 + 0.5 is below zero
  work.c = {};
  EXPECT_EQ(mmaudit_gemm_predict(&work, nullptr), MMAUDIT_BAD_INPUT);
  EXPECT_STREQ(mmaudit_last_error(), "c: found null, allowed: 8 bytes, (batch, m, n) = (2, 1, 1) of f32");
  work.c = in(c);
  for (const auto& [problem, line] :
       {std::pair{"alpha=2 beta=0.25 bias=true batch=2", "a: found 8 bytes"},
        {"beta=1 batch=2 stride_a=0", "bias: found one, allowed: none without beta or bias in the problem"},
        {"beta=x", "problem: beta: found x, allowed: a number"},
        {"activation=tanh", "problem: activation: found tanh, allowed: none, relu, gelu"},
        {"bias=yes", "problem: bias: found yes, allowed: true, false"},
        {"stride_a=0", "stride_a: found 0, allowed: none without a batch"}}) {
    work.problem = problem;
    EXPECT_EQ(mmaudit_gemm_predict(&work, nullptr), MMAUDIT_BAD_INPUT) << problem;
    EXPECT_EQ(std::string(mmaudit_last_error()).substr(0, std::strlen(line)), line);
  }
}

TEST(CInterface, ANanCountsAsNothingElse) {
  const std::vector<float> source = {std::nanf(""), 1.1F};
  std::vector<std::uint8_t> result(2);
  auto counts = zeroed<mmaudit_cast_counts>();
  auto cast = zeroed<mmaudit_cast>();
  cast.from = "f32";
  cast.to = "e5m2";
  cast.source = in(source);
  cast.result = out(result);
  cast.counts = &counts;
  ASSERT_EQ(mmaudit_convert(&cast), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(counts.nan, 1U);
  EXPECT_EQ(counts.inexact, 1U);
  EXPECT_EQ(counts.exact + counts.overflow + counts.underflow + counts.subnormal, 0U);
}

}  // namespace
}  // namespace mmaudit
