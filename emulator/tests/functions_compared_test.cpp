// The recordings hold thousands of operands per row; these are a million each, as one word. They see a
// constant of a chain that is off by its last bit, which few operands show.
#include <gtest/gtest.h>

#include <map>
#include <string_view>
#include <vector>

#include "mmaudit/functions.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::functions::test {
namespace {

/// Operands of a row: all of 16 bits; else the edges of every binade, random words, and as many with a size
/// from 2^-8 to 2^8, where polynomials and tables decide.
std::vector<std::uint32_t> dense_operands(const Function& function) {
  std::vector<std::uint32_t> x;
  if (function.bits == 16) {
    for (std::uint32_t word = 0; word < 0x10000; ++word) x.push_back(word);
    return x;
  }
  for (std::uint32_t binade = 0; binade < 512; ++binade)
    for (const std::uint32_t inside : {0U, 1U, 2U, kFractionMask - 1, kFractionMask})
      x.push_back(binade << kFractionBits | inside);
  for (std::uint64_t i = 0; i < 1U << 19; ++i) {
    const auto random = static_cast<std::uint32_t>(mix(i)), exponent = 119 + (random >> 23 & 15);
    x.push_back(random);
    x.push_back((random & (kSign | kFractionMask)) | exponent << kFractionBits);
  }
  return x;
}

/// One word for all of them; of a quotient with random divisors near the dividends.
std::uint64_t word_of_all(const Function& function) {
  const std::vector<std::uint32_t> x = dense_operands(function);
  std::vector<std::uint32_t> y, result(x.size());
  for (std::size_t i = 0; function.operands == 2 && i < x.size(); ++i)
    y.push_back((static_cast<std::uint32_t>(mix(~i)) & 0x8FFFFFFFU) | (x[i] & 0x70000000U));
  evaluate(function, x.data(), y.empty() ? nullptr : y.data(), result.data(), x.size());
  std::uint64_t word = 0;
  for (const std::uint32_t one : result) word = mix(word ^ one);
  return word;
}

/// What the model gave when all 2^32 operands of every row (2^32 pairs of a quotient) had the bits of an
/// H200: docs/results/functions.md, "Every operand". Computed by the plain steps of that revision of the
/// model.
const std::map<std::string_view, std::uint64_t> kCompared = {
    // clang-format off
    {"ex2.approx.f32", 0x3f149a845fe17ea7},
    {"ex2.approx.ftz.f32", 0x41944d23cc68fe28},
    {"lg2.approx.f32", 0x2b2c5bcba00fb738},
    {"lg2.approx.ftz.f32", 0x50abcb9acc97c93a},
    {"rcp.approx.f32", 0xcae1d03ed92e7b26},
    {"rcp.approx.ftz.f32", 0x53f8f92fd30a9480},
    {"rsqrt.approx.f32", 0xfc1f2705cdb9da20},
    {"rsqrt.approx.ftz.f32", 0xe8541d1b1e043ef8},
    {"sqrt.approx.f32", 0x79eafb152d17a005},
    {"sqrt.approx.ftz.f32", 0x5a4a26df7a992082},
    {"sin.approx.f32", 0x9bf428721aba210b},
    {"sin.approx.ftz.f32", 0x9bf428721aba210b},
    {"cos.approx.f32", 0x0e2f9dc2b180ac12},
    {"cos.approx.ftz.f32", 0x0e2f9dc2b180ac12},
    {"tanh.approx.f32", 0x0f500bfe42ac9dca},
    {"ex2.approx.f16", 0x51151b1d802f8fb7},
    {"ex2.approx.ftz.bf16", 0x216c7e7fec063b09},
    {"tanh.approx.f16", 0xee57c7f1d61b5ab0},
    {"tanh.approx.bf16", 0xcfee1a334da822a4},
    {"expf", 0x97cbaa7545e9c2c1},
    {"exp2f", 0x3f149a845fe17ea7},
    {"exp10f", 0xbf49740439d47a35},
    {"logf", 0xe7e296b37300d6e1},
    {"log1pf", 0xdc6d8e45cde24df8},
    {"sqrtf", 0xaa3acf0583352679},
    {"rsqrtf", 0xfc1f2705cdb9da20},
    {"erff", 0xb4d162e54b8fc79c},
    {"tanhf", 0xd81e6a43ec52f63d},
    {"divide", 0xbf767d1f4599c44e},
    {"__expf", 0xaf91043228df0c52},
    {"__exp10f", 0x3ff33b51b1a4cce1},
    {"__logf", 0x762dbedc7f005782},
    {"__log2f", 0x2b2c5bcba00fb738},
    {"__log10f", 0xc1fe234f306dbe0c},
    {"__sinf", 0x9bf428721aba210b},
    {"__cosf", 0x0e2f9dc2b180ac12},
    {"__fdividef", 0x33d5c52e329599bf},
    {"expf/fast", 0xe7bee601e5fca7a7},
    {"exp2f/fast", 0x41944d23cc68fe28},
    {"exp10f/fast", 0x80efeebf46112fd9},
    {"logf/fast", 0x04dbb0819b6dc61c},
    {"log1pf/fast", 0x60767887b7af8d7f},
    {"sqrtf/fast", 0x5a4a26df7a992082},
    {"rsqrtf/fast", 0xe8541d1b1e043ef8},
    {"erff/fast", 0x1b8f0f28d6dbcaa4},
    {"tanhf/fast", 0x0f500bfe42ac9dca},
    {"divide/fast", 0x214f8f957e1fc16e},
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
