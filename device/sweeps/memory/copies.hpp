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
/// Steps of a run that does not look at all that it copies.
inline constexpr int kTrialSteps = 1024;
/// Global memory that is copied from or to.
inline constexpr std::size_t kCopiedSecondBytes = std::size_t{16} << 20,
                             kCopiedMemoryBytes = std::size_t{2} << 30;
/// What a point copies, by its level.
std::size_t copied_bytes(const Point& point);

/// A word of global memory by its place.
MMAUDIT_HD constexpr std::uint32_t copied_word(std::uint32_t index) {
  return index * 0x9E3779B1U + 0x7F4A7C15U;
}

/// A word of what bulk copies to global memory store, or add.
MMAUDIT_HD constexpr std::uint32_t stored_bulk_word(std::uint32_t word) { return word * 0x85EBCA6BU + 1; }

/// Global memory that bulk copies store to ends in a count of launches.
inline constexpr std::size_t kStoreTailBytes = 16;
MMAUDIT_HD constexpr std::uint32_t stored_chunks(std::size_t memory_bytes, std::uint32_t bytes) {
  return static_cast<std::uint32_t>((memory_bytes - kStoreTailBytes) / bytes);
}

/// How often each chunk of memory has been stored to. A launch goes through the chunks round after round, and
/// the last round may end early.
struct BulkStores {
  static constexpr int kKinds = 4;
  struct Kind {
    std::uint32_t rounds = 0, rest = 0;  ///< of a launch: whole rounds, and chunks after them
    std::uint32_t launches = 0;
  } kinds[kKinds];
  std::uint32_t launches = 0;  ///< of all kinds

  /// All launches since the last call stored to so many chunks. Errors: logic_error for a fifth kind.
  void add(std::uint32_t launches_until_now, std::uint64_t stores, std::uint32_t chunks);
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t of_chunk(std::uint32_t chunk) const {
    std::uint32_t times = 0;
    for (const Kind& kind : kinds) times += kind.launches * (kind.rounds + (chunk < kind.rest ? 1 : 0));
    return times;
  }
  /// What a word of memory must be, in chunks of so many words.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t word(std::uint32_t index, std::uint32_t chunk_words,
                                                        bool adds) const {
    const std::uint32_t times = of_chunk(index / chunk_words);
    const std::uint32_t stored = stored_bulk_word(index % chunk_words);
    if (adds) return copied_word(index) + times * stored;
    return times > 0 ? stored : copied_word(index);
  }
};

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
