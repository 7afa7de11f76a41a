// The vector code of matmul() against the plain core, bit for bit, on operands that quick steps can't take:
// all finite bits, infinities and NaNs in single rows and columns and beside zeros, huge and subnormal sums,
// cancelling pairs, scales of the whole range, special C.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/raw_words.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

constexpr std::uint64_t kRows = 67, kColumns = 101;

/// A kind of each: formats, sums, lengths of steps, sides.
constexpr const char* kKinds[][2] = {
    {"hopper", "wgmma.m64n64k16.f32.bf16.bf16"},
    {"hopper", "wgmma.m64n64k8.f32.tf32.tf32"},
    {"hopper", "wgmma.m64n64k16.f32.f16.f16"},
    {"hopper", "wgmma.m64n64k16.f16.f16.f16"},
    {"hopper", "wgmma.m64n64k32.f32.e5m2.e4m3"},
    {"hopper", "wgmma.m64n64k32.f16.e5m2.e5m2"},
    {"hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32"},
    {"hopper", "mma.m16n8k32.f16.e5m2.e5m2.f16"},
    {"volta", "mma.m8n8k4.f32.f16.f16.f32"},
    {"volta", "mma.m8n8k4.f16.f16.f16.f16"},
    {"ampere", "mma.m16n8k16.f32.bf16.bf16.f32"},
    {"hopper", "wgmma.sp.m64n64k32.f32.bf16.bf16"},
    {"hopper", "wgmma.sp.m64n64k64.f32.e4m3.e4m3"},
    {"hopper", "wgmma.sp.m64n64k32.f16.f16.f16"},
    {"blackwell", "tcgen05.m128n64k32.kind_f8f6f4.f32.e4m3.e4m3"},
    {"blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0"},
    {"blackwell", "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e5m2.e5m2.ue8m0"},
    {"cdna2", "v_mfma_f32_32x32x8f16"},
    {"cdna2", "v_mfma_f32_32x32x4bf16"},
    {"cdna2", "v_mfma_f32_16x16x16bf16_1k"},
    {"cdna3", "v_mfma_f32_32x32x8f16"},
    {"cdna3", "v_mfma_f32_16x16x4f16"},
    {"cdna3", "v_mfma_f32_16x16x16bf16_1k"},
    {"cdna3", "v_mfma_f32_16x16x8_xf32"},
    {"cdna3", "v_mfma_f32_16x16x32_fp8_fp8"},
    {"cdna3", "v_mfma_f32_32x32x16_fp8_bf8"},
};

enum class Data { finite, wide, specials, one_row, subnormals, cancelling, largest };
constexpr Data kData[] = {Data::finite,     Data::wide,       Data::specials, Data::one_row,
                          Data::subnormals, Data::cancelling, Data::largest};

class Operands {
 public:
  Operands(FormatSpec format, std::uint64_t seed) : format_(format), seed_(seed) {}

  std::uint64_t bits(Data data, std::uint64_t i, std::uint64_t j) const {
    Draws random = gen::detail::element_stream(seed_, static_cast<int>(i), static_cast<int>(j));
    const std::uint64_t x = random.next(), sign = (x & 1) != 0 ? format_.sign_bit() : 0;
    switch (data) {
      case Data::finite:
        return finite(x);
      case Data::wide:
        return x % 16 == 0 ? sign : scaled(x, static_cast<int>(x >> 8 & 127) - 64);
      case Data::specials:
        if (x % 64 < 2) return special(x >> 8);
        return x % 8 == 3 ? sign : scaled(x, 0);
      case Data::one_row:
        if (i % 23 == 5 && j % 37 == 4) return special(x >> 8);
        return x % 4 == 3 ? sign : scaled(x, static_cast<int>(x >> 8 & 15));
      case Data::subnormals:
        return sign |
               (x >> 8 & ((std::uint64_t{1} << (format_.fraction_bits + format_.ignored_low_bits)) - 1));
      case Data::cancelling: {
        Draws pair = gen::detail::element_stream(seed_, static_cast<int>(i / 2), static_cast<int>(j / 2));
        const std::uint64_t y = pair.next() & ~std::uint64_t{1};
        return scaled(y | ((i + j) % 2), static_cast<int>(y >> 8 & 63) - 32);
      }
      case Data::largest:
        return x % 5 == 0 ? scaled(x, 0) : format_.max_finite_bits() | (x % 7 == 0 ? sign : 0);
    }
    return 0;
  }

