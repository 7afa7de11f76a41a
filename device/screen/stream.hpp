#pragma once
// Device memory full of copies of the same tiles: what streaming feeds read. Only where there is CUDA.
#include <cstddef>

#include "mmaudit/screen/feed.hpp"
#include "run/cuda_check.hpp"
#include "screen/kernel.hpp"

namespace mmaudit::screen {

class StreamMemory {
 public:
  /// What: takes as much memory as the feeds ask for, and no more than a quarter of what is free. Errors:
  /// EnvironmentError where that is less than kLeastBytes.
  StreamMemory();

  /// What: copies of `tiles`, which are `bytes` long in device memory, spread over the memory of the feed;
  /// where `tiles` has more than that, up to `all_bytes`, this comes behind the last copy: the tiles of a
  /// fault. Does nothing where the memory holds them already; `owner` names them.
  Stream fill(const FeedSpec& feed, const void* tiles, std::size_t bytes, std::size_t all_bytes,
              std::size_t owner);

 private:
  /// Several times what a second-level cache holds.
  static constexpr std::size_t kLeastBytes = std::size_t{256} << 20U;

  std::size_t memory_bytes_;
  device::Buffer memory_, map_;
  std::size_t owner_ = ~std::size_t{0};
  Stream stream_;
};

}  // namespace mmaudit::screen
