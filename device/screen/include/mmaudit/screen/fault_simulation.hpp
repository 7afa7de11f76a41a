#pragma once
// Stuck-at faults in the modelled datapath: which of them the inputs of the screen show.
#include <cstdint>
#include <string_view>
#include <vector>

#include "mmaudit/screen/inputs.hpp"

namespace mmaudit::screen {

/// Where a bit is stuck, in the order in which a product meets them. Products and addends are sign and
/// magnitude, the sign above; exponent and sum are two's complement.
enum class Site : std::uint8_t { operand_a, operand_b, product, exponent, addend, sum, result, count };
inline constexpr int kSites = static_cast<int>(Site::count);
std::string_view name_of(Site site);

struct Fault {
  Site site = Site::result;
  int lane = 0;  ///< product of a step; one past the last: c, of Site::addend
  int bit = 0;
  bool stuck = false;  ///< at 1
};

/// Every fault of the datapath: both values of every bit. Of an fma chain, operands and result alone.
std::vector<Fault> faults_of(const DotPlan& plan);

/// What: D of an element after `steps` instructions with C = +0, with a fault or, for null, without. `row` of
/// A and `column` of B of `tile`. Range: a stuck exponent below an addend's shifts it by 0. Without a fault
/// it is the model's D.
std::uint64_t chain_with_fault(const DotPlan& plan, const TileBatch& tiles, int tile, int row, int column,
                               int steps, const Fault* fault);

/// Elements that pass a faulty unit, spread over each tile. A wgmma.m64n256k16 of f16 gives each of 128 units
/// of 16 products 128 elements.
inline constexpr int kElementsPerTile = 64;

/// What: for each of `faults`, whether an element of these tiles has another D than without it.
std::vector<bool> shown_faults(const DotPlan& plan, const TileBatch& tiles, const std::vector<Fault>& faults);

}  // namespace mmaudit::screen
