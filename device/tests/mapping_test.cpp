// Small integers through every kernel: sums are exact in every format, so the result must be the integer
// product whatever the arithmetic, and any element loaded from or stored to the wrong place shows.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "gpu_fixture.hpp"
#include "mmaudit/generators/tiles.hpp"

namespace mmaudit::device {
namespace {

constexpr std::size_t kTiles = 6;

/// Bits of a small integer.
std::uint64_t encode(const FormatSpec& format, int value) {
  if (value == 0) return 0;
  if (format.integer())
    return static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << format.value_bits()) - 1);
  const auto size = static_cast<std::uint64_t>(std::abs(value));
  const int exponent = floor_log2(size);
  const std::uint64_t significand = size << (format.fraction_bits - exponent);
  const std::uint64_t field = static_cast<std::uint64_t>(exponent - format.min_exponent());
  const std::uint64_t bits = ((field << format.fraction_bits) + significand) << format.ignored_low_bits;
  return bits | (value < 0 ? format.sign_bit() : 0);
}

/// A small integer that the format holds, from a random word.
int small_value(const FormatSpec& format, std::uint64_t word) {
  const int value = static_cast<int>(word % 9) - 4;
  if (format.encoding != Encoding::unsigned_integer) return value;
  return format.value_bits() == 1 ? std::abs(value) % 2 : std::abs(value);
}

struct IntegerTiles {
  std::size_t m, n, k, stored;
  std::vector<int> a, b, c;
  TileBatch bits;

  explicit IntegerTiles(const Instruction& instruction)
      : m(static_cast<std::size_t>(instruction.m)),
        n(static_cast<std::size_t>(instruction.n)),
        k(static_cast<std::size_t>(instruction.k)),
        stored(static_cast<std::size_t>(instruction.stored_k())),
        bits(instruction) {
    bits.tiles = kTiles;
    std::uint64_t state = 0x9E3779B97F4A7C15U * (m * 1000003 + n * 1009 + k);
    const auto fill = [&](std::vector<int>& values, std::vector<std::byte>& buffer, std::size_t count,
                          Format of) {
      const FormatSpec format = spec_of(of);
      values.resize(count);
      buffer.resize(count * format.storage_bytes());
      for (std::size_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        values[i] = small_value(format, state >> 33);
        gen::store_bits(buffer, format.storage_bytes(), i, encode(format, values[i]));
      }
    };
    fill(a, bits.a, kTiles * m * stored, instruction.a);
    fill(b, bits.b, kTiles * k * n, instruction.b);
    fill(c, bits.c, kTiles * m * n, instruction.c);
    if (!is_sparse(instruction.op)) return;
    const Sparsity sparsity = sparsity_of(instruction);
    const auto kept = static_cast<std::size_t>(sparsity.kept);
    bits.metadata.resize(kTiles * m * stored);
    for (std::size_t at = 0; at < bits.metadata.size(); at += kept) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      write_pattern(sparsity, static_cast<int>((state >> 33) % static_cast<unsigned>(patterns(sparsity))),
                    &bits.metadata[at]);
    }
  }

  /// The row of B that element i of a row of A meets.
  [[nodiscard]] std::size_t met(std::size_t tile, std::size_t row, std::size_t i) const {
    if (bits.metadata.empty()) return i;
    return static_cast<std::size_t>(selected_k(sparsity_of(bits.instruction), MetadataRule::selected,
                                               &bits.metadata[(tile * m + row) * stored],
                                               static_cast<int>(i)));
  }

  [[nodiscard]] int product(std::size_t tile, std::size_t row, std::size_t col) const {
    int sum = 0;
    const bool differing = bits.instruction.multiply == Multiply::xor_popc;
    for (std::size_t i = 0; i < stored; ++i) {
      const int x = a[(tile * m + row) * stored + i], y = b[(tile * k + met(tile, row, i)) * n + col];
      sum += differing ? x ^ y : x * y;
    }
    return sum;
  }

  [[nodiscard]] int expected(std::size_t tile, std::size_t row, std::size_t col, unsigned modifiers,
                             int repetitions) const {
    const bool negative = ((modifiers & kNegateA) != 0) != ((modifiers & kNegateB) != 0);
    const int start = (modifiers & kScaleDZero) != 0 ? 0 : c[(tile * m + row) * n + col];
    return start + (negative ? -1 : 1) * repetitions * product(tile, row, col);
  }

  /// How many elements of D are not the integer product; `modifiers`: one byte per tile.
  [[nodiscard]] std::size_t wrong(const std::vector<std::uint8_t>& modifiers, int repetitions) const {
    const FormatSpec format = spec_of(bits.instruction.d);
    std::size_t count = 0;
    for (std::size_t tile = 0; tile < kTiles; ++tile)
      for (std::size_t row = 0; row < m; ++row)
        for (std::size_t col = 0; col < n; ++col) {
          const std::uint64_t d = gen::load_bits(bits.d, format.storage_bytes(), (tile * m + row) * n + col);
          if (d != encode(format, expected(tile, row, col, modifiers[tile], repetitions))) ++count;
        }
    return count;
  }
};

