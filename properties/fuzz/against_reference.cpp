#include "against_reference.hpp"

#include <vector>

#include "mmaudit/comparison.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::fuzz {
namespace {

constexpr std::size_t kSide = 2;

/// One byte per element: the values where rules differ, and powers of two with some fraction bits.
std::uint64_t spelled(const FormatSpec& format, std::uint8_t byte) {
  const std::uint64_t mask =
      format.storage_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << format.storage_bits) - 1;
  const std::uint64_t noise = mix(byte + std::uint64_t{0x9E3779B97F4A7C15});
  if (format.integer()) {
    const std::uint64_t all = (std::uint64_t{1} << format.value_bits()) - 1;
    const std::uint64_t ends[] = {0, 1, all, all >> 1, (all >> 1) + 1, noise & all, noise & mask, byte};
    return ends[byte % 8U] & mask;
  }
  const std::uint64_t sign = (byte & 0x80U) != 0 ? format.sign_bit() : 0;
  const std::uint64_t unit = std::uint64_t{1} << format.ignored_low_bits;
  const int point = format.fraction_bits + format.ignored_low_bits;
  const unsigned low = byte & 0x7FU;
  if (low < 8) {
    const std::uint64_t edges[] = {0,
                                   unit,
                                   unit << format.fraction_bits,
                                   (unit << format.fraction_bits) - unit,
                                   format.max_finite_bits(),
                                   format.infinity_bits() & mask,
                                   format.magnitude_mask(),
                                   unit - 1};
    return (sign | edges[low]) & mask;
  }
  if (low < 16) return noise & mask;
  // Exponents around 0, a step of a third of the format's range for the outer ones.
  const int offset = static_cast<int>(low % 32U) - 16;
  const int field = format.bias + offset * (low < 64 ? 1 : 1 + format.bias / 24);
  const int most = (1 << format.exponent_bits) - 1;
  const int kept = field < 0 ? 0 : field > most ? most : field;
  const std::uint64_t fraction = low % 3U == 0 ? 0 : noise & ((std::uint64_t{1} << point) - 1);
  return (sign | static_cast<std::uint64_t>(kept) << point | fraction) & mask;
}

/// What modifies this instruction: only the warpgroup's forms have the first three.
std::uint8_t modifiers_of(const Instruction& instruction, std::uint8_t byte) {
  const bool all = is_asynchronous(instruction.op);
  return all && !spec_of(instruction.d).integer() ? byte & kModifierBits
         : all ? byte & static_cast<std::uint8_t>(kScaleDZero | kAFromRegisters)
               : 0;
}

TileBatch tiles_from(const Instruction& instruction, Bytes& bytes) {
  TileBatch tiles(instruction);
  tiles.tiles = 1;
  const bool raw = (bytes.byte() & 1U) != 0;
  const auto depth = static_cast<std::size_t>(instruction.k),
             stored = static_cast<std::size_t>(instruction.stored_k()),
             blocks = static_cast<std::size_t>(scales_of(instruction));
  const Sparsity sparsity = sparsity_of(instruction);
  tiles.modifiers = {modifiers_of(instruction, bytes.byte())};
  if (is_sparse(instruction.op)) {
    tiles.metadata.resize(kSide * stored);
    for (std::size_t k = 0; k < tiles.metadata.size(); k += static_cast<std::size_t>(sparsity.kept))
      write_pattern(sparsity, bytes.byte() % patterns(sparsity), &tiles.metadata[k]);
  }
  for (auto* scales : {&tiles.scale_a, &tiles.scale_b})
    for (std::size_t i = 0; i < kSide * blocks; ++i) scales->push_back(bytes.byte());
  const auto store = [&](std::vector<std::byte>& to, Format of, std::size_t at) {
    const FormatSpec format = spec_of(of);
    const std::uint64_t bits = raw ? bytes.word(format.storage_bytes()) : spelled(format, bytes.byte());
    store_word(to.data(), format.storage_bytes(), at, bits);
  };
  tiles.c.resize(kSide * kSide * spec_of(instruction.c).storage_bytes());
  tiles.a.resize(kSide * stored * spec_of(instruction.a).storage_bytes());
  tiles.b.resize(depth * kSide * spec_of(instruction.b).storage_bytes());
  for (std::size_t i = 0; i < kSide * kSide; ++i) store(tiles.c, instruction.c, i);
  for (std::size_t k = 0; k < depth; ++k)
    for (std::size_t side = 0; side < kSide; ++side) {
      if (k < stored) store(tiles.a, instruction.a, side * stored + k);
      store(tiles.b, instruction.b, k * kSide + side);
    }
  return tiles;
}

std::string report(const std::string& name, const TileBatch& tiles, const DotCase& one, const char* who,
                   std::uint64_t found, std::uint64_t expected) {
  const FormatSpec d = spec_of(tiles.instruction.d);
  return name + " modifiers " + std::to_string(tiles.modifiers[0]) + ", " + who + " " + hex_value(found, d) +
         ", reference " + hex_value(expected, d) + "\n  " + explain_command(tiles.instruction, one);
}

}  // namespace

std::string difference(const Instruction& instruction, const Datapath& model, const Datapath& reference,
                       Bytes& bytes) {
  Instruction is = instruction;
  is.m = is.n = kSide;
  TileBatch tiles = tiles_from(is, bytes);
  const unsigned modifiers = tiles.modifiers[0];
  emulate(is, model, tiles.view());
  std::vector<std::byte> product(tiles.d.size());
  Matmul whole;
  whole.m = whole.n = kSide;
  whole.k = static_cast<std::uint64_t>(is.k);
  whole.a = tiles.a.data();
  whole.b = tiles.b.data();
  whole.c = tiles.c.data();
  whole.d = product.data();
  if (!tiles.scale_a.empty()) whole.scale_a = tiles.scale_a.data();
  if (!tiles.scale_b.empty()) whole.scale_b = tiles.scale_b.data();
  if (!tiles.metadata.empty()) whole.metadata = tiles.metadata.data();
  const unsigned changing = kScaleDZero | kNegateA | kNegateB;
  if ((modifiers & changing) == 0 && why_no_matmul(instruction, model, whole).empty())
    matmul(instruction, model, whole);
  else
    product = tiles.d;
  const std::size_t width = spec_of(is.d).storage_bytes();
  for (std::size_t i = 0; i < kSide; ++i) {  // the diagonal has every row and every column
    const std::size_t at = i * kSide + i;
    const DotCase one = dot_at(is, tiles.filled(), 0, static_cast<int>(i), static_cast<int>(i));
    const std::uint64_t expected = oracle::reference_dot(is, reference, one);
    const std::uint64_t tile = load_word(tiles.d.data(), width, at);
    if (tile != expected) return report(name_of(instruction), tiles, one, "emulate()", tile, expected);
    const std::uint64_t fast = load_word(product.data(), width, at);
    if (fast != expected) return report(name_of(instruction), tiles, one, "matmul()", fast, expected);
    if (i != 0) continue;
    const std::uint64_t trace = explain(is, model, one).result;
    if (trace != expected) return report(name_of(instruction), tiles, one, "explain()", trace, expected);
  }
  return {};
}

void hold_to_reference(const Instruction& instruction, const Datapath& datapath, Bytes& bytes) {
  if (const std::string found = difference(instruction, datapath, datapath, bytes); !found.empty())
    fail(found);
}

}  // namespace mmaudit::fuzz
