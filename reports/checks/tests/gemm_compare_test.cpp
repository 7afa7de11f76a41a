// What mmaudit gemm compare does with what a library returns, without a library.
#include "gemm/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "gemm/invariant.hpp"
#include "gemm/samples.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::checks {
namespace {

/// A run whose comparisons take no GPU; `keep` notes how many outcomes there were.
struct FakeRun {
  CompareRun run;
  std::vector<std::size_t> kept;
  std::size_t done = 0;

  explicit FakeRun(std::size_t count) {
    run.count = count;
    run.compare = [this](std::size_t index) {
      EXPECT_EQ(index, done++);
      GemmOutcome out;
      out.problem.k = index + 1;
      return out;
    };
    run.stopped = [] { return false; };
    run.keep = [this](const std::vector<GemmOutcome>& so_far) { kept.push_back(so_far.size()); };
  }
};

TEST(GemmCompare, a_cut_loses_no_outcome) {
  FakeRun whole(3);
  EXPECT_EQ(compare_all(whole.run).size(), 3U);
  EXPECT_TRUE(whole.kept.empty());  // within ten seconds
  FakeRun often(3);
  often.run.keep_seconds = 0;  // against a kill that cannot be noticed
  EXPECT_EQ(compare_all(often.run).back().problem.k, 3U);
  EXPECT_EQ(often.kept, (std::vector<std::size_t>{1, 2, 3}));
  FakeRun stopped(9);
  stopped.run.stopped = [&] { return stopped.done == 2; };
  EXPECT_EQ(compare_all(stopped.run).size(), 2U);
  FakeRun thrown(9);
  const auto compare = thrown.run.compare;
  thrown.run.compare = [&](std::size_t index) {
    if (index == 4) throw EnvironmentError("the GPU is gone");
    return compare(index);
  };
  EXPECT_THROW(compare_all(thrown.run), EnvironmentError);
  EXPECT_EQ(thrown.kept, std::vector<std::size_t>{4});
}

TEST(GemmCompare, json_says_whether_it_is_whole) {
  const std::vector<GemmOutcome> outcomes(2);
  const auto part = nlohmann::json::parse(json_of(outcomes, 3, 7)),
             all = nlohmann::json::parse(json_of(outcomes, 2, 7));
  EXPECT_EQ(part.at("complete"), false);
  EXPECT_EQ(part.at("asked"), 3);
  EXPECT_EQ(part.at("seed"), 7);
  EXPECT_EQ(part.at("outcomes").size(), 2U);
  EXPECT_EQ(all.at("complete"), true);
}

TEST(GemmCompare, a_sample_of_a_product_is_read_and_predicted) {
  GemmProblem x;
  x.m = 5;
  x.n = 3;
  x.k = 64;
  LibraryCall call;
  call.kernels.emplace_back().name = "nvjet_sm90_hsh_64x64_64x13_4x2_h_bz_TNT";
  const GemmInputs inputs = inputs_of(x, 11);
  const std::vector<std::byte> d =
      predicted(*find_architecture("hopper"), x, plan_of(x, call).value(), inputs.operands(), nullptr);
  const auto read = corpus::read_gemm_samples(corpus::line_of(sample_of(x, call, 11, d)), "x");
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].rows.size(), 4U);
  EXPECT_EQ(std::set<std::uint64_t>(read[0].columns.begin(), read[0].columns.end()),
            (std::set<std::uint64_t>{0, 1, 2}));
  const SampleOutcome found = check_sample(*find_architecture("hopper"), read[0]);
  EXPECT_EQ(found.elements, 12U);
  EXPECT_EQ(found.wrong, 0U);
}

GemmProblem batch_of(std::uint64_t count) {
  GemmProblem x;
  x.m = 5;
  x.n = 6;
  x.k = 64;
  x.batch = count;
  return x;
}

