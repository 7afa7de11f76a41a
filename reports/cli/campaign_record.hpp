#pragma once
// What a campaign is to do, has done and writes down. No GPU and no CLI11 here.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/architecture.hpp"
#include "mmaudit/generators/families.hpp"
#include "replay.hpp"

namespace mmaudit::cli {

struct CampaignInstruction {
  Instruction instruction;
  const DatapathRow* row = nullptr;
  std::string engine;
};

/// Everything that decides which dot products a campaign consists of.
struct CampaignPlan {
  std::uint64_t seed = 0;
  std::uint64_t dots = 0;  ///< at least so many an instruction, the same share of each family
  std::string architecture;
  std::vector<CampaignInstruction> instructions;
  std::vector<gen::Family> families;

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

struct CampaignCount {
  std::uint64_t dots = 0, mismatches = 0;
  double seconds = 0;  ///< of GPU time
};

/// An append-only file, a JSON line an item: kill -9 loses what was running. A campaign that starts with the
/// same plan goes on where the file ends; InputError when the file is of another plan. A torn last line is
/// dropped.
class CampaignJournal {
 public:
  CampaignJournal(const std::filesystem::path& file, const CampaignPlan& plan);

  [[nodiscard]] bool done(const CampaignItem& item) const;
  void add(const CampaignItem& item, const CampaignCount& count, const std::vector<Mismatch>& examples);

  [[nodiscard]] const std::map<std::pair<std::size_t, std::size_t>, CampaignCount>& counts() const {
    return counts_;
  }
  [[nodiscard]] const std::vector<std::pair<std::size_t, Mismatch>>& examples() const { return examples_; }
  [[nodiscard]] CampaignCount total() const;

 private:
  void take(const std::string& line, const std::string& where);

  const CampaignPlan& plan_;
  std::ofstream out_;
  std::set<std::pair<std::pair<std::size_t, std::size_t>, std::uint64_t>> done_;
  std::map<std::pair<std::size_t, std::size_t>, CampaignCount> counts_;
  std::vector<std::pair<std::size_t, Mismatch>> examples_;  ///< by instruction
};

struct CampaignFacts {
  std::string gpu, driver, cuda, version, revision, date;
  std::size_t gpus = 1;
  bool complete = false;
};

/// The result file: counts, provenance, and a checksum over the rest.
std::string campaign_json(const CampaignPlan& plan, const CampaignJournal& journal,
                          const CampaignFacts& facts);

/// The table that a person reads, from a result file. InputError when it is not one or its checksum is wrong.
std::string campaign_text(const std::string& json, const std::string& file);

}  // namespace mmaudit::cli
