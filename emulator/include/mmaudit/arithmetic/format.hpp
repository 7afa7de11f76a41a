#pragma once
// Number formats as plain numbers. A new format is one enumerator and one row of kFormats.
// Sources: OCP 8-bit floating point specification 1.0 (e4m3, e5m2), OCP Microscaling formats
// specification 1.0 (e3m2, e2m3, e2m1, ue8m0), PTX ISA 9.0 "Alternate floating-point data formats" (bf16,
// tf32, ue4m3), arXiv 2206.02915 (e5m2fnuz, e4m3fnuz: CDNA3's bf8 and fp8), IEEE 754-2019 (the rest).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mmaudit/config.hpp"

namespace mmaudit {

enum class Format : std::uint8_t {
  f64,
  f32,
  tf32,
  bf16,
  f16,
  e5m2,
  e4m3,
  none,
  e3m2,
  e2m3,
  e2m1,
  ue8m0,
  ue4m3,
  s32,
  s8,
  u8,
  s4,
  u4,
  b1,
  e5m2fnuz,
  e4m3fnuz
};

/// Which encodings of the largest exponent field are not finite numbers.
enum class Specials : std::uint8_t {
  ieee,               ///< fraction 0: infinity; anything else: NaN
  nan_only,           ///< all ones: NaN; everything else is finite, there is no infinity (e4m3)
  nan_at_minus_zero,  ///< the code of -0: NaN; everything else is finite (e4m3fnuz, e5m2fnuz)
  finite              ///< every encoding is a finite number (e3m2, e2m3, e2m1)
};

/// What the bits of an element spell. An integer has no exponent: fraction_bits is its width.
enum class Encoding : std::uint8_t { floating, signed_integer, unsigned_integer };

/// One number format. value = significand * 2^(exponent - fraction_bits); a subnormal keeps exponent 1 -
/// bias. A value narrower than its storage lies in the low bits; the bits above it are not read and are
/// written as zero.
struct FormatSpec {
  Format id = Format::none;
  std::uint8_t storage_bits = 0;      ///< width of one element in memory and in recordings
  std::uint8_t ignored_low_bits = 0;  ///< low storage bits the hardware does not read (tf32: 13)
  std::uint8_t exponent_bits = 0;
  std::uint8_t fraction_bits = 0;
  std::int16_t bias = 0;
  Specials specials = Specials::ieee;
  bool signless = false;  ///< no sign bit
  bool no_zero = false;   ///< field 0 is a normal number like any other: no zero, no subnormal (ue8m0)
  Encoding encoding = Encoding::floating;

  [[nodiscard]] MMAUDIT_HD constexpr bool integer() const { return encoding != Encoding::floating; }
  /// Least exponent of a normal number.
  [[nodiscard]] MMAUDIT_HD constexpr int min_exponent() const { return (no_zero ? 0 : 1) - bias; }
  /// Largest exponent of a finite number.
  [[nodiscard]] MMAUDIT_HD constexpr int max_exponent() const {
    // Without a fraction the one NaN takes the whole largest field.
    const bool largest_field_is_special =
        specials == Specials::ieee || (specials == Specials::nan_only && fraction_bits == 0);
    return (1 << exponent_bits) - 1 - bias - (largest_field_is_special ? 1 : 0);
  }
  [[nodiscard]] MMAUDIT_HD constexpr int value_bits() const {
    return integer() ? fraction_bits : (signless ? 0 : 1) + exponent_bits + fraction_bits;
  }
  /// 0 for a format without a sign; the top bit of the storage for an integer.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t sign_bit() const {
    if (integer()) return std::uint64_t{1} << (storage_bits - 1);
    return signless ? 0 : std::uint64_t{1} << (exponent_bits + fraction_bits + ignored_low_bits);
  }
  /// Every bit below the sign, ignored ones included.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t magnitude_mask() const {
    return (std::uint64_t{1} << (exponent_bits + fraction_bits + ignored_low_bits)) - 1;
  }
  /// What the conversion instructions write for a NaN: every bit of the value below the sign set, sign clear;
  /// in a format without NaN the largest number, in one without -0 the code of -0.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t conversion_nan_bits() const {
    if (specials == Specials::nan_at_minus_zero) return sign_bit();
    return (magnitude_mask() >> ignored_low_bits) << ignored_low_bits;
  }
  /// Bits of +infinity (only meaningful for Specials::ieee), in the storage width.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t infinity_bits() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << (fraction_bits + ignored_low_bits);
  }
  /// Bits of the largest finite number, in the storage width.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t max_finite_bits() const {
    const std::uint64_t all_ones = (std::uint64_t{1} << (exponent_bits + fraction_bits)) - 1;
    if (specials == Specials::ieee) return infinity_bits() - (std::uint64_t{1} << ignored_low_bits);
    return (specials == Specials::nan_only ? all_ones - 1 : all_ones) << ignored_low_bits;
  }
  [[nodiscard]] constexpr std::size_t storage_bytes() const { return storage_bits / 8U; }
};

