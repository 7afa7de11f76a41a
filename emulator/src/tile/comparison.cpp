#include "mmaudit/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mmaudit/convert.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit {

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

std::uint64_t ulps_between(std::uint64_t x, std::uint64_t y, const FormatSpec& format) {
  // Bit patterns of one sign are consecutive integers; the two signs meet at zero.
  const auto ordered = [&](std::uint64_t bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & format.magnitude_mask());
    return (bits & format.sign_bit()) != 0 ? -magnitude : magnitude;
  };
  const std::int64_t p = ordered(x), q = ordered(y);
  return static_cast<std::uint64_t>(std::max(p, q)) - static_cast<std::uint64_t>(std::min(p, q));
}

std::string ulps_text(std::uint64_t x, std::uint64_t y, const FormatSpec& format) {
  const double a = decode_value(x, format), b = decode_value(y, format);
  if (format.integer()) return std::to_string(static_cast<std::int64_t>(std::fabs(a - b)));
  return std::isfinite(a) && std::isfinite(b) ? std::to_string(ulps_between(x, y, format)) : "-";
}

std::string explain_command(const Instruction& instruction, const DotCase& dot, const std::string& where) {
  const auto list = [](const auto& values, int bits) {
    std::string text;
    for (const std::uint64_t one : values) text += (text.empty() ? "0x" : ",0x") + hex_text(one, bits);
    return text;
  };
  std::string text = "mmaudit explain" + where + " --inst " + name_of(instruction) + " --a " +
                     list(dot.a, spec_of(instruction.a).storage_bits) + " --b " +
                     list(dot.b, spec_of(instruction.b).storage_bits) + " --c 0x" +
                     hex_text(dot.c, spec_of(instruction.c).storage_bits);
  for (std::size_t k = 0; k < dot.metadata.size(); ++k)
    text += (k == 0 ? " --metadata " : ",") + std::to_string(dot.metadata[k]);
  if (!dot.scale_a.empty()) text += " --scale-a " + list(dot.scale_a, 8);
  if (!dot.scale_b.empty()) text += " --scale-b " + list(dot.scale_b, 8);
  return text;
}

std::string describe(const Mismatch& mismatch, const Instruction& instruction) {
  const FormatSpec d = spec_of(instruction.d);
  const DotCase& dot = mismatch.dot;
  return "    " + dot.input_class + " tile " + std::to_string(dot.tile) + " row " + std::to_string(dot.row) +
         " column " + std::to_string(dot.column) + " modifiers 0x" +
         hex_text(dot.modifiers, dot.modifiers < 16 ? 4 : 8) + "\n      expected " +
         hex_value(mismatch.expected, d) + "   model " + hex_value(mismatch.found, d) + "   " +
         ulps_text(mismatch.expected, mismatch.found, d) + " ulp\n      " +
         explain_command(instruction, dot) + "\n";
}

}  // namespace mmaudit
