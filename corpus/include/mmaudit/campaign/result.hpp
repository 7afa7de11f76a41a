#pragma once
// The result file of a campaign, of a shard, and of merged shards.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/campaign/journal.hpp"
#include "mmaudit/provenance.hpp"

namespace mmaudit::campaign {

/// The result file: counts, provenance, what was not done, and a checksum over the rest.
std::string campaign_json(const Schedule& schedule, const Tally& tally, const Provenance& provenance,
                          std::size_t gpus, const Shard& shard = {});

/// Merges result files, given by name and content: adds the counts and lists what no file has done.
/// InputError when one is no result, belongs to another schedule, or has a shard that another one has.
std::string merge_campaigns(const std::vector<std::pair<std::string, std::string>>& files);

struct CampaignCount {
  std::string instruction, engine;
  std::uint64_t dots = 0, mismatches = 0;
};

/// What a result file says.
struct CampaignResult {
  bool on_model = false;  ///< the model against itself
  bool complete = false;
  std::string architecture = {}, generator = {};
  std::uint64_t dots = 0, mismatches = 0;
  Provenance provenance = {};  ///< with the seed
  std::vector<CampaignCount> instructions = {};
  std::vector<std::string> not_done = {};                        ///< a sentence per unfinished part
  std::optional<std::pair<std::string, Mismatch>> example = {};  ///< the first, with its instruction
};
/// InputError when it is no result, its checksum is wrong, or its counts are not the sums of their parts.
CampaignResult read_campaign(const std::string& json, const std::string& file);

}  // namespace mmaudit::campaign
