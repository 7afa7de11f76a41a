// Rows of the model to JSON and back, and what a file of the user may not say.
#include "mmaudit/corpus/user_model.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "common.hpp"
#include "mmaudit/corpus/text_file.hpp"

namespace mmaudit::cli {
namespace {

using corpus::load_model;
using corpus::row_from_json;
using corpus::to_json;

TEST(RowJson, EveryBuiltInRowComesBackAsItself) {
  for (const Architecture& architecture : architectures())
    for (const DatapathEntry& entry : architecture.datapaths) {
      SCOPED_TRACE(std::string(architecture.name) + ' ' + std::string(name_of(entry.unit)));
      const Json text = parse_json(to_json(entry).dump());
      const DatapathEntry back = row_from_json(text, "row", "a test");
      EXPECT_TRUE(back.datapath == entry.datapath) << text.dump(2);
      EXPECT_EQ(back.unit, entry.unit);
      EXPECT_EQ(back.output, entry.output);
      EXPECT_EQ(back.addend, entry.addend);
      EXPECT_EQ(back.evidence, Evidence::user);  // a file cannot claim recordings
    }
}

Json good_row() {
  return {{"datapath", "mma.f16"},
          {"output_format", "f32"},
          {"arithmetic", "fused_dot_add"},
          {"block", 8},
          {"F", 24},
          {"floor", -132},
          {"rounding", "RZ"},
          {"output_fraction_bits", 23}};
}

TEST(RowJson, MissingRulesAreTheDefaults) {
  Datapath expected;
  expected.products_per_step = 8;
  expected.fraction_bits = 24;
  expected.min_alignment_exponent = -132;
  EXPECT_TRUE(row_from_json(good_row(), "row", "a test").datapath == expected);
}

TEST(RowJson, RefusesFieldByField) {
  struct Bad {
    const char* field;
    Json value;
    const char* error;
  };
  const std::vector<Bad> cases = {
      {"F", 51, "row.F: found 51, allowed: a whole number from 0 to 50"},
      {"F", -1, "row.F: found -1"},
      {"F", 1.5, "row.F: found 1.5"},
      {"F", 18446744073709551615U, "row.F: found 18446744073709551615"},
      {"F", "24", "row.F: found \"24\""},
      {"block", 0, "row.block: found 0, allowed: a whole number from 1 to 64"},
      {"block", 65, "row.block: found 65"},
      {"floor", -2001, "row.floor: found -2001"},
      {"floor", 201, "row.floor: found 201"},
      {"output_fraction_bits", 24, "row.output_fraction_bits: found 24, allowed: 0 to 23 for f32"},
      {"rounding", "up", "row.rounding: found \"up\", allowed: RZ, RNE, RD, RU"},
      {"datapath", "mma.f8", "row.datapath: found \"mma.f8\", allowed: mma.f16"},
      {"output_format", "f64", "row.output_format: found \"f64\""},
      {"output_format", "f33", "row.output_format: found \"f33\""},
      {"addend_format", "f16", "row.output_format: found \"f32\""},
      {"arithmetic", "fma_chain", "row.arithmetic: found \"fma_chain\", allowed: fused_dot_add"},
      {"widen_to", "f64", "row.widen_to: found \"f64\", allowed: none"},
      {"nan_priority", "abb", "row.nan_priority: found \"abb\""},
      {"read_ignored_bits", 1, "row.read_ignored_bits: found 1, allowed: true or false"},
      {"colour", "red", "found \"colour\", allowed: the fields datapath"}};
  for (const Bad& x : cases) {
    Json row = good_row();
    row[x.field] = x.value;
    try {
      row_from_json(row, "row", "a test");
      ADD_FAILURE() << x.error;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(x.error), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  for (const char* field : {"datapath", "F", "floor", "block", "rounding"}) {
    Json row = good_row();
    row.erase(field);
    EXPECT_THROW(row_from_json(row, "row", "a test"), InputError) << field;
  }
  EXPECT_THROW(row_from_json(Json::array(), "row", "a test"), InputError);
}

TEST(RowJson, OnlyACOfDsFormatIsAddedLast) {
  Json row = good_row();
  row["datapath"] = "mma.884";
  row["addend"] = "after_last_nearest";
  EXPECT_THROW(row_from_json(row, "row", "a test"), InputError);
  row["addend_format"] = "f32";
  EXPECT_NO_THROW(row_from_json(row, "row", "a test"));
}

class ModelFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }
  [[nodiscard]] std::string error_of(const std::string& text) const {
    std::ofstream(file_, std::ios::binary) << text;
    try {
      load_model(file_);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  }
  std::string file_ =
      (std::filesystem::temp_directory_path() / ("mmaudit_model_" + std::to_string(getpid()) + ".json"))
          .string();
};

TEST_F(ModelFile, IsUsedLikeABuiltInArchitecture) {
  Json model = parse_json(to_json(*find_architecture("hopper")).dump());
  model["name"] = "mine";
  model["rows"][0]["F"] = 20;
  ASSERT_EQ(error_of(model.dump()), "");
  Context context;
  context.model = load_model(file_);
  const Architecture& mine = require_architecture(context, "mine");
  EXPECT_EQ(&mine, context.own());
  EXPECT_EQ(&require_architecture(context, ""), &mine);
  EXPECT_EQ(require_architecture(context, "hopper").name, "hopper");
  const DatapathEntry& entry = require_datapath(mine, require_instruction("mma.m16n8k16.f32.f16.f16.f32"));
  EXPECT_EQ(entry.datapath.fraction_bits, 20);
  EXPECT_EQ(entry.source, file_);
}

TEST_F(ModelFile, RefusesAListOfInstructionsThatWasEdited) {
  Json model = parse_json(to_json(*find_architecture("hopper")).dump());
  model["name"] = "mine";
  ASSERT_FALSE(model["instructions"].empty());
  EXPECT_EQ(error_of(model.dump()), "");
  model["instructions"][0]["F"] = 24;
  EXPECT_NE(error_of(model.dump()).find("instructions: found"), std::string::npos);
  model.erase("instructions");
  EXPECT_EQ(error_of(model.dump()), "");
}

TEST(BoundedJson, ThirtyTwoLevelsAndNoMore) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_NO_THROW(corpus::parse_bounded(nested(33), "x", "JSON"));  // the outermost is level 0
  EXPECT_THROW(corpus::parse_bounded(nested(34), "x", "JSON"), InputError);
}

TEST_F(ModelFile, RefusesInOneLine) {
  const Json good = {{"name", "mine"}, {"compute_capability", 90}, {"rows", {good_row()}}};
  ASSERT_EQ(error_of(good.dump()), "");
  const auto changed = [&](const std::function<void(Json&)>& change) {
    Json model = good;
    change(model);
    return error_of(model.dump());
  };
  EXPECT_NE(error_of("{\n\"name\": }").find("line 2: found no valid JSON"), std::string::npos);
  EXPECT_NE(error_of("").find("no valid JSON"), std::string::npos);
  EXPECT_NE(error_of("[]").find("model: found []"), std::string::npos);
  EXPECT_NE(error_of("\xff\xfe").find("no valid JSON"), std::string::npos);
  EXPECT_NE(changed([](Json& m) { m["name"] = "Mine\n"; }).find("name: found"), std::string::npos);
  EXPECT_NE(changed([](Json& m) { m["name"] = "h200"; }).find("no built-in"), std::string::npos);
  EXPECT_NE(changed([](Json& m) { m["compute_capability"] = 9; }).find("found 9"), std::string::npos);
  EXPECT_NE(changed([](Json& m) { m["rows"] = Json::array(); }).find("rows: found []"), std::string::npos);
  EXPECT_NE(changed([](Json& m) { m["rows"].push_back(good_row()); }).find("one row a datapath"),
            std::string::npos);
  EXPECT_NE(changed([](Json& m) { m["rows"][0]["F"] = 60; }).find("rows[0].F: found 60"), std::string::npos);
  EXPECT_NE(changed([](Json& m) { m["x"] = 1; }).find("found \"x\""), std::string::npos);
  EXPECT_THROW(load_model(file_ + ".missing"), InputError);
  EXPECT_NE(error_of(R"({"name":1e999})").find("number: found one beyond binary64"), std::string::npos);
  // As deep as a file of 1 MiB can be: values are copied and printed by recursion.
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  EXPECT_NE(error_of(R"({"name":)" + deep + "}").find("nesting: found more, allowed: 32 levels"),
            std::string::npos);
}

}  // namespace
}  // namespace mmaudit::cli
