#pragma once
// Faults built into the screen, to test it (MMAUDIT_SCREEN_INJECTION).
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mmaudit::screen {

enum class FaultKind : std::uint8_t {
  accumulator,  ///< bits of an accumulator flip in the middle of a chain
  shared,       ///< bits of a word in shared memory flip after the tile has arrived
  load,         ///< a word of the tile arrives from global memory with flipped bits
  lost          ///< a copy of a streaming feed ends and has brought nothing
};

/// Where and how often. An accumulator has a sub-core, a lane and a word of the lane's accumulators. Shared
/// memory and loads have a word of the tile: first A's, then B's.
struct Injection {
  FaultKind fault = FaultKind::accumulator;
  int multiprocessor = 0, subcore = 0, lane = 0, word = 0;
  std::uint32_t flips = 0;
  std::uint64_t every = 0;  ///< chains, or tiles that arrive, of a slot; 0: never
};

/// What: "accumulator:SM,SUBCORE,LANE,WORD,FLIPS,EVERY", "shared:SM,WORD,FLIPS,EVERY",
/// "load:SM,WORD,FLIPS,EVERY" or "lost:SM,EVERY"; FLIPS in hexadecimal. Errors: InputError.
Injection injection_of(const std::string& text);

/// What: appends tiles to the images of A and B, which have `tiles` of them: the same with bits of one word
/// flipped in each. `word`: of A's tile, then of B's; past both it begins again.
void append_spoiled(std::vector<std::byte>& a, std::vector<std::byte>& b, int tiles, int word,
                    std::uint32_t flips);

}  // namespace mmaudit::screen
