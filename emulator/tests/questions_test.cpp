// The vectors that settled the open questions of docs/numerics.md, with the answers of an H200. The names
// carry the numbers of the questions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tile.hpp"

namespace mmaudit::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Instruction> f32_rows_of(std::initializer_list<Format> formats) {
  return instructions_where([&](const Instruction& inst) {
    return inst.d == Format::f32 && is_plain(inst) &&
           std::find(formats.begin(), formats.end(), inst.a) != formats.end();
  });
}

std::vector<Instruction> f16_rows() {
  return instructions_where([](const Instruction& inst) {
    return inst.a == Format::f16 && inst.d == Format::f16 && is_plain(inst);
  });
}

TEST(Questions, Q1FloorOfBinary32Results) {
  for (const Instruction& inst : f32_rows_of({Format::bf16, Format::tf32})) {
    for (int j = 0; j < 30; ++j) {
      const auto bits = Dot(inst).at(0, 0x1p-23, 0x1p-126).at(1, -std::ldexp(1.0, -24 - j), 0x1p-126).bits();
      EXPECT_EQ(bits, j < 9 ? 0U : 1U) << name_of(inst) << " j=" << j;
    }
  }
}

TEST(Questions, Q2FloorOfBinary16Results) {
  for (const Instruction& inst : f16_rows()) {
    for (int j = 0; j <= 22; ++j) {
      const auto bits = Dot(inst).at(0, 0x1p-11, 0x1p-14).at(1, std::ldexp(1.0, -2 - j), 0x1p-24).bits();
      EXPECT_EQ(bits, j < 21 ? 1U : 0U) << name_of(inst) << " j=" << j;
    }
  }
}

TEST(Questions, Q3ZeroWithAHugePartnerRaisesNothing) {
  for (const Instruction& inst : f32_rows_of({Format::bf16, Format::tf32})) {
    for (const double zero : {0.0, -0.0}) {
      EXPECT_EQ(Dot(inst).at(0, zero, 0x1p127).at(1, 0x1p-13, 0x1p-13).bits(), 0x32800000U);
      EXPECT_EQ(Dot(inst).at(0, 0x1p127, zero).at(1, 0x1p-13, 0x1p-13).bits(), 0x32800000U);
    }
  }
}

TEST(Questions, Q4SubnormalBinary16AddendKeepsTheLeastExponent) {
  for (const Instruction& inst : f16_rows())
    EXPECT_EQ(Dot(inst).c(0x1p-24).at(0, 0x1p-11, 0x1p-14).at(1, -0x1p-24, 0x1p-17).bits(), 2U);
}

TEST(Questions, Q5EveryZeroIsPlusZero) {
  for (const Instruction& inst : instructions_where([](const Instruction& r) {
         return !is_integer(r) && r.a != Format::f64 && r.unit != units::mma_884;
       })) {
    // c added last by an ordinary add: -0 needs both sides -0, and the steps never give one.
    EXPECT_EQ(Dot(inst).all(0, inst.k - 1, -0.0, 0.0).c(-0.0).bits(), 0U) << name_of(inst);
    EXPECT_EQ(Dot(inst).c(-0.0).bits(), 0U) << name_of(inst);
    EXPECT_EQ(Dot(inst).all(0, inst.k - 1, -0.0, 0.0).bits(), 0U) << name_of(inst);
    EXPECT_EQ(Dot(inst).at(0, 1, 1).c(-1).bits(), 0U) << name_of(inst);
  }
}

TEST(Questions, Q6NegativeSumsThatRoundToZero) {
  for (const Instruction& inst : f32_rows_of({Format::bf16, Format::tf32})) {
    EXPECT_EQ(Dot(inst).at(0, -0x1p-24, 0x1p-126).bits(), 0U);
    EXPECT_EQ(Dot(inst).at(0, 0x1p100, 1).at(1, -0x1p100, 1).at(2, -0x1p-100, 1).bits(), 0U);
  }
  for (const Instruction& inst : f16_rows()) EXPECT_EQ(Dot(inst).at(0, -0x1p-12, 0x1p-14).bits(), 0U);
}

TEST(Questions, Q7Binary16IsRoundedOnce) {
  for (const Instruction& inst : f16_rows()) {
    EXPECT_EQ(Dot(inst).at(0, 1, 1).at(1, 0x1p-5, 0x1p-6).at(2, 0x1p-12, 0x1p-12).bits(), 0x3C01U);
    EXPECT_EQ(Dot(inst).at(0, 1, 1).at(1, 1, 1).at(2, 0x1p-5, 0x1p-5).at(3, 0x1p-11, 0x1p-12).bits(),
              0x4001U);
  }
}

