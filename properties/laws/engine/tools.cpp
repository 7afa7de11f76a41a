#include "tools.hpp"

#include <algorithm>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit::laws {

void fill_alike(const Subject& subject, Draws& random, int lowest, Tile& tile) {
  const Sparsity sparsity = sparsity_of(tile.instruction);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(tile.stored()));
  for (std::size_t at = 0; at < row.size(); at += static_cast<std::size_t>(sparsity.kept))
    write_pattern(sparsity, random.between(0, patterns(sparsity) - 1), &row[at]);
  for (std::size_t i = 0; i < tile.metadata.size(); ++i) tile.metadata[i] = row[i % row.size()];
  const auto number = [&](const FormatSpec& format) {
    if (format.integer()) return random_integer(random, format);
    return random_number(random, format, random.between(lowest, 4));
  };
  for (std::uint64_t& x : tile.a) x = number(subject.a());
  for (std::uint64_t& x : tile.b) x = number(subject.b());
  for (std::uint64_t& x : tile.c) x = number(subject.c());
}

std::optional<AlignedSum> aligned_sum(const Case& at) {
  const Subject& subject = at.subject;
  const std::uint64_t c_bits = entering_c(at);
  const double c = value_of(c_bits, subject.c());
  AlignedSum out;
  out.c = c != 0;
  if (!std::isfinite(c) || (out.c && !subject.c_in_first_step())) return std::nullopt;
  int most = subject.datapath.min_alignment_exponent, step = out.c ? 0 : -1;
  if (out.c) most = std::max(most, field_exponent(c_bits, subject.c()));
  double values[256];
  for (int k = 0; k < at.tile.stored(); ++k) {
    const Product one = product_of(at, k);
    if (one.special) return std::nullopt;
    if (one.value == 0) continue;
    const int own = subject.step_of[static_cast<std::size_t>(k)];
    if (step >= 0 && own != step) return std::nullopt;
    step = own;
    most = std::max(most, one.exponent);
    values[out.products++] = one.value;
  }
  const int unit = most - subject.datapath.fraction_bits;
  out.sum = cut(c, unit);
  for (int i = 0; i < out.products; ++i) out.sum += cut(values[i], unit);
  return out;
}

void put_power(const Subject& subject, Tile& tile, int k, int e, int of_b, bool negative) {
  const FormatSpec a = subject.a(), b = subject.b();
  const auto put = [](const FormatSpec& format, int exponent) {
    return power_of_two_bits(format, std::clamp(exponent, format.min_exponent() - format.fraction_bits,
                                                int{format.max_exponent()}));
  };
  const std::uint64_t factor_b = put(b, of_b), sign = negative ? a.sign_bit() : 0;
  const std::uint64_t factor_a = put(a, e - std::ilogb(value_of(factor_b, b))) | sign;
  for (int row = 0; row < tile.instruction.m; ++row) {
    tile.at_a(row, k) = factor_a;
    for (int col = 0; col < tile.instruction.n; ++col) tile.at_b(tile.met(row, k), col) = factor_b;
  }
}

void put_scales(Draws& random, Tile& tile, int block, int exponent) {
  const FormatSpec format = spec_of(tile.instruction.scale);
  const int least = format.min_exponent() - format.fraction_bits, most = format.max_exponent();
  const int of_a = std::clamp(exponent / 2 + random.between(-3, 3), std::max(least, exponent - most),
                              std::max(std::min(most, exponent - least), std::max(least, exponent - most)));
  const auto put = [&](int e) {
    return static_cast<std::uint8_t>(power_of_two_bits(format, std::clamp(e, least, most)));
  };
  const std::uint8_t a = put(of_a), b = put(exponent - of_a);
  for (int row = 0; row < tile.instruction.m; ++row) tile.at_scale_a(row, block) = a;
  for (int col = 0; col < tile.instruction.n; ++col) tile.at_scale_b(block, col) = b;
}

std::optional<Instruction> dense_twin(const Subject& subject, int k) {
  const Instruction& inst = subject.instruction;
  for (Instruction one : kInstructions) {
    one = with_shape(one, kWgmmaMinN);
    if (one.op == inst.op || is_sparse(one.op) || (one.op == Op::tcgen05 && inst.op != Op::tcgen05_sp) ||
        one.k != k || one.a != inst.a || one.b != inst.b || one.c != inst.c || one.d != inst.d ||
        one.satfinite != inst.satfinite || one.multiply != inst.multiply || one.scale != inst.scale ||
        one.kind != inst.kind)
      continue;
    const DatapathEntry* entry = find_datapath(*subject.architecture, one);
    if (entry != nullptr && entry->datapath == subject.datapath) return one;
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
  if (corner.scale_a.empty() || tile.scale_a.empty()) return corner;
  for (int block = 0; block < corner.blocks(); ++block) {
    for (int row = 0; row < m; ++row) corner.at_scale_a(row, block) = tile.at_scale_a(row, block);
    for (int col = 0; col < n; ++col) corner.at_scale_b(block, col) = tile.at_scale_b(block, col);
  }
  return corner;
}

}  // namespace mmaudit::laws
