#include <optional>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// The dense instruction of as many k as are stored, with the same rules.
std::optional<Instruction> dense(const Subject& subject) {
  return dense_twin(subject, subject.instruction.stored_k());
}

std::string why_not(const Subject& subject) {
  if (!is_sparse(subject.instruction.op)) return "not sparse";
  return dense(subject) ? "" : "no dense instruction has the depth of its stored elements";
}

/// So that one dense tile holds what every row meets.
void fill(const Subject& subject, Draws& random, Tile& tile) { fill_alike(subject, random, -8, tile); }

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  return {corner_of(tile, *dense(subject))};
}

LawVerdict judge(const Case& at) {
  const Tile& other = at.related[0];
  if (at.row >= other.instruction.m || at.col >= other.instruction.n) return silent();
  for (int k = 0; k < at.tile.stored(); ++k)
    if (at.tile.met(at.row, k) != at.tile.met(0, k)) return silent();
  return equal_bits(other.at_d(at.row, at.col), at.d());
}

}  // namespace

const Law kSparseIsDenseOverTheStored = {
    .order = 210,
    .statement =
        "A sparse instruction is the dense one of half its k over the stored elements and those they meet.",
    .source = "PTX ISA (mma.sp, wgmma.mma_async.sp); measured on Hopper",
    .why_not = why_not,
    .fill = fill,
    .related = related,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
