#include <algorithm>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!is_wgmma(subject.instruction.op)) return "no modifiers";
  return subject.datapath.arithmetic == Arithmetic::integer
             ? "integers have scale-d alone: live checks have it"
             : "";
}

constexpr std::uint8_t kSets[] = {kScaleDZero, kNegateA, kNegateB, kNegateA | kNegateB,
                                  kScaleDZero | kNegateA | kNegateB};

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  const std::uint8_t set = kSets[tile.salt % std::size(kSets)];
  // Which forms exist says the PTX ISA: negation of 16-bit factors alone.
  const bool negates = subject.a().storage_bits == 16;
  const std::uint8_t chosen = negates ? set : std::uint8_t{kScaleDZero};
  Tile by_modifier = tile, by_hand = tile;
  by_modifier.modifiers = chosen;
  if ((chosen & kNegateA) != 0)
    for (std::uint64_t& x : by_hand.a) x ^= subject.a().sign_bit();
  if ((chosen & kNegateB) != 0)
    for (std::uint64_t& x : by_hand.b) x ^= subject.b().sign_bit();
  if ((chosen & kScaleDZero) != 0) std::fill(by_hand.c.begin(), by_hand.c.end(), 0);
  return {by_modifier, by_hand};
}

LawVerdict judge(const Case& at) {
  return equal_bits(at.related[0].at_d(at.row, at.col), at.related[1].at_d(at.row, at.col));
}

}  // namespace

const Law kModifiersAreWhatTheySay = {
    .order = 240,
    .statement = "scale-d = 0 is c = +0; negating A or B is changing its signs, before the product.",
    .source = "PTX ISA (wgmma.mma_async); measured on Hopper",
    .why_not = why_not,
    .related = related,
    .judge = judge};

}  // namespace mmaudit::laws
