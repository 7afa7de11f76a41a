#pragma once
// A loop spread over threads.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace mmaudit::laws {

/// work(i) for every i below `count`, each taken by the next thread that is free; threads = 0: as many as
/// there are cores. Throws what one of them threw first; what was not begun then is left out.
template <typename Work>
void in_parallel(std::size_t count, unsigned threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::mutex lock;
  std::exception_ptr problem;
  const auto take = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard guard(lock);
      if (!problem) problem = std::current_exception();
      next = count;
    }
  };
  const unsigned wanted = threads != 0 ? threads : std::thread::hardware_concurrency();
  std::vector<std::thread> running;
  for (unsigned t = 0; t < std::max(1U, wanted); ++t) running.emplace_back(take);
  for (std::thread& thread : running) thread.join();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace mmaudit::laws
