#include "common.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "program.hpp"

namespace mmaudit::cli::test {
namespace {

/// What bash makes of a quoted argument.
std::string read_back(const std::string& quoted) {
  const std::string command = "exec bash -c 'eval \"set -- $0\"; printf %s \"$1\"' \"$MMAUDIT_QUOTED\"";
  setenv("MMAUDIT_QUOTED", quoted.c_str(), 1);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(popen(command.c_str(), "r"), pclose);
  std::string text;
  for (int c = 0; out && (c = std::fgetc(out.get())) != EOF;) text += static_cast<char>(c);
  return text;
}

TEST(CommandLine, PlainArgumentsStayAsTheyAre) {
  EXPECT_EQ(shell_quoted("--policy"), "--policy");
  EXPECT_EQ(shell_quoted("a/b_c-1.npy:x,y=2%+@"), "a/b_c-1.npy:x,y=2%+@");
  EXPECT_EQ(shell_quoted("two words"), "'two words'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("caf\u00e9"), "'caf\u00e9'");
}

TEST(CommandLine, NothingHiddenIsLeft) {
  EXPECT_EQ(shell_quoted("a\nb"), "$'a\\x0ab'");
  EXPECT_EQ(shell_quoted("\x1b[31m'\\"), "$'\\x1b[31m\\'\\\\'");
  EXPECT_EQ(shell_quoted("x\u202ey\u202c"), "$'x\\xe2\\x80\\xaey\\xe2\\x80\\xac'");
  EXPECT_EQ(shell_quoted("\xff\xc0\x80"), "$'\\xff\\xc0\\x80'");  // no UTF-8
  EXPECT_EQ(shell_quoted("\xed\xa0\x80"), "$'\\xed\\xa0\\x80'");  // a surrogate
  EXPECT_EQ(shell_quoted("\xe2\x80"), "$'\\xe2\\x80'");           // cut off
  EXPECT_EQ(shell_quoted("\u0085"), "$'\\xc2\\x85'");
}

TEST(CommandLine, BashReadsItBack) {
  if (std::system("bash -c true") != 0) GTEST_SKIP() << "no bash";
  for (const char* text :
       {"a b", "$(touch /tmp/x) `id` ; & | > < * ? ~ # !", "'", "it's", "\"", "\\", "\\'", "a\nb\tc\r",
        "\x1b[0m", "<img src=x onerror=alert(1)>", "\u202e\u00e9\u202c", "\xff\xfe", "\x01 0", "-n"})
    EXPECT_EQ(read_back(shell_quoted(text)), text) << shell_quoted(text);
}

TEST(Printed, OnlyTheColoursOfReportsPass) {
  const std::string red = "\x1b[31mno\x1b[0m", other = "\x1b[35m\x1b]0;title\x07", literal = "\\u001b[31m";
  EXPECT_EQ(made_printable(red, true), red);
  EXPECT_EQ(made_printable(red, false), "\\u001b[31mno\\u001b[0m");
  EXPECT_EQ(made_printable(other + red, true), "\\u001b[35m\\u001b]0;title\\u0007" + red);
  EXPECT_EQ(made_printable(literal, true), literal);  // text that only looks like a colour stays text
}

TEST(CommandLine, IsThatOfTheProgram) {
  const char* const words[] = {"/usr/bin/mmaudit", "list", "--arch", "no such", "--json"};
  EXPECT_EQ(quoted_command(5, words),
            (std::vector<std::string>{"mmaudit", "list", "--arch", "'no such'", "--json"}));
}

}  // namespace
}  // namespace mmaudit::cli::test