/// What others call a format's type and where they take it; empty: they have none.
struct FormatNames {
  std::string_view file = {};  ///< in safetensors; of formats with one name a file's type is the first
  std::string_view numpy = {}, ml_dtypes = {}, torch = {};
  std::string_view also = {};      ///< further usual names, a blank between them
  std::string_view ptx_kind = {};  ///< of mma and tcgen05.mma, which takes it as an element of A and B
};

struct NamedFormat {
  std::string_view name, title;  ///< title: as reports write it
  FormatSpec spec;
  FormatNames names = {};
};

// clang-format off
inline constexpr NamedFormat kFormats[] = {
    //                      id            storage ignored exp frac  bias
    {"f64",  "FP64",        {Format::f64,  64,     0,      11, 52,   1023, Specials::ieee},
     {.file = "F64", .numpy = "float64", .torch = "float64", .also = "fp64 double"}},
    {"f32",  "FP32",        {Format::f32,  32,     0,       8, 23,    127, Specials::ieee},
     {.file = "F32", .numpy = "float32", .torch = "float32", .also = "fp32 float single"}},
    {"tf32", "TF32",        {Format::tf32, 32,    13,       8, 10,    127, Specials::ieee},
     {.file = "F32", .numpy = "float32", .torch = "float32", .also = "tfloat32"}},  // in binary32 registers
    {"bf16", "BF16",        {Format::bf16, 16,     0,       8,  7,    127, Specials::ieee},
     {.file = "BF16", .ml_dtypes = "bfloat16", .torch = "bfloat16", .also = "brain"}},
    {"f16",  "FP16",        {Format::f16,  16,     0,       5, 10,     15, Specials::ieee},
     {.file = "F16", .numpy = "float16", .torch = "float16", .also = "fp16 half"}},
    {"e5m2", "FP8 E5M2",    {Format::e5m2,  8,     0,       5,  2,     15, Specials::ieee},
     {.file = "F8_E5M2", .ml_dtypes = "float8_e5m2", .torch = "float8_e5m2", .also = "fp8_e5m2 float_e5m2_t",
      .ptx_kind = "f8f6f4"}},
    {"e4m3", "FP8 E4M3",    {Format::e4m3,  8,     0,       4,  3,      7, Specials::nan_only},
     {.file = "F8_E4M3", .ml_dtypes = "float8_e4m3fn", .torch = "float8_e4m3fn",
      .also = "fp8_e4m3 float8_e4m3 e4m3fn float_e4m3_t", .ptx_kind = "f8f6f4"}},
    {"e5m2fnuz", "FP8 E5M2FNUZ", {Format::e5m2fnuz, 8, 0,   5,  2,     16, Specials::nan_at_minus_zero},
     {.also = "float8_e5m2fnuz fp8_e5m2fnuz f8_e5m2fnuz"}},
    {"e4m3fnuz", "FP8 E4M3FNUZ", {Format::e4m3fnuz, 8, 0,   4,  3,      8, Specials::nan_at_minus_zero},
     {.also = "float8_e4m3fnuz fp8_e4m3fnuz f8_e4m3fnuz"}},
    {"e3m2", "FP6 E3M2",    {Format::e3m2,  8,     0,       3,  2,      3, Specials::finite},
     {.ml_dtypes = "float6_e3m2fn", .also = "fp6_e3m2", .ptx_kind = "f8f6f4"}},
    {"e2m3", "FP6 E2M3",    {Format::e2m3,  8,     0,       2,  3,      1, Specials::finite},
     {.ml_dtypes = "float6_e2m3fn", .also = "fp6_e2m3", .ptx_kind = "f8f6f4"}},
    {"e2m1", "FP4 E2M1",    {Format::e2m1,  8,     0,       2,  1,      1, Specials::finite},
     {.ml_dtypes = "float4_e2m1fn", .also = "fp4 fp4_e2m1", .ptx_kind = "f8f6f4"}},
    //                                                                                       signless, no zero: scales only
    {"ue8m0", "scale UE8M0", {Format::ue8m0, 8,    0,       8,  0,    127, Specials::nan_only, true, true},
     {.ml_dtypes = "float8_e8m0fnu", .torch = "float8_e8m0fnu", .also = "e8m0"}},
    {"ue4m3", "scale UE4M3", {Format::ue4m3, 8,    0,       4,  3,      7, Specials::nan_only, true, false}},
    // Integers. Elements below 8 bits travel one per byte, in its low bits; the bits above are not read.
    {"s32", "INT32",  {Format::s32, 32,     0,       0, 32,      0, Specials::ieee, false, false, Encoding::signed_integer},
     {.file = "I32", .numpy = "int32", .torch = "int32"}},
    {"s8", "INT8",    {Format::s8,  8,     0,       0,  8,      0, Specials::ieee, false, false, Encoding::signed_integer},
     {.file = "I8", .numpy = "int8", .torch = "int8"}},
    {"u8", "UINT8",   {Format::u8,  8,     0,       0,  8,      0, Specials::ieee, false, false, Encoding::unsigned_integer},
     {.also = "uint8"}},
    {"s4", "INT4",    {Format::s4,  8,     0,       0,  4,      0, Specials::ieee, false, false, Encoding::signed_integer},
     {.file = "I8", .numpy = "int8", .torch = "int8", .also = "int4 i4"}},
    {"u4", "UINT4",   {Format::u4,  8,     0,       0,  4,      0, Specials::ieee, false, false, Encoding::unsigned_integer},
     {.also = "uint4"}},
    {"b1", "binary",  {Format::b1,  8,     0,       0,  1,      0, Specials::ieee, false, false, Encoding::unsigned_integer},
     {.also = "bit"}},
};
// clang-format on

/// The numbers of a format. Host only (device code is handed the FormatSpec by value); Format::none gives an
/// empty spec.
constexpr FormatSpec spec_of(Format format) {
  for (const NamedFormat& row : kFormats)
    if (row.spec.id == format) return row.spec;
  return {};
}

constexpr std::string_view name_of(Format format) {
  for (const NamedFormat& row : kFormats)
    if (row.spec.id == format) return row.name;
  return "none";
}

/// "FP16", "FP8 E4M3", ...
constexpr std::string_view title_of(Format format) {
  for (const NamedFormat& row : kFormats)
    if (row.spec.id == format) return row.title;
  return "none";
}

constexpr std::optional<Format> find_format(std::string_view name) {
  for (const NamedFormat& row : kFormats)
    if (row.name == name) return row.spec.id;
  return std::nullopt;
}

}  // namespace mmaudit
