#pragma once
// Who computes the stretches of a campaign: a GPU, or this machine's processors with the model's vector code
// in the place of the hardware.
#include <functional>
#include <memory>

#include "campaign_record.hpp"
#include "mmaudit/backend.hpp"
#include "mmaudit/device/crossed.hpp"

namespace mmaudit::cli {

/// One thread's, so that it may keep buffers.
class CampaignWorker {
 public:
  CampaignWorker() = default;
  CampaignWorker(const CampaignWorker&) = delete;
  CampaignWorker& operator=(const CampaignWorker&) = delete;
  virtual ~CampaignWorker() = default;

  virtual device::StretchResult run(const CampaignInstruction& one, const device::Stretch& stretch) = 0;
};

/// Makes the worker of a thread, in that thread.
using CampaignWorkerMaker = std::function<std::unique_ptr<CampaignWorker>()>;

/// The instruction on `gpu` against the row, both computed there.
CampaignWorkerMaker gpu_worker(const device::DeviceInfo& gpu);
/// CampaignInstruction::plays by the quick path against the row by dot(), element by element.
CampaignWorkerMaker host_worker();

CampaignInstruction gpu_instruction(const Instruction& instruction, const DatapathEntry& entry);
CampaignInstruction host_instruction(const Instruction& instruction, const DatapathEntry& entry,
                                     const DatapathEntry& plays);

/// The quick path by itself: what plays the hardware of a campaign without one.
Backend quick_model(const Architecture& architecture);

}  // namespace mmaudit::cli
