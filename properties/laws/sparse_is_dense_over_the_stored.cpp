#include <algorithm>
#include <optional>

#include "laws.hpp"
#include "mmaudit/architecture.hpp"
#include "mmaudit/instruction.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

/// The dense instruction of as many k as are stored, with the same rules.
std::optional<Instruction> dense(const Subject& subject) {
  const Instruction& is = subject.instruction;
  for (Instruction one : kInstructions) {
    if (one.n == 0) one.n = kWgmmaMinN;
    if (is_sparse(one.op) || one.k != is.stored_k() || one.a != is.a || one.b != is.b || one.c != is.c ||
        one.d != is.d || one.satfinite != is.satfinite || one.op == Op::tcgen05 || one.kind != MmaKind::none)
      continue;
    const DatapathRow* row = find_datapath(*subject.architecture, one);
    if (row != nullptr && row->model == subject.row) return one;
  }
  return std::nullopt;
}

std::string why_not(const Subject& subject) {
  if (!is_sparse(subject.instruction.op)) return "not sparse";
  return dense(subject) ? "" : "no dense instruction has the depth of its stored elements";
}

/// One choice of positions for all rows, so that one dense tile holds them.
void fill(const Subject& subject, Random& random, Tile& tile) {
  const Sparsity sparsity = sparsity_of(tile.instruction);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(tile.stored()));
  for (std::size_t at = 0; at < row.size(); at += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, random.in(0, patterns(sparsity) - 1), &row[at]);
  for (std::size_t i = 0; i < tile.metadata.size(); ++i) tile.metadata[i] = row[i % row.size()];
  const auto number = [&](const FormatSpec& format) {
    if (format.integer()) return random.next() & ((std::uint64_t{1} << format.value_bits()) - 1);
    return random_number(random, format, random.in(-8, 4));
  };
  for (std::uint64_t& x : tile.a) x = number(subject.a());
  for (std::uint64_t& x : tile.b) x = number(subject.b());
  for (std::uint64_t& x : tile.c) x = number(subject.c());
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other(*dense(subject));
  const int m = std::min(other.instruction.m, tile.instruction.m),
            n = std::min(other.instruction.n, tile.instruction.n);
  for (int k = 0; k < tile.stored(); ++k) {
    for (int row = 0; row < m; ++row) other.at_a(row, k) = tile.at_a(row, k);
    for (int col = 0; col < n; ++col) other.at_b(k, col) = tile.met_b(0, k, col);
  }
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) other.at_c(row, col) = tile.at_c(row, col);
  return {other};
}

Verdict judge(const Case& at) {
  const Tile& other = at.related[0];
  if (at.row >= other.instruction.m || at.col >= other.instruction.n) return silent();
  for (int k = 0; k < at.tile.stored(); ++k)
    if (at.tile.met(at.row, k) != at.tile.met(0, k)) return silent();
  return equal_bits(other.at_d(at.row, at.col), at.d());
}

}  // namespace

const Law kSparseIsDenseOverTheStored = {
    .name = "sparse_is_dense_over_the_stored",
    .statement =
        "A sparse instruction is the dense one of half its k over the stored elements and those they meet.",
    .source = "PTX ISA (mma.sp, wgmma.mma_async.sp); measured on Hopper",
    .why_not = why_not,
    .fill = fill,
    .related = related,
    .judge = judge};

}  // namespace mmaudit::laws
