#pragma once
// What all benchmarks of loads and stores between registers and shared memory have in common.
#include <cstdint>
#include <string>

#include "mmaudit/config.hpp"
#include "sweeps/memory/rows.hpp"

namespace mmaudit::sweeps {

/// Words that a lane writes out, used or not.
inline constexpr int kResultWords = 8;
/// What shared memory holds before the loads.
inline constexpr int kPatternBytes = 32 * 32;
MMAUDIT_HD constexpr std::uint32_t pattern_word(int word) {
  return 0x9E3779B9U * (static_cast<std::uint32_t>(word) + 1);
}

/// One instruction of a warp.
struct SharedAccess {
  std::string name;
  int words = 1;                        ///< of 32 bits per lane
  int block_bytes = 0, warp_bytes = 0;  ///< of shared memory: in all, and for each warp
  /// Bytes between the addresses of neighbouring lanes, the parameter of the kernel.
  int (*stride)(const Point&) = [](const Point&) { return 0; };
  /// Word w of a lane after any number of loads, addresses relative to the start of shared memory; of what
  /// the stores left in memory.
  std::uint32_t (*right)(int stride, int lane, int word) = nullptr;
};

/// Everything but family, place, kernel and opcodes.
Benchmark shared_access_benchmark(const SharedAccess& access);

}  // namespace mmaudit::sweeps
