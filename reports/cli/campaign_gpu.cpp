#include "campaign_worker.hpp"

namespace mmaudit::cli {
namespace {

class GpuWorker final : public CampaignWorker {
 public:
  explicit GpuWorker(device::DeviceInfo gpu) : gpu_(std::move(gpu)) {}

  device::StretchResult run(const CampaignInstruction& one, const device::Stretch& stretch) override {
    if (of_ != &one) {
      check_.reset();  // gives its memory back first
      check_ = std::make_unique<device::CrossedCheck>(gpu_, one.instruction, one.entry->datapath);
      of_ = &one;
    }
    return check_->run(stretch);
  }

 private:
  device::DeviceInfo gpu_;
  const CampaignInstruction* of_ = nullptr;  ///< whose buffers there are
  std::unique_ptr<device::CrossedCheck> check_;
};

}  // namespace

CampaignWorkerMaker gpu_worker(const device::DeviceInfo& gpu) {
  return [gpu] { return std::make_unique<GpuWorker>(gpu); };
}

CampaignInstruction gpu_instruction(const Instruction& instruction, const DatapathEntry& entry) {
  constexpr std::uint64_t kDots = std::uint64_t{1} << 33, kPlainDots = std::uint64_t{1} << 26;
  CampaignInstruction one{.instruction = instruction,
                          .entry = &entry,
                          .engine = std::string(device::engine_of(instruction, entry.datapath)),
                          .chunk = device::dots_of_chunk(instruction, entry.datapath)};
  one.stretch = one.engine == "plain" ? kPlainDots : kDots;
  return one;
}

}  // namespace mmaudit::cli
