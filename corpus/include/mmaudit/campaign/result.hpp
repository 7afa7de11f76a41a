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

struct CampaignVerdict {
  bool complete = false;
  std::uint64_t mismatches = 0;
  std::optional<std::pair<std::string, Mismatch>> example;  ///< the first, with its instruction
};
/// InputError as campaign_text().
CampaignVerdict campaign_verdict(const std::string& json, const std::string& file);

/// The table that a person reads, from a result file. InputError when it is none or its checksum is wrong.
std::string campaign_text(const std::string& json, const std::string& file);

}  // namespace mmaudit::campaign
