// Block-scaled instructions: emulate(), dot() and explain() against the second implementation; every wrong
// model follows it too, and the inputs tell each from the row it came from.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/explain.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/mutants/mutants.hpp"
#include "mmaudit/oracles/exact.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

std::uint64_t reference(const Probe& probe, const OneDot& one) {
  return oracle::reference_dot(probe.instruction, probe.datapath, one);
}

std::uint64_t explained(const Probe& probe, const OneDot& one) {
  return explain(probe.instruction, probe.datapath, one).result;
}

/// One buffer a input class, the directed cases last.
std::vector<TileBatch> inputs_for(const Probe& probe, std::size_t tiles_a_family) {
  const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
  std::vector<TileBatch> inputs;
  for (int f = 0; f < gen::kInputClasses; ++f) {
    inputs.emplace_back(probe.instruction);
    gen::append_class(inputs.back(), generator, static_cast<gen::InputClass>(f), kSeed, 0, tiles_a_family, 0);
  }
  inputs.emplace_back(probe.instruction);
  gen::append_directed(inputs.back(), probe.datapath, 0);
  return inputs;
}

template <typename Visit>
void for_some(const TileBatch& tiles, std::size_t stride, Visit&& visit) {
  const auto n = static_cast<std::size_t>(tiles.instruction.n);
  const std::size_t elements = static_cast<std::size_t>(tiles.instruction.m) * n;
  for (std::size_t at = 0; at < tiles.tiles * elements; at += stride)
    visit(cut(tiles, at / elements, at % elements / n, at % n));
}

