// gemm check on a library that is made up: some algorithms leave out the end of K.
#include "gemm/check.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "gemm/compare.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::uint64_t kSlices = 9, kAlgorithms = 3;

/// As cuBLAS 13.1 cuts K: ceil(floor(K / slices) / 64) tiles of 64 each.
std::uint64_t last_k(const GemmProblem& x) {
  if (x.algorithm != 0) return x.k;
  return std::min(x.k, kSlices * ((x.k / kSlices + 63) / 64 * 64));
}

/// A plain loop over all k, so that it shares nothing with the closed form that it is judged by.
device::ExactAnswer answer_of(const GemmProblem& x, const exact::Product& product,
                              const exact::Words& words) {
  if (x.algorithm >= kAlgorithms) throw device::NoAlgorithm("cuBLASLt has 3 algorithms");
  device::ExactAnswer out;
  out.call.algorithm = {{"split_k", x.algorithm == 0 ? kSlices : 1}};
  out.call.kernels = {{"nvjet_made_up"}};
  out.seconds = 1e-6 * static_cast<double>(1 + x.algorithm);
  out.run.d.resize(product.elements());
  for (std::uint64_t e = 0; e < out.run.d.size(); ++e) {
    const exact::Place at = exact::place_of(product, e);
    double sum = 0;
    for (std::uint64_t k = 0; k < last_k(x); ++k)
      if (const int a = word_of_a(words, at.lane_a, k); a != 0) sum += a * word_of_b(words, k, at.lane_b);
    double d = product.alpha * product.scale_a.whole * product.scale_b.whole * sum;
    if (product.beta != 0) d += product.beta * word_of_c(words, e);
    if (product.bias) d += word_of_bias(words, at.column);
    out.run.d[e] = product.relu ? std::max(d, 0.0) : d;
    out.verdict.wrong += out.run.d[e] == exact::element_of(product, words, e) ? 0 : 1;
  }
  return out;
}

/// `wrong`: only products that are started so are; `refused`: none can be started so.
GemmCheck checked(std::vector<GemmProblem> problems, std::optional<device::LaunchKind> wrong = {},
                  std::optional<device::LaunchKind> refused = {}, std::size_t gpus = 1,
                  GemmCheck before = GemmCheck(), bool reproduce = false) {
  GemmCheckRun run;
  run.before = std::move(before);
  run.reproduce = reproduce;
  std::size_t next = 0;
  run.next = [&]() -> std::optional<GemmProblem> {
    return next == problems.size() ? std::nullopt : std::optional(problems[next++]);
  };
  run.stopped = [] { return false; };
  ExactRunner one = [&](const GemmProblem& x, const exact::Product& product, const exact::Words& words,
                        const device::ExactAsk& ask) {
    if (ask.launch == refused) throw EnvironmentError("can't be started so");
    GemmProblem taken = x;
    if (ask.launch == wrong)
      taken.algorithm = 0;  // the one that leaves out the end of K
    else if (wrong)
      taken.algorithm = 1;
    if (x.algorithm >= kAlgorithms) throw device::NoAlgorithm("cuBLASLt has 3 algorithms");
    return answer_of(taken, product, words);
  };
  run.runners.assign(gpus, [&] { return one; });
  GemmCheck out = check_gemms(run);
  out.library = "130100";
  return out;
}

GemmProblem problem(std::uint64_t k) {
  GemmProblem x;
  x.m = 24, x.n = 16, x.k = k;
  return x;
}

TEST(GemmCheck, the_end_of_k_is_found_with_its_condition_and_a_right_algorithm) {
  const GemmCheck found = checked({problem(200), problem(584)});  // 9 * 64 = 576
  ASSERT_EQ(found.faults.size(), 1U);
  const GemmFault& fault = found.faults[0];
  EXPECT_EQ(fault.problem.k, 584U);
  EXPECT_EQ(fault.finding.faults,
            (std::vector<std::string>{
                "the last 8 elements of K are in no sum; that is K mod slices, of 9 slices"}));
  EXPECT_EQ(fault.finding.tail, 8U);
  EXPECT_EQ(fault.right, 1U);
  EXPECT_GT(fault.failing, 0U);
  EXPECT_LT(fault.failing, fault.trials);
  EXPECT_EQ(found.types.at("f16").calls, 6U);
  EXPECT_EQ(found.types.at("f16").wrong_calls, 1U);
  EXPECT_NE(fault.condition, "");
  // What the condition says, on the shapes it was made from, is what the made-up library does.
  EXPECT_EQ(fault.condition, "slices * ceil(floor(K / slices) / 64) * 64 is less than K") << fault.condition;
}

