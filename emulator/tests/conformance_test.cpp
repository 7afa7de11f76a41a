// Conformance vectors of docs/numerics.md, the Hopper column: what the hardware is known to answer.
#include <limits>

#include "tile.hpp"

namespace mmaudit::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Product {
  double a, b;
};

struct Vector {
  const char* id;
  std::vector<Product> products;
  double c;
  std::uint64_t d;
};

void expect(const Instruction& inst, const Vector& vector) {
  if (vector.products.size() > static_cast<std::size_t>(inst.k)) return;
  Dot dot(inst);
  for (std::size_t k = 0; k < vector.products.size(); ++k)
    dot.at(static_cast<int>(k), vector.products[k].a, vector.products[k].b);
  EXPECT_EQ(dot.c(vector.c).bits(), vector.d)
      << vector.id << ' ' << name_of(inst) << std::hex << " expected " << vector.d;
}

TEST(Conformance, FusedStepsWithBinary32Results) {
  const Vector vectors[] = {
      {"A1", {{1, 1}, {0x1p-11, 0x1p-12}, {-1, 1}}, 0, 0x34000000},
      {"A2", {{1, 1}, {0x1p-12, 0x1p-12}, {-1, 1}}, 0, 0x33800000},
      {"A3", {{1, 1}, {0x1p-12, 0x1p-13}, {-1, 1}}, 0, 0x33000000},
      {"A4", {{1, 1}, {0x1p-13, 0x1p-13}, {-1, 1}}, 0, 0},
      {"A5a", {{1.5, 1.5}, {0x1p-11, 0x1p-12}, {-1.5, 1.5}}, 0, 0x34000000},
      {"A5b", {{1.5, 1.5}, {0x1p-12, 0x1p-12}, {-1.5, 1.5}}, 0, 0x33800000},
      {"A5c", {{1.5, 1.5}, {0x1p-12, 0x1p-13}, {-1.5, 1.5}}, 0, 0x33000000},
      {"A6", {{0x1p-12, 0x1p-13}, {0x1p-12, 0x1p-13}, {0x1p-12, 0x1p-13}, {0x1p-12, 0x1p-13}}, 1, 0x3F800001},
      {"A7", {{0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}}, 1, 0x3F800002},
      {"A8", {{0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}, {0x1p-12, 0x1p-12}}, 1, 0x3F800001},
      {"A9", {{-0x1p-13, 0x1p-14}}, 1, 0x3F800000},
      {"A10", {{-0x1p-12, 0x1p-12}, {-0x1p-12, 0x1p-12}}, -1, 0xBF800001},
      {"A11", {{4096, 4096}, {1, 1}}, -0x1p24, 0x3F800000},
      {"A12", {{4096, 4096}, {0.5, 1}}, -0x1p24, 0x3F000000},
      {"A17", {}, 0x1.FFFFFEp127, 0x7F7FFFFF},
      {"5.4", {{-0x1p13, 0x1p10}, {-0.5, 1}, {-0.25, 1}, {-0.125, 1}}, 0x1p23, 0xBF400000},
  };
  const auto rows = instructions_where(
      [](const Instruction& inst) { return is_fused_16_bit(inst) && inst.d == Format::f32; });
  ASSERT_EQ(rows.size(), 16U);
  for (const Instruction& inst : rows)
    for (const Vector& vector : vectors) expect(inst, vector);
}

TEST(Conformance, NegativeTailIsCutTowardZero) {
  // A9 as printed, -2^-15 x 2^-15; 2^-15 is subnormal in binary16.
  EXPECT_EQ(Dot("mma.m16n8k16.f32.f16.f16.f32").at(0, -0x1p-15, 0x1p-15).c(1).bits(), 0x3F800000U);
}

TEST(Conformance, FusedStepsWithBinary16Results) {
  const Vector vectors[] = {
      {"A13", {{1, 1}, {0x1p-5, 0x1p-6}}, 0, 0x3C00},
      {"A14", {{1, 1}, {0x1p-5, 0x1p-6}, {0x1p-10, 0x1p-13}}, 0, 0x3C01},
      {"A15a", {{0x1p-12, 0x1p-12}}, 0, 0x0001},
      {"A15b", {{0x1p-12, 0x1p-13}}, 0, 0x0000},
      {"A15c", {{0x1.8p-12, 0x1p-13}}, 0, 0x0001},
      {"A16a", {{256, 256}}, 0, 0x7C00},
      {"A16b", {{256, 256}, {-16, 1}}, 0, 0x7C00},
      {"A16c", {{256, 256}, {-17, 1}}, 0, 0x7BFF},
  };
  const auto rows = instructions_where(
      [](const Instruction& inst) { return is_fused_16_bit(inst) && inst.d == Format::f16; });
  ASSERT_EQ(rows.size(), 6U);
  for (const Instruction& inst : rows)
    for (const Vector& vector : vectors) expect(inst, vector);
}

struct Fp8Vector {
  const char* id;
  std::vector<std::pair<int, Product>> products;
  double c;
  std::uint64_t wgmma, mma;
};

