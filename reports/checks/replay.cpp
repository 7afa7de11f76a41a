#include "replay.hpp"

#include <fmt/format.h>

#include <cstring>
#include <tuple>

#include "mmaudit/emulate.hpp"

namespace mmaudit::checks {
void compare_tiles(const TileView& batch, const void* found, const std::string& input_class,
                   std::size_t first, std::size_t tiles, std::size_t most_examples, Comparison& into) {
  const Instruction& inst = into.instruction;
  const auto n = static_cast<std::size_t>(inst.n), area = static_cast<std::size_t>(inst.m) * n;
  const std::size_t bytes = spec_of(inst.d).storage_bytes();
  const auto *expected = static_cast<const std::byte*>(batch.d),
             *other = static_cast<const std::byte*>(found);
  ClassCount count{input_class, tiles * area, 0};
  for (std::size_t tile = first; tile < first + tiles; ++tile) {
    const std::size_t start = tile * area;
    // Most tiles agree: one comparison of the whole tile before any element is looked at.
    if (std::memcmp(expected + start * bytes, other + start * bytes, area * bytes) == 0) continue;
    for (std::size_t i = 0; i < area; ++i) {
      const std::uint64_t x = load_word(expected, bytes, start + i), y = load_word(other, bytes, start + i);
      if (x == y) continue;
      ++count.mismatches;
      if (into.examples.size() >= most_examples) continue;
      Mismatch one{dot_at(inst, batch, tile, static_cast<int>(i / n), static_cast<int>(i % n)), x, y};
      one.dot.input_class = input_class;
      into.examples.push_back(std::move(one));
    }
  }
  into.classes.push_back(std::move(count));
}

Instruction instruction_of(const corpus::Recording& recording, const std::string& file) {
  const std::string& name = recording.instruction;
  const auto found = find_instruction(name);
  if (!found) throw InputError(file + ": instruction: " + why_no_instruction(name));
  for (const auto& [operand, rows, columns, format] :
       {std::tuple{&recording.a, int{found->m}, found->stored_k(), found->a},
        {&recording.b, found->k, found->n, found->b},
        {&recording.c, found->m, found->n, found->c},
        {&recording.d, found->m, found->n, found->d}}) {
    const std::vector<std::uint64_t>& shape = operand->shape;
    const std::size_t bytes = spec_of(format).storage_bytes(), stored = corpus::bytes_of(operand->dtype);
    if (shape.size() != 3 || shape[1] != static_cast<std::uint64_t>(rows) ||
        shape[2] != static_cast<std::uint64_t>(columns) || stored != bytes)
      throw InputError(fmt::format(
          "{}: {}: found shape {} of {}-byte elements, allowed [tiles, {}, {}] of {}-byte elements", file,
          operand->name, corpus::to_string(shape), stored, rows, columns, bytes));
  }
  return *found;
}

TileView view_of(const corpus::Recording& recording) {
  return {.tiles = recording.tiles,
          .a = recording.a.data.data(),
          .b = recording.b.data.data(),
          .c = recording.c.data.data(),
          .d = const_cast<std::byte*>(recording.d.data.data()),
          .modifiers = recording.modifiers.data(),
          .metadata = recording.metadata.empty() ? nullptr : recording.metadata.data()};
}

Comparison replay(const corpus::Recording& recording, const Instruction& instruction,
                  const Datapath& datapath, std::size_t most_examples) {
  const TileView recorded = view_of(recording);
  std::vector<std::byte> modelled(recording.d.data.size());
  TileView batch = recorded;
  batch.d = modelled.data();
  emulate(instruction, datapath, batch);
  Comparison result{instruction, {}, {}};
  std::size_t first = 0;
  for (const corpus::FamilyRange& range : recording.families) {
    compare_tiles(recorded, modelled.data(), range.name, first, range.tiles, most_examples, result);
    first += range.tiles;
  }
  return result;
}

}  // namespace mmaudit::checks