TEST(GemmCheck, a_product_that_is_wrong_in_a_graph_alone_says_so) {
  using device::LaunchKind;
  for (const LaunchKind kind : {LaunchKind::beside, LaunchKind::graph}) {
    const GemmCheck found = checked({problem(584)}, kind);
    ASSERT_FALSE(found.faults.empty());
    EXPECT_EQ(
        found.faults[0].finding.faults,
        (std::vector<std::string>{"the last 8 elements of K are in no sum; that is K mod slices, of 9 slices",
                                  kind == LaunchKind::beside ? "right alone, wrong beside another stream"
                                                             : "right alone, wrong in a CUDA graph"}));
  }
  const GemmCheck none = checked({problem(584)}, LaunchKind::graph, LaunchKind::graph);
  EXPECT_TRUE(none.faults.empty());
  EXPECT_EQ(none.launches[2], 0U);  // what was not done is not counted
  EXPECT_NE(none.launches[1], 0U);
  const auto& [times, why] = none.not_started[2];
  EXPECT_NE(times, 0U);
  EXPECT_EQ(why, "can't be started so");
  EXPECT_EQ(none.not_started[1].first, 0U);
  const report::Report told = report_of(none);
  EXPECT_TRUE(std::any_of(told.lead.begin(), told.lead.end(), [](const std::string& line) {
    return line.ends_with("could not be started in a CUDA graph and ran alone: can't be started so");
  }));
}

TEST(GemmCheck, a_gpu_that_fails_ends_the_check) {
  GemmCheckRun run;
  run.next = [] { return std::optional(problem(200)); };
  run.stopped = [] { return false; };
  run.runners = {[] {
    return [](const GemmProblem&, const exact::Product&, const exact::Words&,
              const device::ExactAsk&) -> device::ExactAnswer {
      throw GpuError("CUDA: the product: an ECC error");
    };
  }};
  EXPECT_THROW(check_gemms(run), GpuError);
}

TEST(GemmCheck, several_gpus_find_what_one_finds) {
  std::vector<GemmProblem> problems;
  for (std::uint64_t k = 560; k < 640; k += 8) problems.push_back(problem(k));
  const auto told = [](const GemmCheck& check) {
    std::set<std::string> out;
    for (const GemmFault& each : check.faults)
      out.insert(name_of(each.problem) + each.finding.faults.front());
    return out;
  };
  const GemmCheck one = checked(problems), three = checked(problems, {}, {}, 3);
  EXPECT_EQ(told(one), told(three));
  EXPECT_EQ(one.types.at("f16").products, problems.size());
  EXPECT_EQ(three.types.at("f16").products, problems.size());
  EXPECT_EQ(three.types.at("f16").runs, one.types.at("f16").runs);
}

TEST(GemmCheck, an_algorithm_that_is_refused_hides_none_behind_it) {
  GemmCheckRun run;
  bool asked = false;
  run.next = [&]() -> std::optional<GemmProblem> {
    return std::exchange(asked, true) ? std::nullopt : std::optional(problem(200));
  };
  run.stopped = [] { return false; };
  run.runners = {[] {
    return [](const GemmProblem& x, const exact::Product& product, const exact::Words& words,
              const device::ExactAsk&) {
      if (x.algorithm == 1) throw EnvironmentError("cublasLtMatmul: cuBLAS status 15");
      return answer_of(x, product, words);
    };
  }};
  const GemmCheck found = check_gemms(run);
  EXPECT_EQ(found.types.at("f16").calls, 2U);
  EXPECT_EQ(found.types.at("f16").refused_calls, 1U);
  EXPECT_EQ(found.types.at("f16").refused, 0U);
}

TEST(GemmCheck, relu_and_few_elements_hide_no_end_of_k) {
  GemmProblem x = problem(584);
  x.m = 17, x.n = 16;  // a k is in one element or two, and relu hides half of them
  x.bias = true;
  x.activation = GemmActivation::relu;
  const GemmCheck found = checked({x});
  ASSERT_EQ(found.faults.size(), 1U);
  EXPECT_EQ(found.faults[0].finding.faults,
            (std::vector<std::string>{
                "the last 8 elements of K are in no sum; that is K mod slices, of 9 slices"}));
}

TEST(GemmCheck, relu_hides_no_condition) {
  GemmProblem x = problem(584);
  x.m = x.n = 4;  // one element has the end of K
  x.activation = GemmActivation::relu;
  const GemmCheck found = checked({x, x, x, x});
  ASSERT_FALSE(found.faults.empty());
  EXPECT_EQ(found.faults[0].condition, "slices * ceil(floor(K / slices) / 64) * 64 is less than K");
}