void expect(const Fp8Vector& vector, const Instruction& inst) {
  Dot dot(inst);
  for (const auto& [k, product] : vector.products) dot.at(k, product.a, product.b);
  EXPECT_EQ(dot.c(vector.c).bits(), inst.op == Op::wgmma ? vector.wgmma : vector.mma)
      << vector.id << ' ' << name_of(inst);
}

std::vector<Instruction> e4m3_rows(Format d, int least_k) {
  return instructions_where([&](const Instruction& inst) {
    return inst.a == Format::e4m3 && inst.b == Format::e4m3 && inst.d == d && inst.k >= least_k;
  });
}

TEST(Conformance, Fp8WithBinary32Results) {
  const double pi = decode_value(0x40490FDB, spec_of(Format::f32));
  const Fp8Vector vectors[] = {
      {"A20", {{0, {1, 1}}, {1, {0x1p-6, 0x1p-7}}, {2, {-1, 1}}}, 0, 0x39000000, 0x39000000},
      {"A21", {{0, {1, 1}}, {1, {0x1p-7, 0x1p-7}}, {2, {-1, 1}}}, 0, 0, 0x38800000},
      {"A22", {{0, {1, 1}}, {1, {1, 1}}, {2, {0x1p-6, 0x1p-7}}}, 0, 0x40000000, 0x40000200},
      {"A23", {}, pi, 0x40490C00, 0x40490FDB},
      {"A24", {{0, {1, 1}}}, pi, 0x40848400, 0x408487EE},
      {"A25", {{0, {448, 1}}, {5, {0.140625, 0.375}}}, 0, 0x43E00400, 0x43E006C0},
      {"A27", {{0, {0x1p-9, 0x1.8p-7}}}, 256, 0x43800000, 0x43800001},
      {"A29", {{0, {1, 1}}, {1, {0x1p-9, 0x1p-9}}}, -1, 0, 0x36800000},
      {"5.6", {{0, {1, 1}}, {1, {1, 1}}, {2, {0x1p-6, 0x1p-7}}}, 0, 0x40000000, 0x40000200},
  };
  const auto rows = e4m3_rows(Format::f32, 16);
  ASSERT_EQ(rows.size(), 3U);
  for (const Instruction& inst : rows)
    for (const Fp8Vector& vector : vectors) expect(vector, inst);
  for (const Instruction& inst : e4m3_rows(Format::f32, 32)) {
    const bool wgmma = inst.op == Op::wgmma;
    EXPECT_EQ(Dot(inst).all(0, 31, 1, 1).c(0x1p14).bits(), wgmma ? 0x46800000U : 0x46804000U) << "A26";
    EXPECT_EQ(Dot(inst).all(0, 31, 448, 448).bits(), 0x4AC40000U) << "A28";
  }
}

TEST(Conformance, Fp8WithBinary16Results) {
  const Fp8Vector vectors[] = {
      {"overflow between the halves", {{0, {256, 256}}, {2, {-256, 256}}}, 0, 0x0000, 0x7C00},
      {"rounding between the halves",
       {{0, {1, 1}}, {1, {0x1p-5, 0x1p-6}}, {2, {0x1p-5, 0x1p-6}}},
       0,
       0x3C01,
       0x3C00},
      {"c last", {{0, {0x1p-5, 0x1p-6}}, {2, {0x1p-8, 0x1p-8}}}, 1, 0x3C00, 0x3C01},
  };
  const auto rows = e4m3_rows(Format::f16, 16);
  ASSERT_EQ(rows.size(), 3U);
  for (const Instruction& inst : rows)
    for (const Fp8Vector& vector : vectors) expect(vector, inst);
}

TEST(Conformance, Fp8ProductsAreNotNormalised) {
  // 12 x 24 and 18 x 16 are both 288; the second has the larger exponent and loses the companions.
  for (const auto& [a, b, expected] :
       {std::tuple{12., 24., 0x43900001U}, std::tuple{18., 16., 0x43900000U}}) {
    Dot dot("mma.m16n8k32.f32.e4m3.e4m3.f32");
    dot.at(0, a, b);
    for (const int k : {1, 4, 5, 8, 9, 12, 13, 16}) dot.at(k, 0x1p-9, 0x1p-9);
    EXPECT_EQ(dot.bits(), expected);
  }
}

TEST(Conformance, Fp8AccumulatorOfWgmmaStopsAt64) {
  std::uint64_t running = 0;
  for (int i = 0; i < 600; ++i) {
    running = Dot("wgmma.m64n8k32.f32.e4m3.e4m3").all(0, 31, 0x1p-4, 0x1p-4).raw_c(running).bits();
    EXPECT_EQ(running == 0x42800000U, i >= 511) << i;
  }
  EXPECT_EQ(running, 0x42800000U);
}

