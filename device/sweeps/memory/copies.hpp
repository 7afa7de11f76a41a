#pragma once
// What benchmarks of the copy engine have in common.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/config.hpp"
#include "mmaudit/sweeps/benchmark.hpp"

namespace mmaudit::sweeps {

/// What a block that copies writes.
struct CopyResult {
  std::uint32_t issue = 0, expect = 0, wait = 0;  ///< cycles of all copies, alone
  std::uint32_t copied = 0, differing = 0;        ///< words looked at, and those that are not what was copied
};

/// Copies that a block has in flight.
inline constexpr int kInFlightMost = 3;
/// What stages are aligned to, and room for the barriers that count their bytes.
inline constexpr std::uint32_t kStageAlignment = 128;
/// Global memory that is copied from or to.
inline constexpr std::size_t kCopiedSecondBytes = std::size_t{16} << 20,
                             kCopiedMemoryBytes = std::size_t{2} << 30;

/// A word of global memory by its place.
MMAUDIT_HD constexpr std::uint32_t copied_word(std::uint32_t index) {
  return index * 0x9E3779B1U + 0x7F4A7C15U;
}

inline constexpr AxisSpec kSizeAxis = {.name = "bytes",
                                       .number = true,
                                       .least = 16,
                                       .most = 16384,
                                       .usual = "[128,1024,2048,4096,8192,12288,16384]",
                                       .quick = "[128,4096,16384]",
                                       .meaning = "bytes of a copy"};
inline constexpr AxisSpec kBlocksPerAxis = {.name = "ctas",
                                            .number = true,
                                            .least = 1,
                                            .most = 4,
                                            .usual = "[1,2,3,4]",
                                            .quick = "[1,4]",
                                            .meaning = "blocks per multiprocessor"};

/// Why a point can't run on one multiprocessor: it asks for several blocks there. Empty when it can.
std::string needs_all_multiprocessors(const Point& point);

CopyResult result_at(const std::vector<std::byte>& seen, std::size_t slot);

/// What: every block looked at the `words` words of each copy that it had to look at (all of a short run, the
/// last `in_flight` of a long one), and each was right.
void check_copies(const std::vector<std::byte>& seen, int words, int in_flight, int steps, Measurement& out);

}  // namespace mmaudit::sweeps
