#include "tools.hpp"

#include "mmaudit/architecture.hpp"

namespace mmaudit::laws {

void fill_alike(const Subject& subject, Random& random, int lowest, Tile& tile) {
  const Sparsity sparsity = sparsity_of(tile.instruction);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(tile.stored()));
  for (std::size_t at = 0; at < row.size(); at += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, random.in(0, patterns(sparsity) - 1), &row[at]);
  for (std::size_t i = 0; i < tile.metadata.size(); ++i) tile.metadata[i] = row[i % row.size()];
  const auto number = [&](const FormatSpec& format) {
    if (format.integer()) return random_integer(random, format);
    return random_number(random, format, random.in(lowest, 4));
  };
  for (std::uint64_t& x : tile.a) x = number(subject.a());
  for (std::uint64_t& x : tile.b) x = number(subject.b());
  for (std::uint64_t& x : tile.c) x = number(subject.c());
}

std::optional<Instruction> dense_twin(const Subject& subject, int k) {
  const Instruction& is = subject.instruction;
  for (Instruction one : kInstructions) {
    if (one.n == 0) one.n = kWgmmaMinN;
    if (one.op == is.op || is_sparse(one.op) || one.op == Op::tcgen05 || one.k != k || one.a != is.a ||
        one.b != is.b || one.c != is.c || one.d != is.d || one.satfinite != is.satfinite ||
        one.multiply != is.multiply || one.scale != is.scale || one.kind != is.kind)
      continue;
    const DatapathRow* row = find_datapath(*subject.architecture, one);
    if (row != nullptr && row->model == subject.row) return one;
  }
  return std::nullopt;
}

Tile corner_of(const Tile& tile, const Instruction& to) {
  Tile corner(to);
  const int m = std::min(to.m, tile.instruction.m), n = std::min(to.n, tile.instruction.n);
  for (int k = 0; k < tile.stored(); ++k) {
    for (int row = 0; row < m; ++row) corner.at_a(row, k) = tile.at_a(row, k);
    for (int col = 0; col < n; ++col) corner.at_b(k, col) = tile.met_b(0, k, col);
  }
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) corner.at_c(row, col) = tile.at_c(row, col);
  return corner;
}

}  // namespace mmaudit::laws
