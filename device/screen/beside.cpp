// One host thread per GPU; a GPU that fails ends alone, and one that hangs is left behind.
#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {
namespace {

/// What a GPU's thread works on. The thread keeps it: it may outlive the screen.
struct Lane {
  Lane(const device::DeviceInfo& gpu, const Watch& watch) : device(gpu), steps(watch.now) {
    result.device = gpu;
  }

  const device::DeviceInfo device;
  GpuResult result;
  Steps steps;
  std::atomic<bool> done = false;
};

void run_lane(Lane& lane, const ScreenOne& screen_one) {
  std::string error;
  try {
    screen_one(lane.device, lane.result, lane.steps);
  } catch (const std::exception& caught) {
    error = caught.what();
  } catch (...) {
    error = "an error without a message";
  }
  lane.steps.end();
  lane.result.error = error;
  lane.done = true;
}

}  // namespace

std::vector<GpuResult> screen_beside(const std::vector<device::DeviceInfo>& gpus, const ScreenOne& screen_one,
                                     const Watch& watch) {
  std::vector<std::shared_ptr<Lane>> lanes;
  std::vector<std::thread> threads;
  for (const device::DeviceInfo& gpu : gpus) {
    lanes.push_back(std::make_shared<Lane>(gpu, watch));
    threads.emplace_back([lane = lanes.back(), screen_one] { run_lane(*lane, screen_one); });
  }
  std::vector<GpuResult> results(gpus.size());
  for (std::size_t open = gpus.size(); open > 0; watch.pause())
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (!threads[i].joinable()) continue;
      const std::string overdue = lanes[i]->done ? "" : lanes[i]->steps.overdue();
      if (lanes[i]->done) {
        threads[i].join();
      } else if (!overdue.empty()) {
        threads[i].detach();
      } else {
        continue;
      }
      --open;
      results[i] = lanes[i]->result;
      results[i].hangs = !overdue.empty();
      if (results[i].hangs) results[i].error = overdue;
    }
  return results;
}

}  // namespace mmaudit::screen
