// Refusals in one line and one grammar.
#include "mmaudit/refusal.hpp"

#include <gtest/gtest.h>

#include <array>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit {
namespace {

TEST(Refusal, ValuesStandInTheirPlaces) {
  EXPECT_EQ(refusal("--part: found {}, allowed: {} to {}", -3, 0U, std::uint64_t{1} << 63U),
            "--part: found -3, allowed: 0 to 9223372036854775808");
  EXPECT_EQ(refusal("found nothing, allowed: a {}", std::string("{}")), "found nothing, allowed: a {}");
  EXPECT_EQ(
      refusal("a: found {}, allowed: {}", std::vector<std::string>{"x", "y"}, std::vector<std::string>{}),
      "a: found x, y, allowed: ");
}

TEST(Refusal, NumbersInTheirShortestForm) {
  const auto of = [](auto number) { return refusal("found {}, allowed: less", number); };
  EXPECT_EQ(of(0.1), "found 0.1, allowed: less");
  EXPECT_EQ(of(0.1F), "found 0.1, allowed: less");
  EXPECT_EQ(of(1.0), "found 1, allowed: less");
  EXPECT_EQ(of(100000.0), "found 100000, allowed: less");
  EXPECT_EQ(of(1e20), "found 1e+20, allowed: less");
  EXPECT_EQ(of(-2.5e-7), "found -2.5e-07, allowed: less");
  EXPECT_EQ(of(-0.0), "found -0, allowed: less");
}

TEST(Refusal, IsOneLineWhateverTheValuesHold) {
  EXPECT_EQ(refusal("{}: found {}, allowed: {}", "a\nb", std::string("\x1B[1m"), std::string_view("\xFF")),
            "a\\x0ab: found \\x1b[1m, allowed: \\xff");
  EXPECT_EQ(in_quotes(std::string(500, 'x')), "\"" + std::string(120, 'x') + "...\"");
  EXPECT_EQ(refusal("found {}, allowed: x", std::string(500, 'x')),
            "found " + std::string(500, 'x') + ", allowed: x");
}

struct Row {
  std::string_view name;
};

TEST(Refusal, NamesComeFromTheTable) {
  constexpr Row kRows[] = {{"nn"}, {"nt"}};
  EXPECT_EQ(with_commas(names_of(kRows)), "nn, nt");
  EXPECT_EQ(names_of(std::array{"a", "b", "c"}, [](std::string_view one) { return one != "b"; }),
            (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(names_of(std::array{Format::f16, Format::ue8m0}), (std::vector<std::string>{"f16", "ue8m0"}));
}

TEST(Refusal, TheNearestNameIsNamed) {
  const std::vector<std::string> names = {"hopper", "blackwell", "ada"};
  EXPECT_EQ(did_you_mean("Hoper", names), " (did you mean hopper?)");
  EXPECT_EQ(did_you_mean("fermi", names), "");
}

TEST(Refusal, ManyNamesAreCutToTheNearest) {
  const std::vector<std::string> few = {"rn", "rz", "rp"};
  EXPECT_EQ(allowed_near("x", few), "rn, rz, rp");
  const std::vector<std::string> many = {"volta", "turing", "ampere",    "ada",  "hopper",
                                         "h100",  "b200",   "blackwell", "cdna1"};
  EXPECT_EQ(allowed_near("Hoper", many, "mmaudit list"),
            "hopper, ampere, h100, ... (6 more: `mmaudit list`)");
  EXPECT_EQ(allowed_near("B20", many), "b200, ada, h100, ... (6 more)");
}

TEST(Refusal, IsThrownAsInputError) {
  try {
    refuse("{}: found {}, allowed: {}", "--k", 0, "1 or more");
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "--k: found 0, allowed: 1 or more");
  }
}

}  // namespace
}  // namespace mmaudit
