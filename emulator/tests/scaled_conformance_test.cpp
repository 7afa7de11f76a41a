// Block scaling and the kinds of Blackwell: what the rows answer to the inputs that decide what no recording
// shows yet (docs/numerics-architectures.md, "The scale path"). No GPU here runs them: a recording that
// disagrees with an expected value below decides against the row.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/explain.hpp"
#include "tile.hpp"

namespace mmaudit::test {
namespace {

constexpr const char* kMx8 = "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e5m2.e5m2.f32.ue8m0";
constexpr const char* kMx4 = "mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0";
constexpr const char* kNv4 = "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3";
constexpr std::uint64_t kNan = 0x7FFFFFFF;

double p2(int exponent) { return std::ldexp(1.0, exponent); }

const Datapath& rtx(const Instruction& instruction) {
  return find_datapath(*find_architecture("blackwell_rtx"), instruction)->datapath;
}

/// One dot product with scales, from values; scale bytes are raw. dot(), emulate() and explain() must agree.
struct ScaledDot {
  explicit ScaledDot(const char* name) : inst(instruction_of(name)), model(rtx(inst)) {
    a.resize(static_cast<std::size_t>(inst.k));
    b.resize(a.size());
    scale_a.assign(static_cast<std::size_t>(scales_of(inst)),
                   static_cast<std::uint8_t>(one_bits(spec_of(inst.scale))));
    scale_b = scale_a;
  }
  ScaledDot& at(std::size_t k, double x, double y) {
    a.at(k) = bits_of(x, inst.a);
    b.at(k) = bits_of(y, inst.b);
    return *this;
  }
  ScaledDot& scale(std::size_t block, unsigned x, unsigned y) {
    scale_a.at(block) = static_cast<std::uint8_t>(x);
    scale_b.at(block) = static_cast<std::uint8_t>(y);
    return *this;
  }
  /// ue8m0 scales that bring 2^exponent together.
  ScaledDot& power(std::size_t block, int exponent) {
    const int half = exponent / 2;
    return scale(block, static_cast<unsigned>(127 + half), static_cast<unsigned>(127 + exponent - half));
  }
  ScaledDot& c(std::uint64_t bits) {
    addend = bits;
    return *this;
  }
  template <typename Change>
  [[nodiscard]] std::uint64_t under(Change change) const {
    ScaledDot other = *this;
    change(other.model);
    return other.bits();
  }
  [[nodiscard]] std::uint64_t bits() const {
    const DotSpec spec = make_dot_spec(inst, model);
    const std::uint64_t d = dot(spec, Strided<std::uint64_t>{a.data()}, Strided<std::uint64_t>{b.data()},
                                addend, 0, ScaleBytes{{scale_a.data()}, {scale_b.data()}, 0});
    EXPECT_EQ(explain(spec, a.data(), b.data(), addend, 0, scale_a.data(), scale_b.data()).result, d);
    const auto m = static_cast<std::size_t>(inst.m), n = static_cast<std::size_t>(inst.n), k = a.size();
    std::vector<std::uint8_t> tile_a(m * k), tile_b(k * n), scales_a(m * scale_a.size()),
        scales_b(scale_b.size() * n);
    std::vector<std::uint32_t> tile_c(m * n, static_cast<std::uint32_t>(addend)), tile_d(m * n);
    for (std::size_t i = 0; i < tile_a.size(); ++i) tile_a[i] = static_cast<std::uint8_t>(a[i % k]);
    for (std::size_t i = 0; i < tile_b.size(); ++i) tile_b[i] = static_cast<std::uint8_t>(b[i / n]);
    for (std::size_t i = 0; i < scales_a.size(); ++i) scales_a[i] = scale_a[i % scale_a.size()];
    for (std::size_t i = 0; i < scales_b.size(); ++i) scales_b[i] = scale_b[i / n];
    emulate(inst, model,
            {1, tile_a.data(), tile_b.data(), tile_c.data(), tile_d.data(), nullptr, scales_a.data(),
             scales_b.data()});
    for (const std::uint32_t x : tile_d) EXPECT_EQ(x, d);
    return d;
  }

