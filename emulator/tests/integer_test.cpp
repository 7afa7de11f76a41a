// Integers and single bits: every product, wrap and clamp, and the vectors of question 22.
#include <array>
#include <limits>

#include "mmaudit/explain.hpp"
#include "mmaudit/value_text.hpp"
#include "tile.hpp"

namespace mmaudit::test {
namespace {

constexpr std::uint64_t kMost = 0x7FFFFFFF, kLeast = 0x80000000;

/// Written with the language's own types and not with masks.
int value_of(Format format, unsigned bits) {
  switch (format) {
    case Format::s8:
      return static_cast<std::int8_t>(bits);
    case Format::u8:
      return static_cast<std::uint8_t>(bits);
    case Format::s4:
      return static_cast<int>(bits % 16) - (bits % 16 >= 8 ? 16 : 0);
    case Format::u4:
      return static_cast<int>(bits % 16);
    default:
      return static_cast<int>(bits % 2);
  }
}

std::uint64_t s32(std::int64_t value) { return static_cast<std::uint32_t>(value); }

std::vector<Instruction> integer_rows() { return instructions_where(is_integer); }

TEST(Integer, EveryPairOfBytes) {
  for (const Instruction& inst : integer_rows()) {
    const DotSpec spec = make_dot_spec(inst, hopper_row(inst));
    std::array<std::uint8_t, 256> a{}, b{};
    for (unsigned x = 0; x < 256; ++x) {
      for (unsigned y = 0; y < 256; ++y) {
        const unsigned at = (x * 7 + y) % static_cast<unsigned>(inst.k);
        a[at] = static_cast<std::uint8_t>(x);
        b[at] = static_cast<std::uint8_t>(y);
        const int p = value_of(inst.a, x), q = value_of(inst.b, y);
        const int expected = inst.multiply == Multiply::xor_popc ? p ^ q : p * q;
        ASSERT_EQ(dot(spec, Strided<std::uint8_t>{a.data()}, Strided<std::uint8_t>{b.data()}, 0, 0),
                  s32(expected))
            << name_of(inst) << ' ' << x << ' ' << y;
        a[at] = b[at] = 0;
      }
    }
  }
}

TEST(Integer, SumsOverTheWholeDepth) {
  for (const Instruction& inst : integer_rows()) {
    for (const unsigned x : {0x00U, 0x01U, 0x7FU, 0x80U, 0xFFU}) {
      for (const unsigned y : {0x00U, 0x01U, 0x7FU, 0x80U, 0xFFU}) {
        const int p = value_of(inst.a, x), q = value_of(inst.b, y);
        const int each = inst.multiply == Multiply::xor_popc ? p ^ q : p * q;
        Dot dot(inst);
        for (int k = 0; k < inst.k; ++k) dot.raw(k, x, y);
        EXPECT_EQ(dot.raw_c(s32(-1000)).bits(), s32(inst.k * each - 1000)) << name_of(inst);
      }
    }
  }
}

TEST(Integer, OutOfRangeWrapsOrClamps) {
  for (const Instruction& inst : integer_rows()) {
    Dot up(inst);
    up.raw(inst.k - 1, 1, inst.multiply == Multiply::xor_popc ? 0U : 1U);
    EXPECT_EQ(up.raw_c(kMost).bits(), inst.satfinite ? kMost : kLeast) << name_of(inst);
    if (spec_of(inst.a).encoding != Encoding::signed_integer) continue;
    EXPECT_EQ(Dot(inst).raw(0, 0xFF, 1).raw_c(kLeast).bits(), inst.satfinite ? kLeast : kMost)
        << name_of(inst);
  }
}

TEST(Integer, Q22TheClampIsAtTheEnd) {
  for (const char* name : {"mma.m16n8k32.satfinite.s32.s8.s8.s32", "wgmma.m64n8k32.satfinite.s32.s8.s8"}) {
    const Instruction inst = instruction_of(name);
    const Dot up = Dot(inst).at(0, 127, 127).at(16, -127, 127).raw_c(kMost);
    const Dot down = Dot(inst).at(0, -127, 127).at(16, 127, 127).raw_c(kLeast);
    EXPECT_EQ(up.bits(), kMost);
    EXPECT_EQ(down.bits(), kLeast);
    Datapath chunks = hopper_row(inst);
    chunks.saturation = SaturationRule::every_step;
    chunks.products_per_step = 16;
    EXPECT_EQ(up.bits(chunks), 0x7FFFC0FEU);
    EXPECT_EQ(down.bits(chunks), 0x80003F01U);
  }
  EXPECT_EQ(Dot("mma.m16n8k32.s32.s8.s8.s32").at(0, 127, 127).at(16, -127, 127).raw_c(kMost).bits(), kMost);
}

TEST(Integer, ScaleDZeroLeavesCOut) {
  for (const char* name : {"wgmma.m64n8k32.satfinite.s32.u8.s8", "wgmma.m64n8k256.s32.b1.b1.and.popc"})
    EXPECT_EQ(Dot(name).raw(3, 1, 1).raw_c(kMost).modifiers(kScaleDZero).bits(), 1U) << name;
}

TEST(Integer, WrongRulesDoWhatTheirNamesSay) {
  const auto with = [](const char* name, auto change) {
    Datapath datapath = hopper_row(instruction_of(name));
    change(datapath);
    return datapath;
  };
  const char* mixed = "mma.m16n8k16.s32.s8.u8.s32";
  const Dot dot = Dot(mixed).raw(0, 0xFF, 0xFE);
  EXPECT_EQ(dot.bits(), s32(-254));
  EXPECT_EQ(dot.bits(with(mixed, [](auto& r) { r.integer_sign = IntegerSign::both_signed; })), 2U);
  EXPECT_EQ(dot.bits(with(mixed, [](auto& r) { r.integer_sign = IntegerSign::both_unsigned; })), 255U * 254U);
  EXPECT_EQ(dot.bits(with(mixed, [](auto& r) { r.integer_sign = IntegerSign::exchanged; })), s32(-510));
  const char* bits = "mma.m8n8k128.s32.b1.b1.s32.xor.popc";
  const Dot popc = Dot(bits).raw(0, 1, 1).raw(5, 1, 0).raw(127, 0, 1);
  EXPECT_EQ(popc.bits(), 2U);
  EXPECT_EQ(popc.bits(with(bits, [](auto& r) { r.bit_operation = BitOperation::exchanged; })), 1U);
  const char* clamped = "mma.m8n8k32.satfinite.s32.s4.s4.s32";
  const Dot over = Dot(clamped).at(0, 7, 7).raw_c(kMost);
  EXPECT_EQ(over.bits(with(clamped, [](auto& r) { r.saturation = SaturationRule::never; })), kLeast + 48);
  EXPECT_EQ(Dot(mixed).at(0, 1, 1).raw_c(kMost).bits(
                with(mixed, [](auto& r) { r.saturation = SaturationRule::always; })),
            kMost);
}

TEST(Integer, ExplainShowsEveryProductAndWhereASumIsCut) {
  const Instruction inst = instruction_of("mma.m8n8k16.satfinite.s32.s8.s8.s32");
  Datapath model = hopper_row(inst);
  model.saturation = SaturationRule::every_step;
  model.products_per_step = 8;
  std::array<std::uint64_t, 16> a{}, b{};
  a[0] = b[0] = a[9] = 2;
  b[9] = 0xFF;
  const Explanation trace = explain(make_dot_spec(inst, model), a.data(), b.data(), kMost, 0);
  ASSERT_EQ(trace.products.size(), 16U);
  EXPECT_TRUE(trace.products[7].clamped);
  EXPECT_EQ(trace.products[9].product, -2);
  EXPECT_EQ(trace.result, kMost - 2);
}

TEST(IntegerText, ValuesAndRefusals) {
  const auto bits = [](const char* text, Format format) { return parse_value(text, spec_of(format)).bits; };
  EXPECT_EQ(bits("-128", Format::s8), 0x80U);
  EXPECT_EQ(bits("max", Format::u8), 255U);
  EXPECT_EQ(bits("min", Format::s4), 8U);
  EXPECT_EQ(bits("-1", Format::s32), 0xFFFFFFFFU);
  EXPECT_EQ(bits("0x80000000", Format::s32), kLeast);
  EXPECT_EQ(bits("1", Format::b1), 1U);
  for (const char* text : {"128", "-129", "1.5", "", "-", "inf", "nan", "2^3", "0x100", "--1", "-max"})
    EXPECT_NE(parse_value(text, spec_of(Format::s8)).error, "") << text;
  EXPECT_NE(parse_value("-1", spec_of(Format::u4)).error, "");
  EXPECT_NE(parse_value("2", spec_of(Format::b1)).error, "");
  EXPECT_EQ(value_text(kLeast, spec_of(Format::s32)), "-2147483648");
  EXPECT_EQ(value_text(0xF8, spec_of(Format::s4)), "-8");
}

TEST(IntegerText, EncodeRoundsAndClamps) {
  const FormatSpec s8 = spec_of(Format::s8), u4 = spec_of(Format::u4);
  for (int x = -128; x < 128; ++x) {
    EXPECT_EQ(encode_value(x, s8), static_cast<std::uint8_t>(x));
    EXPECT_EQ(decode_value(static_cast<std::uint8_t>(x), s8), x);
  }
  EXPECT_EQ(encode_value(2.5, s8), 2U);
  EXPECT_EQ(encode_value(-2.5, s8, {CastRounding::nearest_away}), 0xFDU);
  EXPECT_EQ(encode_value(-2.9, s8, {CastRounding::toward_zero}), 0xFEU);
  EXPECT_EQ(encode_value(1e300, s8), 127U);
  EXPECT_EQ(encode_value(-1e300, s8), 0x80U);
  EXPECT_EQ(encode_value(-std::numeric_limits<double>::infinity(), s8), 0x80U);
  EXPECT_EQ(encode_value(std::numeric_limits<double>::quiet_NaN(), s8), 0U);
  EXPECT_EQ(encode_value(16, u4), 15U);
  EXPECT_EQ(encode_value(-1, u4), 0U);
  EXPECT_EQ(decode_value(kMost, spec_of(Format::s32)), 2147483647.0);
}

}  // namespace
}  // namespace mmaudit::test
