// The result and the schedule of a campaign as reports.
#include <fmt/format.h>

#include "campaign/workers.hpp"

namespace mmaudit::campaign {

using report::Report;
using report::Tone;
using Outcome = report::TestCase::Outcome;

Report report_of(const CampaignResult& result, bool finished) {
  const Provenance& from = result.provenance;
  Report out{.title = fmt::format("Campaign of {}", result.architecture), .headline_last = true};
  out.text_title = result.on_model ? fmt::format("MODEL AGAINST ITSELF, no hardware: {}", result.architecture)
                                   : fmt::format("{} on {}, driver {}, CUDA {}", result.architecture,
                                                 from.gpu, from.driver, from.cuda);
  out.text_title += fmt::format(", {}, seed {}, generator {}{}", from.date, from.seed, result.generator,
                                result.complete ? "" : ", NOT COMPLETE");
  out.meta = {out.text_title};
  out.headline = fmt::format("{} instructions, {} dot products, {} mismatches", result.instructions.size(),
                             result.dots, result.mismatches);
  out.tone = result.mismatches != 0 || !finished    ? Tone::bad
             : !result.complete || result.dots == 0 ? Tone::note
                                                    : Tone::good;
  for (const std::string& part : result.not_done) out.warnings.lines.push_back("not done: " + part);
  out.suite = "mmaudit campaign";
  out.provenance = from;
  out.sections.push_back(section_of(report::table_of<CampaignCount>(
      "", result.instructions,
      {{{"instruction"}, [](const CampaignCount& one) { return one.instruction; }},
       {{"engine"}, [](const CampaignCount& one) { return one.engine; }},
       {{"dot products", true}, [](const CampaignCount& one) { return std::to_string(one.dots); }},
       {{"mismatches", true}, [](const CampaignCount& one) {
          return report::Cell(std::to_string(one.mismatches), one.mismatches == 0 ? Tone::plain : Tone::bad);
        }}})));
  for (const CampaignCount& one : result.instructions) {
    report::TestCase& each = out.cases.emplace_back();
    each.group = "mmaudit.campaign";
    each.name = one.instruction;
    if (one.mismatches == 0) continue;
    each.outcome = Outcome::failure;
    each.message = fmt::format("{} of {} dot products differ", one.mismatches, one.dots);
  }
  return out;
}

Report report_of(const Schedule& schedule) {
  using One = ScheduledInstruction;
  Report out{.title = fmt::format("Schedule of a campaign of {}", schedule.architecture),
             .headline_last = true};
  out.headline = fmt::format("{} instructions, {} work items for {} dot products each",
                             schedule.instructions.size(), items_of(schedule).size(), schedule.dots);
  out.sections.push_back(section_of(report::table_of<One>(
      "", schedule.instructions,
      {{{"instruction"}, [](const One& one) { return name_of(one.instruction); }},
       {{"engine"}, [](const One& one) { return one.engine; }},
       {{"dot products per batch", true}, [](const One& one) { return std::to_string(one.batch_dots); }}})));
  return out;
}

}  // namespace mmaudit::campaign
