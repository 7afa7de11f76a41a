// Products whose instructions read block scales or metadata, and products of integers, bits and binary64:
// matmul() against emulate(), which computes them tile by tile, on every such row of every architecture, bit
// for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "mmaudit/backend.hpp"
#include "mmaudit/matmul.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

constexpr std::uint64_t kRows = 5, kColumns = 35;  // no whole vector, no whole group of rows

/// Rows with scales, metadata or another arithmetic than dot-adds; each datapath once per set of formats.
std::vector<Probe> probes() {
  std::vector<Probe> found;
  for (const Architecture& architecture : architectures()) {
    for (Instruction instruction : kInstructions) {
      instruction = with_shape(instruction, kWgmmaMinN);
      const DatapathEntry* entry = find_datapath(architecture, instruction);
      if (entry == nullptr || instruction.c != instruction.d) continue;
      const bool dense = !is_sparse(instruction.op) && instruction.scale == Format::none;
      const bool adds = entry->datapath.arithmetic == Arithmetic::fused_dot_add;
      if (!dense || !adds) found.push_back({instruction, entry->datapath});
    }
  }
  return found;
}

MatmulOptions how(bool fast, std::optional<SimdLevel> level = {}) {
  MatmulOptions options;
  options.fast = fast;
  options.level = level;
  return options;
}

/// The plain core, and every level of vectors where there is code for them.
std::vector<MatmulOptions> every_way(const Probe& probe) {
  std::vector<MatmulOptions> ways = {how(false)};
  for (const SimdLevel level : kSimdLevels)
    if (has_simd_level(level) && fast_serves(probe.instruction, probe.datapath))
      ways.push_back(how(true, level));
  return ways;
}

std::size_t compare(const Probe& probe, TileBatch& tiles, const std::string& what) {
  const TileView view = tiles.view();
  emulate(probe.instruction, probe.datapath, view);
  const std::vector<std::byte> expected = tiles.d;
  Matmul problem = product_of(probe.instruction, view);
  for (const MatmulOptions& options : every_way(probe)) {
    std::vector<std::byte> d(expected.size(), std::byte{0xA5});
    problem.d = d.data();
    EXPECT_EQ(why_no_matmul(probe.instruction, probe.datapath, problem), "");
    matmul(probe.instruction, probe.datapath, problem, options);
    if (d != expected) {
      ADD_FAILURE() << what << " " << name_of(probe.instruction) << " "
                    << (options.fast ? name_of(*options.level) : "plain");
      return 0;
    }
  }
  return tiles.tiles * problem.m * problem.n;
}

TEST(SideData, EveryRowAsTilesAndAsProducts) {
  std::size_t compared = 0;
  std::set<std::string> scaled;
  for (Probe& probe : probes()) {
    // Rows are alike, and 128 of them eight times the work.
    probe.instruction.m = std::min<std::int16_t>(probe.instruction.m, 16);
    TileBatch directed(probe.instruction);
    gen::append_directed(directed, probe.datapath, 0);
    compared += compare(probe, directed, "directed");
    probe.instruction.m = kRows;
    probe.instruction.n = kColumns;
    const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto input_class = static_cast<gen::InputClass>(f);
      TileBatch tiles(probe.instruction);
      gen::append_class(tiles, generator, input_class, kSeed, 0, 1, 0);
      compared += compare(probe, tiles, std::string(name_of(input_class)));
    }
    if (probe.instruction.scale != Format::none) scaled.insert(name_of(probe.instruction));
  }
  std::printf("%zu elements compared, %zu scaled instructions\n", compared, scaled.size());
  EXPECT_GE(compared, 1'000'000U);
  EXPECT_GE(scaled.size(), 2 * (25U + 3U));  // mma and tcgen05: 25 pairs of elements, 3 kinds of 4 bits
}

/// Depth that vector code reads at once, at most. A product must be deeper, so that a second part of its
/// operands is read.
constexpr std::size_t kChunk = 256;

/// A product of several instructions over K, the last of them a piece, made of tiles whose D is the C of the
/// next one.
struct Chain {
  TileBatch tiles;
  std::uint64_t k;
  std::vector<std::byte> a, b, c, expected;
  std::vector<std::uint8_t> scale_a, scale_b, metadata;

