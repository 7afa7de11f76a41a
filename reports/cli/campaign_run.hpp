#pragma once
// The stretches of a campaign, taken off one list by several workers.
#include <cstdint>

#include "campaign_worker.hpp"

namespace mmaudit::cli {

struct CampaignRun {
  CampaignPart part;
  double seconds = 0;  ///< begin nothing after so many; 0: go on
  bool keep_going = false;
  bool quiet = false;  ///< no progress on standard error
};

struct CampaignSpeed {
  double seconds = 0;
  std::uint64_t dots = 0;  ///< of this run, without what the journal had
  double products = 0;
};

/// Does what the journal has not of the items of `how.part`, a thread a worker, until all are done, a stretch
/// has a difference, time is over or Ctrl-C. What a worker throws ends it and is thrown.
CampaignSpeed run_campaign(const CampaignPlan& plan, const std::vector<CampaignWorkerMaker>& workers,
                           CampaignJournal& journal, const CampaignRun& how);

}  // namespace mmaudit::cli
