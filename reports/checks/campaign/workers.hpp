#pragma once
// Who runs work items: GPUs compare the hardware with the model, threads of the host compare the fast path
// of the model with its plain core.
#include <functional>
#include <vector>

#include "campaign/plan.hpp"
#include "mmaudit/backend.hpp"
#include "mmaudit/device/check.hpp"
#include "mmaudit/provenance.hpp"

namespace mmaudit::campaign {

/// Runs one work item of a plan. Each thread has a worker, so a worker may keep buffers.
using Worker = std::function<device::WorkResult(const Plan& plan, const WorkItem& item)>;

/// What a campaign compares, and where.
struct Setup {
  const Architecture* model = nullptr;  ///< the datapaths that are checked
  const Architecture* reference =
      nullptr;                           ///< datapaths of the fast path; null: the hardware is the reference
  std::vector<device::DeviceInfo> gpus;  ///< one worker each
  unsigned threads = 1;                  ///< workers of the host, when the hardware is not the reference

  /// Makes the worker of a thread, in that thread.
  [[nodiscard]] std::vector<std::function<Worker()>> workers() const;
  [[nodiscard]] Backend reference_backend() const;
  [[nodiscard]] Provenance provenance() const;
};

/// `entry` on a GPU against the hardware.
PlannedInstruction plan_on_gpu(const Instruction& instruction, const DatapathEntry& entry);
/// `entry` by the plain core against `reference` by the fast path.
PlannedInstruction plan_on_host(const Instruction& instruction, const DatapathEntry& entry,
                                const DatapathEntry& reference);
/// The candidates that both sides of `setup` have; block-scaled ones are left out.
std::vector<PlannedInstruction> plan_instructions(const Setup& setup,
                                                  const std::vector<Instruction>& candidates);

/// Batches of the host, run one after another.
device::WorkResult check_on_host(const Backend& reference, const Backend& model, const Plan& plan,
                                 const WorkItem& item);

}  // namespace mmaudit::campaign
