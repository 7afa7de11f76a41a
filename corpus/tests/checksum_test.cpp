#include "mmaudit/corpus/checksum.hpp"

#include <gtest/gtest.h>

namespace mmaudit::corpus {
namespace {

// `printf '' | xxhsum -H2`, `printf abc | xxhsum -H2`.
TEST(Checksum, IsXxh3Of128Bits) {
  EXPECT_EQ(Checksum().hex(), "99aa06d3014798d86001c324468d497f");
  Checksum abc;
  abc.update("abc");
  EXPECT_EQ(abc.hex(), "06b05ab6733a618578af5f94892f3950");
}

TEST(Checksum, DoesNotDependOnTheCuts) {
  const std::string text(100'000, 'x');
  Checksum whole;
  whole.update(text);
  Checksum parts;
  for (std::size_t at = 0; at < text.size(); at += 777) parts.update(std::string_view(text).substr(at, 777));
  EXPECT_EQ(whole.hex(), parts.hex());
  EXPECT_EQ(whole.hex(), parts.hex()) << "hex() does not end the stream";
}

}  // namespace
}  // namespace mmaudit::corpus
