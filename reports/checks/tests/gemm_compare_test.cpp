// What mmaudit gemm compare does with what a library returns, without a library.
#include "gemm/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "gemm/invariant.hpp"
#include "gemm/samples.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/report/figures.hpp"

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

nlohmann::json json_of(const report::Report& report) { return nlohmann::json::parse(report.json()); }

TEST(GemmCompare, json_says_whether_it_is_whole) {
  GemmComparison run{std::vector<GemmOutcome>(2), 3, 7};
  const auto part = json_of(report_of(run));
  EXPECT_EQ(part.at("complete"), false);
  EXPECT_EQ(part.at("asked"), 3);
  EXPECT_EQ(part.at("seed"), 7);
  EXPECT_EQ(part.at("outcomes").size(), 2U);
  EXPECT_NE(report_of(run).headline.find("; stopped after 2 of 3 products"), std::string::npos);
  run.asked = 2;
  EXPECT_EQ(json_of(report_of(run)).at("complete"), true);
}

GemmOutcome outcome_of(std::uint64_t wrong, bool known = true) {
  GemmOutcome out;
  out.problem.m = out.problem.n = out.problem.k = 64;
  out.ran = true;
  out.wrong = wrong;
  if (known) {
    out.plan.emplace().instruction = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
    out.elements = 4096;
    out.call.kernels.emplace_back().name = "cutlass_80_tensorop_s16816gemm_f16";
  } else {
    out.why = "kernel: found new_kernel, allowed: a known one";
  }
  return out;
}

TEST(GemmReport, passes_where_known_plans_are_right_and_there_is_one) {
  GemmComparison run{{outcome_of(0), outcome_of(0, false)}, 2};
  run.library = "130100";
  run.gpu = "H100";
  const std::string text = rendered(report_of(run), "text");
  EXPECT_EQ(exit_code(report_of(run)), 0);
  EXPECT_NE(text.find("cuBLASLt 130100 on H100\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Every element is as its plan says: 4096 elements of 1 products\n"), std::string::npos);
  EXPECT_NE(text.find("1  kernel: found new_kernel, allowed: a known one\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("mma.m16n8k16"), std::string::npos) << "without --verbose no line per product\n"
                                                          << text;
  run.verbose = true;
  EXPECT_NE(rendered(report_of(run), "text").find("mma.m16n8k16"), std::string::npos);
  EXPECT_NE(rendered(report_of(run), "csv").find("cutlass_80_tensorop_s16816gemm_f16"), std::string::npos);
  run.outcomes = {outcome_of(0, false)};
  EXPECT_EQ(exit_code(report_of(run)), 1) << "nothing was compared";
  run.bits = false;
  EXPECT_EQ(exit_code(report_of(run)), 0) << "plans alone judge nothing";
  EXPECT_EQ(report_of(run).headline, "0 of 1 products have a known plan; stopped after 1 of 2 products");
}

TEST(GemmReport, products_that_the_library_refuses_are_counted) {
  GemmOutcome refused;
  refused.why = "cuBLAS status 15";
  for (const bool bits : {true, false}) {
    GemmComparison run{{refused, refused}, 2};
    run.bits = bits;
    EXPECT_EQ(exit_code(report_of(run)), 1);
    EXPECT_EQ(report_of(run).headline, "The library refuses every product: cuBLAS status 15");
    run.outcomes = {refused, outcome_of(0), refused};
    run.asked = 3;
    EXPECT_EQ(exit_code(report_of(run)), 0);
    EXPECT_TRUE(report_of(run).headline.ends_with("; the library refuses 2 more")) << report_of(run).headline;
    EXPECT_NE(rendered(report_of(run), "text").find("2  cuBLAS status 15"), std::string::npos);
  }
}

TEST(GemmReport, plans_are_proven_per_version) {
  EXPECT_EQ(why_unproven("130100"), "");
  EXPECT_EQ(why_unproven(""), "");
  GemmComparison run{{outcome_of(0)}, 1};
  run.library = "130200";
  run.unproven = why_unproven(run.library);
  EXPECT_EQ(run.unproven.find("unproven for this version (cuBLASLt 130200; recorded: 130100;"), 0U);
  run.bits = false;
  EXPECT_NE(report_of(run).headline.find("unproven for this version"), std::string::npos);
  run.bits = true;
  EXPECT_EQ(report_of(run).headline.find("unproven"), std::string::npos) << "the run is the proof";
  const std::string file = (std::filesystem::temp_directory_path() / "mmaudit_compared.json").string();
  const auto keep = [&] { std::ofstream(file) << report_of(run).json(); };
  keep();
  EXPECT_EQ(why_unproven("130200", file), "");
  EXPECT_NE(why_unproven("130300", file), "");
  run.outcomes = {outcome_of(1)};
  keep();
  EXPECT_NE(why_unproven("130200", file), "") << "an element was wrong";
  run.outcomes = {outcome_of(0, false)};
  keep();
  EXPECT_NE(why_unproven("130200", file), "") << "nothing was compared";
  for (const char* other :
       {"{}", R"({"schema":"mmaudit.gemm.compare/0","library":"130200","elements":9,"wrong":0})"}) {
    std::ofstream(file) << other;
    EXPECT_THROW(static_cast<void>(why_unproven("130200", file)), InputError) << other;
  }
  std::filesystem::remove(file);
  InvariantResult invariant;
  invariant.unproven = run.unproven;
  EXPECT_NE(report_of(invariant).headline.find("unproven for this version"), std::string::npos);
}

TEST(GemmInvariant, of_a_layer_that_the_library_refuses) {
  InvariantResult result;
  result.tried = 2;
  result.refused = {1, 2};
  result.why_refused = "cuBLAS status 15";
  EXPECT_EQ(exit_code(report_of(result)), 1);
  EXPECT_EQ(report_of(result).headline, "The library refuses every M: cuBLAS status 15");
  EXPECT_NE(rendered(report_of(result), "html"), "");
}

/// By the numbers: each finite number of the format in its order, as decode_value() gives them.
std::uint64_t ulps_by_the_numbers(double x, double y, const FormatSpec& format) {
  std::vector<double> all;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.storage_bits; ++bits)
    if (const double value = decode_value(bits, format); std::isfinite(value)) all.push_back(value);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());  // the zeros are one number
  const auto at = [&](double value) { return std::lower_bound(all.begin(), all.end(), value) - all.begin(); };
  return static_cast<std::uint64_t>(std::abs(at(x) - at(y)));
}

