// The recordings hold thousands of operands per row; these are 17 million each, as one word. They see a
// constant of a chain that is off by its last bit, which few operands show.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "mmaudit/functions.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::functions::test {
namespace {

/// Operand `i` of a row: all of 16 bits; else every number from 1/2 to 2, where polynomials and tables
/// decide, the edges of every binade, and random words. From `dense_operands()` on there is none.
constexpr std::uint32_t kDense = 2U << kFractionBits, kEdges = 512 * 5, kRandom = 1U << 19;
std::uint32_t dense_operand(const Function& function, std::uint32_t i) {
  if (function.bits == 16) return i;
  if (i < kDense) return 0x3F000000U + i;
  constexpr std::uint32_t kInside[] = {0, 1, 2, kFractionMask - 1, kFractionMask};
  if (i < kDense + kEdges) return (i - kDense) / 5 << kFractionBits | kInside[(i - kDense) % 5];
  return static_cast<std::uint32_t>(mix(i));
}
std::uint32_t dense_operands(const Function& function) {
  return function.bits == 16 ? 0x10000 : kDense + kEdges + kRandom;
}

/// One word for all of them; of a quotient with random divisors near the dividends.
std::uint64_t word_of_all(const Function& function) {
  constexpr std::uint32_t kBlock = 4096;
  std::vector<std::uint32_t> x(kBlock), y(kBlock), result(kBlock);
  std::uint64_t word = 0;
  for (std::uint32_t first = 0, all = dense_operands(function); first < all; first += kBlock) {
    const std::uint32_t size = std::min(kBlock, all - first);
    for (std::uint32_t i = 0; i < size; ++i) x[i] = dense_operand(function, first + i);
    for (std::uint32_t i = 0; i < size && function.operands == 2; ++i)
      y[i] =
          (static_cast<std::uint32_t>(mix(~std::uint64_t{first + i})) & 0x8FFFFFFFU) | (x[i] & 0x70000000U);
    evaluate(function, x.data(), function.operands == 2 ? y.data() : nullptr, result.data(), size);
    for (std::uint32_t i = 0; i < size; ++i) word += result[i] * (2 * std::uint64_t{first + i} + 1);
  }
  return word;
}

/// What the model gave when all 2^32 operands of every row (2^32 pairs of a quotient) had the bits of an
/// H200: docs/results/functions.md, "Every operand". Computed by the plain steps of that revision of the
/// model.
const std::map<std::string_view, std::uint64_t> kCompared = {
    // clang-format off
    {"ex2.approx.f32", 0x327da12f3ebcc461},
    {"ex2.approx.ftz.f32", 0x3267d5c7da2c0c09},
    {"lg2.approx.f32", 0xe5c209239f1be1a3},
    {"lg2.approx.ftz.f32", 0x043d70d2ac46ccff},
    {"rcp.approx.f32", 0x7d562cdedaa144bc},
    {"rcp.approx.ftz.f32", 0x7c9e0c16516c2c98},
    {"rsqrt.approx.f32", 0xd71254beab987cca},
    {"rsqrt.approx.ftz.f32", 0x113dfb06dfdf9588},
    {"sqrt.approx.f32", 0xb52d8b6c18d77f29},
    {"sqrt.approx.ftz.f32", 0xb6adcb3838e4ce2a},
    {"sin.approx.f32", 0xe2eec095e46542c5},
    {"sin.approx.ftz.f32", 0xe2eec095e46542c5},
    {"cos.approx.f32", 0x21c978a09b7b82b9},
    {"cos.approx.ftz.f32", 0x21c978a09b7b82b9},
    {"tanh.approx.f32", 0xb4cc59ee0f5e333f},
    {"ex2.approx.f16", 0x000032f1d198da7d},
    {"ex2.approx.ftz.bf16", 0x000030c4981036a3},
    {"tanh.approx.f16", 0x000091e2de2b8d78},
    {"tanh.approx.bf16", 0x000094e590a97232},
    {"expf", 0x6fd110fac5f8360e},
    {"exp2f", 0x327da12f3ebcc461},
    {"exp10f", 0x8a311fbae8cb42ab},
    {"logf", 0x01c93b21df0d74c7},
    {"log1pf", 0x8d87a20cec697f1a},
    {"sqrtf", 0xb52db263ed4a1ee6},
    {"rsqrtf", 0xd71254beab987cca},
    {"erff", 0x40739e18040a1ea6},
    {"tanhf", 0xb4c8b2587fd7d4a5},
    {"divide", 0xc45daad2ebfd7c8d},
    {"__expf", 0x6fd1227b70602b08},
    {"__exp10f", 0x8a30a5cf13900172},
    {"__logf", 0x01c290f3fd4debe4},
    {"__log2f", 0xe5c209239f1be1a3},
    {"__log10f", 0xad70d3370d067c19},
    {"__sinf", 0xe2eec095e46542c5},
    {"__cosf", 0x21c978a09b7b82b9},
    {"__fdividef", 0xbb12bfbc0fab3ca5},
    {"expf/fast", 0x6fc3bae2e7d7882c},
    {"exp2f/fast", 0x3267d5c7da2c0c09},
    {"exp10f/fast", 0x8a2410aea22929bf},
    {"logf/fast", 0x22b0e3cca8f5b00b},
    {"log1pf/fast", 0x896d1b598babfb4e},
    {"sqrtf/fast", 0xb6adcb3838e4ce2a},
    {"rsqrtf/fast", 0x113dfb06dfdf9588},
    {"erff/fast", 0x3bd239c8b286b753},
    {"tanhf/fast", 0xb4cc59ee0f5e333f},
    {"divide/fast", 0xb55a73649b571f88},
    // clang-format on
};

TEST(Functions, AreStillWhatWasComparedOnAllOperands) {
  EXPECT_EQ(all().size(), kCompared.size());
  for (const Function& one : all()) {
    ASSERT_TRUE(kCompared.contains(one.name)) << one.name;
    EXPECT_EQ(word_of_all(one), kCompared.at(one.name)) << one.name;
  }
}

}  // namespace
}  // namespace mmaudit::functions::test
