#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "closeness_product.hpp"
#include "mmaudit/gtest/gemm_close.hpp"
#include "mmaudit/gtest/gemm_within.hpp"

namespace mmaudit {
namespace {

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
    {"ampere", "mma.m16n8k16.f16.f16.f16.f16", 0, kDepth},
    {"ampere", "mma.m16n8k8.f32.tf32.tf32.f32", 0, kDepth},
    {"turing", "mma.m16n8k8.f32.f16.f16.f32", 0, kDepth},
    {"ada", "mma.m16n8k32.f32.e4m3.e4m3.f32", 0, kDepth},
    {"ada", "mma.m16n8k32.f32.e4m3.e4m3.f32", 128, 128},
    {"ada", "mma.m16n8k32.f16.e4m3.e4m3.f16", 0, kDepth},
    {"blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0", 0, 32},
    {"blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0", 128, 32},
    {"blackwell", "tcgen05.m128n64k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.ue8m0", 0, 32},
    {"blackwell", "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3", 0, 16},
};

class OfEveryKind : public testing::TestWithParam<Kind> {};

TEST_P(OfEveryKind, TheModelPasses) {
  const Kind kind = GetParam();
  const TrialProduct one(kind.architecture, kind.name, kDepth, kind.promote);
  const GemmCloseness found = one.check();
  EXPECT_TRUE(found.close()) << found.explanation();
  EXPECT_EQ(found.bit_exact, found.elements);
  EXPECT_GEMM_CLOSE(one.instruction, one.datapath, one.problem);
}

TEST_P(OfEveryKind, NoOrderIsFurtherAwayThanTheReach) {
  const Kind kind = GetParam();
  for (const Numbers numbers : {Numbers::normal, Numbers::channels, Numbers::heavy, Numbers::whole}) {
    TrialProduct one(kind.architecture, kind.name, 256, std::min<std::uint64_t>(kind.promote, 128), 16,
                     numbers);
    const GemmTolerance tolerance = gemm_tolerance(one.instruction, one.datapath, one.problem);
    const std::vector<std::byte> model = one.d;
    const FormatSpec d = spec_of(one.instruction.d);
    const auto value = [&](const std::vector<std::byte>& of, std::size_t e) {
      return decode_value(load_word(of.data(), d.storage_bytes(), e), d);
    };
    for (int order = 0; order < 20; ++order) {
      one.shuffle(std::min<std::uint64_t>(kind.chain, static_cast<std::uint64_t>(one.instruction.k)));
      one.compute();
      for (std::size_t e = 0; e < tolerance.reach.size(); ++e)
        ASSERT_TRUE(std::fabs(value(one.d, e) - value(model, e)) <= tolerance.reach[e] ||
                    std::isinf(tolerance.bound[e]))
            << e << ": " << value(one.d, e) << " " << value(model, e) << " " << tolerance.reach[e];
    }
  }
}

TEST_P(OfEveryKind, AnotherOrderInsideTheInstructionsPasses) {
  const Kind kind = GetParam();
  TrialProduct one(kind.architecture, kind.name, kDepth, kind.promote);
  one.shuffle(std::min<std::uint64_t>(kind.chain, static_cast<std::uint64_t>(one.instruction.k)));
  const GemmCloseness found = one.check();
  EXPECT_TRUE(found.close()) << found.explanation();
}

TEST_P(OfEveryKind, AMissingInstructionIsCaught) {
  const Kind kind = GetParam();
  TrialProduct one(kind.architecture, kind.name, kDepth, kind.promote);
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
  TrialProduct one(kind.architecture, kind.name, kDepth, kind.promote);
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
    for (const std::uint64_t real : {std::uint64_t{0}, claimed / 2, claimed, claimed * 2})
      // Of one step, and of two, whose D stands in another order.
      for (const bool two : {false, true}) {
        TrialProduct one(two ? "ada" : "hopper",
                         two ? "mma.m16n8k32.f32.e4m3.e4m3.f32" : "wgmma.m64n64k32.f32.e4m3.e4m3", kDepth,
                         real, 64);
        if (two) one.shuffle(32);
        one.problem.promote = claimed;
        const GemmCloseness found = one.check();
        EXPECT_EQ(found.close(), real == claimed) << claimed << " " << real << ": " << found.explanation();
      }
}

// Promoted twice as often as said, D is nearer to the exact sums in every element: only their mean size
// tells.
TEST(Closeness, ErrorsThatAreTooSmallAreCaught) {
  TrialProduct one("ampere", "mma.m16n8k16.f16.f16.f16.f16", kDepth);
  const GemmTolerance tolerance = gemm_tolerance(one.instruction, one.datapath, one.problem);
  for (std::size_t e = 0; e < tolerance.exact.size(); ++e)
    store_word(one.d.data(), 2, e, encode_nearest_even(tolerance.exact[e], spec_of(Format::f16)));
  const GemmCloseness found = one.check();
  EXPECT_FALSE(found.close());
  EXPECT_EQ(found.beyond, 0U);
  EXPECT_LT(found.spread * found.spread_limit, 1) << found.explanation();
}

TEST(Closeness, OneElementOffByALastPlaceInTheModelsOrderIsCaught) {
  TrialProduct one("ampere", "mma.m16n8k16.f32.f16.f16.f32", kDepth);
  float value = 0;
  std::memcpy(&value, one.d.data() + 400, 4);
  value = std::nextafter(value, 0.0F);
  std::memcpy(one.d.data() + 400, &value, 4);
  const GemmCloseness found = one.check();
  EXPECT_EQ(found.beyond, 0U);
  EXPECT_TRUE(found.follows) << found.explanation();
  EXPECT_FALSE(found.close());
}

TEST(Closeness, OneElementOffInAnotherOrderIsCaughtAndNamed) {
  TrialProduct one("ada", "mma.m16n8k32.f32.e4m3.e4m3.f32", kDepth, 128);
  one.shuffle(32);  // D stays that of the order before
  ASSERT_TRUE(one.check().close()) << one.check().explanation();
  float value = 0;
  std::memcpy(&value, one.d.data() + std::size_t{4} * (48 * 5 + 7), 4);
  value *= 1 + 0x1p-6F;
  std::memcpy(one.d.data() + std::size_t{4} * (48 * 5 + 7), &value, 4);
  const GemmCloseness found = one.check();
  EXPECT_EQ(found.beyond, 1U) << found.explanation();
  EXPECT_EQ(found.worst_row, 5U);
  EXPECT_EQ(found.worst_column, 7U);
  EXPECT_FALSE(found.close());
}

// 2^20 and -2^20 cancel in the first step of the model. Where they meet the 2^-10 in one step it is cut off.
TEST(Closeness, WhatOnlyAnotherOrderCutsOffPasses) {
  TrialProduct one("ampere", "mma.m16n8k16.f32.f16.f16.f32", 16, 0, 4);
  const auto set = [&](std::vector<std::byte>& x, std::size_t at, double value) {
    store_word(x.data(), 2, at, encode_nearest_even(value, spec_of(Format::f16)));
  };
  std::fill(one.a.begin(), one.a.end(), std::byte{});
  for (std::size_t i = 0; i < 64; ++i) set(one.b, i, 1);
  for (std::size_t i = 0; i < 4; ++i) {
    set(one.a, i * 16, 0x1p15), set(one.a, i * 16 + 1, -0x1p15), set(one.a, i * 16 + 8, 0x1p-10);
  }
  one.compute();
  const std::vector<std::byte> right = one.a;
  for (std::size_t i = 0; i < 4; ++i) set(one.a, i * 16 + 8, 0), set(one.a, i * 16 + 2, 0x1p-10);
  one.compute();  // k 8 and k 2 exchanged
  float value = 1;
  std::memcpy(&value, one.d.data(), 4);
  ASSERT_EQ(value, 0);
  one.a = right, one.problem.a = one.a.data();
  const GemmCloseness found = one.check();
  EXPECT_TRUE(found.close()) << found.explanation();
  value = 0x1p-5F;
  std::memcpy(one.d.data(), &value, 4);
  EXPECT_EQ(one.check().beyond, 1U);
}

// By hand, F = 13: beside 64 the unit is 2^-7, so every 2^-8 is lost. In the model 64 stands in the first of
// two steps. Where it stands in the second one, the first step keeps its sixteen 2^-8, a sum of 2^-4.
TEST(Closeness, AProductIsCutToTheUnitOfItsStep) {
  TrialProduct one("ada", "mma.m16n8k32.f32.e4m3.e4m3.f32", 32, 0, 1);
  std::fill(one.a.begin(), one.a.end(), std::byte{0x18});  // 2^-4
  std::fill(one.b.begin(), one.b.end(), std::byte{0x18});
  one.a[0] = one.b[0] = std::byte{0x50};  // 8
  const GemmTolerance tolerance = gemm_tolerance(one.instruction, one.datapath, one.problem);
  EXPECT_EQ(tolerance.exact[0], 64 + 31 * 0x1p-8);
  EXPECT_GE(tolerance.reach[0], 0x1p-4);
  EXPECT_LE(tolerance.reach[0], 0x1p-2);
  float value = 0;
  one.compute();
  std::memcpy(&value, one.d.data(), 4);
  EXPECT_EQ(value, 64);
  std::swap(one.a[0], one.a[16]), std::swap(one.b[0], one.b[16]);
  one.compute();
  std::memcpy(&value, one.d.data(), 4);
  EXPECT_EQ(value, 64.0625F);
  std::swap(one.a[0], one.a[16]), std::swap(one.b[0], one.b[16]);
  EXPECT_TRUE(one.check().close()) << one.check().explanation();
}

TEST(Closeness, JudgesEveryFormatOfAnEpilogue) {
  for (const char* name :
       {"mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k16.f16.f16.f16.f16"})
    for (const Format output : {Format::f32, Format::f16, Format::bf16}) {
      TrialProduct one("ampere", name, 512);
      const FormatSpec d = spec_of(output);
      std::vector<std::byte> c;
      one.problem.epilogue = Epilogue{0.5F, 2, output};
      one.fill(c, d, std::uint64_t{48} * 48, [](std::uint64_t) { return 0; });
      one.d.resize(std::size_t{48} * 48 * d.storage_bytes());
      one.problem.c = c.data(), one.problem.d = one.d.data();
      one.compute();
      EXPECT_GEMM_CLOSE(one.instruction, one.datapath, one.problem);
      EXPECT_GEMM_WITHIN(one.instruction, one.datapath, one.problem);
      const std::vector<std::byte> a = one.a, b = one.b;
      one.shuffle(16);
      one.compute();
      std::copy(a.begin(), a.end(), one.a.begin()), std::copy(b.begin(), b.end(), one.b.begin());
      EXPECT_GEMM_CLOSE(one.instruction, one.datapath, one.problem);
      EXPECT_GEMM_WITHIN(one.instruction, one.datapath, one.problem);
      one.problem.epilogue->beta = 1.75F;
      EXPECT_FALSE(gemm_is_close(one.instruction, one.datapath, one.problem));
    }
}

TEST(Closeness, OfIntegersIsTheModelsBits) {
  TrialProduct one("ampere", "mma.m16n8k32.s32.s8.s8.s32", 256, 0, 16, Numbers::whole);
  EXPECT_GEMM_CLOSE(one.instruction, one.datapath, one.problem);
  EXPECT_GEMM_WITHIN(one.instruction, one.datapath, one.problem);
  one.d[0] ^= std::byte{1};
  EXPECT_EQ(one.check().beyond, 1U);
  EXPECT_FALSE(gemm_is_within(one.instruction, one.datapath, one.problem));
}

TEST(Closeness, SplitsAndNoPromotionOfHalvesAreCaught) {
  for (const bool split : {false, true}) {
    TrialProduct one("hopper", "mma.m16n8k16.f32.f16.f16.f32", kDepth, split ? 0 : 128);
    one.problem.promote = 0;
    one.problem.split_k = split ? 8 : 1;
    EXPECT_FALSE(one.check().close()) << one.check().explanation();
  }
}

TEST(Closeness, SwappedScalesAreCaught) {
  for (const char* name : {"tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0",
                           "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3"}) {
    TrialProduct one("blackwell", name, kDepth);
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
  TrialProduct one("hopper", "wgmma.sp.m64n64k64.f32.e4m3.e4m3", kDepth);
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
  TrialProduct one("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3", 64, 0, 4);
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
  for (const char* name : {"wgmma.m64n64k32.f32.e4m3.e4m3", "mma.m16n8k32.f32.e4m3.e4m3.f32"}) {
    TrialProduct one("hopper", name, 64, 0, 8);
    std::fill(one.a.begin(), one.a.end(), std::byte{0x38});
    std::fill(one.b.begin(), one.b.end(), std::byte{0x40});
    one.compute();
    const GemmTolerance tolerance = gemm_tolerance(one.instruction, one.datapath, one.problem);
    EXPECT_EQ(tolerance.reach[0], 0);
    EXPECT_EQ(tolerance.exact[0], 128);
    const float wrong = 128.0078125F;
    std::memcpy(one.d.data(), &wrong, sizeof wrong);
    EXPECT_EQ(one.check().beyond, 1U);
    EXPECT_FALSE(one.check().close());
  }
}

TEST(Closeness, WhereAnOrderMayOverflowInfinityIsNotJudged) {
  TrialProduct one("ampere", "mma.m16n8k16.f16.f16.f16.f16", 64, 0, 16);
  for (std::size_t k = 0; k < 64; ++k) store_word(one.a.data(), 2, k, 0x7800);  // 2^15, in the first row
  one.compute();
  for (std::size_t e = 0; e < 16; ++e) store_word(one.d.data(), 2, e, 0x7C00);
  const GemmCloseness found = one.check();
  EXPECT_TRUE(found.close()) << found.explanation();
  EXPECT_EQ(found.elements - found.bit_exact, 0U);
  EXPECT_LT(found.elements, 256U);
  store_word(one.d.data(), 2, 20, 0x7C00);  // in the second row
  EXPECT_EQ(one.check().beyond, 1U);
}

TEST(Closeness, OfNothingIsNoPass) {
  TrialProduct one("hopper", "mma.m16n8k16.f32.f16.f16.f32", 16, 0, 1);
  one.problem.m = 0;
  EXPECT_FALSE(one.check().close());
}

// closeness_calibration counts them at other promises.
TEST(Closeness, FalseAlarmsOfOtherOrdersAreRare) {
  for (const Numbers numbers : {Numbers::normal, Numbers::channels, Numbers::heavy, Numbers::whole})
    for (const char* name : {"mma.m16n8k32.f32.e4m3.e4m3.f32", "mma.m16n8k32.f16.e4m3.e4m3.f16",
                             "mma.sp.m16n8k64.f32.e4m3.e4m3.f32"}) {
      TrialProduct one("ada", name, 512, 128, 32, numbers);
      int alarms = 0;
      for (int run = 0; run < 10; ++run) {
        one.shuffle(static_cast<std::uint64_t>(one.instruction.k));
        alarms += one.check().close() ? 0 : 1;
      }
      EXPECT_EQ(alarms, 0) << name;
    }
}

}  // namespace
}  // namespace mmaudit
