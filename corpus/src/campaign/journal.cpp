#include "mmaudit/campaign/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "campaign/json.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::campaign {

Count& Count::operator+=(const Count& other) {
  dots += other.dots;
  mismatches += other.mismatches;
  seconds += other.seconds;
  return *this;
}

namespace {

constexpr std::string_view kAllowed = "what `mmaudit verify campaign` wrote";

/// Calls visit(key, value) for every field of a line but its examples.
template <typename Item, typename Of, typename Visit>
void for_each_field(Item& item, Of& count, const Visit& visit) {
  visit("instruction", item.instruction);
  visit("family", item.input_class);
  visit("first", item.first_batch);
  visit("chunks", item.batches);
  visit("dots", count.dots);
  visit("mismatches", count.mismatches);
  visit("seconds", count.seconds);
}

}  // namespace

std::string journal_header(const Schedule& schedule, const Shard& shard) {
  Json header = {{"schema", "mmaudit.campaign-journal/2"},
                 {"plan", schedule.identity()},
                 {"seed", schedule.seed},
                 {"dots", schedule.dots}};
  if (shard.of > 1) {
    header["part"] = shard.index;
    header["parts"] = shard.of;
  }
  return header.sorted().dump();
}

void Tally::take(const std::string& line, const std::string& where) {
  try {
    Json entry = corpus::parse_bounded(line, where, kAllowed);
    const auto sum = entry.at("checksum").get<std::string>();
    entry.erase("checksum");
    if (checksum_of(entry) != sum)
      refuse("{}: checksum: found {}, allowed: the checksum of the line", where, printable(sum, 40));
    WorkItem item;
    Count count;
    for_each_field(item, count, [&](const char* key, auto& value) {
      read_exactly(entry.at(key), value, fmt::format("{}: {}", where, key));
    });
    if (!has_item(schedule_, item))
      refuse(
          "{}: instruction, family, first, chunks: found {}, {}, {}, {}, allowed: a work item of this plan",
          where, item.instruction, item.input_class, item.first_batch, item.batches);
    if (done(item)) return;
    if (count.dots != dots_of(schedule_, item))
      refuse("{}: dots: found {}, allowed: {}, as many as its batches have", where, count.dots,
             dots_of(schedule_, item));
    const Json& written = entry.at("examples");
    const std::size_t least = std::min<std::uint64_t>(count.mismatches, 1);
    const std::size_t most = std::min<std::uint64_t>(count.mismatches, kMostExamples);
    if (count.mismatches > count.dots || !(count.seconds >= 0) || written.size() < least ||
        written.size() > most)
      refuse("{}: mismatches, seconds, examples: found {}, {}, {}, allowed: up to {}, 0 or more, {} to {}",
             where, count.mismatches, count.seconds, written.size(), count.dots, least, most);
    std::vector<Mismatch> examples;
    for (const Json& one : written)
      examples.push_back(mismatch_from(one, schedule_.instructions[item.instruction].instruction, where));
    add(item, count, examples);
  } catch (const JsonError&) {
    refuse("{}: found no entry of a journal, allowed: {}", where, kAllowed);
  }
}

void Tally::add(const WorkItem& item, const Count& count, const std::vector<Mismatch>& examples) {
  done_.insert({{item.instruction, item.input_class}, item.first_batch});
  counts_[{item.instruction, item.input_class}] += count;
  for (const Mismatch& one : examples)
    if (examples_.size() < kMostExamples) examples_.emplace_back(item.instruction, one);
}

bool Tally::done(const WorkItem& item) const {
  return done_.contains({{item.instruction, item.input_class}, item.first_batch});
}

bool Tally::belongs_to(const Shard& shard) const {
  if (shard.of == 1) return true;
  const std::vector<WorkItem> items = items_of(schedule_);
  std::size_t count = 0;
  for (std::size_t i = shard.index; i < items.size(); i += shard.of) count += done(items[i]) ? 1 : 0;
  return count == done_.size();
}

Count Tally::total() const {
  Count all;
  for (const auto& [key, count] : counts_) all += count;
  return all;
}

Journal::Journal(const std::filesystem::path& file, const Schedule& schedule, const Shard& shard)
    : tally_(schedule) {
  std::uintmax_t good = 0;  // bytes of whole lines
  const std::string header = journal_header(schedule, shard);
  if (std::filesystem::exists(file)) {
    std::istringstream in(corpus::text_of_file(file));
    std::string line;
    for (std::size_t number = 1; std::getline(in, line) && !in.eof(); ++number) {
      if (number > 1)
        tally_.take(line, fmt::format("{} line {}", file.string(), number));
      else if (line != header)
        refuse(
            "{}: found the journal of another campaign, allowed: a journal of this seed, --dots, "
            "--on, instructions, datapaths and shard (or a new file)",
            file.string());
      good += line.size() + 1;
    }
    // Only a header that was cut short may be overwritten.
    if (good == 0 && !header.starts_with(line))
      refuse("{}: found no journal, allowed: a journal or a new file", file.string());
    if (!tally_.belongs_to(shard))
      refuse("{}: found work items of another shard, allowed: of this one", file.string());
    std::filesystem::resize_file(file, good);
  }
  out_.open(file, std::ios::binary | std::ios::app);
  if (!out_) throw InputError(fmt::format("{}: cannot write", file.string()));
  if (good == 0) out_ << header << '\n' << std::flush;
  if (!out_) throw EnvironmentError(fmt::format("{}: cannot write", file.string()));
}

void Journal::add(const WorkItem& item, const Count& count, const std::vector<Mismatch>& examples) {
  Json entry;
  for_each_field(item, count, [&](const char* key, const auto& value) { entry[key] = value; });
  entry["examples"] = Json::array();
  for (std::size_t i = 0; i < std::min(examples.size(), kMostExamples); ++i)
    entry["examples"].push_back(to_json(examples[i]));
  entry["checksum"] = checksum_of(entry);
  out_ << entry.sorted().dump() << '\n'
       << std::flush;  // the system now has it, whatever happens to this process
  if (!out_) throw EnvironmentError("the journal: cannot write");
  tally_.add(item, count, examples);
}

}  // namespace mmaudit::campaign
