#pragma once
// From the options of a campaign to its plan and the workers that do it; and what is said of a difference.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "campaign_result.hpp"
#include "campaign_worker.hpp"
#include "context.hpp"

namespace mmaudit::cli {

struct CampaignOptions {
  std::vector<std::string> instructions, families, merge;
  std::string on = "hardware", architecture, out, journal, show, part;
  double dots = 1e9, seconds = 0;
  std::uint64_t seed = 0;
  bool has_seed = false, keep_going = false, list = false;
  unsigned gpus = 1, first_gpu = 0, threads = 0;
  int n = 64;
  Context context;
  int watched = 0;  ///< the process that watches this one

  [[nodiscard]] bool on_model() const { return on == "model"; }
};

/// --part I/N; without it all there is. InputError.
CampaignPart part_of(const CampaignOptions& options);

struct CampaignSetup {
  const Architecture* architecture = nullptr;  ///< whose rows are checked
  const Architecture* plays = nullptr;         ///< on the model: whose rows play the hardware
  std::optional<device::DeviceInfo> gpu;       ///< on hardware: the first
  CampaignPlan plan;
  CampaignFacts facts;
  std::vector<CampaignWorkerMaker> workers;
  std::string seats;  ///< "2 GPUs"
};

/// `sharing`: processes on this machine that share its processors. InputError and EnvironmentError as the
/// options and the machine deserve.
CampaignSetup set_up_campaign(const CampaignOptions& options, unsigned sharing = 1);

/// What --list prints; needs no GPU.
std::string campaign_listing(const CampaignOptions& options);

/// The difference, and the smallest dot product on which the two sides differ.
std::string explain_difference(const CampaignSetup& setup, std::size_t instruction, const Mismatch& example);

}  // namespace mmaudit::cli
