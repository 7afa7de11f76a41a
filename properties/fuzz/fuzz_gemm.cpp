// The first byte picks what the text is: problems (JSON or a log), a plan as JSON or in words, what a library
// did, lines of recorded samples, the result of a check, recorded decisions, a network's config or lines of
// them. What is accepted comes back from what is written of it, holds every k once, and is predicted on
// operands that end where they should, by each form of the plan to the same bits.
#include <algorithm>
#include <vector>

#include "gemm/check.hpp"
#include "gemm/compare.hpp"
#include "gemm/recorded_invariant.hpp"
#include "gemm/samples.hpp"
#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/network_layers.hpp"
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

void draw(const report::Report& report) {
  for (const report::Renderer& each : report::renderers()) each.draw(report, false);
}

/// A check comes back from its own JSON, and differs in nothing from itself.
void read_check(std::string_view text) {
  const checks::GemmCheck read = checks::gemm_check_of_json(text, "x");
  const std::string json = to_json(read);
  if (!accepted([&] {
        if (to_json(checks::gemm_check_of_json(json, "again")) != json)
          fail("a check that does not come back");
      }))
    fail("a check that its own JSON refuses");
  draw(report_of(read));
  const checks::GemmCheckDiff diff = diff_gemm_checks(read, read);
  draw(report_of(diff));
  for (const checks::GemmCheckChange& each : diff.changes)
    if (each.kind == checks::GemmCheckChange::Kind::added || each.kind == checks::GemmCheckChange::Kind::gone)
      fail("a check that differs from itself");
  for (const checks::GemmFault& each : read.faults) reproducers_of(each, read.library);
}

/// The lines that were read, written and read again, are the same; for each M there is a choice.
void read_decided(std::string_view text) {
  const corpus::DecisionFile file = corpus::read_decisions(text, "x");
  std::string lines = header_line(file);
  for (const LibraryCall& each : file.choices) lines += corpus::line_of_choice(each);
  for (const corpus::LayerDecisions& each : file.layers) lines += line_of(each);
  const corpus::DecisionFile again = corpus::read_decisions(lines, "again");
  if (again.choices.size() != file.choices.size() || again.layers.size() != file.layers.size())
    fail("decisions that do not come back");
  for (std::size_t i = 0; i < file.layers.size(); ++i) {
    if (again.layers[i].starts != file.layers[i].starts) fail("other starts of a layer");
    for (const std::uint64_t m : {file.first_m, file.first_m + 1, file.last_m / 2, file.last_m})
      if ((choice_at(file, file.layers[i], m) == nullptr) == (m >= file.first_m && m <= file.last_m))
        fail("no choice at an M of the file, or one beyond it");
    GemmProblem problem = file.layers[i].layer;
    problem.m = std::max<std::uint64_t>(1, file.first_m);
    std::string why;
    const auto found = decided(file, problem, &why);
    check_one_line(why);
    if (found.has_value() != why.empty()) fail("no decision without a reason");
  }
}

void read_network(std::string_view text) {
  const std::vector<corpus::NetworkLayer> layers = corpus::network_layers(parsed(text), "x");
  for (const corpus::NetworkLayer& each : layers)
    if (each.n == 0 || each.k == 0) fail("a layer without a size");
  const auto decisions = corpus::read_decisions(
      R"({"architecture":"hopper","first_m":1,"gpu":"x","last_m":8,"library":"130100","schema":"mmaudit.gemm.decisions/1"})",
      "x");
  draw(report_of(checks::recorded_network(decisions, layers, Format::bf16, false, true)));
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  const unsigned what = bytes.byte() % 10U;
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
    } else if (what == 5) {
      read_check(bytes.text());
    } else if (what == 6) {
      read_decided(bytes.text());
    } else if (what == 7) {
      read_network(bytes.text());
    } else if (what == 8) {
      corpus::read_known_networks(bytes.text(), "x");
    } else if (what == 9) {
      static ScratchFile compared("x.json");
      check_one_line(checks::why_unproven("1", compared.holding(bytes.rest()).string()));
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