TEST(Scaled, EmulateDotAndExplainAreTheReference) {
  std::size_t compared = 0;
  for (const Probe& probe : scaled_probes()) {
    for (TileBatch& tiles : inputs_for(probe, 8)) {
      emulate(probe.instruction, probe.datapath, tiles.view());
      bool good = true;
      for_some(tiles, 5, [&](const OneDot& one) {
        if (!good) return;
        const std::uint64_t expected = reference(probe, one);
        good = one.d == expected && model_dot(probe, one) == expected && explained(probe, one) == expected;
        EXPECT_TRUE(good) << text_of(probe.instruction, one) << " reference " << std::hex << expected
                          << " emulate() " << one.d << " dot() " << model_dot(probe, one) << " explain() "
                          << explained(probe, one);
        ++compared;
      });
    }
  }
  std::printf("%zu dots compared\n", compared);
  EXPECT_GE(compared, 20'000U);
}

TEST(Scaled, EveryWrongModelFollowsTheReference) {
  std::size_t compared = 0;
  for (const Probe& probe : scaled_probes()) {
    const std::vector<TileBatch> inputs = inputs_for(probe, 1);
    for (const Mutant& wrong : mutants_of(probe.instruction, probe.datapath)) {
      const Probe mutant{probe.instruction, wrong.datapath};
      for (const TileBatch& tiles : inputs) {
        for_some(tiles, 47, [&](const OneDot& one) {
          ++compared;
          EXPECT_EQ(model_dot(mutant, one), reference(mutant, one))
              << wrong.rule << ' ' << wrong.change << ": " << text_of(probe.instruction, one);
        });
      }
    }
  }
  std::printf("%zu dots compared\n", compared);
  EXPECT_GE(compared, 20'000U);
}

TEST(Scaled, TheInputsTellEveryWrongModelExceptThoseThatCannotShow) {
  for (const Probe& probe : scaled_probes()) {
    std::vector<TileBatch> inputs = inputs_for(probe, 6);
    std::vector<std::vector<std::byte>> right;
    for (TileBatch& tiles : inputs) {
      emulate(probe.instruction, probe.datapath, tiles.view());
      right.push_back(tiles.d);
    }
    for (const Mutant& wrong : mutants_of(probe.instruction, probe.datapath)) {
      bool seen = false;
      for (std::size_t i = inputs.size(); i-- > 0 && !seen;) {
        emulate(probe.instruction, wrong.datapath, inputs[i].view());
        seen = inputs[i].d != right[i];
      }
      EXPECT_EQ(seen, wrong.invisible.empty()) << name_of(probe.instruction) << ", " << wrong.rule << ' '
                                               << wrong.change << ": " << wrong.invisible;
    }
  }
}

/// Bytes in which zero, one, NaN and the ends are as frequent as anything else.
rc::Gen<std::uint8_t> arbitrary_scale(const FormatSpec& format) {
  return rc::gen::oneOf(rc::gen::arbitrary<std::uint8_t>(),
                        rc::gen::inRange<std::uint8_t>(static_cast<std::uint8_t>(one_bits(format) - 3),
                                                       static_cast<std::uint8_t>(one_bits(format) + 4)),
                        rc::gen::element<std::uint8_t>(0, 1, 0x7E, 0x7F, 0x80, 0xB8, 0xFE, 0xFF));
}

TEST(Scaled, DotIsTheReferenceOnArbitraryBits) {
  const std::vector<Probe> probes = scaled_probes();
  EXPECT_TRUE(rc::check("dot() is the reference on arbitrary elements and scales", [&probes] {
    const Probe& probe = probes[*rc::gen::inRange<std::size_t>(0, probes.size())];
    const auto depth = static_cast<std::size_t>(probe.instruction.k),
               stored = static_cast<std::size_t>(probe.instruction.stored_k());
    const auto blocks = static_cast<std::size_t>(scales_of(probe.instruction));
    const FormatSpec scale = spec_of(probe.instruction.scale);
    const auto element =
        rc::gen::map(rc::gen::arbitrary<std::uint8_t>(), [](std::uint8_t x) { return std::uint64_t{x}; });
    OneDot one;
    one.a = *rc::gen::container<std::vector<std::uint64_t>>(stored, element);
    one.b = *rc::gen::container<std::vector<std::uint64_t>>(depth, element);
    one.c = *rc::gen::oneOf(
        rc::gen::arbitrary<std::uint32_t>(),
        rc::gen::element<std::uint32_t>(0, 1, 0x80000000, 0x3F800000, 0x7F7FFFFF, 0x7F800000));
    one.scale_a = *rc::gen::container<std::vector<std::uint8_t>>(blocks, arbitrary_scale(scale));
    one.scale_b = *rc::gen::container<std::vector<std::uint8_t>>(blocks, arbitrary_scale(scale));
    const Sparsity sparsity = sparsity_of(probe.instruction);
    one.metadata.resize(stored == depth ? 0 : stored);
    for (std::size_t k = 0; k < one.metadata.size(); k += static_cast<std::size_t>(sparsity.kept))
      write_pattern(sparsity, *rc::gen::inRange(0, patterns(sparsity)), &one.metadata[k]);
    RC_ASSERT(model_dot(probe, one) == reference(probe, one));
  }));
}

// Where nothing is lost the model is the exact sum, scales and all.
TEST(Scaled, WhatFitsIsExact) {
  std::size_t exact_ones = 0;
  for (const Probe& probe : scaled_probes()) {
    TileBatch tiles(probe.instruction);
    gen::append_class(tiles, gen::make_generator_spec(probe.instruction, probe.datapath),
                      gen::InputClass::normal, kSeed, 0, 12, 0);
    for_some(tiles, 7, [&](OneDot one) {
      one.c = 0;
      const oracle::ExactDot exact = oracle::exact_dot(probe.instruction, one);
      const double got = decode_value(model_dot(probe, one), spec_of(Format::f32));
      // 24 bits of the result, and products within 25 bits of the largest.
      EXPECT_LE(std::fabs(got - exact.value), 0x1p-18 * exact.magnitude);
      exact_ones += got == exact.value ? 1U : 0U;
    });
  }
  EXPECT_GE(exact_ones, 100U);
}

TEST(Scaled, NoScalesAreScalesOfOne) {
  for (const Probe& probe : scaled_probes()) {
    TileBatch tiles(probe.instruction);
    gen::append_class(tiles, gen::make_generator_spec(probe.instruction, probe.datapath),
                      gen::InputClass::random_finite, kSeed, 0, 2, 0);
    TileView batch = tiles.view();
    batch.scale_a = batch.scale_b = nullptr;
    emulate(probe.instruction, probe.datapath, batch);
    const std::vector<std::byte> without = tiles.d;
    const auto one = static_cast<std::uint8_t>(one_bits(spec_of(probe.instruction.scale)));
    EXPECT_EQ(decode_value(one, spec_of(probe.instruction.scale)), 1);
    std::fill(tiles.scale_a.begin(), tiles.scale_a.end(), one);
    std::fill(tiles.scale_b.begin(), tiles.scale_b.end(), one);
    emulate(probe.instruction, probe.datapath, tiles.view());
    EXPECT_EQ(tiles.d, without) << name_of(probe.instruction);
    for_some(tiles, 3, [&](OneDot dot) {
      const oracle::ExactDot with = oracle::exact_dot(probe.instruction, dot);
      dot.scale_a.clear();
      dot.scale_b.clear();
      EXPECT_EQ(with.decimal, oracle::exact_dot(probe.instruction, dot).decimal);
    });
  }
}

TEST(Scaled, FamiliesReachEveryEdgeOfTheScales) {
  for (const Probe& probe : scaled_probes()) {
    const FormatSpec scale = spec_of(probe.instruction.scale);
    std::size_t nan = 0, least = 0, largest = 0, top_bit = 0;
    for (const TileBatch& tiles : inputs_for(probe, 20)) {
      for (const std::uint8_t byte : tiles.scale_a) {
        const std::uint64_t number = byte & scale.magnitude_mask();
        nan += number == scale.conversion_nan_bits() ? 1U : 0U;
        least += number == 0 ? 1U : 0U;
        largest += number == scale.max_finite_bits() ? 1U : 0U;
        top_bit += byte >= 0x80 ? 1U : 0U;
      }
    }
    EXPECT_GE(nan, 10U);
    EXPECT_GE(least, 10U);
    EXPECT_GE(largest, 10U);
    EXPECT_GE(top_bit, 10U);
  }
}

TEST(Scaled, OnlyRandomBitsAndSpecialValuesMakeNanScales) {
  for (const Probe& probe : scaled_probes()) {
    const FormatSpec scale = spec_of(probe.instruction.scale);
    const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto input_class = static_cast<gen::InputClass>(f);
      TileBatch tiles(probe.instruction);
      gen::append_class(tiles, generator, input_class, kSeed, 0, 30, 0);
      std::size_t nan = 0;
      for (const auto* bytes : {&tiles.scale_a, &tiles.scale_b})
        for (const std::uint8_t byte : *bytes) nan += std::isnan(decode_value(byte, scale)) ? 1U : 0U;
      EXPECT_EQ(nan > 0,
                input_class == gen::InputClass::random_bits || input_class == gen::InputClass::special_values)
          << gen::name_of(input_class);
    }
  }
}

TEST(Scaled, Tcgen05HasTheSameModelsAsMma) {
  const Architecture &data_centre = *find_architecture("blackwell"),
                     &rtx = *find_architecture("blackwell_rtx");
  std::size_t compared = 0;
  for (const Instruction& mma : kInstructions) {
    if (mma.scale == Format::none || mma.op != Op::mma) continue;
    for (const Instruction& inst : kInstructions) {
      if (inst.op != Op::tcgen05 || inst.kind != mma.kind || inst.a != mma.a || inst.b != mma.b ||
          inst.scale != mma.scale || inst.scale_block != mma.scale_block)
        continue;
      EXPECT_TRUE(find_datapath(data_centre, inst)->datapath == find_datapath(rtx, mma)->datapath)
          << name_of(inst);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 28U);
}

}  // namespace
}  // namespace mmaudit::test
