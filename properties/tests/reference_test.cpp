// emulate() and dot() against the second, arbitrary-precision implementation of the same rules.
#include "mmaudit/oracles/reference.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>

#include "probe.hpp"

namespace mmaudit::test {
namespace {

/// Compares every `stride`-th element of every tile; returns how many were compared.
std::size_t compare_tiles(const Probe& probe, TileBatch& tiles, std::size_t stride, const std::string& what) {
  const TileBatch& emulated = tiles;
  emulate(probe.instruction, probe.datapath, tiles.view());
  const auto n = static_cast<std::size_t>(probe.instruction.n);
  const std::size_t elements = static_cast<std::size_t>(probe.instruction.m) * n;
  std::size_t compared = 0;
  for (std::size_t at = 0; at < tiles.tiles * elements; at += stride) {
    const std::size_t element = at % elements;
    const OneDot one = cut(emulated, at / elements, element / n, element % n);
    const std::uint64_t expected = oracle::reference_dot(probe.instruction, probe.datapath, one);
    ++compared;
    if (one.d == expected && model_dot(probe, one) == expected) continue;
    ADD_FAILURE() << what << ": " << text_of(probe.instruction, one) << " reference " << std::hex << expected
                  << " emulate() " << one.d << " dot() " << model_dot(probe, one);
    break;
  }
  return compared;
}

std::uint8_t every_modifier(const Instruction& instruction) {
  return is_wgmma(instruction.op) ? kScaleDZero | kNegateA | kNegateB : 0;
}

TEST(Reference, EmulateAndDotAgreeOnEveryInstructionAndFamily) {
  std::size_t compared = 0;
  for (const Probe& probe : all_probes()) {
    const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
    const std::uint8_t modifiers = every_modifier(probe.instruction);
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto input_class = static_cast<gen::InputClass>(f);
      TileBatch tiles(probe.instruction);
      // 14 tiles take every combination of the three modifiers that change the result.
      for (std::size_t t = 0; t < 14; ++t) {
        const auto some = static_cast<std::uint8_t>(t < 6 ? 0U : (t - 6U) & modifiers);
        gen::append_class(tiles, generator, input_class, kSeed, t, 1, some);
      }
      const std::size_t stride = is_wgmma(probe.instruction.op) ? 17 : 5;  // coprime to m and n
      compared += compare_tiles(probe, tiles, stride, std::string(name_of(input_class)));
    }
  }
  std::printf("%zu dots compared\n", compared);
  EXPECT_GE(compared, 150'000U);
}

TEST(Reference, EmulateAndDotAgreeOnDirectedCases) {
  std::size_t compared = 0;
  for (const Probe& probe : all_probes()) {
    TileBatch tiles(probe.instruction);
    gen::append_directed(tiles, probe.datapath, 0);
    compared += compare_tiles(probe, tiles, 11, "directed");
  }
  std::printf("%zu dots compared\n", compared);
  EXPECT_GE(compared, 10'000U);
}

/// Raw bits of a format in which zeros, ones, specials and neighbours of 1 are as frequent as random bits.
rc::Gen<std::uint64_t> arbitrary_bits(const FormatSpec& format) {
  const std::uint64_t sign = format.sign_bit();
  const std::uint64_t unit = std::uint64_t{1} << format.ignored_low_bits;
  const std::uint64_t one = static_cast<std::uint64_t>(format.bias)
                            << (format.fraction_bits + format.ignored_low_bits);
  const std::uint64_t mask = sign | (sign - 1);
  return rc::gen::oneOf(
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [mask](std::uint64_t x) { return x & mask; }),
      rc::gen::element(std::uint64_t{0}, sign, unit, sign | unit, one, sign | one, one + unit, one - unit,
                       format.max_finite_bits(), format.infinity_bits(), sign - 1));
}

TEST(Reference, DotAgreesOnArbitraryBitPatterns) {
  const std::vector<Probe> probes = all_probes();
  EXPECT_TRUE(rc::check("dot() is the reference on arbitrary bits", [&probes] {
    const auto index = *rc::gen::inRange<std::size_t>(0, probes.size());
    const Probe& probe = probes[index];
    const auto depth = static_cast<std::size_t>(probe.instruction.k);
    OneDot one;
    one.a = *rc::gen::container<std::vector<std::uint64_t>>(
        static_cast<std::size_t>(probe.instruction.stored_k()), arbitrary_bits(spec_of(probe.instruction.a)));
    one.b =
        *rc::gen::container<std::vector<std::uint64_t>>(depth, arbitrary_bits(spec_of(probe.instruction.b)));
    one.c = *arbitrary_bits(spec_of(probe.instruction.c));
    const Sparsity sparsity = sparsity_of(probe.instruction);
    if (is_sparse(probe.instruction.op)) one.metadata.resize(one.a.size());
    for (std::size_t k = 0; k < one.metadata.size(); k += static_cast<std::size_t>(sparsity.kept))
      write_pattern(sparsity, *rc::gen::inRange(0, patterns(sparsity)), &one.metadata[k]);
    one.modifiers = static_cast<std::uint8_t>(static_cast<unsigned>(*rc::gen::inRange(0, 8)) &
                                              every_modifier(probe.instruction));
    RC_ASSERT(model_dot(probe, one) == oracle::reference_dot(probe.instruction, probe.datapath, one));
  }));
}

}  // namespace
}  // namespace mmaudit::test
