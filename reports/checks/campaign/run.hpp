#pragma once
// The work items of a campaign, taken off one list by several workers.
#include <cstdint>
#include <functional>

#include "campaign/journal.hpp"
#include "campaign/workers.hpp"

namespace mmaudit::campaign {

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
Speed run_campaign(const Plan& plan, const std::vector<std::function<Worker()>>& workers, Journal& journal,
                   const RunOptions& options);

}  // namespace mmaudit::campaign
