// Operands, D of a chain, checksums, and accumulators that are not the model's.
#include <gtest/gtest.h>

#include <cmath>

#include "mmaudit/convert.hpp"
#include "mmaudit/dot_case.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/screen/checksum.hpp"
#include "mmaudit/screen/screen.hpp"
#include "sweeps/matrix/images.hpp"

namespace mmaudit::screen {
namespace {

const Datapath& hopper(const Instruction& is) {
  return find_datapath(*find_architecture("hopper"), is)->datapath;
}

TEST(Inputs, ChainIsOneInstructionAfterAnother) {
  for (const Work& work : screened()) {
    const Instruction& is = work.instruction;
    if (work.registers) continue;
    for (const InputSet set : {InputSet::normal, InputSet::special_values}) {
      const TileBatch tiles = make_operands(is, hopper(is), set);
      TileBatch one = tiles;
      for (int step = 0; step < 2; ++step) {
        emulate(is, hopper(is), one.view());
        one.c = one.d;
      }
      EXPECT_EQ(chain_results(tiles, hopper(is), 2), one.d) << work.name() << " " << name_of(set);
    }
  }
}

TEST(Inputs, NeighboursToggle) {
  const Instruction is = *find_instruction("wgmma.m64n256k16.f32.f16.f16");
  const TileBatch tiles = make_operands(is, hopper(is), InputSet::toggling);
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(load_bits(tiles.a, 2, i) ^ load_bits(tiles.a, 2, i + 1), 0xFFFFU) << i;
}

/// What is left of the sum of a chain's first instruction, as a share of its largest product.
TEST(Inputs, AdderWidthCancelsInPairsDenseAndSparse) {
  for (const char* name : {"wgmma.m64n256k16.f32.f16.f16", "wgmma.sp.m64n256k32.f32.f16.f16",
                           "wgmma.sp.m64n256k16.f32.tf32.tf32", "mma.m16n8k16.f32.bf16.bf16.f32"}) {
    const Instruction is = *find_instruction(name);
    const TileBatch tiles = make_operands(is, hopper(is), InputSet::adder_width);
    const Sparsity sparsity = sparsity_of(is);
    for (int row = 0; row < is.m; row += 5) {
      const DotCase dot = dot_at(is, tiles.filled(), 1, row, row % is.n);
      const auto product = [&](std::size_t stored) {
        const std::size_t group = stored / static_cast<std::size_t>(sparsity.kept);
        const std::size_t k = dot.metadata.empty()
                                  ? stored
                                  : group * static_cast<std::size_t>(sparsity.group) + dot.metadata[stored];
        return decode_value(dot.a[stored], spec_of(is.a)) * decode_value(dot.b[k], spec_of(is.b));
      };
      for (std::size_t i = 0; i < dot.a.size(); i += 2) {
        EXPECT_NE(product(i), 0);
        EXPECT_LE(std::abs(product(i) + product(i + 1)), std::abs(product(i)) / 16)
            << name << " row " << row << " product " << i;
      }
    }
  }
}

/// From shared memory by `loads` and by the three streaming feeds; 12 of `mma` by ldmatrix too.
TEST(Screened, EveryWgmmaFromBothSourcesAndEveryTypeOfMma) {
  int shared = 0, registers = 0, warps = 0;
  for (const Work& work : screened())
    ++(!is_wgmma(work.instruction.op) ? warps : work.registers ? registers : shared);
  EXPECT_EQ(shared, 4 * 18);
  EXPECT_EQ(registers, 18);
  EXPECT_EQ(warps, 13 + 12);
}

TEST(CompareWords, NamesElementAndBits) {
  for (const char* name :
       {"wgmma.m64n256k16.f32.f16.f16", "wgmma.m64n256k16.f16.f16.f16", "mma.m16n8k16.f64.f64.f64.f64"}) {
    const Instruction is = *find_instruction(name);
    const Work work{is, false, InputSet::normal};
    const Inputs inputs = make_inputs(is, hopper(is), work.inputs);
    const auto image = sweeps::register_image(fragment_d(is), is.d, inputs.d);
    constexpr int kTile = 1, kLane = 13, kCopies = 2;
    const std::vector<std::uint32_t> lane = words_of_lane(is, image, kTile, kLane);
    std::vector<std::uint32_t> words = lane;
    words.insert(words.end(), lane.begin(), lane.end());
    EXPECT_TRUE(compare_words(work, kCopies, image, kTile, kLane, words.data()).empty()) << name;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < words.size(); ++i) sum = add_to_checksum(sum, static_cast<int>(i), words[i]);
    EXPECT_EQ(sum, expected_checksums(is, kCopies, image)[static_cast<std::size_t>(lanes_of(is) + kLane)]);
    words[lane.size() + 3] ^= 1U << 17U;
    const auto found = compare_words(work, kCopies, image, kTile, kLane, words.data());
    ASSERT_EQ(found.size(), 1U) << name;
    const int each = elements_per_register(is.d), wide = register_bits(is.d) > 32 ? 2 : 1;
    const int value = 3 / wide * each + (each > 1 ? 1 : 0);
    const Coord at = fragment_d(is).at(kLane, value);
    EXPECT_EQ(found[0].row, at.row);
    EXPECT_EQ(found[0].column, at.col);
    EXPECT_EQ(found[0].expected ^ found[0].found, std::uint64_t{1} << (each > 1   ? 1
                                                                       : wide > 1 ? 32 + 17
                                                                                  : 17));
  }
}

}  // namespace
}  // namespace mmaudit::screen
