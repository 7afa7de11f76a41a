#include "mmaudit/laws/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mmaudit/comparison.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::laws {

std::size_t CheckedLaw::applied() const {
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(),
                                                [](const LawResult& one) { return one.skipped.empty(); }));
}

std::size_t CheckedLaw::bad() const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const LawResult& one) { return !one.good(); }));
}

std::uint64_t CheckedLaw::judged() const { return sum_of(results, &LawResult::judged); }

bool LawReport::judged_something() const {
  return std::any_of(laws.begin(), laws.end(), [](const CheckedLaw& one) { return one.judged() != 0; });
}

bool LawReport::good() const {
  return judged_something() &&
         std::all_of(laws.begin(), laws.end(), [](const CheckedLaw& one) { return one.good(); });
}

std::string to_text(const LawReport& report, bool reasons) {
  std::string text = fmt::format("laws on {}, seed {}\n  {:<34} {:>5} {:>8} {:>15} {:>7}\n", report.on,
                                 report.seed, "law", "inst", "skipped", "dot products", "broken");
  for (const CheckedLaw& one : report.laws) {
    text += fmt::format("  {:<34} {:>5} {:>8} {:>15} {:>7}\n", one.law->name, one.applied(),
                        one.results.size() - one.applied(), one.judged(), one.bad());
    std::map<std::string, int> skipped;
    for (const LawResult& result : one.results)
      if (reasons && !result.skipped.empty()) ++skipped[result.skipped];
    for (const auto& [reason, count] : skipped)
      text += fmt::format("      {:>4} skipped: {}\n", count, reason);
    if (one.applied() == 0 && !one.may_be_silent) text += "      applied to nothing\n";
    for (const LawResult& result : one.results)
      if (!result.good())
        text += fmt::format("    {}: {}\n", name_of(result.instruction), result.complaint());
  }
  if (!report.judged_something()) text += "nothing was judged\n";
  return text;
}

std::string to_json(const LawReport& report) {
  Json laws = Json::array();
  for (const CheckedLaw& one : report.laws) {
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
                   {"on", report.on},
                   {"seed", report.seed},
                   {"date", report.date},
                   {"laws", std::move(laws)}});
}

}  // namespace mmaudit::laws
