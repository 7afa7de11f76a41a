// The mutation score as a report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "mmaudit/json.hpp"
#include "mutation_score.hpp"

namespace mmaudit::checks {
namespace {

using report::Report;
using report::Section;
using report::Table;
using report::Tone;
using Outcome = report::TestCase::Outcome;
using Mutants = std::vector<const ScoredMutant*>;

/// One rule and change over all instructions of a block.
struct Change {
  std::string name;
  Mutants of = {};
};

/// One unit and output format, or one instruction.
struct Block {
  std::string name;
  std::vector<Change> changes = {};
};

template <typename Item>
Item& named(std::vector<Item>& items, std::string name) {
  const auto at = std::find_if(items.begin(), items.end(), [&](const Item& one) { return one.name == name; });
  return at == items.end() ? items.emplace_back(Item{std::move(name)}) : *at;
}

std::vector<Block> blocks_of(const Mutants& mutants, bool every_instruction) {
  std::vector<Block> blocks;
  for (const ScoredMutant* one : mutants) {
    const Instruction& inst = one->instruction;
    Block& block =
        named(blocks, every_instruction ? name_of(inst)
                                        : fmt::format("{} -> {}", name_of(inst.unit), name_of(inst.d)));
    named(block.changes, one->rule + ": " + one->change).of.push_back(one);
  }
  return blocks;
}

template <typename Test>
std::size_t count(const Mutants& mutants, Test test) {
  return static_cast<std::size_t>(
      std::count_if(mutants.begin(), mutants.end(), [&](const auto* one) { return std::invoke(test, one); }));
}

bool noticed(const ScoredMutant* one) { return !one->broken.empty(); }
bool excused(const ScoredMutant* one) { return !one->invisible.empty(); }

/// "2 of 3"; nothing where there are none.
std::string share_of(std::size_t part, std::size_t all) {
  return all == 0 ? "" : fmt::format("{} of {}", part, all);
}

/// The names of the instructions for which `test` holds, after `before`; nothing where there are none.
template <typename Test>
std::string instructions_where(const Change& change, Test test, std::string_view before) {
  std::vector<std::string> names;
  for (const ScoredMutant* one : change.of)
    if (std::invoke(test, one)) names.push_back(name_of(one->instruction));
  return names.empty() ? "" : fmt::format("{} in {}", before, fmt::join(names, ", "));
}

/// "the_floor +2": the first law of the book that notices it, and how many others do.
report::Cell laws_of(const Change& change) {
  std::map<std::string_view, std::size_t> laws;
  for (const ScoredMutant* one : change.of)
    for (const laws::Law* law : one->broken) ++laws[law->name];
  if (laws.empty()) return {""};
  std::vector<std::string> names;
  for (const auto& [law, times] : laws) names.push_back(fmt::format("{} ({})", law, times));
  report::Cell cell(laws.begin()->first);
  if (laws.size() > 1) cell.text += fmt::format(" +{}", laws.size() - 1);
  cell.hint = fmt::format("{}", fmt::join(names, ", "));
  return cell;
}

std::string dots_of(const Change& change) {
  std::uint64_t dots = 0;
  for (const ScoredMutant* one : change.of) dots += one->recorded.value_or(0);
  return dots == 0 ? "" : std::to_string(dots);
}

std::string class_of(const Change& change) {
  std::string last;
  for (const ScoredMutant* one : change.of)
    if (!one->input_class.empty()) last = one->input_class;
  return last;
}

Table table_of(const Block& block, bool with_laws) {
  std::vector<report::Field<Change>> fields = {
      {{"mutant"}, [](const Change& one) {
         return report::Cell(one.name, count(one.of, &ScoredMutant::survived) > 0 ? Tone::bad : Tone::plain);
       }}};
  if (with_laws)
    fields.push_back(
        {{"laws", true}, [](const Change& one) { return share_of(count(one.of, noticed), one.of.size()); }});
  fields.push_back({{"recordings", true}, [](const Change& one) {
                      return share_of(count(one.of, &ScoredMutant::contradicted),
                                      count(one.of, [](const auto* x) { return x->recorded.has_value(); }));
                    }});
  if (with_laws) fields.push_back({{"noticed by"}, laws_of});
  fields.push_back({{"dot products", true, with_laws}, dots_of});
  fields.push_back({{"most in", false, with_laws}, class_of});
  return report::table_of<Change>("", block.changes, fields);
}

/// What the numbers of a row do not say.
std::vector<std::string> lines_of(const Block& block) {
  std::vector<std::string> lines;
  for (const Change& one : block.changes) {
    std::vector<std::string> clauses;
    const auto reason = std::find_if(one.of.begin(), one.of.end(), excused);
    if (reason != one.of.end())
      clauses.push_back(fmt::format("no input can tell it in {}: {}",
                                    share_of(count(one.of, excused), one.of.size()), (*reason)->invisible));
    clauses.push_back(
        instructions_where(one, &ScoredMutant::wrongly_excused, "TOLD APART ALTHOUGH INVISIBLE"));
    clauses.push_back(instructions_where(one, &ScoredMutant::survived, "SURVIVED"));
    std::erase(clauses, "");
    if (!clauses.empty()) lines.push_back(fmt::format("{}: {}", one.name, fmt::join(clauses, "; ")));
  }
  return lines;
}

Table records_of(const Mutants& mutants) {
  Table table{.columns = {"instruction",
                          "rule",
                          "change",
                          "laws",
                          {"recorded_dots", true},
                          "family",
                          "invisible",
                          "survives"}};
  for (const ScoredMutant* one : mutants) {
    std::vector<std::string_view> laws;
    for (const laws::Law* law : one->broken) laws.push_back(law->name);
    table.rows.push_back({name_of(one->instruction), one->rule, one->change,
                          fmt::format("{}", fmt::join(laws, " ")),
                          one->recorded ? std::to_string(*one->recorded) : "", one->input_class,
                          one->invisible, one->survived() ? "true" : "false"});
  }
  return table;
}

Report report_of(const Mutants& mutants, bool every_instruction, bool with_laws) {
  Report out{.headline_last = true, .records = records_of(mutants)};
  for (const Block& block : blocks_of(mutants, every_instruction)) {
    Section& section = out.sections.emplace_back(
        Section{.title = block.name, .tables = {table_of(block, with_laws)}, .lines = lines_of(block)});
    const bool failed = std::any_of(block.changes.begin(), block.changes.end(), [&](const Change& one) {
      return count(one.of, &ScoredMutant::survived) > 0 ||
             (with_laws && count(one.of, &ScoredMutant::wrongly_excused) > 0);
    });
    out.cases.push_back({.group = "mmaudit.strength",
                         .name = block.name,
                         .outcome = failed ? Outcome::failure : Outcome::passed,
                         .message = failed ? "a mutant survived, or was told apart although invisible" : "",
                         .text = failed ? fmt::format("{}", fmt::join(section.lines, "\n")) : ""});
  }
  const auto fails = [](const report::TestCase& one) { return one.outcome == Outcome::failure; };
  out.tone = std::any_of(out.cases.begin(), out.cases.end(), fails) ? Tone::bad
             : mutants.empty()                                      ? Tone::note
                                                                    : Tone::good;
  return out;
}

Json json_of(const ScoredMutant& one, const char* dots) {
  Json json = {{"rule", one.rule}, {"change", one.change}};
  if (one.recorded) json[dots] = *one.recorded;
  if (!one.input_class.empty()) json["family"] = one.input_class;
  if (!one.invisible.empty()) json["invisible"] = one.invisible;
  return json;
}

std::string json_of(const std::vector<RecordingScore>& scores, std::size_t survivors) {
  Json instructions = Json::array();
  for (const RecordingScore& score : scores) {
    Json mutants = Json::array();
    for (const ScoredMutant& one : score.mutants) mutants.push_back(json_of(one, "dots"));
    instructions.push_back(
        {{"instruction", name_of(score.instruction)}, {"dots", score.dots}, {"wrong_models", mutants}});
  }
  return document(
      {{"schema", "mmaudit.strength/1"}, {"survivors", survivors}, {"instructions", instructions}});
}

std::string json_of(const LawScore& score, std::size_t survivors, std::size_t wrongly_excused) {
  Json mutants = Json::array();
  for (const ScoredMutant& one : score.mutants) {
    Json json = json_of(one, "recorded_dots");
    json["instruction"] = name_of(one.instruction);
    json["laws"] = Json::array();
    for (const laws::Law* law : one.broken) json["laws"].push_back(law->name);
    json["survives"] = one.survived();
    mutants.push_back(std::move(json));
  }
  return document({{"schema", "mmaudit.law_strength/1"},
                   {"architecture", score.architecture},
                   {"seed", score.seed},
                   {"survivors", survivors},
                   {"wrongly_excused", wrongly_excused},
                   {"wrong_models", mutants}});
}

/// What each law notices, and what no other law does.
Table shares_of(const Mutants& mutants) {
  Table table{.title = "What each law notices", .columns = {"law", {"notices", true}, {"alone", true}}};
  for (const laws::Law& law : laws::lawbook()) {
    const auto notices = [&](const ScoredMutant* one) {
      return std::find(one->broken.begin(), one->broken.end(), &law) != one->broken.end();
    };
    const auto alone = [&](const ScoredMutant* one) { return one->broken.size() == 1 && notices(one); };
    table.rows.push_back(
        {law.name, std::to_string(count(mutants, notices)), std::to_string(count(mutants, alone))});
  }
  return table;
}

}  // namespace

Report report_of(const std::vector<RecordingScore>& scores, bool every_instruction) {
  Mutants mutants;
  for (const RecordingScore& score : scores)
    for (const ScoredMutant& one : score.mutants) mutants.push_back(&one);
  Report out = report_of(mutants, every_instruction, false);
  out.title = "Mutants of the model against the recordings";
  out.suite = "mmaudit verify --strength";
  const std::size_t killed = count(mutants, &ScoredMutant::killed),
                    alive = count(mutants, &ScoredMutant::survived);
  out.headline =
      fmt::format("{} mutants of {} instructions: {} killed, {} that no input can tell apart, {} survived",
                  mutants.size(), scores.size(), killed, mutants.size() - killed - alive, alive);
  out.json = [&scores, alive] { return json_of(scores, alive); };
  return out;
}

Report report_of(const LawScore& score) {
  Mutants mutants;
  for (const ScoredMutant& one : score.mutants) mutants.push_back(&one);
  Report out = report_of(mutants, false, true);
  out.title = fmt::format("Mutants of {} under the laws and the recordings", score.architecture);
  out.text_title = fmt::format("mutants of {} under the laws, seed {}", score.architecture, score.seed);
  out.suite = "mmaudit verify laws --strength";
  out.sections.push_back(section_of(shares_of(mutants)));
  const std::size_t alive = count(mutants, &ScoredMutant::survived),
                    told = count(mutants, &ScoredMutant::wrongly_excused);
  out.headline = fmt::format(
      "{} mutants: {} noticed by laws, {} by recordings ({} by them alone), {} that no input can tell apart "
      "({} told apart all the same), {} survived",
      mutants.size(), count(mutants, noticed), count(mutants, &ScoredMutant::contradicted),
      count(mutants, [](const auto* one) { return one->contradicted() && one->broken.empty(); }),
      count(mutants, excused), told, alive);
  out.json = [&score, alive, told] { return json_of(score, alive, told); };
  return out;
}

}  // namespace mmaudit::checks