/// What the kernels of one product make of a batch: the samples name the first and the last product.
TEST(GemmCompare, a_batch_is_its_products) {
  GemmProblem x = batch_of(3);
  LibraryCall call;
  call.kernels.emplace_back().name = "nvjet_sm90_hsh_64x64_64x13_4x2_h_bz_TNT";
  const Architecture& hopper = *find_architecture("hopper");
  const GemmPlan plan = plan_of(x, call).value();
  for (const bool shared : {false, true}) {
    if (shared) x.stride_b = 0;
    const GemmInputs inputs = inputs_of(x, 11);
    EXPECT_EQ(inputs.a.size(), 3U * 5 * 64 * 2);
    EXPECT_EQ(inputs.b.size(), (shared ? 1U : 3U) * 6 * 64 * 2);
    const std::vector<std::byte> d = predicted(hopper, x, plan, inputs.operands(), nullptr);
    ASSERT_EQ(d.size(), 3U * 5 * 6 * 2);
    EXPECT_FALSE(std::equal(d.begin(), d.begin() + 60, d.begin() + 60));  // other operands
    const auto read = corpus::read_gemm_samples(corpus::line_of(sample_of(x, call, 11, d)), "x");
    EXPECT_EQ(read.at(0).matrices, (std::vector<std::uint64_t>{0, 2}));
    EXPECT_EQ(name_of(read[0].problem), name_of(x));
    const SampleOutcome found = check_sample(hopper, read[0]);
    EXPECT_EQ(found.elements, 2U * 16);
    EXPECT_EQ(found.wrong, 0U);
    GemmOutcome out;
    out.problem = x;
    std::vector<std::byte> other = d;
    other[(2 * 30 + 7) * 2 + 1] ^= std::byte{0x80};
    compare_elements(other, d, out);
    EXPECT_EQ(out.elements, 90U);
    EXPECT_EQ(out.wrong, 1U);
    EXPECT_EQ(out.matrix, 2U);
    EXPECT_EQ(out.row, 1U);
    EXPECT_EQ(out.column, 1U);
  }
}

TEST(GemmCompare, a_batch_is_stored_with_its_strides) {
  GemmProblem x = batch_of(2);
  x.transposed_a = true;
  x.stride_a = 400;
  x.offset_b = 3;
  const GemmInputs inputs = inputs_of(x, 4);
  ASSERT_EQ(inputs.stored_a.size(), (400U + 320) * 2);
  const auto at = [](const void* base, std::uint64_t element) { return load_word(base, 2, element); };
  for (std::uint64_t matrix = 0; matrix < 2; ++matrix)
    for (std::uint64_t i = 0; i < 5; ++i)
      EXPECT_EQ(at(inputs.library_a(), matrix * 400 + 35 + i),
                at(inputs.a.data(), (matrix * 5 + i) * 64 + 7));
  EXPECT_EQ(at(inputs.library_a(), 320), 0x7F7FU);  // between two matrices: not a number that passes
  ASSERT_EQ(inputs.stored_b.size(), (3U + 2 * 384) * 2);
  EXPECT_EQ(at(inputs.library_b(), 3 + 384), at(inputs.b.data(), 384));
}

TEST(GemmCompare, random_batches_are_problems) {
  for (const GemmProblem& x :
       random_problems(3, 30, {"f16", "tf32", "f64", "e4m3", "s8"}, /*batches=*/true)) {
    EXPECT_GT(x.batch, 1U);
    EXPECT_EQ(why_no_problem(x), "") << name_of(x);
    EXPECT_LE(x.batch * std::max({x.m * x.k, x.k * x.n, x.m * x.n}), std::uint64_t{1} << 23) << name_of(x);
  }
}

TEST(GemmInvariant, what_pinning_costs_is_said) {
  InvariantResult result;
  result.layer.n = result.layer.k = 64;
  result.layer.workspace = 1024;
  result.ranges.push_back({1, 2, {"a plan"}});
  result.costs = {{1, 2e-6, 1e-6}, {2, 0, 1e-6}};
  const std::string text = text_of(result);
  EXPECT_NE(text.find("M 1: 2.0 us pinned, 1.0 us by the heuristic's algorithm\n"
                      "M 2: refused pinned, 1.0 us by the heuristic's algorithm\n"),
            std::string::npos)
      << text;
  const nlohmann::json json = nlohmann::json::parse(json_of(result));
  EXPECT_EQ(json.at("workspace"), 1024);
  EXPECT_EQ(json.at("costs").at(1).at("heuristic_s"), 1e-6);
}

TEST(GemmCompare, the_first_wrong_element_of_many_is_named) {
  GemmOutcome out;
  out.problem.m = 512;
  out.problem.n = 2048;  // a million elements: one look at all of D per element would take hours
  std::vector<std::byte> expected(out.problem.m * out.problem.n * 2), found = expected;
  compare_elements(found, expected, out);
  EXPECT_EQ(out.elements, 512U * 2048U);
  EXPECT_EQ(out.wrong, 0U);
  for (const std::size_t element : {std::size_t{509 * 2048 + 5}, std::size_t{511 * 2048 + 2047}})
    found[2 * element + 1] = std::byte{0x80};  // -0: bits count
  compare_elements(found, expected, out);
  EXPECT_EQ(out.wrong, 2U);
  EXPECT_EQ(out.row, 509U);
  EXPECT_EQ(out.column, 5U);
  EXPECT_EQ(out.expected, 0U);
  EXPECT_EQ(out.found, 0x8000U);
  found.pop_back();
  EXPECT_THROW(compare_elements(found, expected, out), InputError);
}

}  // namespace
}  // namespace mmaudit::checks
