// encode_value() against the host code of CUDA's own headers (cuda_fp8.h, cuda_fp6.h, cuda_fp4.h): two
// independent programs for the same instructions. Where a header is known to leave the conversion
// instruction's rule, the difference is a rule of its own here and is counted, so that a change shows.
#include <gtest/gtest.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "mmaudit/convert.hpp"

namespace mmaudit {
namespace {

/// One conversion of the headers: what it makes of a source, and the rule that must give the same.
template <typename Source>
struct Route {
  const char* name;
  Format to;
  CastRule rule;
  unsigned (*convert)(Source);
};

constexpr CastRule kNearest{CastRounding::nearest_even, false},
    kNearestSaturated{CastRounding::nearest_even, true};
constexpr CastRule kZero{CastRounding::toward_zero, false}, kZeroSaturated{CastRounding::toward_zero, true};
constexpr CastRule kUp{CastRounding::toward_plus, false}, kUpSaturated{CastRounding::toward_plus, true};

__half_raw half_of(std::uint16_t bits) {
  __half_raw raw;
  raw.x = bits;
  return raw;
}

__nv_bfloat16_raw bfloat_of(std::uint16_t bits) {
  __nv_bfloat16_raw raw;
  raw.x = bits;
  return raw;
}

// One list for all sources: CALL is the function's infix, ARG makes its argument from the source `x`.
#define MMAUDIT_FP864_ROUTES(Source, CALL, ARG)                                                          \
  {"e4m3 nosat", Format::e4m3, kNearest,                                                                 \
   [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp8(ARG, __NV_NOSAT, __NV_E4M3); }},           \
      {"e4m3 satfinite", Format::e4m3, kNearestSaturated,                                                \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp8(ARG, __NV_SATFINITE, __NV_E4M3); }},   \
      {"e5m2 nosat", Format::e5m2, kNearest,                                                             \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp8(ARG, __NV_NOSAT, __NV_E5M2); }},       \
      {"e5m2 satfinite", Format::e5m2, kNearestSaturated,                                                \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp8(ARG, __NV_SATFINITE, __NV_E5M2); }},   \
      {"e3m2 rn", Format::e3m2, kNearestSaturated,                                                       \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp6(ARG, __NV_E3M2, cudaRoundNearest); }}, \
      {"e3m2 rz", Format::e3m2, kZeroSaturated,                                                          \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp6(ARG, __NV_E3M2, cudaRoundZero); }},    \
      {"e2m3 rn", Format::e2m3, kNearestSaturated,                                                       \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp6(ARG, __NV_E2M3, cudaRoundNearest); }}, \
      {"e2m3 rz", Format::e2m3, kZeroSaturated,                                                          \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp6(ARG, __NV_E2M3, cudaRoundZero); }},    \
      {"e2m1 rn", Format::e2m1, kNearestSaturated,                                                       \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp4(ARG, __NV_E2M1, cudaRoundNearest); }}, \
  {                                                                                                      \
    "e2m1 rz", Format::e2m1, kZeroSaturated,                                                             \
        [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_fp4(ARG, __NV_E2M1, cudaRoundZero); }     \
  }