  Chain(const Probe& probe, gen::InputClass input_class, std::uint64_t seed, std::uint64_t piece)
      : tiles(probe.instruction) {
    const Instruction& inst = probe.instruction;
    const TileExtents x(inst);
    const std::size_t count = kChunk / x.k + 2;
    gen::append_class(tiles, gen::make_generator_spec(inst, probe.datapath), input_class, seed, 0, count, 0);
    k = (count - 1) * x.k + piece;
    cut(inst, x, piece);
    const std::size_t of_a = spec_of(inst.a).storage_bytes(), of_b = spec_of(inst.b).storage_bytes();
    const auto along_k = [&](auto& out, const auto& from, std::size_t a_row, std::size_t last) {
      for (std::size_t i = 0; i < x.m; ++i)
        for (std::size_t t = 0; t < count; ++t) {
          const auto first = from.begin() + static_cast<std::ptrdiff_t>((t * x.m + i) * a_row);
          out.insert(out.end(), first, first + static_cast<std::ptrdiff_t>(t + 1 < count ? a_row : last));
        }
    };
    const std::size_t stored_piece = piece * x.stored / x.k;
    along_k(a, tiles.a, x.stored * of_a, stored_piece * of_a);
    b.assign(tiles.b.begin(), tiles.b.begin() + static_cast<std::ptrdiff_t>(k * x.n * of_b));
    if (x.blocks != 0) {
      const auto length = static_cast<std::size_t>(inst.scale_block);
      const std::size_t last = (piece + length - 1) / length;
      along_k(scale_a, tiles.scale_a, x.blocks, last);
      scale_b.assign(
          tiles.scale_b.begin(),
          tiles.scale_b.begin() + static_cast<std::ptrdiff_t>(((count - 1) * x.blocks + last) * x.n));
    }
    if (is_sparse(inst.op)) along_k(metadata, tiles.metadata, x.stored, stored_piece);
    c.assign(tiles.c.begin(), tiles.c.begin() + static_cast<std::ptrdiff_t>(tiles.c.size() / count));
    expected = c;
    const TileView all = tiles.view();
    for (std::size_t t = 0; t < count; ++t) {
      TileView one = all;
      one.tiles = 1;
      one.a = static_cast<const std::byte*>(all.a) + t * x.m * x.stored * of_a;
      one.b = static_cast<const std::byte*>(all.b) + t * x.k * x.n * of_b;
      one.c = one.d = expected.data();
      one.modifiers = nullptr;
      if (all.scale_a != nullptr) one.scale_a = all.scale_a + t * x.m * x.blocks;
      if (all.scale_b != nullptr) one.scale_b = all.scale_b + t * x.blocks * x.n;
      if (all.metadata != nullptr) one.metadata = all.metadata + t * x.m * x.stored;
      emulate(inst, probe.datapath, one);
    }
  }

  [[nodiscard]] Matmul problem() {
    Matmul out = product_of(tiles.instruction, tiles.view());
    out.batch = 1;
    out.k = k;
    out.a = a.data();
    out.b = b.data();
    out.c = c.data();
    if (!scale_a.empty()) out.scale_a = scale_a.data();
    if (!scale_b.empty()) out.scale_b = scale_b.data();
    if (!metadata.empty()) out.metadata = metadata.data();
    return out;
  }

 private:
  /// What lies beyond K in the last tile is +0 with the scale 1.
  void cut(const Instruction& inst, const TileExtents& x, std::size_t piece) {
    const std::size_t of_a = spec_of(inst.a).storage_bytes(), of_b = spec_of(inst.b).storage_bytes();
    const std::size_t last = tiles.tiles - 1, stored_piece = piece * x.stored / x.k;
    const auto one = static_cast<std::uint8_t>(x.blocks == 0 ? 0 : one_bits(spec_of(inst.scale)));
    for (std::size_t i = 0; i < x.m; ++i)
      for (std::size_t s = stored_piece; s < x.stored; ++s) {
        store_bits(tiles.a, of_a, (last * x.m + i) * x.stored + s, 0);
        if (is_sparse(inst.op))
          tiles.metadata[(last * x.m + i) * x.stored + s] =
              static_cast<std::uint8_t>(s % static_cast<std::size_t>(sparsity_of(inst).kept));
      }
    for (std::size_t e = (last * x.k + piece) * x.n; e < tiles.tiles * x.k * x.n; ++e)
      store_bits(tiles.b, of_b, e, 0);
    for (std::size_t block = 0; block < x.blocks; ++block) {
      if (block * static_cast<std::size_t>(inst.scale_block) < piece) continue;
      for (std::size_t i = 0; i < x.m; ++i) tiles.scale_a[(last * x.m + i) * x.blocks + block] = one;
      for (std::size_t j = 0; j < x.n; ++j) tiles.scale_b[(last * x.blocks + block) * x.n + j] = one;
    }
  }
};

TEST(SideData, ChainsOverKWithAPieceAtTheEnd) {
  std::size_t compared = 0;
  for (Probe& probe : probes()) {
    probe.instruction.m = kRows;
    probe.instruction.n = kColumns;
    const auto k = static_cast<std::uint64_t>(probe.instruction.k);
    const auto group = static_cast<std::uint64_t>(sparsity_of(probe.instruction).group);
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const std::uint64_t piece = std::max<std::uint64_t>(k * static_cast<std::uint64_t>(f + 1) / 11, 1);
      Chain chain(probe, static_cast<gen::InputClass>(f), kSeed,
                  std::min(k, (piece + group - 1) / group * group));
      Matmul problem = chain.problem();
      for (const MatmulOptions& options : every_way(probe)) {
        std::vector<std::byte> d(chain.expected.size(), std::byte{0xA5});
        problem.d = d.data();
        matmul(probe.instruction, probe.datapath, problem, options);
        ASSERT_TRUE(d == chain.expected)
            << name_of(probe.instruction) << " " << name_of(static_cast<gen::InputClass>(f)) << " "
            << (options.fast ? name_of(*options.level) : "plain");
      }
      compared += kRows * kColumns;
    }
  }
  std::printf("%zu elements compared\n", compared);
  EXPECT_GE(compared, 300'000U);
}

