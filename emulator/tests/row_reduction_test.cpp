// Rows reduced on the host against what torch's kernels gave on the GPU. The operands are made here and there
// by the same rule (docs/row-reductions.md); an output is kept as one word, the sum of a mixed word per
// element.
#include "mmaudit/functions/row_reduction.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"
#include "rows_recording.hpp"

namespace mmaudit {
namespace {

using rows_recording::Case;
constexpr double kNormEpsilon[] = {1e-5, 1e-6};

Format format_of(std::string_view name) {
  return name == "f32" ? Format::f32 : name == "bf16" ? Format::bf16 : Format::f16;
}

struct Made {
  RowProblem problem;
  std::vector<std::byte> x, weight, bias;
  RowOperands operands;
};

Made problem_of(std::string_view operation, Format type, Format output, std::uint64_t rows, std::uint64_t n) {
  Made made;
  made.problem = {
      static_cast<RowOperation>(std::find(kRowOperations.begin(), kRowOperations.end(), operation) -
                                kRowOperations.begin()),
      type, output, rows, n};
  const std::size_t bytes = spec_of(type).storage_bytes();
  made.x.resize(rows * n * bytes);
  made.weight.resize(n * bytes);
  made.bias.resize(n * bytes);
  return made;
}
void give_operands(Made& made) {
  made.operands.x = made.x.data();
  if (made.problem.operation < RowOperation::layer_norm) return;
  const bool layer = made.problem.operation == RowOperation::layer_norm;
  made.operands.weight = made.weight.data();
  if (layer) made.operands.bias = made.bias.data();
  made.operands.epsilon = static_cast<float>(kNormEpsilon[layer ? 0 : 1]);
}
void put(std::vector<std::byte>& to, Format type, std::uint64_t at, double value) {
  store_word(to.data(), spec_of(type).storage_bytes(), at, encode_nearest_even(value, spec_of(type)));
}

Made made(const Case& one) {
  Made made = problem_of(one.operation, format_of(one.type), format_of(one.output), one.rows, one.n);
  const auto word = [](std::uint64_t seed, std::uint64_t at) { return mixed(mixed(seed) ^ mixed(at)); };
  const auto part = [](std::uint64_t from, int index) {
    return static_cast<double>((from >> (16 * index)) & 0xFFFF);
  };
  for (std::uint64_t i = 0; i < one.rows * one.n; ++i) {
    const std::uint64_t w = word(one.seed, i);
    put(made.x, made.problem.type, i, (part(w, 0) + part(w, 1) + part(w, 2) + part(w, 3) - 131070) / 0x1p14);
  }
  for (std::uint64_t i = 0; i < one.n; ++i) {
    const std::uint64_t w = word(one.seed + 1, i);
    put(made.weight, made.problem.type, i, 1 + (part(w, 0) - 32768) / 0x1p18);
    put(made.bias, made.problem.type, i, (part(w, 1) - 32768) / 0x1p17);
  }
  give_operands(made);
  return made;
}

std::vector<std::uint64_t> outputs(const Made& made, const RowPlan& plan) {
  const std::size_t bytes = spec_of(made.problem.output).storage_bytes();
  const std::uint64_t count = made.problem.rows * (one_per_row(made.problem.operation) ? 1 : made.problem.n);
  std::vector<std::byte> y(count * bytes);
  reduce_rows(made.problem, plan, made.operands, y.data());
  std::vector<std::uint64_t> bits(count);
  for (std::uint64_t i = 0; i < count; ++i) bits[i] = load_word(y.data(), bytes, i);
  return bits;
}

std::uint64_t word_of(const Made& made, const RowPlan& plan) {
  const std::vector<std::uint64_t> bits = outputs(made, plan);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < bits.size(); ++i) sum += mixed(bits[i] + (i << 32));
  return sum;
}

TEST(RowReduction, HasTheBitsOfTheGpu) {
  for (const Case& one : rows_recording::kCases) {
    const Made given = made(one);
    ASSERT_EQ(why_no_rows(given.problem, given.operands), "");
    const RowPlan plan = row_plan_of(given.problem);
    EXPECT_EQ(word_of(given, plan), one.word) << one.operation << " " << one.type << " " << one.output << " "
                                              << one.rows << " x " << one.n << " " << text_of(plan);
  }
}

TEST(RowReduction, EveryChangedPlanIsSeen) {
  const std::pair<const char*, std::function<void(RowPlan&)>> changes[] = {
      {"half the lanes", [](RowPlan& plan) { plan.lanes = plan.lanes > 1 ? plan.lanes / 2 : 2; }},
      {"twice the groups", [](RowPlan& plan) { plan.groups *= 2; }},
      {"lanes and groups exchanged", [](RowPlan& plan) { std::swap(plan.lanes, plan.groups); }},
      {"another vector", [](RowPlan& plan) { plan.vector = plan.vector == 4 ? 8 : 4; }},
      {"other accumulators", [](RowPlan& plan) { plan.accumulators = plan.accumulators == 4 ? 1 : 4; }},
      {"two blocks", [](RowPlan& plan) { plan.blocks = 2; }},
      {"strided", [](RowPlan& plan) { plan.walk = RowWalk::strided; }},
      {"vectors", [](RowPlan& plan) { plan.walk = RowWalk::vectors; }},
      {"rounds", [](RowPlan& plan) { plan.walk = RowWalk::rounds; }},
  };
  for (const auto& [name, change] : changes) {
    std::size_t changed = 0, seen = 0;
    for (const Case& one : rows_recording::kCases) {
      if (one.output != std::string_view("f32")) continue;
      const Made given = made(one);
      RowPlan plan = row_plan_of(given.problem);
      const RowPlan before = plan;
      change(plan);
      if (text_of(plan) == text_of(before) || one.operation == std::string_view("amax")) continue;
      ++changed;
      seen += word_of(given, plan) != one.word ? 1 : 0;
    }
    EXPECT_GT(changed, 0U) << name;
    EXPECT_GT(seen, 0U) << name;
  }
}

TEST(RowReduction, SpecialNumbersHaveTheBitsOfTheGpu) {
  constexpr double kInf = INFINITY;
  const double rows[9][8] = {{-0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0},
                             {kInf, 1, 2, 3, 4, 5, 6, 7},
                             {-kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf, -kInf},
                             {NAN, 1, 2, 3, 4, 5, 6, 7},
                             {0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0, -0.0},
                             {1e-40, 1e-7, -1e-7, 0, 1, 2, 3, 4},
                             {-100, -50, 20, 30, 40, 80, 88, 88.5},
                             {3, 3, 3, 3, 3, 3, 3, 3},
                             {kInf, -kInf, 0, 1, 2, 3, 4, 5}};
  for (const rows_recording::Special& one : rows_recording::kSpecials) {
    const Format type = format_of(one.type);
    Made given = problem_of(one.operation, type, type, 9, 8);
    for (std::uint64_t i = 0; i < 72; ++i)
      put(given.x, type, i, static_cast<double>(static_cast<float>(rows[i / 8][i % 8])));
    for (std::uint64_t i = 0; i < 8; ++i) put(given.weight, type, i, 1), put(given.bias, type, i, 0);
    give_operands(given);
    const std::vector<std::uint64_t> bits = outputs(given, row_plan_of(given.problem));
    const FormatSpec spec = spec_of(type);
    const std::uint64_t mask = (std::uint64_t{1} << spec.storage_bits) - 1;
    for (std::uint64_t i = 0; i < bits.size(); ++i) {
      const auto expected = static_cast<std::uint64_t>(one.bits[i]) & mask;
      const double a = decode_value(bits[i], spec), b = decode_value(expected, spec);
      if (a != a && b != b) continue;  // any NaN
      EXPECT_EQ(bits[i], expected) << one.operation << " " << one.type << " " << i;
    }
  }
}

TEST(RowReduction, IsLiteratureBeyondTheRowsThatWereCompared) {
  const auto known = [](RowOperation operation, std::uint64_t rows, std::uint64_t n) {
    return row_plan_of({operation, Format::bf16, Format::bf16, rows, n}).evidence == Evidence::recorded;
  };
  for (const RowOperation operation :
       {RowOperation::softmax, RowOperation::rms_norm, RowOperation::rms_norm_steps}) {
    EXPECT_TRUE(known(operation, 64, 151936));
    EXPECT_FALSE(known(operation, 64, 151937));
  }
  EXPECT_TRUE(known(RowOperation::sum, 512, 1 << 20));
  EXPECT_FALSE(known(RowOperation::sum, 513, 1 << 20));
  EXPECT_FALSE(known(RowOperation::sum, 1, (1 << 20) + 1));
}

TEST(RowReduction, RefusesWhatItCannotDo) {
  const RowOperands none;
  RowProblem problem{RowOperation::softmax, Format::f32, Format::f32, 1, 4};
  EXPECT_EQ(why_no_rows(problem, none), "");
  problem.n = 0;
  EXPECT_EQ(why_no_rows(problem, none), "x: found 1 rows of 0, allowed: at least one of each");
  problem.n = 4;
  problem.type = Format::e4m3;
  EXPECT_EQ(why_no_rows(problem, none), "type: found e4m3, allowed: f32, bf16, f16");
  problem = {RowOperation::layer_norm, Format::bf16, Format::f32, 1, 4};
  EXPECT_EQ(why_no_rows(problem, none), "output: found f32, allowed: bf16");
  problem = {RowOperation::softmax, Format::f32, Format::bf16, 1, 4};
  EXPECT_EQ(why_no_rows(problem, none), "output: found bf16, allowed: f32");
  problem = {RowOperation::rms_norm, Format::bf16, Format::bf16, 1, 4};
  RowOperands biased;
  biased.bias = &problem;
  EXPECT_EQ(why_no_rows(problem, biased), "bias: found one, allowed: none of rms_norm");
}

}  // namespace
}  // namespace mmaudit
