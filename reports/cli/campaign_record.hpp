#pragma once
// What a campaign is to do and has done: plan, parts, counts, journal. No GPU and no CLI11 here.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/generators/input_classes.hpp"
#include "mmaudit/model/architecture.hpp"
#include "replay.hpp"

namespace mmaudit::cli {

struct CampaignInstruction {
  Instruction instruction;
  const DatapathEntry* entry = nullptr;
  std::string engine;                    ///< what computes the row, on a host what plays the hardware
  std::uint64_t chunk = 0;               ///< dot products of one
  std::uint64_t stretch = 0;             ///< about the most of a stretch
  const DatapathEntry* plays = nullptr;  ///< by which the host plays the hardware; null: the hardware itself
};

/// Everything that decides which dot products a campaign consists of.
struct CampaignPlan {
  std::uint64_t seed = 0;
  std::uint64_t dots = 0;  ///< at least so many an instruction, the same share of each family
  std::string architecture;
  std::vector<CampaignInstruction> instructions;
  std::vector<gen::Family> families;

  /// "hardware", or "model" where the host plays it.
  [[nodiscard]] std::string_view on() const;
  /// XXH3-128 over all of it, rows of the model and the generators' version among them.
  [[nodiscard]] std::string identity() const;
};

/// A stretch of chunks of one instruction and family: what is done at once, and lost at most.
struct CampaignItem {
  std::size_t instruction = 0, family = 0;  ///< of the plan
  std::uint64_t first_chunk = 0, chunks = 0;

  bool operator==(const CampaignItem&) const = default;
};

/// All of a plan, every instruction and family in turn, so that an unfinished campaign has some of each.
/// InputError when there are more than 2^24.
std::vector<CampaignItem> items_of(const CampaignPlan& plan);
std::uint64_t dots_of(const CampaignPlan& plan, const CampaignItem& item);

/// One of `of` shares: items index, index + of, index + 2 * of ... of the plan.
struct CampaignPart {
  std::size_t index = 0, of = 1;

  bool operator==(const CampaignPart&) const = default;
};
inline constexpr std::size_t kMostParts = 4096;

struct CampaignCount {
  std::uint64_t dots = 0, mismatches = 0;
  double seconds = 0;  ///< of the GPU's time, or of a thread's
};

/// First line of a journal, without its end: whose it is.
std::string journal_header(const CampaignPlan& plan, const CampaignPart& part);

/// What the lines of a journal add up to.
class CampaignTally {
 public:
  /// `plan` has to outlive it.
  explicit CampaignTally(const CampaignPlan& plan) : plan_(plan) {}

  /// A line behind the header; one that was there before counts once. InputError for anything else.
  void take(const std::string& line, const std::string& where);

  [[nodiscard]] bool done(const CampaignItem& item) const;
  [[nodiscard]] const std::map<std::pair<std::size_t, std::size_t>, CampaignCount>& counts() const {
    return counts_;
  }
  [[nodiscard]] const std::vector<std::pair<std::size_t, Mismatch>>& examples() const { return examples_; }
  [[nodiscard]] CampaignCount total() const;

 private:
  const CampaignPlan& plan_;
  std::set<std::pair<std::pair<std::size_t, std::size_t>, std::uint64_t>> done_;
  std::map<std::pair<std::size_t, std::size_t>, CampaignCount> counts_;
  std::vector<std::pair<std::size_t, Mismatch>> examples_;  ///< by instruction
};

/// An append-only file, a JSON line an item: kill -9 loses what was running. A campaign that starts with the
/// same plan and part goes on where the file ends; InputError when the file is of another. A torn last line
/// is dropped.
class CampaignJournal {
 public:
  CampaignJournal(const std::filesystem::path& file, const CampaignPlan& plan, const CampaignPart& part = {});

  void add(const CampaignItem& item, const CampaignCount& count, const std::vector<Mismatch>& examples);
  [[nodiscard]] const CampaignTally& tally() const { return tally_; }

 private:
  CampaignTally tally_;
  std::ofstream out_;
};

}  // namespace mmaudit::cli
