#pragma once
// Who runs work items: GPUs compare the hardware with the model, threads of the host or GPUs compare the fast
// path of the model with its plain core.
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/backend.hpp"
#include "mmaudit/campaign/result.hpp"
#include "mmaudit/device/check.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::campaign {

/// Runs one work item of a schedule. Each thread has a worker, so a worker may keep buffers.
using Worker = std::function<device::CheckResult(const Schedule& schedule, const WorkItem& item)>;

/// What a campaign compares, and where.
struct Setup {
  const Architecture* model = nullptr;  ///< the datapaths that are checked
  const Architecture* reference =
      nullptr;                           ///< datapaths of the fast path; null: the hardware is the reference
  std::vector<device::DeviceInfo> gpus;  ///< one worker each
  unsigned threads = 1;                  ///< workers of the host, when there are neither GPUs nor hardware
  bool kernels = false;                  ///< the model against itself on `gpus`, by the kernels of products

  /// Makes the worker of a thread, in that thread.
  [[nodiscard]] std::vector<std::function<Worker()>> workers() const;
  [[nodiscard]] Backend reference_backend() const;
  [[nodiscard]] Provenance provenance() const;
};

/// `entry` on a GPU against the hardware.
ScheduledInstruction scheduled_on_gpu(const Instruction& instruction, const DatapathEntry& entry);
/// `entry` by the plain core against `reference` by the fast path; `kernels`: both on a GPU.
ScheduledInstruction scheduled_by_model(const Instruction& instruction, const DatapathEntry& entry,
                                        const DatapathEntry& reference, bool kernels);
/// The candidates that both sides of `setup` have; block-scaled ones are left out where hardware is one.
std::vector<ScheduledInstruction> schedule_instructions(const Setup& setup,
                                                        const std::vector<Instruction>& candidates);

/// A difference that a campaign found, and the smallest dot product on which the two sides still differ, with
/// the commands that explain it by the model and repeat it on the reference. `model_file`: of --model; empty:
/// built-in.
std::string explain_difference(const Setup& setup, const std::string& instruction, const Mismatch& example,
                               const std::string& model_file);

/// Counts the differences of a tile product where it was drawn; empty: the host draws and compares.
using CountDiffering =
    std::function<std::uint64_t(gen::InputClass input_class, std::uint64_t seed, std::uint64_t number)>;
/// The count of `one` on a GPU, by the kernels of products and the plain core.
CountDiffering count_on_gpu(const device::DeviceInfo& gpu, const ScheduledInstruction& one);

/// Batches one after another. Where `count` says that something differs, the host draws the batch again;
/// without `count` it draws all.
device::CheckResult check_model(const Backend& reference, const Backend& model, const Schedule& schedule,
                                const WorkItem& item, const CountDiffering& count = {});

// The work items of a campaign, taken off one list by several workers.

struct RunOptions {
  Shard shard;
  double seconds = 0;  ///< begin nothing after this time; 0: go on
  bool keep_going = false;
  /// Asked before every work item; true ends the run.
  std::function<bool()> interrupted = [] { return false; };
  /// Called with the dot products that were just finished, of all that the shard has, from one thread at a
  /// time.
  std::function<void(std::uint64_t dots, std::uint64_t of, const std::string& label)> progress =
      [](std::uint64_t, std::uint64_t, const std::string&) {};
};

struct Speed {
  double seconds = 0;
  std::uint64_t dots = 0;  ///< of this run, without what the journal had
  double products = 0;
  bool complete = false;  ///< nothing of the shard is left to do
};

/// Runs every work item of the shard that the journal does not record, one thread per worker. Ends when all
/// are done, a work item has a difference, the time is over, or the run is interrupted. An exception of a
/// worker ends the run and is thrown.
Speed run_campaign(const Schedule& schedule, const std::vector<std::function<Worker()>>& workers,
                   Journal& journal, const RunOptions& options);

/// What a result says: bad where it has a mismatch or is not `finished`; what compared nothing, and parts
/// of a campaign, are no pass.
report::Report report_of(const CampaignResult& result, bool finished);
/// What would be done.
report::Report report_of(const Schedule& schedule);

}  // namespace mmaudit::campaign