 private:
  std::uint64_t finite(std::uint64_t x) const {
    const std::uint64_t size = x >> 1 & (format_.sign_bit() - 1), most = format_.max_finite_bits();
    const std::uint64_t unit = (std::uint64_t{1} << format_.ignored_low_bits) - 1;
    return ((x & 1) != 0 ? format_.sign_bit() : 0) | std::min(size, most | unit);
  }
  std::uint64_t scaled(std::uint64_t x, int exponent) const {
    const double digits = 1 + static_cast<double>(x >> 32 & 0xFFF) / 4096;
    return encode_nearest_even(std::ldexp((x & 1) != 0 ? -digits : digits, exponent), format_);
  }
  std::uint64_t special(std::uint64_t x) const {
    if (format_.specials == Specials::finite) return format_.max_finite_bits();
    if (format_.specials == Specials::nan_at_minus_zero) return format_.sign_bit();
    if (format_.specials == Specials::nan_only || x % 8 == 0) return format_.sign_bit() - 1;
    return format_.infinity_bits() | ((x & 8) != 0 ? format_.sign_bit() : 0);
  }

  FormatSpec format_;
  std::uint64_t seed_;
};

std::vector<std::byte> drawn(Format format, std::uint64_t rows, std::uint64_t columns, Data data,
                             std::uint64_t seed) {
  const FormatSpec spec = spec_of(format);
  const Operands operands(spec, seed);
  std::vector<std::byte> out(rows * columns * spec.storage_bytes());
  for (std::uint64_t i = 0; i < rows; ++i)
    for (std::uint64_t j = 0; j < columns; ++j)
      store_word(out.data(), spec.storage_bytes(), i * columns + j, operands.bits(data, i, j));
  return out;
}

/// Of the whole range, around 1, or with some NaNs.
std::vector<std::uint8_t> scales(std::size_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    Draws random = gen::detail::element_stream(seed, static_cast<int>(i), 0);
    const std::uint64_t x = random.next();
    out[i] = static_cast<std::uint8_t>(seed % 3 == 0                  ? 120 + x % 15
                                       : seed % 3 == 1 || x % 64 != 0 ? x % 255
                                                                      : 255);
  }
  return out;
}

/// Elements compared.
std::size_t compare(const Probe& probe, Data data, std::uint64_t seed, bool with_c) {
  const Instruction& inst = probe.instruction;
  Matmul problem;
  problem.m = kRows;
  problem.n = kColumns;
  problem.k = seed % 8 == 7 ? 300 : 36 + seed % 4 * 4;
  const std::uint64_t stored = stored_k(inst, problem), blocks = scale_blocks(inst, problem);
  const auto a = drawn(inst.a, kRows, stored, data, 4 * seed),
             b = drawn(inst.b, problem.k, kColumns, data, 4 * seed + 1),
             c = drawn(inst.c, kRows, kColumns, data, 4 * seed + 2);
  const auto scale_a = scales(kRows * blocks, seed), scale_b = scales(kColumns * blocks, seed + 1);
  std::vector<std::uint8_t> metadata(is_sparse(inst.op) ? kRows * stored : 0);
  const Sparsity sparsity = sparsity_of(inst);
  for (std::size_t i = 0; i < metadata.size(); i += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, static_cast<int>((seed + i * 7 / 2) % static_cast<unsigned>(patterns(sparsity))),
                  &metadata[i]);
  std::vector<std::byte> d(c.size()), expected;
  problem.a = a.data();
  problem.b = b.data();
  problem.c = with_c ? c.data() : nullptr;
  problem.d = d.data();
  if (blocks != 0) problem.scale_a = scale_a.data(), problem.scale_b = scale_b.data();
  if (!metadata.empty()) problem.metadata = metadata.data();
  MatmulOptions options;
  options.fast = false;
  matmul(inst, probe.datapath, problem, options);
  expected = d;
  options.fast = true;
  for (const SimdLevel level : kSimdLevels) {
    if (!has_simd_level(level)) continue;
    options.level = level;
    std::fill(d.begin(), d.end(), std::byte{0xA5});
    matmul(inst, probe.datapath, problem, options);
    EXPECT_TRUE(d == expected) << name_of(inst) << " " << name_of(level) << " data " << static_cast<int>(data)
                               << " seed " << seed;
  }
  return kRows * kColumns;
}

TEST(HostilePath, IsThePlainCoreOnOperandsThatQuickStepsCantTake) {
  std::size_t compared = 0;
  for (const auto& [architecture, name] : kKinds) {
    const Instruction instruction = find_instruction(name).value();
    const Probe probe{instruction, find_datapath(*find_architecture(architecture), instruction)->datapath};
    ASSERT_TRUE(fast_serves(instruction, probe.datapath)) << name;
    for (std::uint64_t seed = 0; seed < 10; ++seed)
      for (const Data data : kData) compared += compare(probe, data, seed, seed % 2 == 0);
  }
  std::printf("%zu elements compared per level\n", compared);
  EXPECT_GE(compared, 1'000'000U);
}

