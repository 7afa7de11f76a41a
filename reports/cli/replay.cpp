#include "replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include "mmaudit/convert.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/value_text.hpp"
#include "row_json.hpp"

namespace mmaudit::cli {
namespace {

using gen::load_bits;

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

std::uint64_t ReplayResult::dots() const {
  std::uint64_t sum = 0;
  for (const FamilyCount& family : families) sum += family.dots;
  return sum;
}

std::uint64_t ReplayResult::mismatches() const {
  std::uint64_t sum = 0;
  for (const FamilyCount& family : families) sum += family.mismatches;
  return sum;
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

ReplayResult replay(const corpus::Recording& recording, const Instruction& instruction,
                    const Datapath& datapath, std::size_t max_examples) {
  const auto m = static_cast<std::size_t>(instruction.m);
  const auto n = static_cast<std::size_t>(instruction.n);
  const auto k = static_cast<std::size_t>(instruction.k);
  const auto stored = static_cast<std::size_t>(instruction.stored_k());
  const std::size_t d_bytes = spec_of(instruction.d).storage_bytes();
  std::vector<std::byte> modelled(recording.d.data.size());
  emulate(instruction, datapath,
          {.tiles = recording.tiles,
           .a = recording.a.data.data(),
           .b = recording.b.data.data(),
           .c = recording.c.data.data(),
           .d = modelled.data(),
           .modifiers = recording.modifiers.data(),
           .metadata = recording.metadata.empty() ? nullptr : recording.metadata.data()});
  ReplayResult result;
  result.instruction = instruction;
  std::size_t tile = 0;
  for (const corpus::FamilyRange& family : recording.families) {
    FamilyCount count{family.name, family.tiles * m * n, 0};
    for (const std::size_t end = tile + family.tiles; tile < end; ++tile) {
      const std::size_t first = tile * m * n;
      // Most tiles agree: one comparison of the whole tile before any element is looked at.
      if (std::memcmp(&modelled[first * d_bytes], &recording.d.data[first * d_bytes], m * n * d_bytes) == 0)
        continue;
      for (std::size_t i = 0; i < m * n; ++i) {
        const std::uint64_t expected = load_bits(recording.d.data, d_bytes, first + i);
        const std::uint64_t found = load_bits(modelled, d_bytes, first + i);
        if (expected == found) continue;
        ++count.mismatches;
        if (result.examples.size() >= max_examples) continue;
        Mismatch example;
        example.family = family.name;
        example.tile = tile;
        example.row = static_cast<int>(i / n);
        example.column = static_cast<int>(i % n);
        example.modifiers = recording.modifiers[tile];
        for (std::size_t p = 0; p < stored; ++p) {
          const std::size_t at = (tile * m + i / n) * stored + p;
          example.a.push_back(load_bits(recording.a.data, spec_of(instruction.a).storage_bytes(), at));
          if (!recording.metadata.empty()) example.metadata.push_back(recording.metadata[at]);
        }
        for (std::size_t p = 0; p < k; ++p) {
          example.b.push_back(load_bits(recording.b.data, spec_of(instruction.b).storage_bytes(),
                                        (tile * k + p) * n + i % n));
        }
        example.c = load_bits(recording.c.data, spec_of(instruction.c).storage_bytes(), first + i);
        example.expected = expected;
        example.modelled = found;
        result.examples.push_back(std::move(example));
      }
    }
    result.families.push_back(std::move(count));
  }
  return result;
}

std::string ulps_text(std::uint64_t x, std::uint64_t y, const FormatSpec& format) {
  const double a = decode_value(x, format);
  const double b = decode_value(y, format);
  if (format.integer()) return fmt::format("{:.0f}", std::fabs(a - b));
  if (!std::isfinite(a) || !std::isfinite(b)) return "-";
  // Bit patterns of one sign are consecutive integers; the two signs meet at zero.
  const auto ordered = [&](std::uint64_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & format.magnitude_mask());
    return (bits & format.sign_bit()) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t p = ordered(x);
  const std::int64_t q = ordered(y);
  return fmt::format("{}", p > q ? static_cast<std::uint64_t>(p) - static_cast<std::uint64_t>(q)
                                 : static_cast<std::uint64_t>(q) - static_cast<std::uint64_t>(p));
}

std::string explain_command(const Instruction& instruction, std::string_view architecture,
                            const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                            std::uint64_t c, const std::vector<std::uint8_t>& metadata) {
  std::string arch = architecture.empty() ? "" : fmt::format(" --arch {}", architecture);
  if (user_model() != nullptr && architecture == user_model()->name)
    arch += fmt::format(" --model {}", user_model_file()->name);
  return fmt::format("mmaudit explain{} --inst {} --a 0x{} --b 0x{} --c 0x{}{}", arch, name_of(instruction),
                     fmt::join(hex_texts(a, instruction.a), ",0x"),
                     fmt::join(hex_texts(b, instruction.b), ",0x"),
                     hex_text(c, spec_of(instruction.c).storage_bits),
                     metadata.empty() ? "" : fmt::format(" --metadata {}", fmt::join(metadata, ",")));
}

std::string describe(const Mismatch& mismatch, const Instruction& instruction) {
  const FormatSpec d = spec_of(instruction.d);
  return fmt::format(
      "    {} tile {} row {} column {} modifiers {:#x}\n"
      "      expected 0x{} = {}   model 0x{} = {}   {} ulp\n"
      "      {}\n",
      mismatch.family, mismatch.tile, mismatch.row, mismatch.column, mismatch.modifiers,
      hex_text(mismatch.expected, d.storage_bits), value_text(mismatch.expected, d),
      hex_text(mismatch.modelled, d.storage_bits), value_text(mismatch.modelled, d),
      ulps_text(mismatch.expected, mismatch.modelled, d),
      explain_command(instruction, {}, mismatch.a, mismatch.b, mismatch.c, mismatch.metadata));
}

}  // namespace mmaudit::cli
