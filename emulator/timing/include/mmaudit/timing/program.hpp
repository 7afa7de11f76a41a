#pragma once
// What a warp executes, as far as time is concerned: a list of instructions, each with the unit it needs, its
// control word, its registers and what it costs. Written by hand (chain.hpp, volta_timing.hpp) or read from a
// disassembly (sass.hpp).
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::timing {

/// What an instruction occupies. `none`: an issue slot alone.
enum class Unit : std::uint8_t {
  none,
  tensor,
  f64,
  fma,
  half,
  alu,
  special,
  uniform,
  branch,
  shared,
  global
};
inline constexpr int kUnits = 11;
std::string_view name_of(Unit unit);

/// What follows an instruction.
enum class Flow : std::uint8_t {
  next,
  loop,     ///< back to `target` while trips are left
  jump,     ///< to `target`
  call,     ///< to `target`; the next `back` returns behind it
  back,     ///< from a call
  barrier,  ///< waits until every warp of its block is here
  drain,    ///< waits until everything the warp sent to the tensor unit is done (wgmma.wait_group 0)
};

/// Registers `first` to `first + count - 1`.
struct Registers {
  std::int16_t first = 0;
  std::uint8_t count = 0;
  constexpr bool operator==(const Registers&) const = default;
};

inline constexpr std::size_t kRegisterBanks = 2;

/// One instruction of a warp.
struct TimedOp {
  Unit unit = Unit::none;
  Flow flow = Flow::next;
  // The control word. Source: Huerta et al., arXiv 2503.20481; sass.hpp has the field positions.
  std::uint8_t stall = 1;          ///< cycles until the warp may issue again
  bool yields = false;             ///< the scheduler prefers another warp next
  std::int8_t write_barrier = -1;  ///< released when the result is written; -1: none
  std::int8_t read_barrier = -1;   ///< released when the operands are read; -1: none
  std::uint8_t wait_mask = 0;      ///< barriers that must be released before issue
  // What it costs.
  bool queued = false;           ///< asynchronous: wgmma
  std::uint32_t interval2 = 0;   ///< half cycles the unit is occupied
  std::uint32_t latency = 0;     ///< cycles from the start in the unit to the result
  std::uint16_t wavefronts = 0;  ///< of an access to shared memory
  bool matrices = false;         ///< ldmatrix
  bool waits_for_block = false;  ///< not before the barrier that its warp is at lets it go on
  std::uint32_t bytes = 0;       ///< of an access to global memory, all lanes
  std::int32_t target = -1;      ///< index of an instruction
  /// Registers that are read from each bank (that of even and that of odd ones), without those that are kept.
  std::array<std::uint8_t, kRegisterBanks> reads{};
  // Registers, for the scoreboard and for accumulators handed on inside the tensor unit.
  Registers destination;
  std::array<Registers, 3> sources{};
};

/// A loop that every warp executes.
struct Program {
  std::string name;
  std::vector<TimedOp> ops;
  std::vector<std::string> text;   ///< of each op, for drawings
  int steps = 1;                   ///< instructions of each chain per trip of the loop
  double work = 0;                 ///< multiply-adds (or bytes) of one warp per trip
  std::string alone = {};          ///< how long one by itself takes, with its source; empty: not known
  std::vector<std::string> notes;  ///< what was assumed when it was made

  void add(const TimedOp& op, std::string words) {
    ops.push_back(op);
    text.push_back(std::move(words));
  }
};

}  // namespace mmaudit::timing
