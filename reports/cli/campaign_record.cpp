#include "campaign_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bounded_json.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/device/crossed.hpp"
#include "mmaudit/error.hpp"
#include "row_json.hpp"

namespace mmaudit::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kResultSchema = "mmaudit.campaign/1",
                           kJournalSchema = "mmaudit.campaign-journal/1";
constexpr std::size_t kMostItems = std::size_t{1} << 24;
constexpr std::size_t kMostExamples = 16;
constexpr std::uint64_t kDotsOfItem = std::uint64_t{1} << 34, kPlainDotsOfItem = std::uint64_t{1} << 26;

std::string checksum_of(const json& object) {
  corpus::Checksum checksum;
  checksum.update(std::string_view(object.dump()));
  return checksum.hex();
}

json example_json(const Mismatch& one) {
  return {{"family", one.family},
          {"tile", one.tile},
          {"row", one.row},
          {"column", one.column},
          {"a", one.a},
          {"b", one.b},
          {"c", one.c},
          {"metadata", one.metadata},
          {"hardware", one.expected},
          {"model", one.modelled}};
}

Mismatch example_of(const json& from) {
  Mismatch one;
  one.family = from.at("family").get<std::string>();
  one.tile = from.at("tile").get<std::uint64_t>();
  one.row = from.at("row").get<int>();
  one.column = from.at("column").get<int>();
  one.a = from.at("a").get<std::vector<std::uint64_t>>();
  one.b = from.at("b").get<std::vector<std::uint64_t>>();
  one.c = from.at("c").get<std::uint64_t>();
  one.metadata = from.at("metadata").get<std::vector<std::uint8_t>>();
  one.expected = from.at("hardware").get<std::uint64_t>();
  one.modelled = from.at("model").get<std::uint64_t>();
  return one;
}

json header_of(const CampaignPlan& plan) {
  return {{"schema", kJournalSchema}, {"plan", plan.identity()}, {"seed", plan.seed}, {"dots", plan.dots}};
}

}  // namespace

std::string CampaignPlan::identity() const {
  json all = {
      {"seed", seed}, {"dots", dots}, {"architecture", architecture}, {"generator", gen::kGeneratorVersion}};
  for (const CampaignInstruction& one : instructions)
    all["instructions"].push_back({{"name", name_of(one.instruction)},
                                   {"engine", one.engine},
                                   {"chunk", device::dots_of_chunk(one.instruction, one.row->model)},
                                   {"row", to_json(one.instruction, *one.row)}});
  for (const gen::Family family : families) all["families"].push_back(gen::name_of(family));
  return checksum_of(all);
}

std::vector<CampaignItem> items_of(const CampaignPlan& plan) {
  struct Need {
    std::uint64_t chunks, of_item;
  };
  std::vector<Need> needs;
  std::uint64_t count = 0, most = 0;
  for (const CampaignInstruction& one : plan.instructions) {
    const std::uint64_t chunk = device::dots_of_chunk(one.instruction, one.row->model);
    const std::uint64_t share = (plan.dots + plan.families.size() - 1) / plan.families.size();
    const std::uint64_t of_item =
        std::max<std::uint64_t>(1, (one.engine == "plain" ? kPlainDotsOfItem : kDotsOfItem) / chunk);
    needs.push_back({(share + chunk - 1) / chunk, of_item});
    const std::uint64_t rounds = (needs.back().chunks + of_item - 1) / of_item;
    most = std::max(most, rounds);
    count += rounds * plan.families.size();
  }
  if (count > kMostItems)
    throw InputError(fmt::format("--dots: found {} stretches to do, allowed: up to {}", count, kMostItems));
  std::vector<CampaignItem> items;
  items.reserve(count);
  for (std::uint64_t round = 0; round < most; ++round) {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const std::uint64_t first = round * needs[i].of_item;
      if (first >= needs[i].chunks) continue;
      for (std::size_t f = 0; f < plan.families.size(); ++f)
        items.push_back({i, f, first, std::min(needs[i].of_item, needs[i].chunks - first)});
    }
  }
  return items;
}

CampaignJournal::CampaignJournal(const std::filesystem::path& file, const CampaignPlan& plan) : plan_(plan) {
  std::uintmax_t good = 0;  // bytes of whole lines
  if (std::filesystem::exists(file)) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw InputError(fmt::format("{}: cannot read", file.string()));
    std::string line;
    for (std::size_t number = 1; std::getline(in, line) && !in.eof(); ++number) {
      const std::string where = fmt::format("{} line {}", file.string(), number);
      if (number > 1) {
        take(line, where);
      } else if (line != header_of(plan).dump()) {
        throw InputError(
            fmt::format("{}: found the journal of another campaign, allowed: one of this seed, --dots, "
                        "instructions and rows "
                        "(or a file that does not exist)",
                        file.string()));
      }
      good += line.size() + 1;
    }
    std::filesystem::resize_file(file, good);
  }
  out_.open(file, std::ios::binary | std::ios::app);
  if (good == 0) out_ << header_of(plan).dump() << '\n' << std::flush;
  if (!out_) throw InputError(fmt::format("{}: cannot write", file.string()));
}

void CampaignJournal::take(const std::string& line, const std::string& where) {
  try {
    const json entry = parse_bounded(line, where);
    const CampaignItem item{entry.at("instruction").get<std::size_t>(), entry.at("family").get<std::size_t>(),
                            entry.at("first").get<std::uint64_t>(), entry.at("chunks").get<std::uint64_t>()};
    if (item.instruction >= plan_.instructions.size() || item.family >= plan_.families.size())
      throw InputError(fmt::format("{}: instruction or family: found one that the plan has not", where));
    if (!done_.insert({{item.instruction, item.family}, item.first_chunk}).second) return;
    CampaignCount& count = counts_[{item.instruction, item.family}];
    count.dots += entry.at("dots").get<std::uint64_t>();
    count.mismatches += entry.at("mismatches").get<std::uint64_t>();
    count.seconds += entry.at("seconds").get<double>();
    for (const json& one : entry.at("examples"))
      if (examples_.size() < kMostExamples) examples_.emplace_back(item.instruction, example_of(one));
  } catch (const json::exception&) {
    throw InputError(
        fmt::format("{}: found no entry of a journal, allowed: what `mmaudit campaign` wrote", where));
  }
}