std::size_t wrong_elements(const DeviceInfo& info, const Variant& variant, const RunOptions& options) {
  IntegerTiles tiles(variant.instruction);
  tiles.bits.modifiers.assign(kTiles, variant.modifiers);
  run(info, variant.instruction, tiles.bits.view(), options);
  return tiles.wrong(tiles.bits.modifiers, options.repetitions);
}

class Mapping : public Gpu {};

TEST_F(Mapping, IntegersComeOutRightForEveryInstructionAndModifier) {
  std::size_t ran = 0;
  for (const Variant& variant : every_variant()) {
    if (!why_not(info_, variant.instruction, variant.modifiers).empty()) continue;
    ++ran;
    const std::size_t wrong = wrong_elements(info_, variant, {});
    if (wrong == 0) continue;
    const std::size_t swapped = wrong_elements(info_, variant, {.repetitions = 1, .swap_offsets = true});
    ADD_FAILURE() << name_of(variant.instruction) << " modifiers " << int{variant.modifiers} << ": " << wrong
                  << " elements wrong; with swapped descriptor offsets: " << swapped;
  }
  EXPECT_GT(ran, 0U);
  std::printf("%zu variants ran\n", ran);
}

TEST_F(Mapping, EveryInstructionThatHopperHasRunsOnHopper) {
  if (info_.compute_capability != 90) GTEST_SKIP() << "not compute capability 9.0";
  for (const Instruction& instruction : every_instruction()) {
    if (find_datapath(*find_architecture("hopper"), instruction) == nullptr) continue;
    if (is_wgmma(instruction.op) && !has_n(instruction)) continue;  // sparse: four n are compiled
    EXPECT_EQ(why_not(info_, instruction), "");
  }
}

TEST_F(Mapping, RepetitionsFeedDBackAsC) {
  for (const Variant& variant : every_variant()) {
    if (is_wgmma(variant.instruction.op) && variant.instruction.n != 64) continue;
    if (variant.instruction.c != variant.instruction.d) continue;  // D has not C's format
    if (!why_not(info_, variant.instruction, variant.modifiers).empty()) continue;
    EXPECT_EQ(wrong_elements(info_, variant, {.repetitions = 3}), 0U)
        << name_of(variant.instruction) << " modifiers " << int{variant.modifiers};
  }
}

TEST_F(Mapping, EachTileOfABatchHasItsOwnModifiers) {
  const Instruction instruction = find_instruction("wgmma.m64n64k16.f32.f16.f16").value();
  if (!why_not(info_, instruction).empty()) GTEST_SKIP() << why_not(info_, instruction);
  IntegerTiles tiles(instruction);
  tiles.bits.modifiers = {0, kScaleDZero, kNegateA | kAFromRegisters, kTransposeB, kNegateB | kTransposeA, 0};
  ASSERT_EQ(tiles.bits.modifiers.size(), kTiles);
  run(info_, instruction, tiles.bits.view());
  EXPECT_EQ(tiles.wrong(tiles.bits.modifiers, 1), 0U);
}

TEST_F(Mapping, NoCMeansPlusZero) {
  for (const char* name :
       {"wgmma.m64n64k16.f32.f16.f16", "mma.m16n8k16.f32.f16.f16.f32", "mma.m8n8k4.f64.f64.f64.f64",
        "wgmma.m64n64k256.s32.b1.b1.and.popc", "mma.m16n8k64.s32.s4.u4.s32", "wmma.m32n8k16.f16.f16.f16.f32",
        "wmma.m8n8k4.f64.f64.f64.f64"}) {
    const Instruction instruction = find_instruction(name).value();
    if (!why_not(info_, instruction).empty()) continue;
    IntegerTiles tiles(instruction);
    TileView batch = tiles.bits.view();
    batch.c = nullptr;
    batch.modifiers = nullptr;
    run(info_, instruction, batch);
    EXPECT_EQ(tiles.wrong(std::vector<std::uint8_t>(kTiles, kScaleDZero), 1), 0U) << name;
  }
}

}  // namespace
}  // namespace mmaudit::device
