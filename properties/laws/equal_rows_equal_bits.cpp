#include <optional>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// Another instruction with the same rules, formats and depth.
std::optional<Instruction> twin(const Subject& subject) { return dense_twin(subject, subject.instruction.k); }

std::string why_not(const Subject& subject) {
  if (is_sparse(subject.instruction.op)) return "the law of expansion speaks of sparse instructions";
  return twin(subject) ? "" : "no other instruction has its formats, depth and rules";
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  return {corner_of(tile, *twin(subject))};
}

LawVerdict judge(const Case& at) {
  const Tile& other = at.related[0];
  if (at.row >= other.instruction.m || at.col >= other.instruction.n) return silent();
  return equal_bits(other.at_d(at.row, at.col), at.d());
}

}  // namespace

const Law kEqualRowsEqualBits = {.order = 200,
                                 .statement = "mma, wmma and wgmma whose rows are equal give equal bits.",
                                 .source = "the rows; measured on Hopper",
                                 .why_not = why_not,
                                 .related = related,
                                 .judge = judge};

}  // namespace mmaudit::laws
