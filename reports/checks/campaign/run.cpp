#include "campaign/run.hpp"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

namespace mmaudit::campaign {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

}  // namespace

Speed run_campaign(const Plan& plan, const std::vector<std::function<Worker()>>& workers, Journal& journal,
                   const RunOptions& options) {
  std::vector<WorkItem> items;
  std::uint64_t all_dots = 0;
  const std::vector<WorkItem> all = items_of(plan);
  for (std::size_t i = options.shard.index; i < all.size(); i += options.shard.of) {
    items.push_back(all[i]);
    all_dots += dots_of(plan, all[i]);
  }
  options.progress(journal.tally().total().dots, all_dots, "done before");

  Speed speed;
  std::mutex mutex;
  std::exception_ptr failure;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stop = false;
  const Clock::time_point started = Clock::now();
  const auto record = [&](const WorkItem& item, const device::WorkResult& result, double took) {
    const Instruction& instruction = plan.instructions[item.instruction].instruction;
    const std::lock_guard lock(mutex);
    journal.add(item, {result.dots, result.mismatches, took}, result.first);
    speed.dots += result.dots;
    speed.products += static_cast<double>(result.dots) * instruction.k;
    options.progress(result.dots, all_dots,
                     fmt::format("{}, {:.3g} dot products/s", name_of(instruction),
                                 static_cast<double>(speed.dots) / seconds_since(started)));
    if (result.mismatches != 0 && !options.keep_going) stop = true;
  };
  const auto over = [&] {
    return stop || options.interrupted() || (options.seconds > 0 && seconds_since(started) > options.seconds);
  };
  const auto work = [&](const std::function<Worker()>& make) {
    try {
      const Worker worker = make();
      for (std::size_t i = next++; i < items.size() && !over(); i = next++) {
        if (const std::lock_guard lock(mutex); journal.tally().done(items[i])) continue;
        const Clock::time_point before = Clock::now();
        const device::WorkResult result = worker(plan, items[i]);
        record(items[i], result, seconds_since(before));
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t w = 1; w < workers.size(); ++w) others.emplace_back([&, w] { work(workers[w]); });
    work(workers.front());
  }
  if (failure) std::rethrow_exception(failure);
  speed.seconds = seconds_since(started);
  return speed;
}

}  // namespace mmaudit::campaign
