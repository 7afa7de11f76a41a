// The first byte picks what the text is: problems (JSON or a log), a plan as JSON or in words, what a library
// did, or lines of recorded samples. What is accepted comes back from what is written of it, holds every k
// once, and is predicted on operands that end where they should, by each form of the plan to the same bits.
#include <algorithm>
#include <vector>

#include "gemm/samples.hpp"
#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/gemm_epilogue.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/matmul.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

using corpus::gemm_plan_of;
using corpus::gemm_problem_of;
constexpr std::uint64_t kMostK = 96, kRows = 3, kColumns = 2;

Json parsed(std::string_view text) { return corpus::parse_bounded(text, "text", "JSON"); }

std::vector<std::byte> bytes_of(std::uint64_t elements, Format format, unsigned step) {
  std::vector<std::byte> out(elements * spec_of(format).storage_bytes());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i * step + i / 7);
  return out;
}

/// Predicts few elements; false where the plan is refused.
bool is_predicted(const GemmProblem& problem, const GemmPlan& plan) {
  const auto a = bytes_of(kRows * problem.k, problem.type, 37),
             b = bytes_of(kColumns * problem.k, b_type_of(problem), 91),
             c = bytes_of(kRows * kColumns, plan.output, 53),
             bias = bytes_of(kColumns, bias_type_of(problem), 29);
  const GemmBuffers operands{a.data(), b.data(), problem.beta == 0 ? nullptr : c.data(),
                             problem.bias ? bias.data() : nullptr};
  return accepted([&] {
    checks::predicted_by(*find_architecture("hopper"), problem, plan, kRows, kColumns, operands,
                         [](const Instruction& instruction, const Datapath& datapath, const Matmul& part) {
                           matmul(instruction, datapath, part, MatmulOptions());
                         });
  });
}

void check_slices(const GemmPlan& plan, std::uint64_t k) {
  std::vector<int> met(k);
  for (const auto& slice : slice_ranges_of(plan, k))
    for (const KRange& range : slice) {
      if (range.first > range.last || range.last > k) fail("a slice beyond K");
      for (std::uint64_t i = range.first; i < range.last; ++i) ++met[i];
    }
  const bool may_end = plan.slice_rule == SliceRule::truncated;
  if (std::any_of(met.begin(), met.end(), [&](int times) { return times != 1 && !(may_end && times == 0); }))
    fail("slices that do not hold every k once: " + text_of(plan));
}

/// A plan that was read: by JSON and by words it is the same one.
void check_plan(const GemmProblem& problem, const GemmPlan& plan) {
  const std::string words = text_of(plan);
  check_one_line(words);
  GemmPlan of_json;
  if (!accepted([&] { of_json = gemm_plan_of(corpus::to_json(plan), "x"); }) || !(of_json == plan))
    fail("another plan by its own JSON: " + words);
  if (gemm_plan_in(words) != std::optional(plan)) fail("another plan by its own words: " + words);
  if (!change_of(plan, of_json).empty()) fail("a plan that differs from itself: " + words);
  if (is_predicted(problem, plan)) check_slices(plan, problem.k);
}

/// A small product that the plan may serve, with C or an epilogue for two of four k.
void check_plan_alone(const GemmPlan& plan, std::uint64_t k) {
  GemmProblem problem;
  problem.type = plan.instruction.a;
  problem.d = plan.output;
  problem.m = problem.n = 16;  // what FP8 takes
  problem.transposed_b = true;
  if (k % 4 == 2) problem.beta = 1;
  if (k % 4 == 0) {
    problem.beta = 0.5;
    problem.bias = true;
    problem.activation = GemmActivation::relu;
  }
  problem.k = 1 + k % kMostK;
  if (why_no_problem(problem).empty()) check_plan(problem, plan);
}

void check_problem(const GemmProblem& problem) {
  check_one_line(name_of(problem));
  GemmProblem again;
  const Json written = corpus::to_json(problem);
  if (!accepted([&] { again = gemm_problem_of(written, "x"); })) fail("a problem that its own JSON refuses");
  if (corpus::to_json(again) != written || name_of(again) != name_of(problem))
    fail("another problem by its own JSON: " + name_of(problem));
  if (!why_no_problem(problem).empty()) fail("a problem that no library may be asked: " + name_of(problem));
}

void check_call(const GemmProblem& problem, const LibraryCall& call) {
  if (!(corpus::library_call_of(corpus::to_json(call), "x") == call)) fail("another call by its own JSON");
  std::string why;
  const auto plan = plan_of(problem, call, &why);
  check_one_line(why);
  if (plan.has_value() == !why.empty()) fail("no plan without a reason");
  if (plan && problem.k <= kMostK) check_plan(problem, *plan);
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  const unsigned what = bytes.byte() % 5U;
  accepted([&] {
    if (what == 0) {
      std::string left_out;
      const auto problems = corpus::read_gemm_problems(bytes.text(), "x", &left_out);
      check_one_line(left_out);
      if (problems.empty()) fail("no problem, and no refusal");
      for (const GemmProblem& each : problems) check_problem(each);
    } else if (what == 1) {
      const std::uint64_t k = bytes.byte();
      check_plan_alone(gemm_plan_of(parsed(bytes.text()), "x"), k);
    } else if (what == 2) {
      const std::uint64_t k = bytes.byte();
      if (const auto plan = gemm_plan_in(bytes.text())) check_plan_alone(*plan, k);
    } else if (what == 3) {
      const Json both = parsed(bytes.text());
      if (!both.is_object() || !both.contains("problem") || !both.contains("call")) return;
      const GemmProblem problem = gemm_problem_of(both["problem"], "x");
      check_problem(problem);
      check_call(problem, corpus::library_call_of(both["call"], "x"));
    } else {
      for (const corpus::GemmSample& each : corpus::read_gemm_samples(bytes.text(), "x")) {
        check_problem(each.problem);
        check_call(each.problem, each.call);
        if (corpus::read_gemm_samples(corpus::line_of(each), "x").size() != 1)
          fail("a sample of another line");
      }
    }
  });
}
