#include "mmaudit/value_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "mmaudit/printable.hpp"

namespace mmaudit {
namespace {

std::uint64_t bits(std::string_view text, Format format) {
  const ParsedValue value = parse_value(text, spec_of(format));
  EXPECT_EQ(value.error, "") << text;
  return value.bits;
}

TEST(ValueText, EveryNotation) {
  EXPECT_EQ(bits("1.5", Format::f16), 0x3E00U);
  EXPECT_EQ(bits("-1.5", Format::f16), 0xBE00U);
  EXPECT_EQ(bits("2^-12", Format::f16), 0x0C00U);
  EXPECT_EQ(bits("-1.5*2^-3", Format::f32), 0xBE400000U);
  EXPECT_EQ(bits("0x1.8p-4", Format::f32), 0x3DC00000U);
  EXPECT_EQ(bits("0x3c01", Format::f16), 0x3C01U);
  EXPECT_EQ(bits("0x3f801fff", Format::tf32), 0x3F801FFFU);
  EXPECT_EQ(bits("0xfff8000000000001", Format::f64), 0xFFF8000000000001U);
  EXPECT_EQ(bits("-0", Format::bf16), 0x8000U);
  EXPECT_EQ(bits("inf", Format::e5m2), 0x7CU);
  EXPECT_EQ(bits("-inf", Format::tf32), 0xFF800000U);
  EXPECT_EQ(bits("nan", Format::e4m3), 0x7FU);
  EXPECT_EQ(bits("max", Format::e4m3), 0x7EU);
  EXPECT_EQ(bits("-min", Format::f16), 0x8400U);
  EXPECT_EQ(bits("tiny", Format::tf32), 0x00002000U);
  EXPECT_EQ(bits("2^-1074", Format::f64), 1U);
}

TEST(ValueText, WhatAFormatDoesNotHoldIsRefused) {
  const std::pair<const char*, Format> wrong[] = {
      {"", Format::f16},
      {"-", Format::f16},
      {"one", Format::f16},
      {"0.1", Format::f32},
      {"449", Format::e4m3},
      {"1e9", Format::f16},
      {"inf", Format::e4m3},
      {"--1", Format::f16},
      {"0x12345", Format::f16},
      {"0x", Format::f16},
      {"0xg", Format::f16},
      {"1.5 ", Format::f16},
      {"2^", Format::f64},
      {"2^1.5", Format::f64},
      {"1e999", Format::f64},
      {"2^-25", Format::f16},
      {"2^1024", Format::f64},
      {"2^-1075", Format::f64},
      {"1.5*2^-1074", Format::f64},
      {"1e300*2^100", Format::f64},
      {"-0x3c00", Format::f16},
  };
  for (const auto& [text, format] : wrong) {
    const ParsedValue value = parse_value(text, spec_of(format));
    EXPECT_EQ(value.error.rfind(std::string("found \"") + text + "\", allowed: ", 0), 0U)
        << text << ": " << value.error;
  }
}

TEST(ValueText, TheEndsOfIntegersAreTheirs) {
  EXPECT_EQ(bits("127", Format::s8), 0x7FU);
  EXPECT_EQ(bits("max", Format::s8), 0x7FU);
  EXPECT_EQ(bits("-128", Format::s8), 0x80U);
  EXPECT_EQ(bits("255", Format::u8), 0xFFU);
  for (const char* text : {"128", "-129"})
    EXPECT_NE(parse_value(text, spec_of(Format::s8)).error, "") << text;
  for (const char* text : {"256", "-1"}) EXPECT_NE(parse_value(text, spec_of(Format::u8)).error, "") << text;
}

TEST(Printable, EscapesEveryControlCharacter) {
  EXPECT_EQ(printable(std::string_view("a\x1f\x7f\0b", 5)), "a\\x1f\\x7f\\x00b");
  EXPECT_EQ(printable(" ~"), " ~");
  EXPECT_TRUE(has_control_characters("\x7f"));
  EXPECT_FALSE(has_control_characters(" ~"));
}

TEST(ValueText, TextReadsBackToTheSameBits) {
  for (const Format id : {Format::f16, Format::bf16, Format::e4m3, Format::e5m2}) {
    const FormatSpec format = spec_of(id);
    for (std::uint64_t x = 0; x < std::uint64_t{1} << format.storage_bits; ++x) {
      const std::string text = value_text(x, format);
      if (text == "nan") continue;
      ASSERT_EQ(bits(text, id), x) << text;
    }
  }
  EXPECT_EQ(hex_text(0x3C0, 16), "03c0");
  EXPECT_EQ(hex_text(0x7F, 8), "7f");
}

}  // namespace
}  // namespace mmaudit
