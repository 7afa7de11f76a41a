// Products of a library that are none, as a report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gemm/check.hpp"
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

/// The beginning of a kernel's name, which a family has in common: "nvjet_sm90_qqtst".
std::string family_of(const std::string& kernel) {
  std::size_t end = 0;
  for (int parts = 0; parts < 3 && end != std::string::npos; ++parts) end = kernel.find('_', end + 1);
  return kernel.empty() ? "unknown" : kernel.substr(0, end);
}

/// The wrong calls of each family of kernels and kind, the commonest first.
Table kernels_of(const std::vector<GemmFault>& faults) {
  struct Group {
    std::set<std::string> types, kernels;
    std::uint64_t calls = 0;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const GemmFault& each : faults) {
    Group& group = groups[{family_of(kernel_of(each)), kind_of(each)}];
    group.types.insert(type_of(each.problem));
    group.kernels.insert(kernel_of(each));
    ++group.calls;
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.calls > b.second.calls; });
  Table out{.title = "Kernels of the wrong calls",
            .columns = {"family", "what is wrong", "types", {"kernels", true}, {"calls", true}}};
  for (const auto& [key, group] : sorted)
    out.rows.push_back({key.first, key.second, fmt::format("{}", fmt::join(group.types, ", ")),
                        std::to_string(group.kernels.size()), std::to_string(group.calls)});
  return out;
}

/// Which wrong calls a known fault explains, in one line; empty where none is wrong.
std::string explained(const std::vector<GemmFault>& faults) {
  std::map<std::string, std::uint64_t> kinds;
  std::uint64_t named = 0;
  for (const GemmFault& each : faults)
    if (each.finding.named) ++kinds[kind_of(each)], ++named;
  if (faults.empty()) return {};
  if (kinds.size() == 1 && named == faults.size())
    return fmt::format("All {} wrong calls are explained by: {}", named, kinds.begin()->first);
  std::string out = fmt::format("{} of {} wrong calls are explained", named, faults.size());
  for (const auto& [kind, count] : kinds) out += fmt::format("; {}: {}", count, kind);
  return out + (named == faults.size() ? "" : fmt::format("; {} are not", faults.size() - named));
}

/// What can be shown without us.
std::vector<std::string> programs_of(const GemmCheck& check) {
  std::vector<std::string> out;
  for (const GemmFault& each : check.faults) {
    if (each.trials == 0 || !check.reproduced) continue;
    std::string line = type_of(each.problem) + ", " + kind_of(each) + ": ";
    if (!each.library && !each.torch)
      line += each.finding.wrong_k.empty() ? "no program, since it is no fault in K"
                                           : "no program, since the plain product is right";
    if (each.library) line += ".cu of " + name_of(each.library->problem);
    if (each.torch)
      line += fmt::format("{}.py of {}", each.library ? ", " : "", name_of(each.torch->problem));
    if (!each.torch && each.torch_calls != 0)
      line += fmt::format("; no .py: {} calls that torch.mm makes are right", each.torch_calls);
    out.push_back(std::move(line));
  }
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
      if (type_of(each.problem) != name) continue;
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
  if (std::string line = explained(check.faults); !line.empty()) out.lead.push_back(std::move(line));
  out.json = [&check] { return to_json(check); };
  out.records = faults_of(check.faults, check.faults.size());
  constexpr std::size_t kOnScreen = 20;
  out.sections = {section_of(faults_of(check.faults, kOnScreen), report::kOnTerminal),
                  section_of(out.records, report::kInDocuments),
                  section_of(kernels_of(check.faults)),
                  {.title = "Which shapes fail", .lines = conditions_of(check)},
                  {.title = "Programs that show it", .lines = programs_of(check)},
                  section_of(types_of(check))};
  return out;
}

}  // namespace mmaudit::checks