TEST(GemmCheck, a_report_says_it) {
  const GemmCheck found = checked({problem(584)});
  const report::Report report = report_of(found);
  EXPECT_EQ(report::exit_code(report), 1);
  for (const report::Renderer& each : report::renderers())
    if (each.name != "svg") {
      EXPECT_NE(each.draw(report, false).find("584"), std::string::npos) << each.name;
    }
  const auto json = nlohmann::json::parse(report.json());
  EXPECT_EQ(json.at("schema"), "mmaudit.gemm.check/1");
  EXPECT_EQ(json.at("faults").at(0).at("right_algorithm"), 1);
  EXPECT_TRUE(std::any_of(report.lead.begin(), report.lead.end(), [](const std::string& line) {
    return line ==
           "All 1 wrong calls are explained by: the last N elements of K are in no sum; that is K mod "
           "slices, of N slices";
  }));
  const GemmCheck right = checked({problem(576)});
  EXPECT_EQ(report::exit_code(report_of(right)), 0);
  EXPECT_EQ(report::exit_code(report_of(checked({}))), 1);  // nothing was checked
}

TEST(GemmCheck, programs_are_of_calls_that_are_wrong) {
  GemmProblem x = problem(584);
  x.beta = 2, x.ldd = 24;
  const GemmCheck found = checked({x}, {}, {}, 1, GemmCheck(), true);
  ASSERT_EQ(found.faults.size(), 1U);
  const auto programs = reproducers_of(found.faults[0], "130100");
  EXPECT_NE(programs.at(".py").find("a[:, 520:584] = 1"), std::string::npos);
  EXPECT_NE(programs.at(".cu").find("m = 24, n = 16, k = 584"), std::string::npos);
  EXPECT_NE(programs.at(".cu").find("algorithm = 0"), std::string::npos);
  const GemmCheck read = gemm_check_of_json(to_json(found), "check.json");  // a stopped check keeps them
  EXPECT_EQ(reproducers_of(read.faults.at(0), "130100"), programs);
  EXPECT_EQ(to_json(read), to_json(found));
  // A library whose first algorithm and whose other call are right: torch makes no wrong call.
  GemmCheckRun run;
  bool asked = false;
  run.next = [&] { return std::exchange(asked, true) ? std::nullopt : std::optional(x); };
  run.stopped = [] { return false; };
  run.reproduce = true;
  run.runners = {[] {
    return [](const GemmProblem& one, const exact::Product& product, const exact::Words& words,
              const device::ExactAsk&) {
      if (one.k > 1000) throw EnvironmentError("too large for a test");
      GemmProblem taken = one;
      taken.algorithm = one.api == GemmApi::cublas ? 1 : one.algorithm == 1 ? 0 : 1;
      return one.algorithm < kAlgorithms ? answer_of(taken, product, words)
                                         : throw device::NoAlgorithm("cuBLASLt has 3 algorithms");
    };
  }};
  const GemmCheck later = check_gemms(run);
  ASSERT_EQ(later.faults.size(), 1U);
  const auto alone = reproducers_of(later.faults[0], "130100");
  EXPECT_EQ(alone.count(".py"), 0U);
  EXPECT_NE(alone.at(".cu").find("algorithm = 1"), std::string::npos);
  const std::string text = report::find_renderer("text")->draw(report_of(later), false);
  EXPECT_NE(text.find("no .py: "), std::string::npos) << text;
}

TEST(GemmCheck, a_stopped_check_goes_on_and_finds_what_one_call_finds) {
  const std::vector<GemmProblem> problems = {problem(580), problem(568), problem(584), problem(592)};
  const GemmCheck all = checked(problems);
  const std::vector<GemmProblem> first(problems.begin(), problems.begin() + 2),
      rest(problems.begin() + 2, problems.end());
  GemmCheck part = checked(first);
  part.stopped = true;
  EXPECT_EQ(part.taken, 2U);
  const GemmCheck read = gemm_check_of_json(to_json(part), "part.json");
  EXPECT_EQ(to_json(read), to_json(part));
  const GemmCheck both = checked(rest, {}, {}, 1, read);
  const auto without_times = [](GemmCheck check) {
    check.seconds = check.product_seconds = 0;
    for (auto& [name, type] : check.types) type.seconds = type.product_seconds = 0;
    for (GemmFault& each : check.faults) each.found_seconds = 0;
    return to_json(check);
  };
  EXPECT_EQ(without_times(both), without_times(all));
  EXPECT_GT(all.faults.size(), 1U);
}

