#include "mmaudit/dot_case.hpp"

#include <tuple>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

std::uint64_t word(const void* buffer, Format format, std::size_t index) {
  return load_word(buffer, spec_of(format).storage_bytes(), index);
}

std::size_t element_of_d(const Instruction& inst, std::size_t tile, int row, int column) {
  const TileExtents each(inst);
  return (tile * each.m + static_cast<std::size_t>(row)) * each.n + static_cast<std::size_t>(column);
}

}  // namespace

DotCase dot_at(const Instruction& inst, const TileView& batch, std::size_t tile, int row, int column) {
  const auto [m, n, k, stored, blocks] = TileExtents(inst);
  const auto i = static_cast<std::size_t>(row), j = static_cast<std::size_t>(column);
  DotCase dot;
  dot.tile = tile;
  dot.row = row;
  dot.column = column;
  const std::size_t first_a = (tile * m + i) * stored;
  for (std::size_t e = 0; e < stored; ++e) dot.a.push_back(word(batch.a, inst.a, first_a + e));
  for (std::size_t e = 0; e < k; ++e) dot.b.push_back(word(batch.b, inst.b, (tile * k + e) * n + j));
  if (batch.c != nullptr) dot.c = word(batch.c, inst.c, element_of_d(inst, tile, row, column));
  if (batch.modifiers != nullptr) dot.modifiers = batch.modifiers[tile];
  if (is_sparse(inst.op) && batch.metadata != nullptr)
    dot.metadata.assign(batch.metadata + first_a, batch.metadata + first_a + stored);
  for (std::size_t e = 0; e < blocks; ++e) {
    if (batch.scale_a != nullptr) dot.scale_a.push_back(batch.scale_a[(tile * m + i) * blocks + e]);
    if (batch.scale_b != nullptr) dot.scale_b.push_back(batch.scale_b[(tile * blocks + e) * n + j]);
  }
  return dot;
}

std::string why_bad_dot(const Instruction& inst, const DotCase& dot) {
  const auto [m, n, k, stored, blocks] = TileExtents(inst);
  const auto found = [](const char* field, std::uint64_t value, std::uint64_t allowed) {
    return refusal("{}: found {}, allowed: {}", field, value, allowed);
  };
  const std::size_t metadata = is_sparse(inst.op) ? stored : 0;
  for (const auto& [field, size, allowed] : {std::tuple{"elements of a", dot.a.size(), std::size_t{stored}},
                                             {"elements of b", dot.b.size(), k},
                                             {"elements of metadata", dot.metadata.size(), metadata},
                                             {"scales of a", dot.scale_a.size(), blocks},
                                             {"scales of b", dot.scale_b.size(), blocks}})
    if (size != allowed) return found(field, size, allowed);
  const auto fits = [](std::uint64_t bits, Format format) {
    const int width = spec_of(format).storage_bits;
    return width >= 64 || bits >> width == 0;
  };
  for (const auto& [field, bits, format] : {std::tuple{"a", &dot.a, inst.a}, {"b", &dot.b, inst.b}})
    for (const std::uint64_t one : *bits)
      if (!fits(one, format))
        return refusal("{}: found more bits, allowed: {}", field, spec_of(format).storage_bits);
  if (!fits(dot.c, inst.c)) return refusal("c: found more bits, allowed: {}", spec_of(inst.c).storage_bits);
  if (dot.row < 0 || dot.row >= static_cast<int>(m) || dot.column < 0 || dot.column >= static_cast<int>(n))
    return refusal("row, column: found an element outside of D, allowed: one of {} x {}", m, n);
  if (metadata == 0) return {};
  Instruction one_row = inst;
  one_row.m = 1;
  return why_bad_metadata(one_row, dot.metadata, 1);
}

std::uint64_t d_at(const Instruction& inst, const TileView& batch, std::size_t tile, int row, int column) {
  return word(batch.d, inst.d, element_of_d(inst, tile, row, column));
}

void store_d_at(const Instruction& inst, const TileView& batch, std::size_t tile, int row, int column,
                std::uint64_t bits) {
  store_word(batch.d, spec_of(inst.d).storage_bytes(), element_of_d(inst, tile, row, column), bits);
}

}  // namespace mmaudit
