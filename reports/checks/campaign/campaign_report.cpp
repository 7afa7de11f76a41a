// The result and the schedule of a campaign as reports.
#include <fmt/format.h>

#include "campaign/workers.hpp"
#include "mmaudit/report/fields.hpp"

namespace mmaudit::campaign {

using report::Report;
using report::Tone;

Report report_of(const CampaignResult& result, bool finished) {
  const Provenance& from = result.provenance;
  Report out{.title = fmt::format("Campaign of {}", result.architecture), .headline_last = true};
  out.text_title = result.on_model ? fmt::format("MODEL AGAINST ITSELF, no hardware: {}", result.architecture)
                                   : fmt::format("{} on {}, driver {}, CUDA {}", result.architecture,
                                                 from.gpu, from.driver, from.cuda);
  out.text_title += fmt::format(", {}, seed {}, generator {}{}", from.date, from.seed, result.generator,
                                result.complete ? "" : ", NOT COMPLETE");
  out.meta = {out.text_title};
  out.headline = fmt::format("{} instructions, {} dot products, {} mismatches{}", result.instructions.size(),
                             result.dots, result.mismatches, result.complete ? "" : "; not complete");
  out.tone = result.mismatches != 0 || !finished    ? Tone::bad
             : !result.complete || result.dots == 0 ? Tone::note
                                                    : Tone::good;
  out.warnings.title = "Not done";
  for (const std::string& part : result.not_done) out.warnings.lines.push_back("not done: " + part);
  out.suite = "mmaudit campaign";
  out.provenance = from;
  out.sections.push_back(section_of(report::table_of<CampaignCount>(
      "", result.instructions,
      {{{"instruction"}, &CampaignCount::instruction},
       {{"engine"}, &CampaignCount::engine},
       report::number<CampaignCount>("dot products", &CampaignCount::dots),
       {{"mismatches", true}, [](const CampaignCount& one) { return report::bad_count(one.mismatches); }}})));
  constexpr std::string_view kGroup = "mmaudit.campaign";
  out.cases.push_back(report::judged(kGroup, "every work item is done", finished ? "" : out.headline));
  for (const CampaignCount& one : result.instructions) {
    std::string differ = fmt::format("{} of {} dot products differ", one.mismatches, one.dots);
    out.cases.push_back(
        report::judged(kGroup, one.instruction, one.mismatches == 0 ? "" : std::move(differ)));
  }
  return out;
}

Report report_of(const Schedule& schedule) {
  using One = ScheduledInstruction;
  Report out{.title = fmt::format("Schedule of a campaign of {}", schedule.architecture),
             .headline_last = true};
  out.headline = fmt::format("{} instructions, {} work items for {} dot products each",
                             schedule.instructions.size(), items_of(schedule).size(), schedule.dots);
  out.sections.push_back(section_of(
      report::table_of<One>("", schedule.instructions,
                            {{{"instruction"}, [](const One& one) { return name_of(one.instruction); }},
                             {{"engine"}, &One::engine},
                             report::number<One>("dot products per batch", &One::batch_dots)})));
  return out;
}

}  // namespace mmaudit::campaign
