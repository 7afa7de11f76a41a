#include "campaign_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "campaign_json.hpp"
#include "mmaudit/corpus/bounded_json.hpp"
#include "mmaudit/corpus/datapath_json.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/device/crossed.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kJournalSchema = "mmaudit.campaign-journal/1";
constexpr std::size_t kMostItems = std::size_t{1} << 24;

Mismatch example_of(const json& from) {
  Mismatch one;
  one.dot.input_class = from.at("family").get<std::string>();
  one.dot.tile = from.at("tile").get<std::uint64_t>();
  one.dot.row = from.at("row").get<int>();
  one.dot.column = from.at("column").get<int>();
  one.dot.modifiers = from.value("modifiers", std::uint8_t{0});  // journals before this field
  one.dot.a = from.at("a").get<std::vector<std::uint64_t>>();
  one.dot.b = from.at("b").get<std::vector<std::uint64_t>>();
  one.dot.c = from.at("c").get<std::uint64_t>();
  one.dot.metadata = from.at("metadata").get<std::vector<std::uint8_t>>();
  one.expected = from.at("hardware").get<std::uint64_t>();
  one.found = from.at("model").get<std::uint64_t>();
  return one;
}

/// The first round is one chunk of everything, so that a wrong row is met within seconds wherever it stands.
std::uint64_t rounds_of(std::uint64_t chunks, std::uint64_t of_item) {
  return chunks == 0 ? 0 : 1 + detail::quotient_up(chunks - 1, of_item);
}

/// Changes where chunks come in other stretches: a journal is of one way to cut.
constexpr int kCutVersion = 2;

}  // namespace

std::string journal_header(const CampaignPlan& plan, const CampaignPart& part) {
  json header = {
      {"schema", kJournalSchema}, {"plan", plan.identity()}, {"seed", plan.seed}, {"dots", plan.dots}};
  if (part.of > 1) {
    header["part"] = part.index;
    header["parts"] = part.of;
  }
  return header.dump();
}

std::string_view CampaignPlan::on() const {
  return !instructions.empty() && instructions.front().plays != nullptr ? "model" : "hardware";
}

std::string CampaignPlan::identity() const {
  json all = {{"seed", seed},
              {"dots", dots},
              {"architecture", architecture},
              {"generator", gen::kGeneratorVersion},
              {"cut", kCutVersion}};
  if (on() == "hardware")
    all["squares"] = device::kSquaresVersion;
  else
    all["on"] = on();
  for (const CampaignInstruction& one : instructions) {
    json entry = {{"name", name_of(one.instruction)},
                  {"engine", one.engine},
                  {"chunk", one.chunk},
                  {"row", corpus::to_json(one.instruction, *one.entry)}};
    if (one.plays != nullptr) entry["plays"] = corpus::to_json(one.instruction, *one.plays);
    all["instructions"].push_back(std::move(entry));
  }
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
    const std::uint64_t share = detail::quotient_up(plan.dots, plan.families.size());
    const std::uint64_t of_item = std::max<std::uint64_t>(1, one.stretch / one.chunk);
    needs.push_back({detail::quotient_up(share, one.chunk), of_item});
    const std::uint64_t rounds = rounds_of(needs.back().chunks, of_item);
    most = std::max(most, rounds);
    count += rounds * plan.families.size();
  }
  if (count > kMostItems)
    throw InputError(fmt::format("--dots: found {} stretches to do, allowed: up to {}", count, kMostItems));
  std::vector<CampaignItem> items;
  items.reserve(count);
  for (std::uint64_t round = 0; round < most; ++round) {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (round >= rounds_of(needs[i].chunks, needs[i].of_item)) continue;
      const std::uint64_t first = round == 0 ? 0 : 1 + (round - 1) * needs[i].of_item;
      const std::uint64_t most_chunks = round == 0 ? 1 : needs[i].of_item;
      for (std::size_t f = 0; f < plan.families.size(); ++f)
        items.push_back({i, f, first, std::min(most_chunks, needs[i].chunks - first)});
    }
  }
  return items;
}

std::uint64_t dots_of(const CampaignPlan& plan, const CampaignItem& item) {
  return item.chunks * plan.instructions[item.instruction].chunk;
}

CampaignJournal::CampaignJournal(const std::filesystem::path& file, const CampaignPlan& plan,
                                 const CampaignPart& part)
    : tally_(plan) {
  std::uintmax_t good = 0;  // bytes of whole lines
  const std::string header = journal_header(plan, part);
  if (std::filesystem::exists(file)) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw InputError(fmt::format("{}: cannot read", file.string()));
    if (std::filesystem::is_directory(file))
      throw InputError(fmt::format("{}: found a folder, allowed: a journal or a new file", file.string()));
    std::string line;
    for (std::size_t number = 1; std::getline(in, line) && !in.eof(); ++number) {
      const std::string where = fmt::format("{} line {}", file.string(), number);
      if (number > 1) {
        tally_.take(line, where);
      } else if (line != header) {
        throw InputError(
            fmt::format("{}: found the journal of another campaign, allowed: one of this seed, --dots, --on, "
                        "instructions, rows and part (or a file that does not exist)",
                        file.string()));
      }
      good += line.size() + 1;
    }
    // Nothing but a header that was cut short is taken for one.
    if (good == 0 && !header.starts_with(line))
      throw InputError(
          fmt::format("{}: found no journal, allowed: one, or a file that does not exist", file.string()));
    std::filesystem::resize_file(file, good);
  }
  out_.open(file, std::ios::binary | std::ios::app);
  if (good == 0) out_ << header << '\n' << std::flush;
  if (!out_) throw InputError(fmt::format("{}: cannot write", file.string()));
}

void CampaignTally::take(const std::string& line, const std::string& where) {
  try {
    const json entry = corpus::parse_bounded(line, where);
    const CampaignItem item{entry.at("instruction").get<std::size_t>(), entry.at("family").get<std::size_t>(),
                            entry.at("first").get<std::uint64_t>(), entry.at("chunks").get<std::uint64_t>()};
    if (item.instruction >= plan_.instructions.size() || item.family >= plan_.families.size())
      throw InputError(fmt::format("{}: instruction or family: found one that the plan has not", where));
    if (!done_.insert({{item.instruction, item.family}, item.first_chunk}).second) return;
    const auto dots = entry.at("dots").get<std::uint64_t>();
    if (dots != dots_of(plan_, item))
      throw InputError(fmt::format("{}: dots: found {}, allowed: {}, those of its chunks", where, dots,
                                   dots_of(plan_, item)));
    CampaignCount& count = counts_[{item.instruction, item.family}];
    count.dots += dots;
    count.mismatches += entry.at("mismatches").get<std::uint64_t>();
    count.seconds += entry.at("seconds").get<double>();
    for (const json& one : entry.at("examples"))
      if (examples_.size() < kMostExamples) examples_.emplace_back(item.instruction, example_of(one));
  } catch (const json::exception&) {
    throw InputError(
        fmt::format("{}: found no entry of a journal, allowed: what `mmaudit campaign` wrote", where));
  }
}

bool CampaignTally::done(const CampaignItem& item) const {
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
  tally_.take(line, "journal");
  out_ << line << '\n' << std::flush;  // with the system, and so beyond this process's end
  if (!out_) throw EnvironmentError("the journal: cannot write");
}

CampaignCount CampaignTally::total() const {
  CampaignCount all;
  for (const auto& [key, count] : counts_) {
    all.dots += count.dots;
    all.mismatches += count.mismatches;
    all.seconds += count.seconds;
  }
  return all;
}

}  // namespace mmaudit::cli
