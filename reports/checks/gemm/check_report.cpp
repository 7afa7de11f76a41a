// Products of a library that are none, as a report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "gemm/check.hpp"
#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::checks {
namespace {

using report::Cell;
using report::Table;
using report::TestCase;
using report::Tone;

std::string kernel_of(const GemmFault& fault) {
  return fault.call.kernels.empty() ? "" : printable(fault.call.kernels.front().name, 90);
}
std::string words_of(const GemmFault& fault) {
  return fmt::format("{}", fmt::join(fault.finding.faults, "; "));
}

std::string instead_of(const GemmFault& fault) {
  if (!fault.right) return "none of the list";
  if (fault.right_seconds == 0) return fmt::format("{}", *fault.right);
  return fmt::format("{}: {:.1f} us, the list's first {:.1f} us", *fault.right, fault.right_seconds * 1e6,
                     fault.first_seconds * 1e6);
}

Table faults_of(const std::vector<GemmFault>& faults, std::size_t most) {
  Table out{.title = "Wrong products",
            .columns = {"product",
                        "what is wrong",
                        {"wrong elements", true},
                        {"of", true},
                        "right algorithm",
                        {"kernel", false, true}}};
  for (std::size_t i = 0; i < std::min(most, faults.size()); ++i) {
    const GemmFault& each = faults[i];
    out.rows.push_back({name_of(each.problem), Cell(words_of(each), Tone::bad),
                        std::to_string(each.finding.wrong), std::to_string(each.finding.elements),
                        instead_of(each), kernel_of(each)});
  }
  if (most < faults.size()) out.remark = fmt::format("The first {} of {}.", most, faults.size());
  return out;
}

std::vector<std::string> conditions_of(const GemmCheck& check) {
  std::vector<std::string> out;
  for (const GemmFault& each : check.faults)
    if (each.trials != 0)
      out.push_back(fmt::format("{}: {} of {} shapes round it with such kernels fail, {}",
                                name_of(each.problem), each.failing, each.trials,
                                each.condition.empty()
                                    ? std::string("no rule over sizes and slices explains which")
                                    : "and no other: " + each.condition));
  return out;
}

Table types_of(const GemmCheck& check) {
  Table out{.title = "Types", .columns = {"type"}};
  for (const char* const what : {"products", "wrong", "calls, with every algorithm", "wrong calls", "runs",
                                 "elements", "refused by the library", "refused calls"})
    out.columns.emplace_back(what, true);
  for (const auto& [name, x] : check.types)
    out.rows.push_back(
        {name, std::to_string(x.products),
         Cell(std::to_string(x.wrong_products), x.wrong_products == 0 ? Tone::plain : Tone::bad),
         std::to_string(x.calls), std::to_string(x.wrong_calls), std::to_string(x.runs),
         std::to_string(x.elements), std::to_string(x.refused), std::to_string(x.refused_calls)});
  return out;
}

std::string json_of(const GemmCheck& check) {
  Json faults = Json::array(), types = Json::object();
  for (const GemmFault& each : check.faults) {
    Json one = {{"problem", corpus::to_json(each.problem)},
                {"call", corpus::to_json(each.call)},
                {"faults", each.finding.faults},
                {"wrong", each.finding.wrong},
                {"elements", each.finding.elements},
                {"tail", each.finding.tail},
                {"first",
                 {{"matrix", each.finding.matrix},
                  {"row", each.finding.row},
                  {"column", each.finding.column},
                  {"expected", each.finding.expected},
                  {"found", each.finding.found}}}};
    if (each.right) one["right_algorithm"] = *each.right;
    if (each.right_seconds != 0) one["right_s"] = each.right_seconds, one["first_s"] = each.first_seconds;
    if (each.trials != 0)
      one["condition"] = each.condition, one["shapes"] = each.trials, one["failing_shapes"] = each.failing;
    faults.push_back(std::move(one));
  }
  for (const auto& [name, x] : check.types)
    types[name] = {{"products", x.products}, {"wrong_products", x.wrong_products},
                   {"calls", x.calls},       {"wrong_calls", x.wrong_calls},
                   {"runs", x.runs},         {"elements", x.elements},
                   {"refused", x.refused},   {"refused_calls", x.refused_calls}};
  Json launches = Json::object(), not_started = Json::object();
  for (std::size_t i = 0; i < std::size(check.launches); ++i) {
    const std::string kind(device::names::kLaunchKind[i]);
    launches[kind] = check.launches[i];
    if (const auto& [times, why] = check.not_started[i]; times != 0)
      not_started[kind] = {{"products", times}, {"why", why}};
  }
  return document({{"schema", "mmaudit.gemm.check/1"},
                   {"library", check.library},
                   {"gpu", check.gpu},
                   {"seed", check.seed},
                   {"repeat", check.repeat},
                   {"seconds", check.seconds},
                   {"product_seconds", check.product_seconds},
                   {"launches", std::move(launches)},
                   {"not_started", std::move(not_started)},
                   {"types", std::move(types)},
                   {"faults", std::move(faults)}},
                  1);
}

}  // namespace

