#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  return is_wgmma(subject.instruction.op) ? "" : "A comes from registers only";
}

std::vector<Tile> related(const Subject&, const Tile& tile) {
  Tile other = tile;
  other.modifiers |= kAFromRegisters;
  return {other};
}

}  // namespace

const Law kAFromRegistersOrMemory = {
    .order = 190,
    .statement = "wgmma gives the same bits with A from registers and from shared memory.",
    .source = "PTX ISA; measured on Hopper",
    .why_not = why_not,
    .related = related,
    .judge = same_as_related};

}  // namespace mmaudit::laws
