// The oracles among themselves: where two disagree it is neither the model's fault nor the hardware's.
#include <gtest/gtest.h>

#include "opinions.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

std::size_t all_agree(const Probe& probe, const TileBatch& tiles, std::size_t stride) {
  const auto n = static_cast<std::size_t>(probe.instruction.n);
  const std::size_t elements = static_cast<std::size_t>(probe.instruction.m) * n;
  std::size_t compared = 0;
  for (std::size_t at = 0; at < tiles.tiles * elements; at += stride) {
    const OneDot one = cut(tiles, at / elements, at % elements / n, at % n);
    const oracle::Opinions found = oracle::opinions_of(probe.instruction, one);
    ++compared;
    if (found.agree()) continue;
    ADD_FAILURE() << "two oracles disagree: " << text_of(probe.instruction, one) << std::hex << " exact "
                  << found.exact << ", MPFR " << found.mpfr << ", integers " << found.integers;
    break;
  }
  return compared;
}

TEST(Opinions, EveryOracleRoundsAlike) {
  std::size_t compared = 0;
  std::vector<Probe> probes = all_probes();
  for (const Probe& one : scaled_probes()) probes.push_back(one);
  for (const Probe& probe : probes) {
    if (spec_of(probe.instruction.d).integer()) continue;  // nothing is rounded there
    const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
    const std::uint8_t modifiers = is_wgmma(probe.instruction.op) ? kScaleDZero | kNegateA | kNegateB : 0;
    for (int f = 0; f < gen::kInputClasses; ++f) {
      TileBatch tiles(probe.instruction);
      gen::append_class(tiles, generator, static_cast<gen::InputClass>(f), kSeed, 0, 2, 0);
      gen::append_class(tiles, generator, static_cast<gen::InputClass>(f), kSeed, 2, 1, modifiers);
      compared += all_agree(probe, tiles, 37);
    }
    TileBatch tiles(probe.instruction);
    gen::append_directed(tiles, probe.datapath, 0);
    compared += all_agree(probe, tiles, 41);
  }
  std::printf("%zu dot products\n", compared);
  EXPECT_GT(compared, 10'000U);
}

/// Halves of a unit, at the least numbers and the largest.
TEST(Opinions, TiesAndEnds) {
  const Instruction f16 = find_instruction("mma.m16n8k16.f16.f16.f16.f16").value();
  std::size_t compared = 0;
  for (std::uint64_t x = 0; x < 0x7C00; x += 0x3F)
    for (const std::uint64_t half : {0x0001U, 0x1000U, 0x1400U, 0x2C00U, 0x3800U, 0x4BFFU}) {
      std::vector<std::uint64_t> a(16), b(16);
      a[0] = x;
      b[0] = 0x3C00;
      a[1] = half;
      b[1] = 0x3800;
      const oracle::Opinions found = oracle::opinions_of(f16, {.a = a, .b = b, .c = x ^ 0x8000U * (x & 1U)});
      ++compared;
      EXPECT_TRUE(found.agree()) << std::hex << x << ' ' << half << ": " << found.exact << ' ' << found.mpfr
                                 << ' ' << found.integers;
    }
  EXPECT_GT(compared, 3000U);
}

TEST(Opinions, ADisagreementIsSeen) {
  EXPECT_TRUE((oracle::Opinions{1, 1, 1}.agree()));
  EXPECT_FALSE((oracle::Opinions{2, 1, 1}.agree()));
  EXPECT_FALSE((oracle::Opinions{1, 2, 1}.agree()));
  EXPECT_FALSE((oracle::Opinions{1, 1, 2}.agree()));
}

}  // namespace
}  // namespace mmaudit::test
