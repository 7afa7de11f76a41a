// The mutation score as a report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "mmaudit/comparison.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/fields.hpp"
#include "mutation_score.hpp"

namespace mmaudit::checks {
namespace {

using report::number;
using report::Report;
using report::Table;
using report::Tone;
using Mutants = std::vector<const ScoredMutant*>;

/// One rule and change over all instructions of a block.
struct Change {
  std::string name;
  Mutants of = {};

  template <typename Test>
  [[nodiscard]] std::size_t count(Test test) const {
    return static_cast<std::size_t>(
        std::count_if(of.begin(), of.end(), [&](const ScoredMutant* one) { return std::invoke(test, one); }));
  }
  /// "; <what> in <instructions>" of those for which `test` holds; nothing where there are none.
  template <typename Test>
  [[nodiscard]] std::string where(Test test, std::string_view what) const {
    std::vector<std::string> names;
    for (const ScoredMutant* one : of)
      if (std::invoke(test, one)) names.push_back(name_of(one->instruction));
    return names.empty() ? "" : fmt::format("; {} in {}", what, fmt::join(names, ", "));
  }
  /// Recorded results that contradict them.
  [[nodiscard]] std::uint64_t dots() const {
    return sum_of(of, [](const ScoredMutant* one) { return one->recorded.value_or(0); });
  }
  [[nodiscard]] bool survived() const { return count(&ScoredMutant::survived) > 0; }
};

/// One unit and output format, or one instruction.
struct Block {
  std::string name;
  std::vector<Change> changes = {};
};

bool noticed(const ScoredMutant* one) { return !one->broken.empty(); }
bool excused(const ScoredMutant* one) { return !one->invisible.empty(); }

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

/// "the_floor +2": the first law that notices it, and how many others do.
report::Cell laws_of(const Change& change) {
  std::set<std::string_view> laws;
  for (const ScoredMutant* one : change.of)
    for (const laws::Law* law : one->broken) laws.insert(law->name);
  if (laws.empty()) return {""};
  report::Cell cell(*laws.begin());
  if (laws.size() > 1) cell.text += fmt::format(" +{}", laws.size() - 1);
  cell.hint = fmt::format("{}", fmt::join(laws, ", "));
  return cell;
}

std::string class_of(const Change& change) {
  std::string last;
  for (const ScoredMutant* one : change.of)
    if (!one->input_class.empty()) last = one->input_class;
  return last;
}

Table table_of(const Block& block, bool with_laws) {
  std::vector<report::Field<Change>> fields = {
      {{"mutant"},
       [](const Change& one) { return report::Cell(one.name, one.survived() ? Tone::bad : Tone::plain); }},
      number<Change>("of", [](const Change& one) { return one.of.size(); })};
  if (with_laws)
    fields.push_back(number<Change>("laws", [](const Change& one) { return one.count(noticed); }));
  fields.push_back(
      number<Change>("recordings", [](const Change& one) { return one.count(&ScoredMutant::contradicted); }));
  if (with_laws) fields.push_back({{"noticed by"}, laws_of});
  fields.push_back(number<Change>("dot products", &Change::dots, with_laws));
  fields.push_back({{"most in", false, with_laws}, class_of});
  return report::table_of<Change>("", block.changes, fields);
}

/// What the numbers of a row do not say.
std::vector<std::string> lines_of(const Block& block) {
  std::vector<std::string> lines;
  for (const Change& one : block.changes) {
    std::string text = one.where(&ScoredMutant::wrongly_excused, "TOLD APART ALTHOUGH INVISIBLE") +
                       one.where(&ScoredMutant::survived, "SURVIVED");
    if (const auto first = std::find_if(one.of.begin(), one.of.end(), excused); first != one.of.end())
      text += fmt::format("; no input can tell {} of {}: {}", one.count(excused), one.of.size(),
                          (*first)->invisible);
    if (!text.empty()) lines.push_back(one.name + text.replace(0, 1, ":"));
  }
  return lines;
}

Report report_of(const Mutants& mutants, bool every_instruction, bool with_laws) {
  Report out{.tone = mutants.empty() ? Tone::bad : Tone::good, .headline_last = true};
  for (const Block& block : blocks_of(mutants, every_instruction)) {
    const std::vector<std::string> lines = lines_of(block);
    out.sections.push_back({.title = block.name, .tables = {table_of(block, with_laws)}, .lines = lines});
    const bool failed = std::any_of(block.changes.begin(), block.changes.end(), [&](const Change& one) {
      return one.survived() || (with_laws && one.count(&ScoredMutant::wrongly_excused) > 0);
    });
    if (failed) out.tone = Tone::bad;
    out.cases.push_back(
        report::judged("mmaudit.strength", block.name,
                       failed ? "a mutant survived, or was told apart although invisible" : "",
                       failed ? fmt::format("{}", fmt::join(lines, "\n")) : ""));
  }
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
Table shares_of(const Change& all) {
  Table table{.title = "What each law notices", .columns = {"law", {"notices", true}, {"alone", true}}};
  for (const laws::Law& law : laws::lawbook()) {
    const auto notices = [&](const ScoredMutant* one) {
      return std::find(one->broken.begin(), one->broken.end(), &law) != one->broken.end();
    };
    const auto alone = [&](const ScoredMutant* one) { return one->broken.size() == 1 && notices(one); };
    table.rows.push_back({law.name, std::to_string(all.count(notices)), std::to_string(all.count(alone))});
  }
  return table;
}

}  // namespace

Report report_of(const std::vector<RecordingScore>& scores, bool every_instruction) {
  Change all;
  for (const RecordingScore& score : scores)
    for (const ScoredMutant& one : score.mutants) all.of.push_back(&one);
  Report out = report_of(all.of, every_instruction, false);
  out.title = "Mutants of the model against the recordings";
  out.suite = "mmaudit verify --strength";
  const std::size_t killed = all.count(&ScoredMutant::killed), alive = all.count(&ScoredMutant::survived);
  out.headline =
      fmt::format("{} mutants of {} instructions: {} killed, {} that no input can tell apart, {} survived",
                  all.of.size(), scores.size(), killed, all.of.size() - killed - alive, alive);
  out.json = [&scores, alive] { return json_of(scores, alive); };
  return out;
}

Report report_of(const LawScore& score) {
  Change all;
  for (const ScoredMutant& one : score.mutants) all.of.push_back(&one);
  Report out = report_of(all.of, false, true);
  out.title = fmt::format("Mutants of {} under the laws and the recordings", score.architecture);
  out.text_title = fmt::format("mutants of {} under the laws, seed {}", score.architecture, score.seed);
  out.meta = {fmt::format("seed {}", score.seed)};
  out.suite = "mmaudit verify laws --strength";
  out.sections.push_back(section_of(shares_of(all)));
  const std::size_t alive = all.count(&ScoredMutant::survived),
                    told = all.count(&ScoredMutant::wrongly_excused);
  out.headline = fmt::format(
      "{} mutants: {} noticed by laws, {} by recordings ({} by them alone), {} that no input can tell apart "
      "({} told apart all the same), {} survived",
      all.of.size(), all.count(noticed), all.count(&ScoredMutant::contradicted),
      all.count([](const auto* one) { return one->contradicted() && one->broken.empty(); }),
      all.count(excused), told, alive);
  out.json = [&score, alive, told] { return json_of(score, alive, told); };
  return out;
}

}  // namespace mmaudit::checks