/// A group of zeros has no exponent, whatever its scale: C keeps its bits.
TEST(SideData, ZerosUnderLargeScalesLeaveCAsItIs) {
  std::size_t compared = 0;
  for (Probe& probe : probes()) {
    if (probe.instruction.scale == Format::none) continue;
    probe.instruction.m = kRows;
    probe.instruction.n = kColumns;
    const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
    const FormatSpec scale = spec_of(probe.instruction.scale);
    const TileExtents x(probe.instruction);
    const std::uint64_t one = one_bits(scale), largest = scale.max_finite_bits();
    for (std::uint64_t part = 1; part <= 16; ++part) {
      const auto large = static_cast<std::uint8_t>(one + (largest - one) * part / 16);
      TileBatch tiles(probe.instruction);
      gen::append_class(tiles, generator, gen::InputClass::normal, kSeed, 0, 1, 0);
      const std::size_t of_a = spec_of(probe.instruction.a).storage_bytes();
      const std::size_t of_b = spec_of(probe.instruction.b).storage_bytes();
      // Neither a row of A nor a column of B is zero, but every product is.
      const auto stored = static_cast<std::size_t>(probe.instruction.stored_k());
      const Sparsity sparsity = sparsity_of(probe.instruction);
      const auto kept = static_cast<std::size_t>(sparsity.kept),
                 group = static_cast<std::size_t>(sparsity.group);
      for (std::size_t e = 0; e < x.m * stored; ++e) {
        const std::size_t k = e % stored;
        const std::size_t met = tiles.metadata.empty() ? k : k / kept * group + tiles.metadata[e];
        if (met % 2 == 0) store_bits(tiles.a, of_a, e, 0);
      }
      for (std::size_t k = 1; k < x.k; k += 2)
        for (std::size_t j = 0; j < x.n; ++j) store_bits(tiles.b, of_b, k * x.n + j, 0);
      for (std::size_t e = 0; e < x.m * x.n; ++e)  // small, with all its bits
        store_bits(tiles.c, 4, e, (load_bits(tiles.c, 4, e) & 0x807FFFFFU) | (127U - 40U) << 23 | 1U);
      std::fill(tiles.scale_a.begin(), tiles.scale_a.end(), large);
      std::fill(tiles.scale_b.begin(), tiles.scale_b.end(), large);
      compared += compare(probe, tiles, "zeros");
      EXPECT_EQ(tiles.d, tiles.c) << name_of(probe.instruction);
    }
  }
  EXPECT_GE(compared, 50'000U);
}

/// Scales about 1 that lie close together, as scales of tensors do: what the vector code for groups is made
/// for. Then C is made so large, or so small, that alignment cuts something off.
TEST(SideData, ScalesAndSumsOfEveryDistance) {
  std::size_t compared = 0;
  for (Probe& probe : scaled_probes()) {
    probe.instruction.m = kRows;
    probe.instruction.n = kColumns;
    const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
    const FormatSpec scale = spec_of(probe.instruction.scale);
    const unsigned one = static_cast<unsigned>(one_bits(scale)), binade = 1U << scale.fraction_bits;
    for (unsigned spread = 0; spread < 12; ++spread) {
      for (int exponent = -60; exponent <= 60; exponent += 5) {
        Probe changed = probe;
        if (exponent % 2 != 0 && changed.datapath.arithmetic == Arithmetic::grouped_dot_add) {
          changed.datapath.fraction_bits = static_cast<std::int16_t>(28 + spread);
          changed.datapath.min_alignment_exponent = static_cast<std::int16_t>(exponent);
          changed.datapath.group = static_cast<std::int16_t>(4 << spread % 3);
          changed.datapath.products_per_step = static_cast<std::int16_t>(spread % 2 == 0 ? 32 : 64);
        }
        TileBatch tiles(probe.instruction);
        gen::append_class(tiles, generator, gen::InputClass::normal, kSeed + spread, 0, 1, 0);
        Draws random = gen::detail::element_stream(kSeed, exponent, static_cast<int>(spread));
        for (auto* scales : {&tiles.scale_a, &tiles.scale_b})
          for (std::uint8_t& x : *scales)
            x = static_cast<std::uint8_t>(one + random.next() % (spread * binade / 2 + 1));
        for (std::size_t e = 0; e < kRows * kColumns; ++e) {
          const auto bits = static_cast<std::uint32_t>(random.next()) & 0x807FFFFFU;
          store_bits(tiles.c, 4, e,
                     bits | static_cast<std::uint32_t>(127 + exponent + random.next() % 5) << 23);
        }
        compared += compare(changed, tiles, "spread " + std::to_string(spread));
      }
    }
  }
  std::printf("%zu elements compared\n", compared);
  EXPECT_GE(compared, 300'000U);
}

}  // namespace
}  // namespace mmaudit::test