bool CampaignJournal::done(const CampaignItem& item) const {
  return done_.contains({{item.instruction, item.family}, item.first_chunk});
}

void CampaignJournal::add(const CampaignItem& item, const CampaignCount& count,
                          const std::vector<Mismatch>& examples) {
  json kept = json::array();
  for (std::size_t i = 0; i < std::min(examples.size(), kMostExamples); ++i)
    kept.push_back(example_json(examples[i]));
  const std::string line = json({{"instruction", item.instruction},
                                 {"family", item.family},
                                 {"first", item.first_chunk},
                                 {"chunks", item.chunks},
                                 {"dots", count.dots},
                                 {"mismatches", count.mismatches},
                                 {"seconds", count.seconds},
                                 {"examples", kept}})
                               .dump();
  take(line, "journal");
  out_ << line << '\n' << std::flush;  // with the system, and so beyond this process's end
  if (!out_) throw EnvironmentError("the journal: cannot write");
}

CampaignCount CampaignJournal::total() const {
  CampaignCount all;
  for (const auto& [key, count] : counts_) {
    all.dots += count.dots;
    all.mismatches += count.mismatches;
    all.seconds += count.seconds;
  }
  return all;
}

std::string campaign_json(const CampaignPlan& plan, const CampaignJournal& journal,
                          const CampaignFacts& facts) {
  json rows = json::array();
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    json families = json::object();
    CampaignCount sum;
    for (std::size_t f = 0; f < plan.families.size(); ++f) {
      const auto found = journal.counts().find({i, f});
      if (found == journal.counts().end()) continue;
      families[std::string(gen::name_of(plan.families[f]))] = {{"dots", found->second.dots},
                                                               {"mismatches", found->second.mismatches}};
      sum.dots += found->second.dots;
      sum.mismatches += found->second.mismatches;
      sum.seconds += found->second.seconds;
    }
    const CampaignInstruction& one = plan.instructions[i];
    rows.push_back({{"instruction", name_of(one.instruction)},
                    {"engine", one.engine},
                    {"dots", sum.dots},
                    {"mismatches", sum.mismatches},
                    {"seconds", sum.seconds},
                    {"families", families}});
  }
  json examples = json::array();
  for (const auto& [instruction, example] : journal.examples()) {
    json entry = example_json(example);
    entry["instruction"] = name_of(plan.instructions[instruction].instruction);
    examples.push_back(entry);
  }
  const CampaignCount total = journal.total();
  json result = {{"schema", kResultSchema},
                 {"complete", facts.complete},
                 {"seed", plan.seed},
                 {"generator", gen::kGeneratorVersion},
                 {"plan", plan.identity()},
                 {"dots_asked", plan.dots},
                 {"dots", total.dots},
                 {"mismatches", total.mismatches},
                 {"architecture", plan.architecture},
                 {"gpu", facts.gpu},
                 {"gpus", facts.gpus},
                 {"driver", facts.driver},
                 {"cuda", facts.cuda},
                 {"version", facts.version},
                 {"revision", facts.revision},
                 {"date", facts.date},
                 {"instructions", rows},
                 {"examples", examples}};
  result["checksum"] = checksum_of(result);
  return result.dump(1) + "\n";
}

std::string campaign_text(const std::string& text, const std::string& file) {
  try {
    json result = parse_bounded(text, file);
    if (result.at("schema") != kResultSchema)
      throw InputError(fmt::format("{}: schema: found {}, allowed: \"{}\"", file, result.at("schema").dump(),
                                   kResultSchema));
    const auto sum = result.at("checksum").get<std::string>();
    result.erase("checksum");
    if (checksum_of(result) != sum)
      throw InputError(fmt::format("{}: checksum: found {}, allowed: {}, which its content has", file, sum,
                                   checksum_of(result)));
    std::string out = fmt::format(
        "{} on {}, driver {}, CUDA {}, {}, seed {}, generator {}{}\n\n",
        result.at("architecture").get<std::string>(), result.at("gpu").get<std::string>(),
        result.at("driver").get<std::string>(), result.at("cuda").get<std::string>(),
        result.at("date").get<std::string>(), result.at("seed").get<std::uint64_t>(),
        result.at("generator").get<std::string>(), result.at("complete").get<bool>() ? "" : ", NOT COMPLETE");
    out += fmt::format("  {:44} {:9} {:>20} {:>12}\n", "instruction", "engine", "dot products", "mismatches");
    for (const json& row : result.at("instructions"))
      out += fmt::format("  {:44} {:9} {:>20} {:>12}\n", row.at("instruction").get<std::string>(),
                         row.at("engine").get<std::string>(), row.at("dots").get<std::uint64_t>(),
                         row.at("mismatches").get<std::uint64_t>());
    return out + fmt::format("\n{} instructions, {} dot products, {} mismatches\n",
                             result.at("instructions").size(), result.at("dots").get<std::uint64_t>(),
                             result.at("mismatches").get<std::uint64_t>());
  } catch (const json::exception&) {
    throw InputError(
        fmt::format("{}: found no result of a campaign, allowed: what `mmaudit campaign` wrote", file));
  }
}

}  // namespace mmaudit::cli
