#pragma once
// What benchmarks of the copy engine have in common.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/config.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/memory/global_memory.hpp"

namespace mmaudit::sweeps {

/// What a block that copies writes.
struct CopyResult {
  std::uint32_t issue = 0, expect = 0, wait = 0;  ///< cycles of all copies, alone
  /// Words compared, and those that are not what was copied. Of copies to global memory: words sent.
  std::uint32_t copied = 0, differing = 0;
  /// The chunk that was copied first, and the trail of the chunks that were looked at.
  std::uint32_t first = 0, trail = 0;
};

/// The trail of chunks, one chunk further: of each its last word, as it arrived, in the order of the copies.
MMAUDIT_HD constexpr std::uint32_t further(std::uint32_t trail, std::uint32_t last_word) {
  return trail * 0x85EBCA6BU + last_word;
}

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

/// A word of what bulk copies of a launch store to global memory, or add.
MMAUDIT_HD constexpr std::uint32_t stored_bulk_word(std::uint32_t word, std::uint32_t launch) {
  return word * 0x85EBCA6BU + launch_mark(launch) + 1;
}
MMAUDIT_HD constexpr std::uint32_t stored_chunks(std::size_t memory_bytes, std::uint32_t bytes) {
  return static_cast<std::uint32_t>(memory_bytes / bytes);
}

/// What the launches have stored to each chunk of memory. A launch goes through the chunks round after round,
/// and the last round may end early.
struct BulkStores {
  static constexpr int kKinds = 4;
  struct Kind {
    std::uint32_t rounds = 0, rest = 0;  ///< of a launch: whole rounds, and chunks after them
    std::uint32_t launches = 0;
    std::uint32_t numbers = 0, last = 0;  ///< of these launches: the sum, and the last

    [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t per_launch(std::uint32_t chunk) const {
      return rounds + (chunk < rest ? 1 : 0);
    }
  } kinds[kKinds];
  std::uint32_t launches = 0;  ///< of all kinds

  /// All launches since the last call stored to so many chunks. Errors: logic_error for a fifth kind.
  void add(std::uint32_t launches_until_now, std::uint64_t stores, std::uint32_t chunks);
  /// What a word of memory must be, in chunks of so many words: what the last launch that came there stored,
  /// or the sum of what all added.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t word(std::uint32_t index, std::uint32_t chunk_words,
                                                        bool adds) const {
    const std::uint32_t chunk = index / chunk_words, place = index % chunk_words;
    std::uint32_t sum = copied_word(index), newest = 0;
    for (const Kind& kind : kinds) {
      const std::uint32_t times = kind.per_launch(chunk);
      sum += times * (kind.launches * stored_bulk_word(place, 0) + launch_mark(kind.numbers));
      if (times > 0 && kind.last > newest) newest = kind.last;
    }
    if (adds) return sum;
    return newest > 0 ? stored_bulk_word(place, newest) : copied_word(index);
  }
};

inline constexpr AxisSpec kSizeAxis = number_axis("bytes", 16, 16384, "[128,1024,2048,4096,8192,12288,16384]",
                                                  "[128,4096,16384]", "bytes of a copy");
inline constexpr AxisSpec kBlocksPerAxis =
    number_axis("ctas", 1, 4, "[1,2,3,4]", "[1,4]", "blocks per multiprocessor");

/// One warp that copies, not from first-level cache.
bool copies_exist(const Point& point);
/// Why a point can't run on one multiprocessor: it asks for several blocks there. Empty when it can.
std::string needs_all_multiprocessors(const Point& point);

/// Which chunks the blocks of a launch copy, worked out on the host from the geometry alone: a kernel that
/// copies one chunk again and again finds its words right, but in the wrong place of this order.
struct ChunkOrder {
  std::uint32_t chunks = 1, words = 0;  ///< of the memory; of a chunk
  /// Chunks from one copy of a block to its next.
  std::uint32_t stride = 1;
  /// Each block begins at its own number; a lone block begins at whatever chunk it says.
  bool by_block = true;

  /// The trail of a block that has looked at its copies from..to.
  [[nodiscard]] std::uint32_t trail(std::uint32_t first, std::uint32_t from, std::uint32_t to) const;
};
/// Of blocks that each go on past the chunks of all others. Range: bytes >= 0; 0: nothing is copied.
ChunkOrder order_of_all(std::size_t memory_bytes, int bytes, std::size_t blocks);
/// Of a lone block whose copies lie 0.618 of the memory apart.
ChunkOrder order_of_one(std::size_t memory_bytes, int bytes);
/// What: every block looked at the chunks that this order says, in this order.
void check_order(const std::vector<std::byte>& seen, const ChunkOrder& order, int in_flight, int steps,
                 Measurement& out);

/// What: every block looked at the `words` words of each copy that it had to look at (all of a short run, the
/// last `in_flight` of a long one), and each was right.
void check_copies(const std::vector<std::byte>& seen, int words, int in_flight, int steps, Measurement& out);

/// Blocks with `in_flight` stages of `bytes` bytes each, whose words are checked. What fills memory, and the
/// placement, are the caller's.
Setup copy_setup(std::size_t memory_bytes, int bytes, int in_flight);

}  // namespace mmaudit::sweeps
