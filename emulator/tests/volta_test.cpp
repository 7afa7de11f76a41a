// Volta's wmma.mma, step by step: the whole instruction is the chain of its HMMAs, in all 32 configurations
// (memory order of A, B and C, formats of C and D).
#include "mmaudit/volta.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "mmaudit/emulate.hpp"

namespace mmaudit::volta {
namespace {

using Matrix = std::vector<std::uint64_t>;

constexpr std::size_t kElements = std::size_t{kSide} * kSide;

std::size_t element_at(int row, int col) {
  return static_cast<std::size_t>(row) * kSide + static_cast<std::size_t>(col);
}

Instruction wmma(Format c, Format d) {
  return find_instruction("wmma.m16n16k16." + std::string(name_of(d)) + ".f16.f16." + std::string(name_of(c)))
      .value();
}

Datapath row_of(const Instruction& instruction) {
  return find_datapath(*find_architecture("volta"), instruction)->datapath;
}

/// Finite numbers of many binades, with zeros and subnormals among them.
Matrix random_matrix(std::mt19937_64& random, Format format) {
  Matrix matrix(kElements);
  const FormatSpec spec = spec_of(format);
  for (std::uint64_t& bits : matrix) {
    const std::uint64_t exponent = spec.storage_bits == 16 ? random() % 26 : 100 + random() % 50;
    bits = (exponent << spec.fraction_bits) | (random() & ((std::uint64_t{1} << spec.fraction_bits) - 1));
    if (random() % 8 == 0) bits = 0;
    if (random() % 2 != 0) bits |= spec.sign_bit();
  }
  return matrix;
}

Matrix transposed(const Matrix& matrix) {
  Matrix out(matrix.size());
  for (std::size_t i = 0; i < kSide; ++i)
    for (std::size_t j = 0; j < kSide; ++j) out[j * kSide + i] = matrix[i * kSide + j];
  return out;
}

template <typename Element>
std::vector<Element> narrow(const Matrix& matrix) {
  std::vector<Element> out;
  std::transform(matrix.begin(), matrix.end(), std::back_inserter(out),
                 [](std::uint64_t bits) { return static_cast<Element>(bits); });
  return out;
}

template <typename C, typename D>
Matrix whole(const Instruction& instruction, const Matrix& a, const Matrix& b, const Matrix& c) {
  const auto a16 = narrow<std::uint16_t>(a), b16 = narrow<std::uint16_t>(b);
  const auto bits_c = narrow<C>(c);
  std::vector<D> d(kElements);
  emulate(instruction, row_of(instruction), {1, a16.data(), b16.data(), bits_c.data(), d.data()});
  return {d.begin(), d.end()};
}

Matrix whole(const Instruction& inst, const Matrix& a, const Matrix& b, const Matrix& c) {
  if (inst.c == Format::f32)
    return inst.d == Format::f32 ? whole<std::uint32_t, std::uint32_t>(inst, a, b, c)
                                 : whole<std::uint32_t, std::uint16_t>(inst, a, b, c);
  return inst.d == Format::f32 ? whole<std::uint16_t, std::uint32_t>(inst, a, b, c)
                               : whole<std::uint16_t, std::uint16_t>(inst, a, b, c);
}

TEST(Volta, StepsMakeTheWholeInAllThirtyTwoConfigurations) {
  std::mt19937_64 random(20190324);
  int configurations = 0;
  for (const Format c : {Format::f16, Format::f32})
    for (const Format d : {Format::f16, Format::f32})
      for (const Layout of_a : {Layout::row, Layout::column})
        for (const Layout of_b : {Layout::row, Layout::column})
          for (const Layout of_c : {Layout::row, Layout::column}) {
            const Instruction instruction = wmma(c, d);
            ++configurations;
            for (int tile = 0; tile < 8; ++tile) {
              // Memory by columns is the transposed matrix; C's order changes what is in memory alone.
              const Matrix memory_c = random_matrix(random, c);
              const Matrix a = random_matrix(random, Format::f16), b = random_matrix(random, Format::f16);
              const Matrix matrix_c = of_c == Layout::row ? memory_c : transposed(memory_c);
              Warp warp(instruction, row_of(instruction), of_a, of_b);
              warp.load_a(a);
              warp.load_b(b);
              warp.load_c(matrix_c);
              const std::vector<Hmma> hmmas = warp.schedule();
              EXPECT_EQ(hmmas.size(), d == Format::f16 && c == Format::f16 ? 8U : 16U);
              for (const Hmma& one : hmmas) warp.execute(one);
              ASSERT_EQ(warp.store_d(), whole(instruction, a, b, matrix_c))
                  << name_of(instruction) << " tile " << tile;
            }
          }
  EXPECT_EQ(configurations, 32);
}

TEST(Volta, AStepChangesItsBlocksAndNothingElse) {
  const Instruction instruction = wmma(Format::f32, Format::f32);
  std::mt19937_64 random(7);
  const Matrix ones(kElements, 0x3C00), c(kElements, 0x3F800000);
  for (const Hmma& one : schedule(Format::f32)) {
    Warp warp(instruction, row_of(instruction), Layout::row, Layout::column);
    warp.load_a(ones);
    warp.load_b(ones);
    warp.load_c(c);
    warp.execute(one);
    const Matrix d = warp.store_d();
    int changed = 0;
    for (int threadgroup = 0; threadgroup < kThreadgroups; ++threadgroup) {
      const Block block = block_of(threadgroup, one, Format::f32);
      for (int row = block.row; row < block.row + block.rows; ++row)
        for (int col = block.col; col < block.col + block.cols; ++col) {
          EXPECT_EQ(d[element_at(row, col)], 0x40A00000U);  // 1 + 4
          ++changed;
        }
    }
    EXPECT_EQ(changed, 64);
    EXPECT_EQ(std::count(d.begin(), d.end(), 0x3F800000U), kSide * kSide - 64);
  }
}

TEST(Volta, AnotherOrderOfSetsIsAnotherResult) {
  const Instruction instruction = wmma(Format::f32, Format::f32);
  std::mt19937_64 random(11);
  const Matrix a = random_matrix(random, Format::f16), b = random_matrix(random, Format::f16);
  const Matrix c = random_matrix(random, Format::f32);
  Warp warp(instruction, row_of(instruction), Layout::row, Layout::row);
  warp.load_a(a);
  warp.load_b(b);
  warp.load_c(c);
  std::vector<Hmma> hmmas = warp.schedule();
  std::reverse(hmmas.begin(), hmmas.end());
  for (const Hmma& one : hmmas) warp.execute(one);
  EXPECT_NE(warp.store_d(), whole(instruction, a, b, c));
}

TEST(Volta, ALaneFeedsItsOwnOctetOnly) {
  const Instruction instruction = wmma(Format::f32, Format::f32);
  const Matrix ones(kElements, 0x3C00), zeros(kElements, 0);
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (const bool of_a : {true, false}) {
      Warp warp(instruction, row_of(instruction), Layout::row, Layout::column);
      warp.load_a(ones);
      warp.load_b(ones);
      warp.load_c(zeros);
      (of_a ? warp.a(lane, 5) : warp.b(lane, 5)) = 0x4000;  // 2
      for (const Hmma& one : warp.schedule()) warp.execute(one);
      const Matrix d = warp.store_d();
      const int octet = octet_of(lane / 4);
      int changed = 0;
      for (int row = 0; row < kSide; ++row)
        for (int col = 0; col < kSide; ++col) {
          if (d[element_at(row, col)] == 0x41800000U) continue;  // 16
          ++changed;
          EXPECT_EQ(row / 8 + 2 * (col / 8), octet) << "lane " << lane;
        }
      EXPECT_EQ(changed, 8) << "lane " << lane;  // a row of A or a column of B, in 8 of 16 places
    }
}

TEST(Volta, FragmentsHoldOperandsTwiceAndSumsOnce) {
  for (const Layout layout : {Layout::row, Layout::column}) {
    EXPECT_EQ(multiplicity(fragment_a(layout)), 2);
    EXPECT_EQ(multiplicity(fragment_b(layout)), 2);
  }
  EXPECT_EQ(multiplicity(fragment_accumulator(Format::f16)), 1);
  EXPECT_EQ(multiplicity(fragment_accumulator(Format::f32)), 1);
}

// Raihan et al., table II (octets) and figure 7 (segments of threadgroups), as printed.
TEST(Volta, SegmentsAreThePapers) {
  struct Segment {
    int octet, a_row, b_col;
  };
  constexpr Segment kPrinted[] = {{0, 0, 0}, {1, 8, 0},  {2, 0, 8},  {3, 8, 8},
                                  {0, 4, 4}, {1, 12, 4}, {2, 4, 12}, {3, 12, 12}};
  const FragmentMap a = fragment_a(Layout::row), b = fragment_b(Layout::column);
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    const Segment& segment = kPrinted[lane / 4];
    EXPECT_EQ(octet_of(lane / 4), segment.octet);
    for (int value = 0; value < 16; ++value) {
      EXPECT_EQ(a.at(lane, value), (Coord{segment.a_row + lane % 4, value}));
      EXPECT_EQ(b.at(lane, value), (Coord{value, segment.b_col + lane % 4}));
    }
  }
}

TEST(Volta, RefusesOtherInstructions) {
  const Instruction half = wmma(Format::f16, Format::f16);
  const Instruction wide = find_instruction("wmma.m32n8k16.f16.f16.f16.f16").value();
  EXPECT_THROW(Warp(wide, row_of(wide), Layout::row, Layout::row), std::invalid_argument);
  Datapath eight = row_of(half);
  eight.products_per_step = 8;
  EXPECT_THROW(Warp(half, eight, Layout::row, Layout::row), std::invalid_argument);
}

}  // namespace
}  // namespace mmaudit::volta
