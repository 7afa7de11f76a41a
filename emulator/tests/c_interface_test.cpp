// The C interface: the same bits as the model, one line for what it refuses, nothing written before that.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "mmaudit/emulate.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/mmaudit.h"

namespace mmaudit {
namespace {

constexpr const char* kF16 = "mma.m16n8k16.f32.f16.f16.f32";
constexpr const char* kFp8 = "wgmma.m64n64k32.f32.e4m3.e4m3";
constexpr const char* kSparse = "mma.sp.m16n8k32.f32.f16.f16.f32";
constexpr const char* kScaled = "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3";

template <typename T>
mmaudit_in in(const std::vector<T>& x) {
  return {x.data(), x.size() * sizeof(T)};
}
template <typename T>
mmaudit_out out(std::vector<T>& x) {
  return {x.data(), x.size() * sizeof(T)};
}

/// Bits of any kind, the same ones every time.
template <typename T>
std::vector<T> bits(std::size_t count, std::uint64_t seed) {
  std::vector<T> x(count);
  for (T& one : x) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    one = static_cast<T>(seed >> 33);
  }
  return x;
}

template <typename T>
T zeroed() {
  T x{};
  x.size = sizeof x;
  return x;
}

std::string taken_json(char* text) {
  std::string copy = text == nullptr ? "" : text;
  mmaudit_free(text);
  return copy;
}

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
  EXPECT_EQ(mmaudit_gemm_tolerance(&work, {}, {}), MMAUDIT_BAD_INPUT);
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

/// Every refusal, with D as it was.
TEST(CInterface, RefusesInOneLineAndWritesNothing) {
  const std::vector<std::uint16_t> a(std::size_t{16} * 16), b(std::size_t{16} * 8);
  std::vector<std::uint32_t> d(std::size_t{16} * 8, 0x12345678);
  const auto untouched = d;
  mmaudit_tiles good = zeroed<mmaudit_tiles>();
  good.inst = kF16;
  good.tiles = 1;
  good.a = in(a);
  good.b = in(b);
  good.d = out(d);
  const std::vector<std::uint8_t> byte = {1};
  struct Case {
    void (*spoil)(mmaudit_tiles&, const std::vector<std::uint8_t>&);
    const char* line;
  };
  const Case cases[] = {
      {[](mmaudit_tiles& x, const auto&) { x.arch = "hoper"; }, "arch: found \"hoper\", allowed: volta"},
      {[](mmaudit_tiles& x, const auto&) { x.arch = "volta"; },
       "inst: found mma.m16n8k16.f32.f16.f16.f32, which volta lacks"},
      {[](mmaudit_tiles& x, const auto&) { x.inst = "mma"; }, "inst: found \"mma\", allowed"},
      {[](mmaudit_tiles& x, const auto&) { x.inst = nullptr; }, "inst: found nothing"},
      {[](mmaudit_tiles& x, const auto&) { x.tiles = 2; },
       "a: found 512 bytes, allowed: 1024 bytes, (tiles, m, k) = (2, 16, 16) of f16"},
      {[](mmaudit_tiles& x, const auto&) { x.tiles = SIZE_MAX / 2; }, "a: found (tiles, m, k)"},
      {[](mmaudit_tiles& x, const auto&) { x.b.data = nullptr; }, "b: found null"},
      {[](mmaudit_tiles& x, const auto&) { x.b.bytes -= 1; }, "b: found 255 bytes"},
      {[](mmaudit_tiles& x, const auto&) { x.c = x.b; }, "c: found 256 bytes, allowed: 512 bytes"},
      {[](mmaudit_tiles& x, const auto&) { x.d.bytes += 1; }, "d: found 513 bytes"},
      {[](mmaudit_tiles& x, const auto& y) { x.modifiers = in(y); }, "modifiers: found with mma.m16"},
      {[](mmaudit_tiles& x, const auto& y) { x.scale_a = in(y); }, "scale_a: found with mma.m16"},
      {[](mmaudit_tiles& x, const auto& y) { x.metadata = in(y); }, "metadata: found some with mma.m16"},
      {[](mmaudit_tiles& x, const auto&) {
         x.a = {x.d.data, x.d.bytes};
       },
       "a: found memory that the result shares"},
      {[](mmaudit_tiles& x, const auto&) { x.size = 3; }, "size: found 3"}};
  for (const Case& one : cases) {
    mmaudit_tiles work = good;
    one.spoil(work, byte);
    EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_BAD_INPUT) << one.line;
    EXPECT_EQ(std::string(mmaudit_last_error()).rfind(one.line, 0), 0U) << mmaudit_last_error();
    EXPECT_EQ(std::string(mmaudit_last_error()).find('\n'), std::string::npos);
    EXPECT_EQ(d, untouched) << one.line;
  }
  EXPECT_EQ(mmaudit_emulate(nullptr), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(mmaudit_emulate(&good), MMAUDIT_OK);
  EXPECT_NE(d, untouched);

  auto product = zeroed<mmaudit_product>();
  product.inst = kSparse;
  product.split_k = 1;
  EXPECT_EQ(mmaudit_matmul(&product), MMAUDIT_BAD_INPUT);
  product.inst = kF16;
  product.split_k = 0;
  EXPECT_EQ(mmaudit_matmul(&product), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(std::string(mmaudit_last_error()),
            std::string("split_k: found 0, allowed: 1 or more with ") + kF16);
  product.split_k = 1;
  product.batch = product.m = product.k = SIZE_MAX / 4;
  EXPECT_EQ(mmaudit_matmul(&product), MMAUDIT_BAD_INPUT);
}

TEST(CInterface, RefusesModifiersThatItLacks) {
  const auto a = bits<std::uint16_t>(std::size_t{64} * 16, 1),
             b = bits<std::uint16_t>(std::size_t{16} * 8, 2);
  std::vector<std::uint32_t> d(std::size_t{64} * 8);
  std::vector<std::uint8_t> modifiers = {kScaleDZero | kNegateB};
  auto work = zeroed<mmaudit_tiles>();
  work.inst = "wgmma.m64n8k16.f32.f16.f16";
  work.tiles = 1;
  work.a = in(a);
  work.b = in(b);
  work.d = out(d);
  work.modifiers = in(modifiers);
  EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_OK) << mmaudit_last_error();
  for (const std::uint8_t more : {kAFromRegisters, kTransposeA, std::uint8_t{0x80}}) {
    modifiers[0] = kScaleDZero | more;
    EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_BAD_INPUT);
    EXPECT_EQ(std::string(mmaudit_last_error()).find("modifiers: found "), 0U) << mmaudit_last_error();
  }
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

TEST(CInterface, SparseNeedsMetadata) {
  const auto a = bits<std::uint16_t>(std::size_t{16} * 16, 1),
             b = bits<std::uint16_t>(std::size_t{32} * 8, 2);
  std::vector<std::uint8_t> metadata(std::size_t{16} * 16);
  for (std::size_t i = 0; i < metadata.size(); ++i) metadata[i] = i % 2 == 0 ? 1 : 3;
  std::vector<std::uint32_t> d(std::size_t{16} * 8);
  auto work = zeroed<mmaudit_tiles>();
  work.inst = kSparse;
  work.tiles = 1;
  work.a = in(a);
  work.b = in(b);
  work.d = out(d);
  EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_BAD_INPUT);
  work.metadata = in(metadata);
  EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_OK) << mmaudit_last_error();
  metadata[5] = 0;
  EXPECT_EQ(mmaudit_emulate(&work), MMAUDIT_BAD_INPUT);
}

TEST(CInterface, EveryThreadHasItsOwnError) {
  mmaudit_format format = zeroed<mmaudit_format>();
  EXPECT_EQ(mmaudit_find_format("e9m9", &format), MMAUDIT_BAD_INPUT);
  const std::string here = mmaudit_last_error();
  std::string before = "?";
  std::thread([&] {
    before = mmaudit_last_error();
    mmaudit_find_format("other", &format);
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(mmaudit_last_error(), here);
}

}  // namespace
}  // namespace mmaudit