TEST(HostilePath, TheSecondStageKeepsNothingBelowItsLeastPlace) {
  // 2^-150 + 2^-158: the last place of a sum below 2^-126 is 2^-157, so what is left is halfway between two
  // subnormals, and the even one is the result.
  const Instruction instruction = find_instruction("v_mfma_f32_32x32x8bf16_1k").value();
  const Probe probe{instruction, find_datapath(*find_architecture("cdna3"), instruction)->datapath};
  std::vector<std::byte> a(8), c(4), d(4);
  const double factors[] = {0x1p-75, 0, 0x1p-79, 0};
  for (std::size_t k = 0; k < 4; ++k)
    store_word(a.data(), 2, k, encode_nearest_even(factors[k], spec_of(Format::bf16)));
  Matmul problem;
  problem.m = problem.n = 1;
  problem.k = 4;
  problem.a = problem.b = a.data();
  problem.c = c.data();
  problem.d = d.data();
  MatmulOptions options;
  for (const std::uint64_t addend : {0, 1}) {
    store_word(c.data(), 4, 0, addend);
    for (const SimdLevel level : kSimdLevels) {
      if (!has_simd_level(level)) continue;
      options.level = level;
      matmul(instruction, probe.datapath, problem, options);
      EXPECT_EQ(load_word(d.data(), 4, 0), 2 * addend) << name_of(level);
    }
  }
}

TEST(HostilePath, AZeroThatATreeFlushedIsPlusForTheNextInstruction) {
  // 2^-126 - 1.5 * 2^-126 is flushed to -0; the next instruction reads it as +0, and its products are -0.
  const Instruction instruction = find_instruction("v_mfma_f32_32x32x4bf16").value();
  const Probe probe{instruction, find_datapath(*find_architecture("cdna2"), instruction)->datapath};
  const auto bits = [](double x) { return encode_nearest_even(x, spec_of(Format::bf16)); };
  std::vector<std::byte> a(16), b(16), c(4), d(4);
  for (std::uint64_t k = 0; k < 8; ++k) {
    store_word(a.data(), 2, k, bits(k == 3 ? -0x1p-63 : k < 4 ? 1.0 : 0.0));
    store_word(b.data(), 2, k, bits(k == 3 ? 0x1.8p-63 : k < 4 ? -0.0 : -1.0));
  }
  store_word(c.data(), 4, 0, 0x00800000);
  Matmul problem;
  problem.m = problem.n = 1;
  problem.a = a.data();
  problem.b = b.data();
  problem.c = c.data();
  problem.d = d.data();
  MatmulOptions options;
  for (const std::uint64_t k : {4, 8}) {
    problem.k = k;
    for (const SimdLevel level : kSimdLevels) {
      if (!has_simd_level(level)) continue;
      options.level = level;
      matmul(instruction, probe.datapath, problem, options);
      EXPECT_EQ(load_word(d.data(), 4, 0), k == 4 ? 0x80000000U : 0U) << name_of(level) << " " << k;
    }
    options.fast = false;
    matmul(instruction, probe.datapath, problem, options);
    EXPECT_EQ(load_word(d.data(), 4, 0), k == 4 ? 0x80000000U : 0U) << k;
    options.fast = true;
  }
}

TEST(HostilePath, WhichOverflowCameFirstDecides) {
  // Sums reach -infinity before or after an infinity of the other sign among the operands.
  const Instruction instruction = find_instruction("wgmma.m64n64k16.f32.bf16.bf16").value();
  const Probe probe{instruction, find_datapath(*find_architecture("hopper"), instruction)->datapath};
  const FormatSpec bf16 = spec_of(Format::bf16);
  const std::uint64_t k = 64, one = encode_nearest_even(1, bf16);
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{40}}) {
    std::vector<std::byte> a(k * 2), b(k * 2), d(4), expected;
    for (std::uint64_t i = 0; i < k; ++i) {
      store_word(a.data(), 2, i,
                 i == at              ? bf16.infinity_bits()
                 : i == 20 || i == 21 ? bf16.max_finite_bits()
                                      : one);
      store_word(b.data(), 2, i, i == 20 || i == 21 ? bf16.max_finite_bits() | bf16.sign_bit() : one);
    }
    Matmul problem;
    problem.m = problem.n = 1;
    problem.k = k;
    problem.a = a.data();
    problem.b = b.data();
    problem.d = d.data();
    MatmulOptions options;
    for (const SimdLevel level : kSimdLevels) {
      if (!has_simd_level(level)) continue;
      options.level = level;
      matmul(instruction, probe.datapath, problem, options);
      EXPECT_EQ(load_word(d.data(), 4, 0), at == 0 ? 0x7F800000U : 0x7FFFFFFFU) << name_of(level);
    }
  }
}

}  // namespace
}  // namespace mmaudit::test
