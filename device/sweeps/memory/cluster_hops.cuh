#pragma once
// A chase in the shared memory of one block of a cluster: each word read is the address of the next one.
#include <cstdint>

#include "mmaudit/config.hpp"
#ifdef __CUDACC__
#include "ptx/cluster.cuh"
#include "sweeps/engine/timed.cuh"
#endif

namespace mmaudit::sweeps {

/// Words of the chase, one behind the other, and the bytes from one to the next. Runs are multiples of 8
/// steps: a chase over a number of words prime to that ends at another word after each length.
inline constexpr int kHops = 7, kHopBytes = 128;
/// Bytes from the block's first word to the one that a chase of so many steps ends at.
constexpr std::uint32_t end_of_hops(int steps) {
  return static_cast<std::uint32_t>(kHopBytes) * (static_cast<std::uint32_t>(steps) % kHops);
}

#ifdef __CUDACC__

/// Lanes of one warp. Shared addresses of a block's words are the same for every reader.
struct ClusterHops {
  std::uint32_t address, first;

  /// Every block lays its own words, in `bytes`, each with a note behind it; the chase is through those of
  /// block `peer`. Waits for the cluster.
  __device__ __forceinline__ ClusterHops(unsigned char* bytes, int lane, int rank, int peer,
                                         std::uint32_t note) {
    const auto own = static_cast<std::uint32_t>(__cvta_generic_to_shared(bytes));
    first = device::address_in(own, peer);
    if (lane < kHops) {
      auto* words = reinterpret_cast<std::uint32_t*>(bytes + kHopBytes * lane);
      words[0] = device::address_in(own, rank) + static_cast<std::uint32_t>(kHopBytes * ((lane + 1) % kHops));
      words[1] = note;
    }
    device::cluster_wait();
    address = first;
  }
  template <int kTurn>
  __device__ __forceinline__ void run(int steps) {
    repeat<1, kTurn>(steps, [this](int, int) { device::load_cluster(address, address); });
    asm volatile("" ::"r"(address));
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t end() const { return address - first; }
  /// Behind the word that the chase ended at.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t note() const {
    std::uint32_t read = 0;
    device::load_cluster(read, address + 4);
    return read;
  }
};

#endif

}  // namespace mmaudit::sweeps
