#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace mmaudit::detail {

/// Calls work(i) for every i below `count`, on `threads` (0: one per core); each i once, in no order. Throws
/// what one of them threw first; what was not begun by then is left out.
template <typename Work>
void parallel_for(std::uint64_t count, unsigned threads, const Work& work) {
  const std::uint64_t cores = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      for (std::uint64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::uint64_t t = 1; t < std::min(cores, count); ++t) helpers.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace mmaudit::detail
