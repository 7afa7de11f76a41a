#include <optional>
#include <utility>

#include "mmaudit/model/instruction.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// The instruction with the formats of A and B exchanged, of the same rules.
std::optional<Instruction> exchanged(const Subject& subject) {
  for (Instruction one : kInstructions) {
    if (one.n == 0) one.n = subject.instruction.n;
    Instruction back = one;
    std::swap(back.a, back.b);
    if (back == subject.instruction) return one;
  }
  return std::nullopt;
}

std::string why_not(const Subject& subject) {
  if (is_sparse(subject.instruction.op)) return "only A is sparse";
  if (subject.datapath.arithmetic == Arithmetic::fma_chain) return "a NaN's payload comes from one operand";
  return exchanged(subject) ? "" : "there is no instruction with the formats of A and B exchanged";
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other(*exchanged(subject), tile.modifiers);
  const int m = tile.instruction.m, n = tile.instruction.n;
  for (int k = 0; k < tile.instruction.k; ++k) {
    for (int row = 0; row < m; ++row) other.at_a(row, k) = tile.at_b(k, row % n);
    for (int col = 0; col < n; ++col) other.at_b(k, col) = tile.at_a(col % m, k);
  }
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) other.at_c(row, col) = tile.at_c(col % m, row % n);
  return {other};
}

LawVerdict judge(const Case& at) {
  if (at.col >= at.tile.instruction.m || at.row >= at.tile.instruction.n) return silent();
  return equal_bits(at.d(), at.related[0].at_d(at.col, at.row));
}

}  // namespace

const Law kFactorsMayBeExchanged = {.order = 110,
                                    .statement = "A and B exchanged, with C turned, give D turned.",
                                    .source = "consequence of exact products",
                                    .why_not = why_not,
                                    .related = related,
                                    .judge = judge};

}  // namespace mmaudit::laws
