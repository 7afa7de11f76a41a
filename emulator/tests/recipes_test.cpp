// The recipes that people run, and the conversions of loops against the ones they stand for.
#include "mmaudit/recipe.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>

#include "mmaudit/fast_cast.hpp"
#include "mmaudit/mmaudit.h"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {
namespace {

TEST(Recipes, EachCanBeComputedAndIsListed) {
  char* json = nullptr;
  ASSERT_EQ(mmaudit_recipes(&json), MMAUDIT_OK);
  const std::string text = json;
  mmaudit_free(json);
  EXPECT_EQ(text.rfind(R"({"schema":"mmaudit.recipes/1","recipes":[{"name":"bf16",)", 0), 0U) << text;
  ASSERT_GE(recipes().size(), 13U);
  for (const Recipe& each : recipes()) {
    mmaudit_gemm_path path{};
    path.size = sizeof path;
    path.arch = each.arch.data(), path.dtype = each.dtype.data(), path.scaling = each.scaling.data(),
    path.policy = each.policy.data();
    EXPECT_EQ(mmaudit_find_path(&path), MMAUDIT_OK) << each.name << ": " << mmaudit_last_error();
    EXPECT_NE(text.find("\"name\":\"" + std::string(each.name) + "\""), std::string::npos) << each.name;
  }
}

TEST(FastCast, IsEncodeValueOfAnyBits) {
  std::uint64_t x = 1;
  for (const NamedFormat& format : kFormats) {
    for (const CastRounding rounding : {CastRounding::nearest_even, CastRounding::nearest_away,
                                        CastRounding::toward_zero, CastRounding::toward_plus})
      for (const bool saturate : {false, true}) {
        const CastRule rule{rounding, saturate};
        const FastCast cast(format.spec, rule);
        const auto check = [&](double value) {
          ASSERT_EQ(cast(value), encode_value(value, format.spec, rule)) << format.name << " " << value;
        };
        for (std::uint64_t bits = 0; bits < 65536; ++bits) {  // every number of the formats up to 16 bits
          check(decode_value(bits, spec_of(Format::bf16)));
          check(decode_value(bits, spec_of(Format::f16)));
          if (bits < 256) check(decode_value(bits, format.spec));
        }
        for (int i = 0; i < 20000; ++i) {
          x = x * 6364136223846793005U + 1442695040888963407U;
          check(std::bit_cast<double>(x));
          check(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(x >> 32))));
        }
      }
  }
}

TEST(FastDecode, IsDecodeValue) {
  std::uint64_t x = 1;
  for (const NamedFormat& format : kFormats) {
    const FastDecode decode(format.spec);
    for (std::uint64_t i = 0; i < 100000; ++i) {
      x = x * 6364136223846793005U + 1442695040888963407U;
      const std::uint64_t bits = i < 65536 && format.spec.storage_bits <= 16 ? i : x;
      const double found = decode.at(&bits, 0);
      const double expected = decode_value(load_word(&bits, format.spec.storage_bytes(), 0), format.spec);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(expected)) << format.name;
    }
  }
}

}  // namespace
}  // namespace mmaudit