TEST(Questions, Q9And10OneStepHoldsEveryProduct) {
  for (const Instruction& inst : f32_rows_of({Format::f16, Format::bf16, Format::tf32})) {
    if (inst.k < 8 || hopper_row(inst).products_per_step < inst.k) continue;  // wmma of tf32 takes two steps
    const int half = inst.k / 2;
    for (int j = 2; j < inst.k; ++j) {
      if (j == half || j == half + 1) continue;
      Dot dot(inst);
      dot.all(0, 1, 1024, 1024).all(half, half + 1, -1024, 1024).at(j, 0x1p-3, 1);
      EXPECT_EQ(dot.bits(), 0x3E000000U) << name_of(inst) << " j=" << j;
    }
  }
}

TEST(Questions, Q11Fp8OfMmaRunsByPairs) {
  for (const char* name : {"mma.m16n8k16.f32.e4m3.e4m3.f32", "mma.m16n8k32.f32.e4m3.e4m3.f32"}) {
    const int depth = instruction_of(name).k;
    for (int j = 4; j < depth; ++j) {
      Dot dot(name);
      dot.all(0, 1, 256, 256).all(2, 3, -256, 256).at(j, 0x1p-3, 0x1p-4);
      EXPECT_EQ(dot.bits(), j % 4 < 2 ? 0U : 0x3C000000U) << name << " j=" << j;
    }
    EXPECT_EQ(Dot(name).c(256).raw(0, 0x01, 0x06).bits(), 0x43800001U);
    EXPECT_EQ(Dot(name).raw_c(1).bits(), 1U);
    EXPECT_EQ(Dot(name).raw_c(0xFFC12345).bits(), 0x7FFFFFFFU);
    EXPECT_EQ(Dot(name).raw_c(0x7F7FFFFF).bits(), 0x7F7FFFFFU);
  }
  for (int j = 4; j < 32; ++j) {
    Dot dot("wgmma.m64n8k32.f32.e4m3.e4m3");
    EXPECT_EQ(dot.all(0, 1, 256, 256).all(2, 3, -256, 256).at(j, 0x1p-3, 0x1p-4).bits(), 0U);
  }
  EXPECT_EQ(Dot("wgmma.m64n8k32.f32.e4m3.e4m3").c(256).raw(0, 0x01, 0x06).bits(), 0x43800000U);
}

TEST(Questions, Q12NanPayloadsAreLost) {
  for (const Instruction& inst : instructions_where(is_fused_16_bit)) {
    const FormatSpec format = spec_of(inst.a), d = spec_of(inst.d);
    const std::uint64_t nan = d.sign_bit() - 1;
    const std::uint64_t lone_payload = format.infinity_bits() | (std::uint64_t{1} << format.ignored_low_bits);
    EXPECT_EQ(Dot(inst).raw(0, lone_payload, bits_of(1, inst.b)).bits(), nan);
    EXPECT_EQ(Dot(inst).raw(0, bits_of(1, inst.a), lone_payload | format.sign_bit()).bits(), nan);
    EXPECT_EQ(Dot(inst).raw_c(spec_of(inst.c).infinity_bits() + 1).bits(), nan);
    EXPECT_EQ(Dot(inst).raw_c((d.sign_bit() - 1) | d.sign_bit()).bits(), nan);
  }
  EXPECT_EQ(Dot("wgmma.m64n8k32.f32.e5m2.e5m2").raw(0, 0x7D, 0).bits(), 0x7FFFFFFFU);
}

TEST(Questions, Q13TheLowBitsOfTf32AreNotRead) {
  for (const Instruction& inst : f32_rows_of({Format::tf32})) {
    EXPECT_EQ(Dot(inst).raw(0, 0x3F801FFF, 0x3F800000).bits(), 0x3F800000U);
    EXPECT_EQ(Dot(inst).raw(0, 0x7F800001, 0x3F800000).bits(), 0x7F800000U);
    EXPECT_EQ(Dot(inst).raw(0, 0x7F802000, 0x3F800000).bits(), 0x7FFFFFFFU);
    EXPECT_EQ(Dot(inst).raw(0, 0x00001FFF, 0x7F800000).bits(), 0x7FFFFFFFU);
    EXPECT_EQ(Dot(inst).raw(0, 0x00003FFF, bits_of(0x1p120, Format::tf32)).bits(), 0x37800000U);
  }
}

TEST(Questions, Q17CarriesAreNotLost) {
  const double f16 = 2 - 0x1p-10;
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "wgmma.m64n8k16.f32.f16.f16"}) {
    EXPECT_EQ(Dot(name).all(0, 15, f16, f16).raw_c(0x3FFFFFFF).bits(), 0x4283E001U);
    EXPECT_EQ(Dot(name).all(0, 15, f16, f16).bits(), 0x427FC004U);
  }
  EXPECT_EQ(Dot("mma.m16n8k8.f32.f16.f16.f32").all(0, 7, f16, f16).bits(), 0x41FFC004U);
  EXPECT_EQ(Dot("wgmma.m64n8k32.f32.e4m3.e4m3").all(0, 31, 1.875, 1.875).c(1.875).bits(), 0x42E4C000U);
}

