#include <algorithm>
#include <optional>

#include "laws.hpp"
#include "mmaudit/architecture.hpp"
#include "mmaudit/instruction.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// Another instruction that the row's rules, formats and depth are also those of.
std::optional<Instruction> twin(const Subject& subject) {
  const Instruction& is = subject.instruction;
  for (Instruction one : kInstructions) {
    if (one.n == 0) one.n = kWgmmaMinN;
    if (one.op == is.op || is_sparse(one.op) || one.op == Op::tcgen05 || one.k != is.k || one.a != is.a ||
        one.b != is.b || one.c != is.c || one.d != is.d || one.satfinite != is.satfinite ||
        one.multiply != is.multiply || one.scale != is.scale || one.kind != is.kind)
      continue;
    const DatapathRow* row = find_datapath(*subject.architecture, one);
    if (row != nullptr && row->model == subject.row) return one;
  }
  return std::nullopt;
}

std::string why_not(const Subject& subject) {
  if (is_sparse(subject.instruction.op)) return "the law of expansion speaks of sparse instructions";
  return twin(subject) ? "" : "no other instruction has its formats, depth and rules";
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other(*twin(subject));
  const int m = std::min(other.instruction.m, tile.instruction.m),
            n = std::min(other.instruction.n, tile.instruction.n);
  for (int k = 0; k < tile.instruction.k; ++k) {
    for (int row = 0; row < m; ++row) other.at_a(row, k) = tile.at_a(row, k);
    for (int col = 0; col < n; ++col) other.at_b(k, col) = tile.at_b(k, col);
  }
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) other.at_c(row, col) = tile.at_c(row, col);
  return {other};
}

Verdict judge(const Case& at) {
  const Tile& other = at.related[0];
  if (at.row >= other.instruction.m || at.col >= other.instruction.n) return silent();
  return equal_bits(other.at_d(at.row, at.col), at.d());
}

}  // namespace

const Law kEqualRowsEqualBits = {.name = "equal_rows_equal_bits",
                                 .statement = "mma, wmma and wgmma whose rows are equal give equal bits.",
                                 .source = "the rows; measured on Hopper",
                                 .why_not = why_not,
                                 .related = related,
                                 .judge = judge};

}  // namespace mmaudit::laws
