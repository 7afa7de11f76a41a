// What operands become under a scaling, and products whose sums software scales.
#include "mmaudit/quantize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "mmaudit/mmaudit.h"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/scaled_matmul.hpp"

namespace mmaudit {
namespace {

/// Numbers of wide range, the same ones every time.
std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<float> out(count);
  for (float& x : out) {
    seed = seed * 1664525U + 1013904223U;
    x = static_cast<float>(static_cast<std::int32_t>(seed)) *
        std::ldexp(1.0F, -31 - static_cast<int>(seed >> 8 & 7));
  }
  return out;
}

/// Largest magnitudes of every `length` of k of (lanes, k).
std::vector<float> largest_of(const std::vector<float>& x, std::uint64_t k, std::uint64_t length) {
  std::vector<float> out;
  for (std::uint64_t lane = 0; lane < x.size() / k; ++lane)
    for (std::uint64_t first = 0; first < k; first += length) {
      float most = 0;
      for (std::uint64_t i = first; i < std::min(first + length, k); ++i)
        most = std::max(most, std::fabs(x[lane * k + i]));
      out.push_back(most);
    }
  return out;
}

struct Operand {
  std::vector<std::uint8_t> elements, scales;
  std::vector<float> factors;
};

/// (lanes, k) as A takes it, or (k, lanes) as B does.
Operand quantized(const char* dtype, Scaling scaling, const std::vector<float>& x, std::uint64_t k,
                  bool of_b) {
  Quantization work;
  work.rule = quantize_rule(*find_gemm_dtype(dtype), scaling, of_b);
  work.lanes = x.size() / k, work.k = k;
  work.x = x.data(), work.from = spec_of(Format::f32);
  work.lane_stride = k, work.k_stride = 1;
  work.k_outside = of_b;
  const std::uint64_t length = work.rule.scaled()              ? work.rule.scale_block()
                               : work.rule.factor_block() != 0 ? work.rule.factor_block()
                                                               : k;
  const std::vector<float> largest = largest_of(x, k, length), of_tensor = largest_of(x, x.size(), x.size());
  work.largest = largest.data(), work.tensor_largest = of_tensor.data();
  Operand out;
  out.elements.resize(x.size());
  out.scales.resize(work.lanes * work.scale_blocks());
  out.factors.resize(work.factor_count());
  work.elements = out.elements.data(), work.scales = out.scales.data(), work.factors = out.factors.data();
  quantize(work, 2);
  return out;
}

TEST(Quantize, TheLargestBecomesTheFormatsLargest) {
  const std::vector<float> x = {0.5F, -3.0F, 1.5F, 0.0F};
  const Operand tensor = quantized("e4m3", scalings::tensor, x, 2, false);
  ASSERT_EQ(tensor.factors.size(), 1U);
  EXPECT_EQ(tensor.factors[0], static_cast<float>(3.0 / 448));
  EXPECT_EQ(tensor.elements[1], 0xFE);  // -448
  EXPECT_EQ(tensor.elements[3], 0);
  const Operand rows = quantized("e4m3", scalings::row, x, 2, false);
  EXPECT_EQ(rows.factors, (std::vector<float>{static_cast<float>(3.0 / 448), static_cast<float>(1.5 / 448)}));
  EXPECT_EQ(rows.elements[2], 0x7E);
}

TEST(Quantize, APairOfTypesGivesEachOperandItsOwn) {
  const std::vector<float> x = {0.5F, -3.0F};
  EXPECT_EQ(quantized("e5m2-e4m3", scalings::tensor, x, 2, false).elements[1], 0xFB);  // -57344
  EXPECT_EQ(quantized("e5m2-e4m3", scalings::tensor, x, 2, true).elements[1], 0xFE);   // -448
}

TEST(Quantize, APairOfTypesIsNamedAFirst) {
  for (const auto& [a, b, of_a, of_b] : {std::tuple{"e4m3", "e5m2", Format::e4m3, Format::e5m2},
                                         {"e5m2", "e4m3", Format::e5m2, Format::e4m3},
                                         {"mxf8-e5m2", "mxf8", Format::e5m2, Format::e4m3}}) {
    const GemmDtype* const row = find_gemm_dtype(a, b);
    ASSERT_NE(row, nullptr) << a << " " << b;
    EXPECT_EQ(row->element, of_a) << a << " " << b;
    EXPECT_EQ(row->element_b(), of_b) << a << " " << b;
  }
}

TEST(Quantize, TheRangeOfIntegersIsSymmetric) {
  const Operand rows = quantized("int8-w8a8", scalings::row, {0.0F, -3.0F, 1.5F, 0.0F}, 2, false);
  EXPECT_EQ(rows.factors, (std::vector<float>{static_cast<float>(3.0 / 127), static_cast<float>(1.5 / 127)}));
  EXPECT_EQ(rows.elements, (std::vector<std::uint8_t>{0, 0x81, 0x7F, 0}));  // -127, 127
}

TEST(Quantize, ScalesOfBlocksArePowersOfTwoRoundedAsTheRuleSays) {
  std::vector<float> x(32, 0.0F);
  x[3] = 3.9F;  // 3.9 / 448 lies between 2^-7 and 2^-6
  EXPECT_EQ(quantized("mxf8", scalings::mx_floor, x, 32, false).scales[0], 127 + 1 - 8);
  EXPECT_EQ(quantized("mxf8", scalings::mx_ceil, x, 32, false).scales[0], 127 - 6);
  EXPECT_EQ(quantized("mxf8", scalings::mx_floor, x, 32, false).elements[3], 0x7E);  // saturated
  EXPECT_EQ(quantized("mxf8", scalings::mx_ceil, std::vector<float>(32, 0.0F), 32, false).scales[0], 127);
}

TEST(Quantize, NvFp4HasTwoLevels) {
  std::vector<float> x(32, 0.25F);
  x[20] = 12.0F;
  const Operand found = quantized("nvf4", scalings::mx, x, 32, false);
  ASSERT_EQ(found.factors.size(), 1U);
  EXPECT_EQ(found.factors[0], static_cast<float>(12.0 / (6 * 448)));
  EXPECT_EQ(found.scales[1], 0x7E);    // 448 in ue4m3
  EXPECT_EQ(found.elements[20], 0x7);  // 6
  EXPECT_EQ(found.elements[0], 0x7);   // 0.25 is the largest of its own block
}

TEST(Quantize, OfBIsTheSameTurned) {
  const std::vector<float> x = numbers(std::size_t{5} * 96, 3);
  for (const auto& [dtype, scaling] :
       {std::pair{"mxf8", scalings::mx_ceil}, {"nvf4", scalings::mx}, {"e4m3", scalings::blocks}}) {
    const Operand a = quantized(dtype, scaling, x, 96, false), b = quantized(dtype, scaling, x, 96, true);
    const std::uint64_t blocks = a.scales.size() / 5;
    for (std::uint64_t lane = 0; lane < 5; ++lane) {
      for (std::uint64_t k = 0; k < 96; ++k) EXPECT_EQ(a.elements[lane * 96 + k], b.elements[k * 5 + lane]);
      for (std::uint64_t i = 0; i < blocks; ++i)
        EXPECT_EQ(a.scales[lane * blocks + i], b.scales[i * 5 + lane]);
    }
    EXPECT_EQ(a.factors, b.factors);
  }
}

/// The same with the largest magnitudes left to quantize(), in any of the two layouts of x in memory.
Operand found_by_itself(const char* dtype, const Scaling& scaling, const std::vector<float>& x,
                        std::uint64_t k, bool of_b, bool k_inside) {
  const std::uint64_t lanes = x.size() / k;
  std::vector<float> turned(x.size());
  for (std::uint64_t lane = 0; lane < lanes; ++lane)
    for (std::uint64_t i = 0; i < k; ++i)
      turned[k_inside ? lane * k + i : i * lanes + lane] = x[lane * k + i];
  Quantization work;
  work.rule = quantize_rule(*find_gemm_dtype(dtype), scaling, of_b);
  work.lanes = lanes, work.k = k;
  work.x = turned.data(), work.from = spec_of(Format::f32);
  work.lane_stride = k_inside ? k : 1, work.k_stride = k_inside ? 1 : lanes;
  work.k_outside = of_b;
  Operand out;
  out.elements.resize(x.size());
  out.scales.resize(lanes * work.scale_blocks());
  out.factors.resize(work.factor_count());
  work.elements = out.elements.data(), work.scales = out.scales.data(), work.factors = out.factors.data();
  quantize(work, 2);
  return out;
}

TEST(Quantize, FindsTheLargestMagnitudesItself) {
  std::vector<float> x = numbers(std::size_t{37} * 300, 11);
  // The row decides whether infinities count; those that do are tested against their framework's formulas.
  x[5] = INFINITY, x[700] = -INFINITY;
  std::vector<float> finite = x;  // what counts for a scale
  for (float& each : finite) each = std::isfinite(each) ? each : 0;
  for (const auto& [dtype, scaling] : {std::pair{"e4m3", scalings::tensor},
                                       {"e5m2", scalings::row},
                                       {"e4m3", scalings::blocks},
                                       {"mxf8", scalings::mx_floor},
                                       {"mxf4", scalings::mx_ceil},
                                       {"nvf4", scalings::mx},
                                       {"e4m3", scalings::none}})
    for (const bool of_b : {false, true}) {
      const Operand given = quantized(dtype, scaling, finite, 300, of_b);
      const bool counts = scaling.counted != Counted::finite;
      for (const bool k_inside : {false, true}) {
        const Operand found = found_by_itself(dtype, scaling, x, 300, of_b, k_inside);
        EXPECT_EQ(found.factors == given.factors, !counts || given.factors.empty())
            << dtype << " " << scaling.name;
        EXPECT_EQ(found.scales == given.scales, !counts || !given.scales.size())
            << dtype << " " << scaling.name;
        const Operand again = found_by_itself(dtype, scaling, finite, 300, of_b, k_inside);
        EXPECT_EQ(again.elements, given.elements) << dtype << " " << scaling.name;
      }
    }
}

TEST(Quantize, LanesOfATileShareTheFactorOfTheirLargest) {
  const std::vector<float> x = numbers(std::size_t{200} * 300, 12);
  const Operand found = found_by_itself("e4m3", scalings::tiles, x, 300, true, false);
  ASSERT_EQ(found.factors.size(), 600U);
  for (std::uint64_t lane = 0; lane < 200; ++lane)
    for (std::uint64_t block = 0; block < 3; ++block) {
      float largest = 0;
      for (std::uint64_t other = lane / 128 * 128;
           other < std::min<std::uint64_t>(200, lane / 128 * 128 + 128); ++other)
        for (std::uint64_t i = block * 128; i < std::min<std::uint64_t>(300, block * 128 + 128); ++i)
          largest = std::max(largest, std::fabs(x[other * 300 + i]));
      ASSERT_EQ(found.factors[lane * 3 + block], static_cast<float>(static_cast<double>(largest) / 448));
    }
  // Of A every lane has its own.
  EXPECT_EQ(found_by_itself("e4m3", scalings::tiles, x, 300, false, true).factors,
            found_by_itself("e4m3", scalings::blocks, x, 300, false, true).factors);
}

TEST(Quantize, ANanIsTheLargestWhereItCounts) {
  std::vector<float> x = numbers(std::size_t{3} * 256, 13);
  x[300] = NAN;
  for (const bool k_inside : {false, true}) {
    const std::vector<float> factors =
        found_by_itself("e4m3", scalings::blocks, x, 256, false, k_inside).factors;
    for (std::size_t i = 0; i < factors.size(); ++i) EXPECT_EQ(std::isnan(factors[i]), i == 2) << i;
    EXPECT_FALSE(std::isnan(found_by_itself("nvf4", scalings::mx, x, 256, false, k_inside).factors[0]));
    EXPECT_TRUE(
        std::isnan(found_by_itself("nvf4", scalings::mx_reciprocal, x, 256, true, k_inside).factors[0]));
  }
}

/// INT8 W8A8 in plain integers.
struct Int8 {
  std::vector<std::int8_t> elements;
  std::vector<float> scales;
};
Int8 int8_of(const std::vector<float>& x, std::uint64_t k) {
  Int8 out;
  for (std::uint64_t lane = 0; lane < x.size() / k; ++lane) {
    float largest = 0;
    for (std::uint64_t i = 0; i < k; ++i) largest = std::max(largest, std::fabs(x[lane * k + i]));
    const float scale = largest / 127.5F, inverse = 1 / scale;
    out.scales.push_back(scale);
    for (std::uint64_t i = 0; i < k; ++i)
      out.elements.push_back(
          static_cast<std::int8_t>(std::clamp(std::nearbyintf(x[lane * k + i] * inverse), -128.0F, 127.0F)));
  }
  return out;
}

/// Numbers of a few binades, as activations are.
std::vector<float> near_ones(std::size_t count, std::uint32_t seed) {
  std::vector<float> out(count);
  for (float& x : out) {
    seed = seed * 1664525U + 1013904223U;
    x = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-30F;
  }
  return out;
}

TEST(Int8, ElementsScalesAndProductAreThoseOfPlainIntegers) {
  const std::uint64_t m = 5, n = 7, k = 100;
  const std::vector<float> x = near_ones(m * k, 21), w = near_ones(n * k, 22);
  const Int8 of_x = int8_of(x, k), of_w = int8_of(w, k);
  const GemmDtype& dtype = *find_gemm_dtype("int8-w8a8");
  const Operand a = found_by_itself("int8-w8a8", *dtype.usual, x, k, false, true),
                b = found_by_itself("int8-w8a8", *dtype.usual, w, k, true, true);
  EXPECT_EQ(a.factors, of_x.scales);
  EXPECT_EQ(b.factors, of_w.scales);
  for (std::uint64_t e = 0; e < m * k; ++e)
    ASSERT_EQ(static_cast<std::int8_t>(a.elements[e]), of_x.elements[e]);
  for (const char* arch : {"turing", "ampere", "hopper"}) {
    mmaudit_gemm_path path{};
    path.size = sizeof path;
    path.arch = arch, path.dtype = "int8-w8a8";
    ASSERT_EQ(mmaudit_find_path(&path), MMAUDIT_OK) << mmaudit_last_error();
    EXPECT_EQ(std::string(path.a) + path.b + path.d, "s8s8s32");
    EXPECT_EQ(std::string(path.factor_order), "a-first");
    std::vector<float> d(m * n);
    mmaudit_product work{};
    work.size = sizeof work;
    work.arch = arch, work.inst = path.inst;
    work.batch = 1, work.m = m, work.n = n, work.k = k, work.split_k = 1;
    work.a = {a.elements.data(), a.elements.size()}, work.b = {b.elements.data(), b.elements.size()};
    work.d = {d.data(), d.size() * 4};
    work.epilogue = 1, work.alpha = 1;
    work.factor_a = {a.factors.data(), m * 4}, work.factor_b = {b.factors.data(), n * 4};
    work.factor_order = path.factor_order;
    ASSERT_EQ(mmaudit_matmul(&work), MMAUDIT_OK) << mmaudit_last_error();
    for (std::uint64_t i = 0; i < m; ++i)
      for (std::uint64_t j = 0; j < n; ++j) {
        std::int32_t sum = 0;
        for (std::uint64_t t = 0; t < k; ++t) sum += of_x.elements[i * k + t] * of_w.elements[j * k + t];
        const float by_token = static_cast<float>(sum) * of_x.scales[i];
        ASSERT_EQ(d[i * n + j], by_token * of_w.scales[j]) << arch << " " << i << " " << j;
      }
    work.d_format = "e4m3";
    EXPECT_EQ(mmaudit_matmul(&work), MMAUDIT_BAD_INPUT);
    work.d_format = nullptr, work.factor_order = "c-first";
    EXPECT_EQ(mmaudit_matmul(&work), MMAUDIT_BAD_INPUT);
    EXPECT_EQ(std::string(mmaudit_last_error()),
              "factor_order: found c-first, allowed: product, a-first, b-first");
  }
}

TEST(Int8, IsRefusedWhereThereIsNoInstructionOrNoTotal) {
  const auto refused = [](const char* arch, const char* policy) {
    mmaudit_gemm_path path{};
    path.size = sizeof path;
    path.arch = arch, path.dtype = "int8-w8a8", path.policy = policy;
    EXPECT_EQ(mmaudit_find_path(&path), MMAUDIT_BAD_INPUT) << arch << " " << policy;
    return std::string(mmaudit_last_error());
  };
  EXPECT_NE(refused("volta", "plain").find("volta has no instruction for int8-w8a8"), std::string::npos);
  EXPECT_NE(refused("hopper", "promote:128").find("totals are binary32"), std::string::npos);
  EXPECT_NE(refused("hopper", "split-k:2").find("totals are binary32"), std::string::npos);
  EXPECT_NE(refused("hopper", "half").find("no instruction for int8-w8a8 with binary16 sums"),
            std::string::npos);
}

TEST(Quantize, AFactorIsANormalNumber) {
  EXPECT_EQ(factor_for({}, 0, 448), 1.0F);
  EXPECT_EQ(factor_for({}, 1e-44, 448), 0x1p-126F);
  EXPECT_EQ(scaled_down(3, 0, 1), 0.0);
  EXPECT_TRUE(std::signbit(scaled_down(-3, 0, 1)));
}

TEST(ScaledMatmul, FactorsOfBlocksJoinTheTotalByOneRounding) {
  const auto inst = *find_instruction("wgmma.m64n8k32.f32.e4m3.e4m3");
  const Architecture& hopper = *find_architecture("hopper");
  const Datapath& datapath = find_datapath(hopper, inst)->datapath;
  const Operand a = quantized("e4m3", scalings::blocks, numbers(std::size_t{3} * 300, 5), 300, false),
                b = quantized("e4m3", scalings::blocks, numbers(std::size_t{4} * 300, 6), 300, true);
  std::vector<float> d(12);
  Matmul whole;
  whole.m = 3, whole.n = 4, whole.k = 300;
  whole.a = a.elements.data(), whole.b = b.elements.data(), whole.d = d.data();
  whole.epilogue = Epilogue{};
  const ProductFactors factors{{a.factors.data(), 9, 3, 1}, {b.factors.data(), 12, 3, 1}, 128};
  for (const std::uint64_t promote : {128U, 64U, 32U}) {  // a block of factors is one, two or four of sums
    whole.promote = promote;
    ASSERT_EQ(why_no_factors(inst, whole, factors), "");
    scaled_matmul(inst, datapath, whole, factors);
    std::vector<float> expected(12, 0.0F);
    for (std::uint64_t first = 0; first < 300; first += promote) {
      const std::uint64_t count = std::min<std::uint64_t>(promote, 300 - first), block = first / 128;
      std::vector<std::uint8_t> part;
      for (std::uint64_t i = 0; i < 3; ++i)
        part.insert(part.end(), &a.elements[i * 300 + first], &a.elements[i * 300 + first] + count);
      std::vector<float> sums(12);
      Matmul one;
      one.m = 3, one.n = 4, one.k = count;
      one.a = part.data(), one.b = &b.elements[first * 4], one.d = sums.data();
      matmul(inst, datapath, one);
      for (std::size_t e = 0; e < 12; ++e)
        expected[e] =
            std::fma(a.factors[e / 4 * 3 + block] * b.factors[e % 4 * 3 + block], sums[e], expected[e]);
    }
    EXPECT_EQ(d, expected) << promote;
  }
}

/// Sums of one product each of any bits: subnormal, infinite, NaN and halfway between numbers of D among
/// them.
TEST(ScaledMatmul, DIsTheSumTimesItsFactorsRoundedOnce) {
  const auto inst = *find_instruction("mma.m16n8k16.f32.bf16.bf16.f32");
  const Datapath& datapath = find_datapath(*find_architecture("hopper"), inst)->datapath;
  const std::uint64_t m = 96, n = 80, k = 16;
  std::vector<std::uint16_t> a(m * k), b(k * n);
  std::uint32_t seed = 9;
  const auto drawn = [&] { return static_cast<std::uint16_t>((seed = seed * 1664525U + 1013904223U) >> 16); };
  for (std::uint64_t i = 0; i < m; ++i)
    a[i * k] = i % 8 == 0 ? static_cast<std::uint16_t>(0x3F00 | (drawn() & 0xFF)) : drawn();
  for (std::uint64_t j = 0; j < n; ++j) b[j] = j % 3 == 0 ? 0x3F80 : drawn();
  std::vector<float> sums(m * n), of_rows(m), of_columns(n);
  for (float& x : of_rows) x = std::ldexp(1 + static_cast<float>(drawn() % 8) / 8, drawn() % 40 - 20);
  for (float& x : of_columns) x = static_cast<float>(drawn()) / 256;
  Matmul problem;
  problem.m = m, problem.n = n, problem.k = k;
  problem.a = a.data(), problem.b = b.data(), problem.d = sums.data();
  matmul(inst, datapath, problem);
  for (const Format output : {Format::f32, Format::f16, Format::bf16}) {
    const FormatSpec to = spec_of(output);
    std::vector<std::uint8_t> d(m * n * to.storage_bytes()), plain(d.size());
    problem.epilogue = Epilogue{0.75F, 0, output};
    problem.d = plain.data();
    matmul(inst, datapath, problem);
    problem.epilogue->alpha = 1;
    problem.d = d.data();
    scaled_matmul(inst, datapath, problem, {{of_rows.data(), 0, 1, 0}, {of_columns.data(), 0, 1, 0}});
    for (std::size_t e = 0; e < sums.size(); ++e) {
      const auto bits_of = [&](float x) { return encode_value(static_cast<double>(x), to); };
      const float factor = of_rows[e / n] * of_columns[e % n];
      EXPECT_EQ(load_word(d.data(), to.storage_bytes(), e), bits_of(sums[e] * factor))
          << sums[e] << " " << factor;
      EXPECT_EQ(load_word(plain.data(), to.storage_bytes(), e), bits_of(sums[e] * 0.75F)) << sums[e];
    }
  }
}

TEST(ScaledMatmul, SaysWhatItCannot) {
  const auto inst = *find_instruction("wgmma.m64n8k32.f32.e4m3.e4m3");
  const float one = 1;
  Matmul problem;
  problem.m = 1, problem.n = 1, problem.k = 128, problem.promote = 96;
  const ProductFactors factors{{&one, 0, 0, 0}, {}, 128};
  EXPECT_EQ(why_no_factors(inst, problem, factors),
            "epilogue: found another one with factors, allowed: alpha 1, beta 0");
  problem.epilogue = Epilogue{};
  EXPECT_EQ(why_no_factors(inst, problem, factors),
            "promote: found 96, allowed: a divisor of factor_block 128");
  EXPECT_EQ(why_no_factors(inst, problem, {}), "");
}

TEST(GemmPath, ATotalEndsWithItsBlockOfFactors) {
  mmaudit_gemm_path path{};
  path.size = sizeof path;
  path.arch = "hopper", path.dtype = "e4m3", path.scaling = "1x128";
  for (const char* const divides : {"promote:32", "promote:64", "promote:128"}) {
    path.policy = divides;
    EXPECT_EQ(mmaudit_find_path(&path), MMAUDIT_OK) << divides << ": " << mmaudit_last_error();
  }
  for (const char* const policy : {"plain", "promote:96", "promote:256"}) {
    path.policy = policy;
    EXPECT_EQ(mmaudit_find_path(&path), MMAUDIT_BAD_INPUT) << policy;
    EXPECT_NE(std::string(mmaudit_last_error()).find("promote:128 or a divisor"), std::string::npos)
        << policy << ": " << mmaudit_last_error();
  }
}

TEST(GemmPath, NamesTheInstructionOrWhyThereIsNone) {
  mmaudit_gemm_path path{};
  path.size = sizeof path;
  path.arch = "blackwell", path.dtype = "nvfp4";
  ASSERT_EQ(mmaudit_find_path(&path), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(path.scale_block, 16U);
  EXPECT_EQ(std::string(path.scale), "ue4m3");
  EXPECT_EQ(path.factor_per_tensor, 1);
  path.dtype = "nvf5";
  EXPECT_EQ(mmaudit_find_path(&path), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(
      std::string(mmaudit_last_error()),
      "dtype: found nvf5 (did you mean nvf4?), allowed: e4m3, e5m2, e4m3fnuz, e5m2fnuz, bf16, f16, tf32, "
      "tf32-raw, mxf8, mxf8-e5m2, mxf6, mxf6-e3m2, mxf4, nvf4, " +
          [] {
            std::string names;
            for (const GemmDtype& dtype : gemm_dtypes())
              if (dtype.of_recipe) names += (names.empty() ? "" : ", ") + std::string(dtype.name);
            return names;
          }());
  path.arch = "volta", path.dtype = "e4m3";
  EXPECT_EQ(mmaudit_find_path(&path), MMAUDIT_BAD_INPUT);
  EXPECT_NE(std::string(mmaudit_last_error()).find("volta has no instruction for e4m3"), std::string::npos);
}

TEST(Quantize, TheCInterfaceChecksEverySizeFirst) {
  const std::vector<float> x(64, 1.0F), largest(1, 1.0F);
  std::vector<std::uint8_t> elements(64, 0xAA);
  std::vector<float> factors(1);
  mmaudit_quantization good{};
  good.size = sizeof good;
  good.dtype = "e4m3", good.scaling = "tensor", good.from = "f32";
  good.batch = 1, good.lanes = 2, good.k = 32, good.batch_stride = 64, good.lane_stride = 32,
  good.k_stride = 1;
  good.x = {x.data(), 256};
  good.tensor_largest = {largest.data(), 4};
  good.elements = {elements.data(), 64};
  good.factors = {factors.data(), 4};
  struct Case {
    void (*spoil)(mmaudit_quantization&);
    const char* line;
  };
  const Case cases[] = {{[](mmaudit_quantization& w) { w.x.bytes = 252; },
                         "x: found 252 bytes, allowed: those up to element 63"},
                        {[](mmaudit_quantization& w) { w.lane_stride = 33; }, "x: found 256 bytes"},
                        {[](mmaudit_quantization& w) { w.k_stride = UINT64_MAX / 2; }, "x strides: found"},
                        {[](mmaudit_quantization& w) { w.from = "e4m3"; },
                         "from: found e4m3, allowed: f64, f32, tf32, bf16, f16"},
                        {[](mmaudit_quantization& w) { w.elements.bytes = 63; }, "elements: found 63 bytes"},
                        {[](mmaudit_quantization& w) { w.factors = {}; }, "factors: found"},
                        {[](mmaudit_quantization& w) { w.tensor_largest = {}; }, "tensor_largest: found"},
                        {[](mmaudit_quantization& w) { w.scaling = "rows"; }, "scaling: found rows"},
                        {[](mmaudit_quantization& w) { w.k = UINT64_MAX / 2; }, "elements: found"}};
  for (const Case& one : cases) {
    mmaudit_quantization work = good;
    one.spoil(work);
    EXPECT_EQ(mmaudit_quantize(&work), MMAUDIT_BAD_INPUT) << one.line;
    EXPECT_EQ(std::string(mmaudit_last_error()).rfind(one.line, 0), 0U) << mmaudit_last_error();
    EXPECT_EQ(elements, std::vector<std::uint8_t>(64, 0xAA));
  }
  ASSERT_EQ(mmaudit_quantize(&good), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(elements, std::vector<std::uint8_t>(64, 0x7E));
}

}  // namespace
}  // namespace mmaudit
