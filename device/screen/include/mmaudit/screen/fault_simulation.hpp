#pragma once
// Stuck-at faults in the modelled datapath, of one bit and of several: which of them the inputs of the screen
// show.
#include <cstdint>
#include <string_view>
#include <vector>

#include "mmaudit/screen/inputs.hpp"

namespace mmaudit::screen {

/// Where bits are stuck, in the order in which a product meets them. Products and addends are sign and
/// magnitude, the sign above; exponent and sum are two's complement.
enum class Site : std::uint8_t { operand_a, operand_b, product, exponent, addend, sum, result, count };
std::string_view name_of(Site site);

struct Fault {
  Site site = Site::result;
  int lane = 0;  ///< product of a step; one past the last: c, of Site::addend
  int bit = 0;
  bool stuck = false;  ///< at 1
  int width = 1;       ///< adjacent bits of the word, from `bit` up
};

/// Adjacent bits that are stuck together, at most.
inline constexpr int kMostBits = 4;

/// Every fault of `width` adjacent bits of the datapath: all at 0, and all at 1. Of an fma chain, operands
/// and result alone.
std::vector<Fault> faults_of(const DotSpec& spec, int width = 1);

/// What: whether no operands can show the fault in a chain of kSteps from C = +0, for one of two reasons. A
/// sum of products of unsigned integers stays below 2^n: a bit from n on is 0 anyway. The aligned c has at
/// most F + 1 significant bits and is never shifted up: the bit above them is 0 anyway.
bool undetectable(const DotSpec& spec, const Fault& fault);

/// What: D of an element after `steps` instructions with C = +0, with a fault or, for null, without. `row` of
/// A and `column` of B of `tile`. Range: a stuck exponent below an addend's shifts it by 0. Without a fault
/// it is the model's D.
std::uint64_t chain_with_fault(const DotSpec& spec, const TileBatch& tiles, int tile, int row, int column,
                               int steps, const Fault* fault);

/// Elements that pass a faulty unit, spread over each tile. A wgmma.m64n256k16 of f16 gives each of 128 units
/// of 16 products 128 elements.
inline constexpr int kElementsPerTile = 64;

/// What: sets shown[f] where an element of these tiles has another D with faults[f] than without it. What is
/// set already is not tried again.
void add_shown(const DotSpec& spec, const TileBatch& tiles, const std::vector<Fault>& faults,
               std::vector<bool>& shown);

/// What: for each of `faults`, whether an element of these tiles has another D than without it.
inline std::vector<bool> shown_faults(const DotSpec& spec, const TileBatch& tiles,
                                      const std::vector<Fault>& faults) {
  std::vector<bool> shown(faults.size());
  add_shown(spec, tiles, faults, shown);
  return shown;
}

}  // namespace mmaudit::screen
