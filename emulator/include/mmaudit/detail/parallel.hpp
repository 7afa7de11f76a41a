#pragma once
// A loop spread over threads.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace mmaudit::detail {

/// What: every thread calls make() once and then the result with indices below `count`, each index once, in
/// no order. `threads` 0: one per core; fewer where the system gives no more. Errors: rethrows the first
/// exception; indices not begun by then are left out.
template <typename Make>
void parallel_by_thread(std::uint64_t count, unsigned threads, const Make& make) {
  const std::uint64_t cores = threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency());
  std::atomic<std::uint64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    try {
      auto work = make();
      for (std::uint64_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      helpers.reserve(std::min(cores, count));
      for (std::uint64_t t = 1; t < std::min(cores, count); ++t) helpers.emplace_back(run);
    } catch (const std::system_error&) {  // a limit of processes: those that run do the work
    } catch (const std::bad_alloc&) {
    }
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

/// The same without state per thread: work(i) for every i below `count`.
template <typename Work>
void parallel_for(std::uint64_t count, unsigned threads, const Work& work) {
  parallel_by_thread(count, threads, [&] { return [&](std::uint64_t i) { work(i); }; });
}

}  // namespace mmaudit::detail
