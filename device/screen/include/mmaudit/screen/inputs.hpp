#pragma once
// What the screened chains compute: operands of an input set, and D of the chain as the model gives it.
#include <cstdint>
#include <string_view>
#include <vector>

#include "mmaudit/dot.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::screen {

enum class InputSet : std::uint8_t {
  normal,       ///< N(0, 1/4), integers of every bit pattern: what draws most power
  toggling,     ///< every bit of an element is the opposite of its neighbours' along m, n and k
  integers,     ///< from -3 to 3: sums of every type are exact, so that no later step rounds an error away
  wide_window,  ///< the input classes of the generator that have these names
  cancellation,
  near_subnormal,
  special_values,
  adder_width,  ///< products cancel in pairs but for a factor's last bits; integers of the largest magnitudes
  count
};
inline constexpr int kInputSets = static_cast<int>(InputSet::count);
std::string_view name_of(InputSet set);

/// Instructions of a chain: D of one is C of the next, and the first C is +0.
inline constexpr int kSteps = 64;
/// Tiles of a set, which the chains take in turn.
inline constexpr int kTiles = 2;

/// Operands of one instruction, one input set.
struct Inputs {
  TileBatch tiles;           ///< kTiles of them
  std::vector<std::byte> d;  ///< (tiles, m, n): after kSteps
};

/// What: the operands without D. Deterministic.
TileBatch make_operands(const Instruction& instruction, const Datapath& datapath, InputSet set);

/// What: D of a chain of `steps`, by the model. Errors: none where `datapath` serves the instruction.
std::vector<std::byte> chain_results(const TileBatch& tiles, const Datapath& datapath, int steps);

inline Inputs make_inputs(const Instruction& instruction, const Datapath& datapath, InputSet set) {
  Inputs inputs{make_operands(instruction, datapath, set), {}};
  inputs.d = chain_results(inputs.tiles, datapath, kSteps);
  return inputs;
}

/// Registers of a lane as 32-bit words, low word first, of `chains` equal chains: the words that a thread
/// holds after its chains. `image`: register_image() of D, one tile.
std::vector<std::uint32_t> words_of_lane(const Instruction& instruction, const std::vector<std::byte>& image,
                                         int tile, int lane);

}  // namespace mmaudit::screen
