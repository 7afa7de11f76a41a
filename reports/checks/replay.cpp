#include "replay.hpp"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

#include "mmaudit/emulate.hpp"

namespace mmaudit::checks {
namespace {

void check_shape(const corpus::Tensor& tensor, std::uint64_t rows, std::uint64_t columns, std::size_t bytes,
                 const std::string& file) {
  if (tensor.shape.size() == 3 && tensor.shape[1] == rows && tensor.shape[2] == columns &&
      corpus::bytes_of(tensor.dtype) == bytes) {
    return;
  }
  throw InputError(fmt::format(
      "{}: {}: found shape {} of {}-byte elements, allowed [tiles, {}, {}] of {}-byte elements", file,
      tensor.name, corpus::to_string(tensor.shape), corpus::bytes_of(tensor.dtype), rows, columns, bytes));
}

}  // namespace

std::uint64_t Comparison::dots() const {
  std::uint64_t sum = 0;
  for (const ClassCount& one : classes) sum += one.dots;
  return sum;
}

std::uint64_t Comparison::mismatches() const {
  std::uint64_t sum = 0;
  for (const ClassCount& one : classes) sum += one.mismatches;
  return sum;
}

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
  const std::string& name = recording.provenance.instruction;
  const auto found = find_instruction(name);
  if (!found) throw InputError(file + ": instruction: " + why_no_instruction(name));
  const auto m = static_cast<std::uint64_t>(found->m);
  const auto n = static_cast<std::uint64_t>(found->n);
  const auto k = static_cast<std::uint64_t>(found->k);
  check_shape(recording.a, m, static_cast<std::uint64_t>(found->stored_k()),
              spec_of(found->a).storage_bytes(), file);
  check_shape(recording.b, k, n, spec_of(found->b).storage_bytes(), file);
  check_shape(recording.c, m, n, spec_of(found->c).storage_bytes(), file);
  check_shape(recording.d, m, n, spec_of(found->d).storage_bytes(), file);
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
