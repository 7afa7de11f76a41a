// The step of groups that takes any scales and sums, against the plain core, on the host. Needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "mmaudit/model/architecture.hpp"
#include "model/group_step.hpp"

namespace mmaudit::device::groups {
namespace {

/// One step: elements and scales as bytes, and C.
struct Inputs {
  std::uint8_t a[kGroupDepth] = {}, b[kGroupDepth] = {};
  std::uint8_t scale_a[kMostScales] = {}, scale_b[kMostScales] = {};
  std::uint32_t c = 0;
};

std::uint32_t by_plain_core(const DotSpec& spec, const Inputs& in) {
  const ScaleBytes scales{{in.scale_a, 1}, {in.scale_b, 1}, 0};
  return static_cast<std::uint32_t>(
      dot(spec, Strided<std::uint8_t>{in.a}, Strided<std::uint8_t>{in.b}, in.c, 0, scales));
}

/// As group_pack.cu and groups.cu read operands.
std::uint32_t by_step(const GroupCore& core, const Inputs& in) {
  const DotSpec& spec = core.spec;
  std::int32_t sums[kGroups] = {}, some[kGroups] = {};
  bool nonzero[2][kMostScales] = {};
  for (int k = 0; k < kGroupDepth; ++k) {
    const auto value = [&](const FormatSpec& format, std::uint8_t bits, bool& any) {
      const Operand x = unpack(format, {}, bits);
      any = any || x.significand != 0;
      return x.significand == 0 ? 0 : x.significand * (1 << (x.exponent - format.min_exponent()));
    };
    const int block = k / spec.scale_block;
    const int product = value(spec.a, in.a[k], nonzero[0][block]) * value(spec.b, in.b[k], nonzero[1][block]);
    sums[k / 16] += product;
    some[k / 16] |= product;
  }
  std::uint32_t row[kGroups], column[kGroups];
  for (int g = 0; g < kGroups; ++g) {
    const int block = g * core.scales / kGroups;
    const Operand a = unpack_scale(spec.scale, spec.datapath, in.scale_a[block]),
                  b = unpack_scale(spec.scale, spec.datapath, in.scale_b[block]);
    row[g] = ScaleCode::of(a, nonzero[0][block], false);
    column[g] = ScaleCode::of(b, nonzero[1][block], true);
  }
  const double c = static_cast<double>(std::bit_cast<float>(in.c));
  return std::bit_cast<std::uint32_t>(
      static_cast<float>(add_any_groups(AnyScales::of(core), sums, some, row, column, c)));
}

/// Scales from one byte to all of them, elements from none to all, C near the groups or anywhere.
Inputs drawn(std::mt19937& random, const FormatSpec& scale) {
  Inputs in;
  const auto below = [&](unsigned limit) { return static_cast<unsigned>(random()) % limit; };
  const unsigned zeros = below(5), spread = 1U << below(9),
                 codes = static_cast<unsigned>(scale.max_finite_bits()) + 1;
  const unsigned least = below(codes);
  for (int k = 0; k < kGroupDepth; ++k) {
    in.a[k] = static_cast<std::uint8_t>(below(4) < zeros ? below(2) * 8 : below(16));
    in.b[k] = static_cast<std::uint8_t>(below(4) < zeros ? below(2) * 8 : below(16));
    if (k % 2 != 0 && zeros == 0) in.a[k] = in.a[k - 1] ^ 8, in.b[k] = in.b[k - 1];  // they cancel
  }
  for (int i = 0; i < kMostScales; ++i) {
    in.scale_a[i] = static_cast<std::uint8_t>((least + below(spread)) % codes);
    in.scale_b[i] = static_cast<std::uint8_t>((least + below(spread)) % codes);
  }
  const Operand x = unpack_scale(scale, {}, in.scale_a[0]), y = unpack_scale(scale, {}, in.scale_b[0]);
  const int field =
      std::clamp(static_cast<int>(x.exponent + y.exponent + 127) + static_cast<int>(below(80)) - 40, 0, 254);
  const unsigned fields[] = {static_cast<unsigned>(field), below(256), 0, 254};
  in.c = below(8) == 0 ? 0 : (static_cast<std::uint32_t>(random()) & 0x807FFFFFU) | fields[below(4)] << 23;
  if (below(16) == 0) in.c &= 0xFF800000U;
  return in;
}

TEST(GroupStep, GivesThePlainCoresBits) {
  constexpr int kDots = 60'000;  // 10^6 take a minute
  for (const char* name : {"mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0",
                           "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3",
                           "mma.m16n8k64.kind_mxf4nvf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0"}) {
    const Instruction instruction = *find_instruction(name);
    const auto* entry = find_datapath(*find_architecture("blackwell_rtx"), instruction);
    const auto core = group_core(make_dot_spec(instruction, entry->datapath));
    ASSERT_TRUE(core) << name;
    std::mt19937 random(7);
    int infinite = 0, zero = 0;
    for (int i = 0; i < kDots; ++i) {
      const Inputs in = drawn(random, core->spec.scale);
      const std::uint32_t expected = by_plain_core(core->spec, in);
      const std::uint32_t c = in.c & 0x7FFFFFFFU;
      if (c > 0x7F800000U) continue;  // a NaN: the kernel writes its own
      infinite += c < 0x7F800000U && (expected & 0x7FFFFFFFU) == 0x7F800000U ? 1 : 0;
      zero += expected == 0 ? 1 : 0;
      ASSERT_EQ(expected, by_step(*core, in)) << name << " dot " << i;
    }
    EXPECT_GT(zero, 100) << name;
    if (core->scales == 2) {
      EXPECT_GT(infinite, 100) << name;
    }
  }
}

}  // namespace
}  // namespace mmaudit::device::groups
