#include "campaign/workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "mmaudit/detail/parallel.hpp"

namespace mmaudit::campaign {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

}  // namespace

Speed run_campaign(const Schedule& schedule, const std::vector<std::function<Worker()>>& workers,
                   Journal& journal, const RunOptions& options) {
  std::vector<WorkItem> items;
  std::uint64_t all_dots = 0;
  const std::vector<WorkItem> all = items_of(schedule);
  for (std::size_t i = options.shard.index; i < all.size(); i += options.shard.of) {
    items.push_back(all[i]);
    all_dots += dots_of(schedule, all[i]);
  }
  options.progress(journal.tally().total().dots, all_dots, "done before");

  Speed speed;
  std::mutex mutex;
  std::atomic<std::size_t> next_worker = 0;
  std::atomic<bool> stop = false;
  const Clock::time_point started = Clock::now();
  const auto record = [&](const WorkItem& item, const device::CheckResult& result, double took) {
    const Instruction& instruction = schedule.instructions[item.instruction].instruction;
    const std::lock_guard lock(mutex);
    journal.add(item, {result.dots, result.mismatches, took}, result.first);
    speed.dots += result.dots;
    speed.products += static_cast<double>(result.dots) * instruction.k;
    options.progress(result.dots, all_dots,
                     fmt::format("{}, {:.3g} dot products/s", name_of(instruction),
                                 static_cast<double>(speed.dots) / seconds_since(started)));
    if (result.mismatches != 0 && !options.keep_going) stop = true;
  };
  const auto done_before = [&](const WorkItem& item) {
    const std::lock_guard lock(mutex);
    return journal.tally().done(item);
  };
  detail::parallel_by_thread(items.size(), static_cast<unsigned>(workers.size()), [&] {
    return [&, worker = workers[next_worker++]()](std::uint64_t i) {
      if (!stop &&
          (options.interrupted() || (options.seconds > 0 && seconds_since(started) > options.seconds)))
        stop = true;
      if (stop || done_before(items[i])) return;
      const Clock::time_point before = Clock::now();
      const device::CheckResult result = worker(schedule, items[i]);
      record(items[i], result, seconds_since(before));
    };
  });
  speed.seconds = seconds_since(started);
  speed.complete = std::all_of(items.begin(), items.end(), done_before);
  return speed;
}

}  // namespace mmaudit::campaign
