#include "mmaudit/json.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "mmaudit/csv.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json_fields.hpp"

namespace mmaudit {
namespace {

using Other = nlohmann::ordered_json;

/// A document of all kinds of values, made twice.
struct Twice {
  Json ours;
  Other theirs;
};

Twice some_value(std::mt19937_64& random, int depth) {
  const auto pick = random() % (depth == 0 ? 6U : 8U);
  Twice out;
  const auto set = [&](const auto& value) {
    out.ours = value;
    out.theirs = value;
  };
  if (pick == 1) set((random() & 1U) != 0);
  if (pick == 2) set(random() >> (random() % 64));
  if (pick == 3) set(-static_cast<std::int64_t>(random() >> (1 + random() % 63)));
  if (pick == 4)
    set((random() & 1U) != 0 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 1000) / 8);
  if (pick == 5) {
    std::string text;
    for (auto left = random() % 12; left > 0; --left) text += static_cast<char>(random());
    set(text);
  }
  if (pick == 6) {
    out = {Json::array(), Other::array()};
    for (auto left = random() % 4; left > 0; --left) {
      const Twice one = some_value(random, depth - 1);
      out.ours.push_back(one.ours);
      out.theirs.push_back(one.theirs);
    }
  }
  if (pick == 7) {
    out = {Json::object(), Other::object()};
    for (auto left = random() % 4; left > 0; --left) {
      const Twice one = some_value(random, depth - 1);
      const std::string key = std::to_string(random() % 20);
      out.ours[key] = one.ours;
      out.theirs[key] = one.theirs;
    }
  }
  return out;
}

TEST(Json, PrintsWhatTheLibraryPrints) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const Twice one = some_value(random, 4);
    constexpr auto kReplace = Other::error_handler_t::replace;
    ASSERT_EQ(one.ours.dump(), one.theirs.dump(-1, ' ', false, kReplace));
    ASSERT_EQ(one.ours.dump(2), one.theirs.dump(2, ' ', false, kReplace));
    ASSERT_EQ(one.ours.ascii(), one.theirs.dump(-1, ' ', true, kReplace));
    const nlohmann::json sorted = nlohmann::json::parse(one.theirs.dump(-1, ' ', false, kReplace));
    ASSERT_EQ(one.ours.sorted().dump(1), sorted.dump(1));
    ASSERT_EQ(parse_json(one.ours.dump()).dump(), one.ours.dump());
    ASSERT_EQ(corpus::parse_bounded(one.ours.dump(), "x", "JSON").dump(), sorted.dump());
  }
}

TEST(Json, BracesMakeObjectsOfPairsAndListsOfTheRest) {
  const std::vector<int> list{1, -2};
  const std::optional<double> none, half = 0.5;
  const Json json = {
      {"a", 1}, {"b", {{"c", list}, {"d", {"x", "y", "z"}}}}, {"e", {0}}, {"f", none}, {"g", half}};
  EXPECT_EQ(json.dump(), R"({"a":1,"b":{"c":[1,-2],"d":["x","y","z"]},"e":[0],"f":null,"g":0.5})");
  EXPECT_EQ(Json::array({json}).size(), 1U);
  EXPECT_EQ(Json(NAN).dump(), "null");
  EXPECT_EQ(Json(1), Json(1.0));
  EXPECT_EQ(parse_json(R"({"a":1,"b":[2]})"), parse_json(R"({"b":[2.0],"a":1})"));
  EXPECT_NE(parse_json(R"({"a":1})"), parse_json(R"({"b":1})"));
}

TEST(Json, WhatIsMissingOrOfAnotherTypeThrows) {
  const Json json = parse_json(R"({"a":"text","b":[1]})");
  EXPECT_THROW(static_cast<void>(json.at("c")), JsonError);
  EXPECT_THROW(static_cast<void>(json.at("a").get<int>()), JsonError);
  EXPECT_THROW(static_cast<void>(json.at("b").at(1)), JsonError);
  EXPECT_THROW(static_cast<void>(json.at("b").items()), JsonError);
  EXPECT_THROW(static_cast<void>(json.at("a").begin()), JsonError);
  EXPECT_EQ(Json().begin(), Json().end());
  EXPECT_EQ(json.find("c"), nullptr);
}

TEST(Json, ANumberBeyondAnIntegerIsNotConverted) {
  for (const char* beyond : {"1e300", "-1e300", "2147483648.0", "-2147483649.0"})
    EXPECT_THROW(static_cast<void>(parse_json(beyond).get<int>()), JsonError) << beyond;
  for (const char* beyond : {"1.8446744073709552e19", "-1.0"})
    EXPECT_THROW(static_cast<void>(parse_json(beyond).get<std::uint64_t>()), JsonError) << beyond;
  EXPECT_EQ(parse_json("-2147483648.0").get<int>(), INT32_MIN);
  EXPECT_EQ(parse_json("2147483647.0").get<int>(), INT32_MAX);
  EXPECT_EQ(parse_json("1.8446744073709550e19").get<std::uint64_t>(), 18446744073709549568U);
}

TEST(Json, RefusalsNameTheWay) {
  const auto why = [](const auto& read) -> std::string {
    try {
      read();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const Json json = parse_json(R"({"a":{"b":[1,"x"]}})");
  const JsonNode node(json, "file", {.separator = "."});
  EXPECT_EQ(node.at("a").at("b").list()[1].text(), "x");
  EXPECT_EQ(why([&] { return node.at("a").at("b").list()[0].text(); }),
            "file.a.b[0]: found 1, allowed: text");
  EXPECT_EQ(why([&] { return node["a"]["c"].text(); }), "file.a.c: found nothing, allowed: text");
  EXPECT_EQ(why([] { corpus::parse_bounded("{\n1}", "file", "JSON"); }),
            "file: line 2: found no valid JSON, allowed: JSON");
  EXPECT_EQ(why([] { corpus::parse_bounded(R"({"a":1,"a":2})", "file", "JSON"); }),
            "file: key: found a twice in an object, allowed: once");
  EXPECT_EQ(why([] { corpus::parse_bounded("1e999", "file", "JSON"); }),
            "file: number: found one beyond binary64, allowed: finite numbers");
}

TEST(Csv, LinesComeBack) {
  const std::vector<std::string_view> fields{"a", "b, c", "", "d"};
  EXPECT_EQ(csv::line_of(fields), "a,\"b, c\",,d\n");
  EXPECT_EQ(csv::fields_of("a,\"b, c\",,d"), fields);
  EXPECT_EQ(csv::fields_of("a,").size(), 2U);
  EXPECT_EQ(csv::line_of({"say \"x\""}, "\r\n"), "\"say \"\"x\"\"\"\r\n");
  EXPECT_EQ(csv::rows_of("# remark\nhead\n\n1,2\n3,4", "head").size(), 2U);
}

}  // namespace
}  // namespace mmaudit
