// One host thread per GPU; a GPU that fails ends alone.
#include <exception>
#include <thread>

#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {

std::vector<GpuResult> screen_beside(
    const std::vector<device::DeviceInfo>& gpus,
    const std::function<void(const device::DeviceInfo& gpu, GpuResult& result)>& screen_one) {
  std::vector<GpuResult> results(gpus.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    threads.emplace_back([&, i] {
      results[i].device = gpus[i];
      try {
        screen_one(gpus[i], results[i]);
      } catch (const std::exception& error) {
        results[i].error = error.what();
      } catch (...) {
        results[i].error = "an error without a message";
      }
    });
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace mmaudit::screen
