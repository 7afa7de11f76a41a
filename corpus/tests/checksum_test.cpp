#include "mmaudit/corpus/checksum.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "mmaudit/error.hpp"

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

TEST(Checksum, OfAFile) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("mmaudit_checksum_" + std::to_string(getpid()));
  const std::string text(5'000'000, 'y');  // more than one part
  std::ofstream(path) << text;
  Checksum whole;
  whole.update(text);
  std::uint64_t read = 0;
  const FileFacts facts = facts_of_file(path, [&](std::uint64_t bytes) { read += bytes; });
  EXPECT_EQ(facts.bytes, text.size());
  EXPECT_EQ(facts.checksum, whole.hex());
  EXPECT_EQ(read, text.size());
  std::ofstream(path).close();
  EXPECT_EQ(facts_of_file(path).checksum, Checksum().hex());
  std::filesystem::remove(path);
  EXPECT_THROW(facts_of_file(path), InputError);
}

}  // namespace
}  // namespace mmaudit::corpus
