// Special functions against the recordings of the corpus, and the recordings against a changed model.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "mmaudit/corpus/function_recording.hpp"

namespace mmaudit::corpus {
namespace {

using functions::evaluate;
using functions::kUnit;
using functions::Op;

std::vector<FunctionRecording> recordings() { return read_function_recordings(MMAUDIT_TEST_CORPUS); }

TEST(Functions, GiveWhatWasRecorded) {
  std::size_t inputs = 0;
  for (const FunctionRecording& one : recordings()) {
    std::vector<std::uint32_t> found(one.x.size());
    evaluate(*one.function, one.x.data(), one.y.empty() ? nullptr : one.y.data(), found.data(), found.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(found[i], one.result[i]) << one.function->name << std::hex << " x 0x" << one.x[i];
    inputs += found.size();
  }
  EXPECT_GT(inputs, 30000U);
}

TEST(Functions, EveryRowIsRecorded) {
  std::vector<std::string> missing;
  const auto all = recordings();
  for (const functions::Function& row : functions::all())
    if (row.evidence == functions::kRecorded &&
        std::none_of(all.begin(), all.end(), [&](const auto& one) { return one.function == &row; }))
      missing.emplace_back(row.name);
  EXPECT_TRUE(missing.empty()) << missing.front();
}

/// What is written is what is read, and its operands are of every binade of both signs.
TEST(Functions, AreReadAsTheyWereRecorded) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "functions_test";
  std::filesystem::remove_all(folder);
  for (const char* name : {"log1pf", "logf/fast", "divide", "tanh.approx.f16", "ex2.approx.ftz.bf16"}) {
    FunctionRecording made = operands_to_record(*functions::find(name), 1);
    for (std::size_t i = 0; i < made.x.size(); ++i) made.result.push_back(static_cast<std::uint32_t>(3 * i));
    write_function_recording(folder, made);
    const auto read = read_function_recordings(folder, {name});
    ASSERT_EQ(read.size(), 1U) << name;
    EXPECT_EQ(read[0].x, made.x) << name;
    EXPECT_EQ(read[0].y, made.y) << name;
    EXPECT_EQ(read[0].result, made.result) << name;
    EXPECT_EQ(made.y.size(), made.function->operands == 2 ? made.x.size() : 0) << name;
    EXPECT_NE(operands_to_record(*made.function, 2).x, made.x) << name;
    const int bits = made.function->bits, fraction = bits == 32 ? 23 : name[0] == 't' ? 10 : 7;
    std::map<std::uint32_t, std::set<std::uint32_t>> binades;
    for (const std::uint32_t x : made.x) binades[x >> fraction].insert(x & ((1U << fraction) - 1));
    EXPECT_EQ(binades.size(), std::size_t{1} << (bits - fraction)) << name;
    for (const auto& [binade, inside] : binades) {
      EXPECT_TRUE(inside.contains(0) && inside.contains((1U << fraction) - 1)) << name << " " << binade;
      EXPECT_GT(inside.size(), 2U) << name << " " << binade;
    }
  }
}

/// The recorded inputs by the segment that they take.
struct Unit {
  const char* name;
  Op op;
};
constexpr Unit kUnits[] = {{"ex2.approx.ftz.f32", Op::ex2},   {"lg2.approx.ftz.f32", Op::lg2},
                           {"rcp.approx.ftz.f32", Op::rcp},   {"rsqrt.approx.ftz.f32", Op::rsq},
                           {"sqrt.approx.ftz.f32", Op::sqrt}, {"sin.approx.ftz.f32", Op::sin},
                           {"tanh.approx.f32", Op::tanh}};

TEST(Functions, EveryChangedCoefficientIsCaught) {
  int changed = 0;
  for (const Unit& unit : kUnits) {
    const auto read = read_function_recordings(MMAUDIT_TEST_CORPUS, {unit.name});
    ASSERT_EQ(read.size(), 1U);
    const FunctionRecording& one = read.front();
    std::map<int, std::vector<std::size_t>> inputs;
    for (std::size_t i = 0; i < one.x.size(); ++i) {
      const std::uint32_t operand = unit.op == Op::sin ? functions::turns(one.x[i]) : one.x[i];
      const functions::Reduced at = functions::reduced(unit.op, operand);
      if (!at.special) inputs[functions::parts_of(at.table, at.fraction, kUnit).segment].push_back(i);
    }
    for (const auto& [segment, which] : inputs)
      for (int coefficient = 0; coefficient < 3; ++coefficient)
        for (const int step : {-1, 1}) {
          functions::Tables tables = kUnit;
          functions::Segment& row = tables.segments[segment];
          (coefficient == 0 ? row.constant : coefficient == 1 ? row.linear : row.square) += step;
          EXPECT_TRUE(std::any_of(which.begin(), which.end(),
                                  [&](std::size_t i) {
                                    return evaluate(one.function->id, one.x[i], 0, tables) != one.result[i];
                                  }))
              << unit.name << " segment " << segment << " coefficient " << coefficient;
          ++changed;
        }
  }
  EXPECT_EQ(changed, functions::kSegments * 3 * 2);
}

}  // namespace
}  // namespace mmaudit::corpus