  Instruction inst;
  Datapath model;
  std::vector<std::uint64_t> a, b;
  std::vector<std::uint8_t> scale_a, scale_b;
  std::uint64_t addend = 0;
};

const auto kCancelledTakesNoPart = [](Datapath& x) { x.cancelled_group = CancelledGroup::no_part; };

TEST(ScaledConformance, ACancelledGroupCountsAndOneOfZerosDoesNot) {
  const ScaledDot cancelled = ScaledDot(kMx4).power(0, 40).at(0, 6, 6).at(1, -6, 6).c(0x41800000);
  EXPECT_EQ(cancelled.bits(), 0U);
  EXPECT_EQ(cancelled.under(kCancelledTakesNoPart), 0x41800000U);
  EXPECT_EQ(ScaledDot(kMx4).power(0, 40).c(0x41800000).bits(), 0x41800000U);
}

TEST(ScaledConformance, ThirtyFiveFractionBits) {
  const auto with = [](int exponent) {
    return ScaledDot(kMx4).at(0, 0.5, 0.5).at(32, 0.5, 0.5).power(1, exponent).c(0xBE800000);
  };
  const auto bits = [](int f) {
    return [f](Datapath& x) { x.fraction_bits = static_cast<std::int16_t>(f); };
  };
  EXPECT_EQ(with(-33).bits(), 0x2E000000U);
  EXPECT_EQ(with(-33).under(bits(34)), 0U);
  EXPECT_EQ(with(-34).bits(), 0U);
  EXPECT_EQ(with(-34).under(bits(36)), 0x2D800000U);
}

TEST(ScaledConformance, TheFloorOfMxf8f6f4) {
  const auto first_dropped = [](int floor) {
    for (int j = 0; j <= 10; ++j) {
      const ScaledDot dot = ScaledDot(kMx8).power(0, -143).at(0, p2(-3), p2(-3)).at(1, -p2(-3), p2(-4 - j));
      if (dot.under([&](Datapath& x) { x.min_alignment_exponent = static_cast<std::int16_t>(floor); }) == 1)
        return j;
    }
    return -1;
  };
  EXPECT_EQ(rtx(instruction_of(kMx8)).min_alignment_exponent, -133);
  EXPECT_EQ(first_dropped(-133), 9);
  EXPECT_EQ(first_dropped(-126), 2);
  EXPECT_EQ(first_dropped(-139), -1);
}

TEST(ScaledConformance, TheTopBitOfUe4m3IsNotRead) {
  const ScaledDot plain = ScaledDot(kNv4).scale(0, 0x38, 0x40).at(3, 1.5, 1);
  const ScaledDot marked = ScaledDot(kNv4).scale(0, 0xB8, 0x40).at(3, 1.5, 1);
  EXPECT_EQ(plain.bits(), 0x40400000U);
  EXPECT_EQ(marked.bits(), 0x40400000U);
  EXPECT_EQ(marked.under([](Datapath& x) { x.scale_sign = ScaleSign::negates; }), 0xC0400000U);
}

TEST(ScaledConformance, ANanScaleWinsOverZeros) {
  const auto beside = [](Datapath& x) { x.scale_nan = ScaleNan::beside_nonzero; };
  for (const char* name : {kMx8, kMx4}) {
    EXPECT_EQ(ScaledDot(name).scale(0, 0xFF, 0x7F).bits(), kNan) << name;
    EXPECT_EQ(ScaledDot(name).scale(0, 0x7F, 0xFF).c(0x7F800000).bits(), kNan) << name;
    EXPECT_EQ(ScaledDot(name).scale(0, 0xFF, 0x7F).under(beside), 0U) << name;
    EXPECT_EQ(ScaledDot(name).scale(0, 0xFF, 0x7F).at(5, 1, 0).under(beside), kNan) << name;
  }
  for (const unsigned nan : {0x7FU, 0xFFU}) EXPECT_EQ(ScaledDot(kNv4).scale(3, 0x38, nan).bits(), kNan);
}

TEST(ScaledConformance, AZeroScaleTakesItsGroupOut) {
  EXPECT_EQ(ScaledDot(kNv4).scale(0, 0, 0x7E).at(0, 6, 6).c(0x41800000).bits(), 0x41800000U);
  // c far below: were the zero group counted, its exponent would cut it off.
  EXPECT_EQ(ScaledDot(kNv4).scale(0, 0, 0x7E).at(0, 6, 6).c(0x20000000).bits(), 0x20000000U);
}

TEST(ScaledConformance, InfiniteAndNanC) {
  for (const char* name : {kMx8, kMx4, kNv4}) {
    EXPECT_EQ(ScaledDot(name).at(0, 1, 1).c(0x7F800000).bits(), 0x7F800000U) << name;
    EXPECT_EQ(ScaledDot(name).at(0, 1, 1).c(0xFF800000).bits(), 0xFF800000U) << name;
    EXPECT_EQ(ScaledDot(name).c(0x7F800001).bits(), kNan) << name;
  }
}

TEST(ScaledConformance, SixBitOperands) {
  // 28 x 7.5 and the least subnormals, at scale 1 and at the ends of what scales do.
  const char* name = "mma.m16n8k32.kind_mxf8f6f4.scale_vec_1X.f32.e3m2.e2m3.f32.ue8m0";
  EXPECT_EQ(ScaledDot(name).at(0, 28, 7.5).bits(), 0x43520000U);
  EXPECT_EQ(ScaledDot(name).at(31, p2(-4), p2(-3)).bits(), 0x3C000000U);
  EXPECT_EQ(ScaledDot(name).power(0, -142).at(7, p2(-4), p2(-3)).bits(), 1U);
  EXPECT_EQ(ScaledDot(name).power(0, 121).at(7, 28, 7.5).bits(), 0x7F800000U);
  EXPECT_EQ(ScaledDot(name).power(0, 120).at(7, 28, 7.5).bits(), 0x7F520000U);
  // The bits above an element's own are not read.
  ScaledDot dirty = ScaledDot(name).at(0, 28, 7.5);
  dirty.a[0] |= 0xC0;
  dirty.b[0] |= 0x80;
  EXPECT_EQ(dirty.bits(), 0x43520000U);
}

TEST(ScaledConformance, ScalesBelongToTheirBlocks) {
  ScaledDot each(kNv4);
  for (std::size_t block = 0; block < 4; ++block)
    each.scale(block, static_cast<unsigned>(0x38 + 8 * block), 0x38)
        .at(16 * block, 1, 1)
        .at(16 * block + 15, 0.5, 1);
  EXPECT_EQ(each.bits(), bits_of(1.5 * 15, Format::f32));
  each.at(48, 6, 6);
  EXPECT_EQ(each.bits(), bits_of(1.5 * 7 + 36.5 * 8, Format::f32));
  EXPECT_EQ(each.under([](Datapath& x) { x.scale_use = ScaleUse::ignored; }),
            bits_of(4.5 + 36.5, Format::f32));
  EXPECT_EQ(each.under([](Datapath& x) { x.scale_use = ScaleUse::reversed; }),
            bits_of(1.5 * 14 + 36.5, Format::f32));
}

TEST(ScaledConformance, GroupsOfSixteenAreSummedBeforeTheyAreCutOff) {
  // Two halves of the last bit kept: one group keeps their sum, two groups lose both.
  const auto halves = [](std::size_t second) {
    return ScaledDot(kMx4).at(0, 0.5, 0.5).c(0xBE800000).power(1, -34).at(32, 0.5, 0.5).at(second, 0.5, 0.5);
  };
  EXPECT_EQ(halves(47).bits(), 0x2E000000U);
  EXPECT_EQ(halves(48).bits(), 0U);
  EXPECT_EQ(halves(48).under([](Datapath& x) { x.group = 32; }), 0x2E000000U);
  EXPECT_EQ(halves(40).under([](Datapath& x) { x.group = 8; }), 0U);
}

TEST(ScaledConformance, TheExponentOfAGroupIsThatOfItsScales) {
  // 36 - 36 over two groups; c is the last bit below 2^0, two below what the products reach.
  const ScaledDot dot = ScaledDot(kMx4).at(0, 6, 6).at(16, -6, 6).c(bits_of(p2(-35), Format::f32));
  EXPECT_EQ(dot.bits(), bits_of(p2(-35), Format::f32));
  EXPECT_EQ(dot.under([](Datapath& x) { x.group_exponent = GroupExponent::of_products; }), 0U);
  EXPECT_EQ(dot.under([](Datapath& x) { x.group_exponent = GroupExponent::of_sum; }), 0U);
}

// The exact sum is -0.875 (MMA-Sim, table 8): 25 bits lose the last eighth, 35 keep it.
TEST(ScaledConformance, MxKeepsTwentyFiveBitsAndNvf4ThirtyFive) {
  ScaledDot mx(kMx8);
  mx.at(0, -p2(13), p2(10)).at(1, -0.5, 1).at(2, -0.25, 1).at(3, -0.125, 1).c(bits_of(p2(23), Format::f32));
  EXPECT_EQ(mx.bits(), 0xBF400000U);
  ScaledDot nv(kMx4);
  nv.power(0, 23)
      .at(0, -1, 1)
      .c(bits_of(p2(23), Format::f32))
      .power(1, -3)
      .at(32, -4, 1)
      .at(33, -2, 1)
      .at(34, -1, 1);
  EXPECT_EQ(nv.bits(), 0xBF600000U);
}

TEST(ScaledConformance, Tcgen05RunsLikeWgmmaWithFewerExceptions) {
  const auto model = [](const char* name) {
    return find_datapath(*find_architecture("blackwell"), instruction_of(name))->datapath;
  };
  EXPECT_TRUE(model("tcgen05.m128n64k16.kind_f16.f32.f16.f16") ==
              hopper_row(instruction_of("wgmma.m64n64k16.f32.f16.f16")));
  EXPECT_TRUE(model("tcgen05.m128n64k16.kind_f16.f16.f16.f16") ==
              hopper_row(instruction_of("wgmma.m64n64k16.f16.f16.f16")));
  EXPECT_TRUE(model("tcgen05.m64n64k8.kind_tf32.f32.tf32.tf32") ==
              hopper_row(instruction_of("wgmma.m64n64k8.f32.tf32.tf32")));
  // FP8 keeps 25 bits and a whole binary32 where wgmma keeps 13.
  const char* fp8 = "tcgen05.m64n8k32.kind_f8f6f4.f32.e4m3.e4m3";
  EXPECT_EQ(Dot(fp8).at(0, 1, 1).at(1, 1, 1).at(2, p2(-6), p2(-7)).bits(model(fp8)), 0x40000200U);
  EXPECT_EQ(Dot(fp8).raw_c(0x40490FDB).bits(model(fp8)), 0x40490FDBU);
  EXPECT_EQ(Dot(fp8).at(0, 1, 1).raw_c(kNan).modifiers(kScaleDZero | kNegateA).bits(model(fp8)), 0xBF800000U);
  const char* s8 = "tcgen05.m64n8k32.kind_i8.satfinite.s32.s8.u8";
  EXPECT_EQ(Dot(s8).at(31, 127, 255).raw_c(0x7FFFFFFF).bits(model(s8)), 0x7FFFFFFFU);
  const char* fp4 = "mma.m16n8k32.kind_f8f6f4.f16.e2m1.e3m2.f16";
  EXPECT_EQ(Dot(fp4).at(0, 6, 28).at(9, 0.5, 0.0625).bits(rtx(instruction_of(fp4))),
            bits_of(168, Format::f16));
}

// Constant evaluation: the arithmetic is free of what the language leaves open.
constexpr std::uint64_t constant_dot() {
  Instruction inst{Op::mma, 16, 8, 64, Format::f32, Format::e2m1, Format::e2m1, Format::f32};
  inst.scale = Format::ue4m3;
  inst.scale_block = 16;
  Datapath model;
  model.arithmetic = Arithmetic::grouped_dot_add;
  model.products_per_step = 64;
  model.fraction_bits = 35;
  model.min_alignment_exponent = -139;
  std::array<std::uint8_t, 64> a{}, b{};
  a[0] = b[0] = 7;                                                // 6 x 6
  const std::array<std::uint8_t, 4> scales = {0x7E, 0, 1, 0x38};  // 448, and an empty group's must not matter
  return dot(make_dot_spec(inst, model), Strided<std::uint8_t>{a.data()}, Strided<std::uint8_t>{b.data()}, 0,
             0, ScaleBytes{{scales.data()}, {scales.data()}, 0});
}
static_assert(constant_dot() == 0x4ADC8000);  // 36 * 448 * 448 = 7225344

}  // namespace
}  // namespace mmaudit::test
