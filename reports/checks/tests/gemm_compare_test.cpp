// What mmaudit gemm compare does with what a library returns, without a library.
#include "gemm/compare.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "gemm/invariant.hpp"
#include "gemm/samples.hpp"
#include "mmaudit/error.hpp"

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