#define MMAUDIT_E8M0_ROUTES(Source, CALL, ARG)                                                               \
  {"ue8m0 rz nosat", Format::ue8m0, kZero,                                                                   \
   [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_e8m0(ARG, __NV_NOSAT, cudaRoundZero); }},          \
      {"ue8m0 rz satfinite", Format::ue8m0, kZeroSaturated,                                                  \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_e8m0(ARG, __NV_SATFINITE, cudaRoundZero); }},  \
      {"ue8m0 rp nosat", Format::ue8m0, kUp,                                                                 \
       [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_e8m0(ARG, __NV_NOSAT, cudaRoundPosInf); }},    \
  {                                                                                                          \
    "ue8m0 rp satfinite", Format::ue8m0, kUpSaturated,                                                       \
        [](Source x) -> unsigned { return __nv_cvt_##CALL##_to_e8m0(ARG, __NV_SATFINITE, cudaRoundPosInf); } \
  }

const Route<double> kFromDouble[] = {MMAUDIT_FP864_ROUTES(double, double, x),
                                     MMAUDIT_E8M0_ROUTES(double, double, x)};
const Route<float> kFromFloat[] = {MMAUDIT_FP864_ROUTES(float, float, x),
                                   MMAUDIT_E8M0_ROUTES(float, float, x)};
const Route<std::uint16_t> kFromHalf[] = {MMAUDIT_FP864_ROUTES(std::uint16_t, halfraw, half_of(x))};
const Route<std::uint16_t> kFromBfloat[] = {MMAUDIT_FP864_ROUTES(std::uint16_t, bfloat16raw, bfloat_of(x)),
                                            MMAUDIT_E8M0_ROUTES(std::uint16_t, bfloat16raw, bfloat_of(x))};

/// Compares one route over all sources; `value` says what number a source is. Returns how many were compared.
template <typename Source, typename Sources, typename Value>
std::size_t compare(const Route<Source>& route, const Sources& sources, const Value& value) {
  const FormatSpec format = spec_of(route.to);
  std::size_t compared = 0, shown = 0;
  for (const Source x : sources) {
    const double number = value(x);
    const std::uint64_t ours = encode_value(number, format, route.rule);
    const std::uint64_t theirs = route.convert(x);
    ++compared;
    if (ours == theirs) continue;
    ADD_FAILURE() << route.name << ": source " << std::hexfloat << number << ", ours " << ours << ", CUDA "
                  << theirs;
    if (++shown == 5) break;
  }
  return compared;
}

std::vector<std::uint16_t> every_16_bits() {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

/// Every exponent with significands at and around every boundary that a format of up to ten fraction bits
/// has, and 10^6 seeded patterns, half of them near the range of the small formats.
std::vector<float> dense_floats() {
  std::vector<std::uint32_t> fractions;
  for (int kept = 0; kept <= 5; ++kept) {
    for (std::uint32_t head = 0; head < 1U << kept; ++head) {
      const std::uint32_t base = head << (23 - kept);
      for (const std::uint32_t offset : {0U, 1U, 2U, 0x7FFFFFU, 0x7FFFFEU})
        fractions.push_back((base + offset) & 0x7FFFFF);
    }
  }
  std::vector<float> all;
  for (std::uint32_t top = 0; top < 512; ++top)
    for (const std::uint32_t fraction : fractions) all.push_back(std::bit_cast<float>(top << 23 | fraction));
  std::mt19937_64 random(20260102);
  for (int i = 0; i < 1'000'000; ++i) {
    auto bits = static_cast<std::uint32_t>(random());
    if (i % 2 == 0) bits = (bits & 0x807FFFFFU) | ((103U + (bits >> 23) % 44U) << 23);
    all.push_back(std::bit_cast<float>(bits));
  }
  return all;
}

TEST(CudaHeaders, EveryBinary16) {
  const FormatSpec half = spec_of(Format::f16);
  for (const auto& route : kFromHalf)
    EXPECT_EQ(compare(route, every_16_bits(), [&](std::uint16_t x) { return decode_value(x, half); }),
              65536U);
}

TEST(CudaHeaders, EveryBfloat16) {
  const FormatSpec bfloat = spec_of(Format::bf16);
  for (const auto& route : kFromBfloat)
    EXPECT_EQ(compare(route, every_16_bits(), [&](std::uint16_t x) { return decode_value(x, bfloat); }),
              65536U);
}

TEST(CudaHeaders, DenseBinary32) {
  const std::vector<float> sources = dense_floats();
  for (const auto& route : kFromFloat)
    EXPECT_EQ(compare(route, sources, [](float x) { return static_cast<double>(x); }), sources.size());
}

/// binary64, without NaN: halfway points of the small formats and one binary64 step to either side, where a
/// route through binary32 would round twice.
TEST(CudaHeaders, Binary64AroundEveryBinary32Boundary) {
  std::vector<double> sources;
  for (const float x : dense_floats()) {
    if (std::isnan(x) || sources.size() >= 900'000) continue;
    for (const double y : {std::nextafter(static_cast<double>(x), 0.0), static_cast<double>(x),
                           std::nextafter(static_cast<double>(x), HUGE_VAL)})
      sources.push_back(y);
  }
  for (const double x : {5e-324, 1e-320, 1e-45, 1e39, 1e300, 1.7976931348623157e308})
    for (const double y : {x, -x}) sources.push_back(y);
  for (const auto& route : kFromDouble)
    EXPECT_EQ(compare(route, sources, [](double x) { return x; }), sources.size());
}

/// The hardware's cvt takes no binary64, so its NaN rule is the product's rule: positive, all bits set. The
/// header's binary64 code keeps the sign, and for e5m2 the two leading payload bits.
TEST(CudaHeaders, ABinary64NaNKeepsItsSignInTheHeaderOnly) {
  for (const std::uint64_t payload : {0x8000000000000ULL, 0xC000000000000ULL, 0x1ULL, 0xFFFFFFFFFFFFFULL}) {
    for (const std::uint64_t sign : {0ULL, 0x8000000000000000ULL}) {
      const double nan = std::bit_cast<double>(sign | 0x7FF0000000000000ULL | payload);
      const auto kept = static_cast<unsigned>(sign >> 56);
      EXPECT_EQ(__nv_cvt_double_to_fp8(nan, __NV_NOSAT, __NV_E4M3), kept | 0x7FU);
      EXPECT_EQ(__nv_cvt_double_to_fp8(nan, __NV_NOSAT, __NV_E5M2), kept | 0x7EU | (payload >> 50));
      EXPECT_EQ(encode_nearest_even(nan, spec_of(Format::e4m3)), 0x7FU);
      EXPECT_EQ(encode_nearest_even(nan, spec_of(Format::e5m2)), 0x7FU);
    }
  }
}

TEST(CudaHeaders, EveryByteDecodes) {
  for (unsigned code = 0; code < 256; ++code) {
    const auto byte = static_cast<unsigned char>(code);
    const auto expect = [&](Format id, __half_raw theirs) {
      const std::uint64_t ours = encode_nearest_even(decode_value(code, spec_of(id)), spec_of(Format::f16));
      EXPECT_EQ(ours, theirs.x) << name_of(id) << ' ' << code;
    };
    expect(Format::e4m3, __nv_cvt_fp8_to_halfraw(byte, __NV_E4M3));
    expect(Format::e5m2, __nv_cvt_fp8_to_halfraw(byte, __NV_E5M2));
    expect(Format::e3m2, __nv_cvt_fp6_to_halfraw(byte, __NV_E3M2));
    expect(Format::e2m3, __nv_cvt_fp6_to_halfraw(byte, __NV_E2M3));
    expect(Format::e2m1, __nv_cvt_fp4_to_halfraw(byte, __NV_E2M1));
    const FormatSpec bfloat = spec_of(Format::bf16);
    EXPECT_EQ(encode_nearest_even(decode_value(code, spec_of(Format::ue8m0)), bfloat),
              __nv_cvt_e8m0_to_bf16raw(byte).x);
  }
}

}  // namespace
}  // namespace mmaudit