TEST(Questions, Q18ProductsDoNotOverflowAndSumsOnlyAtTheEnd) {
  for (const char* name : {"mma.m16n8k16.f32.bf16.bf16.f32", "wgmma.m64n8k16.f32.bf16.bf16"}) {
    EXPECT_EQ(Dot(name).at(0, 0x1p127, 2).at(8, -0x1p127, 2).bits(), 0U);
    EXPECT_EQ(Dot(name).at(0, 0x1p127, 0x1p127).at(1, -0x1p127, 0x1p127).bits(), 0U);
    EXPECT_EQ(Dot(name).raw_c(0x7F7FFFFF).at(0, 0x1p100, 0x1p3).bits(), 0x7F7FFFFFU);
    EXPECT_EQ(Dot(name).raw_c(0x7F7FFFFF).at(0, 0x1p100, 0x1p4).bits(), 0x7F800000U);
  }
}

TEST(Questions, Q19SubnormalOperandsKeepTheLeastExponent) {
  EXPECT_EQ(Dot("wgmma.m64n8k32.f32.e4m3.e4m3").raw(0, 0x01, 0x60).raw(1, 0x02, 0x02).bits(), 0x3D800000U);
  EXPECT_EQ(Dot("wgmma.m64n8k32.f32.e5m2.e5m2").raw(0, 0x01, 0x78).at(1, 0x1p-7, 0x1p-6).bits(), 0x3F000000U);
  for (const Instruction& inst : f32_rows_of({Format::f16}))
    EXPECT_EQ(Dot(inst).at(0, 0x1p-24, 0x1p15).at(1, 0x1p-14, 0x1p-14).bits(), 0x3B000000U);
  for (const Instruction& inst : f32_rows_of({Format::bf16}))
    EXPECT_EQ(Dot(inst).at(0, 0x1p-133, 0x1p127).at(1, 0x1p-14, 0x1p-14).bits(), 0x3C800000U);
}

TEST(Questions, Q20TheAddendOfFp8IsCutWithTheProducts) {
  const char* name = "wgmma.m64n8k32.f32.e4m3.e4m3";
  EXPECT_EQ(Dot(name).raw_c(0x3F8003FF).bits(), 0x3F800000U);
  EXPECT_EQ(Dot(name).raw_c(0xBF8003FF).bits(), 0xBF800000U);
  EXPECT_EQ(Dot(name).raw_c(0x7F7FFFFF).bits(), 0x7F7FFC00U);
  EXPECT_EQ(Dot(name).raw_c(0x000003FF).bits(), 0U);
  EXPECT_EQ(Dot(name).raw_c(0x00000401).bits(), 0x00000400U);
  EXPECT_EQ(Dot(name).all(0, 31, 1, 1).c(16384).bits(), 0x46800000U);
  EXPECT_EQ(Dot(name).at(0, 1, 1).c(8192).bits(), 0x46000400U);
  EXPECT_EQ(Dot(name).at(0, 0.5, 1).c(8192).bits(), 0x46000000U);
  for (int j = 2; j < 32; ++j) {
    if (j == 16 || j == 17) continue;
    EXPECT_EQ(Dot(name).all(0, 1, 32, 32).all(16, 17, -32, 32).at(j, -0x1p-3, 1).bits(), 0xBE000000U);
  }
  EXPECT_EQ(Dot("mma.m16n8k32.f32.e4m3.e4m3.f32").raw_c(0x3F8003FF).bits(), 0x3F8003FFU);
}

TEST(Questions, Q24Binary64IsAChainInAscendingOrder) {
  for (const Instruction& inst :
       instructions_where([](const Instruction& r) { return r.a == Format::f64; })) {
    const int step = inst.k / 4;
    const auto four = [&](double x0, double x1, double x2, double x3) {
      return Dot(inst).at(0, x0, 1).at(step, x1, 1).at(2 * step, x2, 1).at(3 * step, x3, 1).bits();
    };
    EXPECT_EQ(four(0x1p53, 1, -0x1p53, 0), 0U);
    EXPECT_EQ(four(0x1p53, 1, 1, -0x1p53), 0U);
    EXPECT_EQ(four(0x1p53, -0x1p53, 1, 1), bits_of(2, Format::f64));
    EXPECT_EQ(Dot(inst).at(0, 0x1p-1074, 1).c(0x1p-1074).bits(), 2U);
    // Infinity - infinity in the middle, and the sign of zero.
    EXPECT_EQ(four(kInf, 1, -kInf, 0), 0xFFF8000000000000U);
    EXPECT_EQ(Dot(inst).all(0, inst.k - 1, -0.0, 1).c(-0.0).bits(), 0x8000000000000000U);
  }
}

}  // namespace
}  // namespace mmaudit::test
