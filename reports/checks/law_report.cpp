// What laws said, as a report, and a dot product that broke one, in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "law_check.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/fields.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::checks {
namespace {

using laws::CheckedLaw;
using laws::LawReport;
using laws::LawResult;
using report::Table;
using report::Tone;

std::string values(const std::vector<std::uint64_t>& bits, Format format) {
  std::vector<std::string> text;
  for (std::size_t k = 0; k < bits.size(); ++k)
    if (bits[k] != 0) text.push_back(fmt::format("[{}] {}", k, value_text(bits[k], spec_of(format))));
  return text.empty() ? "all +0" : fmt::format("{}", fmt::join(text, ", "));
}

std::string json_of(const LawReport& checked) {
  Json laws = Json::array();
  for (const CheckedLaw& one : checked.laws) {
    Json skipped = Json::object();
    for (const LawResult& result : one.results)
      if (!result.skipped.empty()) skipped[name_of(result.instruction)] = result.skipped;
    laws.push_back({{"law", one.law->name},
                    {"statement", one.law->statement},
                    {"source", one.law->source},
                    {"rows", one.applied()},
                    {"dots", one.judged()},
                    {"broken", one.bad()},
                    {"skipped", std::move(skipped)}});
  }
  return document({{"schema", "mmaudit.laws/1"},
                   {"on", checked.on},
                   {"seed", checked.seed},
                   {"date", checked.date},
                   {"laws", std::move(laws)}});
}

Table table_of(const LawReport& checked) {
  return report::table_of<CheckedLaw>(
      "Laws", checked.laws,
      {{{"law"}, [](const CheckedLaw& one) { return one.law->name; }},
       report::number<CheckedLaw>("instructions", &CheckedLaw::applied),
       report::number<CheckedLaw>("skipped",
                                  [](const CheckedLaw& one) { return one.results.size() - one.applied(); }),
       report::number<CheckedLaw>("dot products", &CheckedLaw::judged),
       {{"broken", true}, [](const CheckedLaw& one) { return report::bad_count(one.bad()); }}});
}

Table skipped_of(const LawReport& checked) {
  Table table{.title = "Why instructions are skipped", .columns = {"law", {"skipped", true}, "reason"}};
  for (const CheckedLaw& one : checked.laws) {
    std::map<std::string, int> reasons;
    for (const LawResult& result : one.results)
      if (!result.skipped.empty()) ++reasons[result.skipped];
    for (const auto& [reason, count] : reasons)
      table.rows.push_back({one.law->name, std::to_string(count), reason});
  }
  return table;
}

/// "<instruction>: 3 of 1536 dot products break it", one line per instruction.
std::vector<std::string> complaints_of(const CheckedLaw& one) {
  std::vector<std::string> out;
  if (one.applied() == 0 && !one.may_be_silent) out.emplace_back("applied to nothing");
  for (const LawResult& result : one.results)
    if (!result.good()) out.push_back(fmt::format("{}: {}", name_of(result.instruction), result.complaint()));
  return out;
}

}  // namespace

report::Report report_of(const LawReport& checked, bool reasons, const std::string& failures) {
  report::Report out;
  out.title = fmt::format("Laws on {}", checked.on);
  out.text_title = fmt::format("laws on {}, seed {}", checked.on, checked.seed);
  out.meta = {fmt::format("seed {}", checked.seed)};
  out.headline_last = true;
  out.suite = "mmaudit verify laws";
  out.tone = checked.good() ? Tone::good : Tone::bad;
  out.json = [&checked] { return json_of(checked); };
  report::Section broken{.title = "What does not hold"};
  std::size_t applied = 0;
  std::uint64_t dots = 0;
  for (const CheckedLaw& one : checked.laws) {
    applied += one.applied() > 0;
    dots += one.judged();
    const std::vector<std::string> complaints = complaints_of(one);
    for (const std::string& line : complaints)
      broken.lines.push_back(fmt::format("{}: {}", one.law->name, line));
    out.cases.push_back(report::judged("mmaudit.laws", std::string(one.law->name),
                                       fmt::format("{}", fmt::join(complaints, "; "))));
  }
  if (dots == 0) out.cases.clear();  // laws that judged nothing are no cases that passed
  const auto failed = std::count_if(checked.laws.begin(), checked.laws.end(),
                                    [](const CheckedLaw& one) { return !one.good(); });
  out.headline = dots == 0
                     ? "nothing was judged"
                     : fmt::format("{} of {} laws apply, {} dot products; {}", applied, checked.laws.size(),
                                   dots, failed == 0 ? "all hold" : fmt::format("{} do not hold", failed));
  broken.block = failures;
  report::Section skipped =
      section_of(skipped_of(checked), reasons ? report::kEverywhere : report::kInDocuments);
  skipped.folded = !reasons;
  out.sections = {section_of(table_of(checked)), std::move(broken), std::move(skipped)};
  return out;
}

report::Report lawbook_report() {
  report::Report out{.title = "Laws that hardware and model obey"};
  Table table{.columns = {"law", "statement", "source"}};
  report::Section list{.shown = report::kOnTerminal};
  for (const laws::Law& law : laws::lawbook()) {
    table.rows.push_back({law.name, law.statement, law.source});
    list.block += fmt::format("{}\n    {}\n    source: {}\n", law.name, law.statement, law.source);
  }
  out.sections = {std::move(list), section_of(std::move(table), report::kInDocuments)};
  return out;
}

std::string replay_command(const laws::Failure& failure, const std::string& backend,
                           const Architecture& architecture, const std::string& regressions) {
  return fmt::format(
      "mmaudit verify laws --on {} --arch {} --law {} --inst {} --dots 1 --seed 1 --regressions {}", backend,
      architecture.name, failure.law, name_of(failure.instruction),
      regressions.empty() ? "FILE" : regressions);
}

std::string describe(const laws::Failure& failure, const laws::Law& law, const std::string& where,
                     const std::string& replay) {
  const Instruction& inst = failure.instruction;
  const FormatSpec d = spec_of(inst.d);
  const laws::Dot& dot = failure.dot;
  std::string text = fmt::format("\n{}: {}\n  {} (shrunk from {} non-zero products)\n", law.name,
                                 law.statement, name_of(inst), failure.shrunk_from);
  text += fmt::format("  a: {}\n  b: {}\n  c: {}\n", values(dot.a, inst.a), values(dot.b, inst.b),
                      value_text(dot.c, spec_of(inst.c)));
  return text + fmt::format("  found {}, the law allows {}\n  {}\n  replay: {}\n",
                            hex_value(failure.found, d), hex_value(failure.expected, d),
                            explain_command(inst, dot, where), replay);
}

}  // namespace mmaudit::checks