report::Report report_of(const GemmCheck& check) {
  GemmTypeCount all;
  report::Report out;
  out.suite = "gemm check";
  for (const auto& [name, x] : check.types) {
    all.products += x.products, all.calls += x.calls, all.wrong_calls += x.wrong_calls, all.runs += x.runs;
    all.wrong_products += x.wrong_products, all.refused += x.refused, all.elements += x.elements;
    TestCase test{"gemm check", name};
    if (x.products == 0)
      test.outcome = TestCase::Outcome::skipped, test.message = printable(check.why_refused, 200);
    for (const GemmFault& each : check.faults) {
      const std::string type =
          std::string(name_of(each.problem.type)) + (each.problem.fast_accum ? "-fast" : "");
      if (type != name) continue;
      if (test.outcome != TestCase::Outcome::failure) test.message = words_of(each);
      test.outcome = TestCase::Outcome::failure;
      test.text += name_of(each.problem) + ": " + words_of(each) + "\n";
    }
    out.cases.push_back(std::move(test));
  }
  out.title = "Is this library's product a product?";
  out.text_title = fmt::format("cuBLASLt {} on {}", check.library, check.gpu);
  out.meta = {out.text_title};
  out.tone = all.products != 0 && check.faults.empty() ? Tone::good : Tone::bad;
  out.headline =
      all.products == 0 ? "Nothing is checked: " +
                              (check.why_refused.empty() ? "no product" : printable(check.why_refused, 200))
      : check.faults.empty() ? fmt::format("Every product is right: {} products, {} calls, {} elements",
                                           all.products, all.calls, all.elements)
                             : fmt::format("{} of {} products are wrong, in {} of {} calls",
                                           all.wrong_products, all.products, all.wrong_calls, all.calls);
  out.headline_last = true;
  const double seen = 1 - std::pow(0.95, static_cast<double>(check.repeat));
  out.lead = {fmt::format(
      "Each call {} times, {} runs in {:.1f} s: a race that shows in one of 20 runs is found in {:.0f}% of "
      "the calls that have it (--repeat).",
      check.repeat, all.runs, check.seconds, 100 * seen)};
  std::string started;
  for (std::size_t i = 0; i < std::size(check.launches); ++i)
    if (check.launches[i] != 0)
      started += fmt::format("{}{} {}", started.empty() ? "" : ", ", check.launches[i],
                             device::names::kLaunchKind[i]);
  if (!started.empty())
    out.lead.push_back(
        fmt::format("Started {}; the products took {:.2f} s on the GPU.", started, check.product_seconds));
  for (std::size_t i = 0; i < std::size(check.not_started); ++i)
    if (const auto& [times, why] = check.not_started[i]; times != 0)
      out.lead.push_back(fmt::format("{} could not be started {} and ran alone: {}", times,
                                     device::names::kLaunchKind[i], printable(why, 200)));
  out.json = [&check] { return json_of(check); };
  out.records = faults_of(check.faults, check.faults.size());
  constexpr std::size_t kOnScreen = 20;
  out.sections = {section_of(faults_of(check.faults, kOnScreen), report::kOnTerminal),
                  section_of(out.records, report::kInDocuments),
                  {.title = "Which shapes fail", .lines = conditions_of(check)},
                  section_of(types_of(check))};
  return out;
}

}  // namespace mmaudit::checks
