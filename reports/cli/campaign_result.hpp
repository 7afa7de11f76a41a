#pragma once
// The result file of a campaign, of a part of one, and of parts put together.
#include <string>
#include <utility>
#include <vector>

#include "campaign_record.hpp"

namespace mmaudit::cli {

struct CampaignFacts {
  std::string gpu, driver, cuda, version, revision, date;
  std::size_t gpus = 1;
};

/// What a result says of itself where no GPU took part.
CampaignFacts facts_without_gpu();

/// The result file: counts, provenance, what was not done, and a checksum over the rest. `ended` says how the
/// part ended, where it did not do all of its items.
std::string campaign_json(const CampaignPlan& plan, const CampaignTally& tally, const CampaignFacts& facts,
                          const CampaignPart& part = {}, const std::string& ended = "stopped");

/// Result files by name and content as one: counts added, and what none of them has listed as not done.
/// InputError when one is no result, or of another plan, or has a part that another one has.
std::string merge_campaigns(const std::vector<std::pair<std::string, std::string>>& files);

/// What a result file says in short. InputError as campaign_text().
struct CampaignVerdict {
  bool complete = false;
  std::uint64_t mismatches = 0;
};
CampaignVerdict campaign_verdict(const std::string& json, const std::string& file);

/// The table that a person reads, from a result file. InputError when it is not one or its checksum is wrong.
std::string campaign_text(const std::string& json, const std::string& file);

}  // namespace mmaudit::cli
