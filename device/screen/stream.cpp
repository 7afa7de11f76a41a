#include "screen/stream.hpp"

#include <cuda_runtime.h>
#include <algorithm>

#include "mmaudit/error.hpp"
#include "run/tensor_map.hpp"

namespace mmaudit::screen {
namespace {

using device::cuda_check;

std::size_t bytes_to_take() {
  std::size_t wanted = 0, free = 0, total = 0;
  for (const FeedSpec& feed : kFeedSpecs) wanted = std::max(wanted, feed.memory_bytes);
  cuda_check(cudaMemGetInfo(&free, &total), "asking for free memory");
  return std::min(wanted, free / 4);
}

void copy(char* to, const void* from, std::size_t bytes) {
  cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "copying tiles");
}

}  // namespace

StreamMemory::StreamMemory() : memory_bytes_(bytes_to_take()) {
  if (memory_bytes_ < kLeastBytes)
    throw EnvironmentError(
        refusal("memory: found a quarter of the free memory to be {} MiB, allowed: from {} MiB, or --feed "
                "loads,ldmatrix",
                memory_bytes_ >> 20U, kLeastBytes >> 20U));
  memory_ = device::Buffer(memory_bytes_);
  map_ = device::Buffer(sizeof(CUtensorMap));
}

Stream StreamMemory::fill(const FeedSpec& feed, const void* tiles, std::size_t bytes, std::size_t all_bytes,
                          std::size_t owner) {
  if (owner_ == owner) return stream_;
  const std::size_t extra = all_bytes - bytes;
  const std::size_t copies = (std::min(feed.memory_bytes, memory_bytes_) - extra) / bytes;
  char* const to = memory_.data<char>();
  copy(to, tiles, bytes);
  for (std::size_t done = bytes; done < copies * bytes; done *= 2)
    copy(to + done, to, std::min(done, copies * bytes - done));
  if (extra != 0) copy(to + copies * bytes, static_cast<const char*>(tiles) + bytes, extra);
  stream_ = {.tiles = to, .copies = static_cast<std::uint32_t>(copies)};
  if (feed.tensor) {
    device::TensorLayout layout;
    layout.extents = {kStreamLine / layout.element_bytes, (copies * bytes + extra) / kStreamLine};
    layout.box = {kStreamLine / layout.element_bytes,
                  static_cast<cuuint32_t>(bytes / static_cast<std::size_t>(kTiles) / kStreamLine)};
    const CUtensorMap map = device::tensor_map_of(to, layout);
    device::copy_in(map_.data(), &map, sizeof(map));
    stream_.map = map_.data();
  }
  owner_ = owner;
  return stream_;
}

}  // namespace mmaudit::screen
