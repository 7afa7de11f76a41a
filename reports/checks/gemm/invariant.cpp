#include "gemm/invariant.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mmaudit/comparison.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::uint64_t kRows = 2;  ///< of D that are compared: one that cancels and an ordinary one

/// Both times at the powers of two among the sizes; the session's pin is gone afterwards.
std::vector<PinnedCost> costs_of(device::LibrarySession& session, GemmProblem x, const GemmInputs& inputs,
                                 const std::vector<std::uint64_t>& sizes) {
  std::vector<PinnedCost> out;
  for (const std::uint64_t m : sizes)
    if (std::has_single_bit(m)) out.push_back({m});
  const auto seconds_at = [&](std::uint64_t m) {
    constexpr int kWarm = 3, kTimed = 20;
    x.m = m;
    try {
      session.run(x, inputs.a.data(), inputs.library_b(), {.repeats = kWarm, .rows = 1});
      return session.run(x, inputs.a.data(), inputs.library_b(), {.repeats = kTimed, .rows = 1}).seconds;
    } catch (const EnvironmentError&) {
      return 0.0;
    }
  };
  for (PinnedCost& each : out) each.pinned = seconds_at(each.m);
  session.unpin();
  for (PinnedCost& each : out) each.heuristic = seconds_at(each.m);
  return out;
}

std::vector<std::uint64_t> first_columns(std::uint64_t n) {
  constexpr std::uint64_t kMost = 64;
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < std::min(n, kMost); ++i) out.push_back(i * n / std::min(n, kMost));
  return out;
}

}  // namespace

void count_changes(std::span<const std::byte> before, std::span<const std::byte> after,
                   const FormatSpec& format, InvariantRange& range) {
  const std::size_t bytes = format.storage_bytes();
  range.elements = before.size() / bytes;
  for (std::uint64_t e = 0; e < range.elements; ++e) {
    const std::uint64_t was = load_word(before.data(), bytes, e), is = load_word(after.data(), bytes, e);
    if (was == is) continue;
    ++range.differing;
    range.worst_ulp = std::max(range.worst_ulp, ulps_between(was, is, format));
  }
}

InvariantResult invariant_ranges(device::LibrarySession& session, const Architecture& architecture,
                                 const GemmProblem& layer, const InvariantOptions& options) {
  InvariantResult out;
  out.layer = layer;
  out.tried = options.sizes.size();
  GemmProblem x = layer;
  x.m = options.sizes.back();
  const GemmInputs inputs = inputs_of(x, options.seed);
  session.hold(inputs.a.data(), inputs.a.size(), inputs.library_b(),
               inputs.stored_b.empty() ? inputs.b.size() : inputs.stored_b.size());
  if (options.pin != 0) {
    x.m = options.pin;
    session.pin(x);
  }
  const FormatSpec format = spec_of(output_of(layer));
  const std::size_t bytes = format.storage_bytes();
  std::vector<std::byte> last;
  const std::vector<std::uint64_t> columns = first_columns(layer.n);
  std::vector<std::pair<std::string, std::vector<std::uint64_t>>> predictions;  // by plan
  for (const std::uint64_t m : options.sizes) {
    x.m = m;
    if (options.progress) options.progress(1);
    device::LibraryAnswer answer;
    try {
      answer = session.run(x, inputs.a.data(), inputs.library_b(), {.repeats = 1, .rows = kRows});
    } catch (const EnvironmentError& error) {
      out.refused.push_back(m);
      out.why_refused = error.what();
      continue;
    }
    out.seconds += answer.seconds;
    const std::uint64_t rows = std::min(m, kRows);
    const std::optional<GemmPlan> plan = plan_of(x, answer.call, nullptr, architecture);
    const std::string words = plan ? mmaudit::text_of(*plan) : "unknown plan";
    out.unknown += plan ? 0 : 1;
    if (plan) {  // a plan gives the same bits for every M
      corpus::GemmSample sample;
      sample.problem = x;
      sample.seed = options.seed;
      sample.rows = {0, 1};
      sample.columns = columns;
      auto known = std::find_if(predictions.begin(), predictions.end(),
                                [&](const auto& each) { return each.first == words; });
      if (known == predictions.end())
        known = predictions.insert(predictions.end(), {words, predicted_bits(architecture, sample, *plan)});
      for (std::uint64_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < columns.size(); ++j)
          out.wrong += known->second[i * columns.size() + j] !=
                               load_word(answer.d.data(), bytes, i * layer.n + columns[j])
                           ? 1
                           : 0;
    }
    const std::size_t common = std::min(last.size(), answer.d.size());
    if (!last.empty() && std::memcmp(last.data(), answer.d.data(), common) == 0) {
      InvariantRange& range = out.ranges.back();
      range.last = m;
      if (std::find(range.plans.begin(), range.plans.end(), words) == range.plans.end())
        range.plans.push_back(words);
    } else {
      InvariantRange range{m, m, {words}};
      count_changes(std::span(last).first(common), std::span(answer.d).first(common), format, range);
      if (!out.ranges.empty()) {  // another plan is what the plans predict to break the bits
        const std::vector<std::string>& before = out.ranges.back().plans;
        range.predicted = plan && std::find(before.begin(), before.end(), words) == before.end();
      }
      out.ranges.push_back(std::move(range));
    }
    last = std::move(answer.d);
  }
  if (options.pin != 0 && !out.ranges.empty()) out.costs = costs_of(session, x, inputs, options.sizes);
  return out;
}

}  // namespace mmaudit::checks