TEST(Conformance, SubnormalResultOfBfloat16) {
  const std::uint64_t a[] = {0x9B94, 0x19F3, 0x9A2E, 0x1A67, 0x9A25, 0x9B4E, 0x9B29, 0x9A33,
                             0x99E0, 0x1A14, 0x9914, 0x99D1, 0x9AE9, 0x1B1A, 0x9A9C, 0x1B3A};
  const std::uint64_t b[] = {0x9AAF, 0x99F3, 0x9ACC, 0x1B7C, 0x19ED, 0x1B25, 0x9A1B, 0x9A20,
                             0x9AF7, 0x9A48, 0x1AE1, 0x1B32, 0x1B12, 0x1B0E, 0x9A68, 0x1735};
  const std::uint64_t a2[] = {0x9B23, 0x17C3, 0x1B6A, 0x999D, 0x9A2C, 0x9B05, 0x1AAB, 0x9AF3,
                              0x9A4D, 0x1A7C, 0x9A42, 0x19DC, 0x99D3, 0x1AC5, 0x9B36, 0x1AB9};
  const std::uint64_t b2[] = {0x1884, 0x1923, 0x1AF9, 0x9B09, 0x9B52, 0x9A4A, 0x1AFE, 0x9A82,
                              0x9AC9, 0x9B75, 0x9ABC, 0x18ED, 0x9ACF, 0x9A50, 0x9B4A, 0x1B0F};
  for (const char* name : {"mma.m16n8k16.f32.bf16.bf16.f32", "wgmma.m64n8k16.f32.bf16.bf16"}) {
    Dot first(name), second(name);
    for (int k = 0; k < 16; ++k) {
      first.raw(k, a[k], b[k]);
      second.raw(k, a2[k], b2[k]);
    }
    EXPECT_EQ(first.bits(), 0x0000000BU);
    EXPECT_EQ(second.bits(), 0x00000034U);
  }
}

TEST(Conformance, MixedMagnitudesOfTheOtherPaths) {
  EXPECT_EQ(Dot("wgmma.m64n8k32.f32.e5m2.e5m2")
                .at(0, -0x1p13, 0x1p10)
                .at(1, -0.5, 1)
                .at(2, -0.25, 1)
                .at(3, -0.125, 1)
                .c(0x1p23)
                .bits(),
            0U);
  EXPECT_EQ(Dot("mma.m8n8k4.f64.f64.f64.f64")
                .at(0, -0x1p13, 0x1p10)
                .at(1, -0.5, 1)
                .at(2, -0.25, 1)
                .at(3, -0.125, 1)
                .c(0x1p23)
                .bits(),
            bits_of(-0.875, Format::f64));
}

// Infinity where the input format has it; e4m3 has NaN alone.
TEST(Conformance, SpecialValues) {
  const Vector vectors[] = {
      {"inf x 1", {{kInf, 1}}, 0, 1},
      {"inf x 0", {{kInf, 0}}, 0, 3},
      {"0 x inf", {{0, kInf}}, 0, 3},
      {"inf x 1 - inf", {{kInf, 1}}, -kInf, 3},
      {"inf and -inf", {{kInf, 1}, {-kInf, 1}}, 0, 3},
      {"nan x 0", {{kNan, 0}}, 0, 3},
      {"c nan", {{1, 1}}, kNan, 3},
      {"inf x -inf", {{kInf, -kInf}}, 0, 2},
      {"c inf", {{1, 1}}, kInf, 1},
      {"c -inf", {{1, 1}}, -kInf, 2},
      {"inf and c nan", {{kInf, 1}}, kNan, 3},
      {"inf + inf", {{kInf, 2}}, kInf, 1},
  };
  for (const Instruction& inst :
       instructions_where([](const Instruction& r) { return r.a != Format::f64 && r.d != Format::s32; })) {
    const FormatSpec d = spec_of(inst.d);
    for (Vector vector : vectors) {
      const bool needs_infinity = vector.products[0].a == kInf || vector.products[0].b == kInf;
      if (needs_infinity && (inst.a == Format::e4m3 || inst.b == Format::e4m3)) continue;
      vector.d = vector.d == 1   ? d.infinity_bits()
                 : vector.d == 2 ? d.infinity_bits() | d.sign_bit()
                                 : d.sign_bit() - 1;
      expect(inst, vector);
    }
  }
  for (const std::uint64_t nan : {0x7FU, 0xFFU})
    EXPECT_EQ(Dot("wgmma.m64n8k32.f16.e4m3.e4m3").raw(3, nan, 0).bits(), 0x7FFFU);
}

TEST(Conformance, Overflow) {
  EXPECT_EQ(Dot("mma.m16n8k16.f32.bf16.bf16.f32").at(0, 0x1p127, 1).c(0x1p127).bits(), 0x7F800000U);
  EXPECT_EQ(Dot("mma.m16n8k16.f16.f16.f16.f16").at(0, 32768, 1).at(1, 32768, 1).bits(), 0x7C00U);
  EXPECT_EQ(Dot("wgmma.m64n8k32.f16.e5m2.e5m2").at(0, 57344, -2).bits(), 0xFC00U);
  EXPECT_EQ(Dot("mma.m16n8k16.f16.e5m2.e5m2.f16").at(0, 57344, 2).bits(), 0x7C00U);
}

}  // namespace
}  // namespace mmaudit::test