TEST(GemmCheck, json_of_another_kind_is_refused) {
  const auto refused = [](const std::string& text) -> std::string {
    try {
      gemm_check_of_json(text, "old.json");
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_TRUE(refused("{}").starts_with("old.json: ")) << refused("{}");
  std::string text = to_json(checked({problem(584)}));
  EXPECT_EQ(refused(text), "");
  for (const char* const seconds : {"null", "-1e9"}) {  // the budget goes on from them
    nlohmann::json changed = nlohmann::json::parse(text);
    changed["seconds"] = nlohmann::json::parse(seconds);
    EXPECT_NE(refused(changed.dump()).find("seconds: found"), std::string::npos) << refused(changed.dump());
  }
  for (const char* const field :
       {"\"faults\"", "\"types\"", "\"taken\"", "\"stopped\"", "\"calls_by_algorithm\""}) {
    std::string broken = text;
    broken.replace(broken.find(field), 2, "\"x");
    EXPECT_TRUE(refused(broken).starts_with("old.json: ")) << field << ": " << refused(broken);
  }
}

TEST(GemmCheck, two_libraries_are_compared) {
  const std::vector<GemmProblem> problems = {problem(580), problem(568), problem(584), problem(592)};
  GemmCheck wrong = checked(problems),
            right = checked(problems, device::LaunchKind::grouped);  // of cublas alone
  ASSERT_FALSE(wrong.faults.empty());
  ASSERT_TRUE(right.faults.empty());
  right.library = "130200";
  const auto told = [](const GemmCheck& before, const GemmCheck& after) {
    const GemmCheckDiff diff = diff_gemm_checks(before, after);
    const report::Report report = report_of(diff);
    return std::pair{report::exit_code(report), report::find_renderer("text")->draw(report, false)};
  };
  EXPECT_EQ(told(wrong, wrong).first, 0);
  auto [code, text] = told(wrong, right);
  EXPECT_EQ(code, 1);
  EXPECT_NE(text.find("gone"), std::string::npos) << text;
  EXPECT_NE(text.find("cuBLASLt: 130200, was 130100"), std::string::npos) << text;
  EXPECT_NE(text.find("0 of 1 kinds of fault are new, 1 gone"), std::string::npos) << text;
  std::tie(code, text) = told(right, wrong);
  EXPECT_EQ(code, 1);
  EXPECT_NE(text.find("1 of 1 kinds of fault are new"), std::string::npos) << text;
  // The same products, whichever library and GPU answer.
  wrong.asked = {{"seed", 1}, {"cublas", 130100}, {"gpu", "a"}};
  right.asked = {{"seed", 1}, {"cublas", 130200}, {"gpu", "b"}};
  EXPECT_EQ(told(wrong, right).second.find("products: others"), std::string::npos);
  // Other products, and too few of them: a fault of every second call may have been missed.
  right.taken = 3, right.types.at("f16").calls_by.at("cublaslt 0") = 3;
  std::tie(code, text) = told(wrong, right);
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(text.find("not seen, too few calls of NEW"), std::string::npos) << text;
  std::tie(code, text) = told(right, wrong);  // nor is it new
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(text.find("not seen, too few calls of OLD"), std::string::npos) << text;
  right.types.clear();  // another type was asked for
  EXPECT_NE(told(right, wrong).second.find("0 of 1 kinds of fault are new"), std::string::npos);
}

TEST(GemmCheck, random_problems_with_epilogues_are_exact) {
  RandomForms forms;
  forms.epilogues = true;
  std::vector<GemmProblem> problems;
  for (GemmProblem x : random_problems(7, 12, {"f16", "bf16", "e4m3", "s8", "f32"}, forms)) {
    x.m = std::min<std::uint64_t>(x.m, 11), x.n = std::min<std::uint64_t>(x.n, 16);
    x.k = std::min<std::uint64_t>(x.k, 576);  // 9 * 64, so that nothing is left out
    if (x.k == 576) problems.push_back(x);
    const exact::Product product = exact_product_of(made_exact(x));
    for (const exact::Words& words : exact::rounds_of(product, 1))
      for (std::uint64_t e = 0; e < product.elements(); e += 7) {
        const double d = exact::element_of(product, words, e), unit = product.scale_a.given ? 0.125 : 1;
        EXPECT_LE(std::abs(d) / std::min(1.0, unit), product.limit / std::min(1.0, unit)) << name_of(x);
      }
  }
  ASSERT_GT(problems.size(), 10U);
  EXPECT_TRUE(checked(problems).faults.empty());
}

}  // namespace
}  // namespace mmaudit::checks
