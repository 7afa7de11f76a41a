#include "campaign/journal.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "campaign/campaign_json.hpp"
#include "mmaudit/corpus/bounded_json.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::campaign {

using nlohmann::json;

Count& Count::operator+=(const Count& other) {
  dots += other.dots;
  mismatches += other.mismatches;
  seconds += other.seconds;
  return *this;
}

std::string journal_header(const Plan& plan, const Shard& shard) {
  json header = {{"schema", "mmaudit.campaign-journal/1"},
                 {"plan", plan.identity()},
                 {"seed", plan.seed},
                 {"dots", plan.dots}};
  if (shard.of > 1) {
    header["part"] = shard.index;
    header["parts"] = shard.of;
  }
  return header.dump();
}

void Tally::take(const std::string& line, const std::string& where) {
  try {
    const json entry = corpus::parse_bounded(line, where);
    const WorkItem item{entry.at("instruction").get<std::size_t>(), entry.at("family").get<std::size_t>(),
                        entry.at("first").get<std::uint64_t>(), entry.at("chunks").get<std::uint64_t>()};
    if (item.instruction >= plan_.instructions.size() || item.input_class >= plan_.input_classes.size())
      throw InputError(fmt::format("{}: instruction, family: found {}, {}, allowed: below {}, {}", where,
                                   item.instruction, item.input_class, plan_.instructions.size(),
                                   plan_.input_classes.size()));
    if (!done_.insert({{item.instruction, item.input_class}, item.first_batch}).second) return;
    const Count count{entry.at("dots").get<std::uint64_t>(), entry.at("mismatches").get<std::uint64_t>(),
                      entry.at("seconds").get<double>()};
    if (count.dots != dots_of(plan_, item))
      throw InputError(fmt::format("{}: dots: found {}, allowed: {}, as many as its batches have", where,
                                   count.dots, dots_of(plan_, item)));
    counts_[{item.instruction, item.input_class}] += count;
    for (const json& one : entry.at("examples"))
      if (examples_.size() < kMostExamples) examples_.emplace_back(item.instruction, mismatch_from(one));
  } catch (const json::exception&) {
    throw InputError(
        fmt::format("{}: found no entry of a journal, allowed: what `mmaudit campaign` wrote", where));
  }
}

bool Tally::done(const WorkItem& item) const {
  return done_.contains({{item.instruction, item.input_class}, item.first_batch});
}

Count Tally::total() const {
  Count all;
  for (const auto& [key, count] : counts_) all += count;
  return all;
}

Journal::Journal(const std::filesystem::path& file, const Plan& plan, const Shard& shard) : tally_(plan) {
  std::uintmax_t good = 0;  // bytes of whole lines
  const std::string header = journal_header(plan, shard);
  if (std::filesystem::exists(file)) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw InputError(fmt::format("{}: cannot read", file.string()));
    if (std::filesystem::is_directory(file))
      throw InputError(fmt::format("{}: found a folder, allowed: a journal or a new file", file.string()));
    std::string line;
    for (std::size_t number = 1; std::getline(in, line) && !in.eof(); ++number) {
      if (number > 1)
        tally_.take(line, fmt::format("{} line {}", file.string(), number));
      else if (line != header)
        throw InputError(
            fmt::format("{}: found the journal of another campaign, allowed: a journal of this seed, --dots, "
                        "--on, instructions, datapaths and shard (or a new file)",
                        file.string()));
      good += line.size() + 1;
    }
    // Only a header that was cut short may be overwritten.
    if (good == 0 && !header.starts_with(line))
      throw InputError(fmt::format("{}: found no journal, allowed: a journal or a new file", file.string()));
    std::filesystem::resize_file(file, good);
  }
  out_.open(file, std::ios::binary | std::ios::app);
  if (good == 0) out_ << header << '\n' << std::flush;
  if (!out_) throw InputError(fmt::format("{}: cannot write", file.string()));
}

void Journal::add(const WorkItem& item, const Count& count, const std::vector<Mismatch>& examples) {
  json kept = json::array();
  for (std::size_t i = 0; i < std::min(examples.size(), kMostExamples); ++i)
    kept.push_back(to_json(examples[i]));
  const std::string line = json({{"instruction", item.instruction},
                                 {"family", item.input_class},
                                 {"first", item.first_batch},
                                 {"chunks", item.batches},
                                 {"dots", count.dots},
                                 {"mismatches", count.mismatches},
                                 {"seconds", count.seconds},
                                 {"examples", kept}})
                               .dump();
  tally_.take(line, "journal");
  out_ << line << '\n' << std::flush;  // the system now has it, whatever happens to this process
  if (!out_) throw EnvironmentError("the journal: cannot write");
}

}  // namespace mmaudit::campaign