TEST(GemmInvariant, counts_and_ulps_are_those_of_d) {
  for (const Format type : {Format::bf16, Format::f16}) {
    const FormatSpec format = spec_of(type);
    std::vector<double> before = {1, -2, 0, 0.5, 3e-3, 1024}, after = {1, -2.5, 0x1p-20, -0.5, 3e-3, 1028};
    std::vector<std::uint16_t> was, is;
    for (const double x : before) was.push_back(static_cast<std::uint16_t>(encode_value(x, format)));
    for (const double x : after) is.push_back(static_cast<std::uint16_t>(encode_value(x, format)));
    InvariantRange range;
    count_changes(std::as_bytes(std::span(was)), std::as_bytes(std::span(is)), format, range);
    std::uint64_t differing = 0, worst = 0;
    for (std::size_t e = 0; e < was.size(); ++e) {
      differing += was[e] != is[e] ? 1 : 0;
      worst = std::max(
          worst, ulps_by_the_numbers(decode_value(was[e], format), decode_value(is[e], format), format));
    }
    EXPECT_EQ(range.elements, 6U);
    EXPECT_EQ(range.differing, differing);
    EXPECT_EQ(range.worst_ulp, worst);
    // The first row, whose exact sums are 0, counts as the others do.
    count_changes(std::as_bytes(std::span(was).first(3)), std::as_bytes(std::span(is).first(3)), format,
                  range);
    EXPECT_GT(range.differing, 0U);
    EXPECT_GT(range.worst_ulp, 0U);
  }
}

TEST(GemmReport, says_where_a_product_differs) {
  GemmOutcome outcome = outcome_of(3);
  outcome.problem.batch = 2;
  outcome.matrix = 1;
  outcome.row = 5;
  outcome.column = 7;
  outcome.expected = 0x3c00;
  const GemmComparison run{{outcome, outcome_of(0)}, 2};
  const report::Report report = report_of(run);
  EXPECT_EQ(exit_code(report), 1);
  EXPECT_EQ(report.headline, "1 of 2 products differ from their plans, in 3 of 8192 elements");
  const std::string csv = rendered(report, "csv");
  EXPECT_NE(csv.find("first wrong (1, 5, 7): expected 0x3c00, found 0x0"), std::string::npos) << csv;
  EXPECT_NE(rendered(report, "text").find("4096      3  mma.m16n8k16"), std::string::npos);
  EXPECT_EQ(json_of(report).at("outcomes").at(0).at("first").at("matrix"), 1);
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
       random_problems(3, 30, {"f16", "tf32", "f64", "e4m3", "s8"}, {.batches = true})) {
    EXPECT_GT(x.batch, 1U);
    EXPECT_EQ(why_no_problem(x), "") << name_of(x);
    EXPECT_LE(x.batch * std::max({x.m * x.k, x.k * x.n, x.m * x.n}), std::uint64_t{1} << 23) << name_of(x);
  }
}

TEST(GemmInvariant, what_pinning_costs_is_said) {
  InvariantResult result;
  result.layer.n = result.layer.k = 64;
  result.layer.workspace = 1024;
  result.tried = 2;
  result.ranges.push_back({1, 2, {"a plan"}});
  result.costs = {{1, 2e-6, 1e-6}, {2, 0, 1e-6}};
  const report::Report report = report_of(result);
  const std::string text = rendered(report, "text");
  EXPECT_NE(text.find("  1      2.0         1.0\n  2  refused         1.0\n"), std::string::npos) << text;
  const nlohmann::json json = json_of(report);
  EXPECT_EQ(json.at("workspace"), 1024);
  EXPECT_EQ(json.at("costs").at(1).at("heuristic_s"), 1e-6);
}

TEST(GemmInvariant, passes_where_a_plan_is_known_and_every_prediction_is_right) {
  InvariantResult result;
  result.tried = 8;
  result.ranges = {{1, 4, {"a plan"}}, {5, 8, {"another", "a third"}, 128, 3, 2, false}};
  EXPECT_EQ(exit_code(report_of(result)), 0);
  EXPECT_EQ(report_of(result).headline, "A row of D keeps its bits within 2 ranges of M");
  const std::string text = rendered(report_of(result), "text");
  EXPECT_NE(text.find("  5   8         3  128            2  no         another and 1 more\n"),
            std::string::npos)
      << text;
  const std::string figure = report_of(result).sections.front().figures.front();
  EXPECT_NE(rendered(report_of(result), "html").find(figure), std::string::npos);
  EXPECT_TRUE(report::svg_document(figure).starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "));
  result.wrong = 1;
  EXPECT_EQ(exit_code(report_of(result)), 1);
  result.wrong = 0;
  result.unknown = 7;
  result.refused = {3};
  EXPECT_EQ(exit_code(report_of(result)), 1) << "nothing was predicted";
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
