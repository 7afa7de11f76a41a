// matmul() as a chain of instructions: edges, batches, promotion, slices, epilogue, threads. Bits are
// compared with chains of emulate() or with sums done by hand; the fast path is held to the plain core in
// fast_path_test.
#include "mmaudit/matmul.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/scale_layout.hpp"
#include "tile.hpp"

namespace mmaudit::test {
namespace {

constexpr const char* kF16 = "wgmma.m64n64k16.f32.f16.f16";
constexpr const char* kFp8 = "wgmma.m64n64k32.f32.e4m3.e4m3";

using Words = std::vector<std::uint64_t>;

std::vector<std::byte> packed(const Words& words, Format format) {
  const std::size_t bytes = spec_of(format).storage_bytes();
  std::vector<std::byte> buffer(words.size() * bytes);
  for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&buffer[i * bytes], &words[i], bytes);
  return buffer;
}

/// A product with random operands near 1 and the word arrays they came from.
struct Case {
  Instruction instruction;
  Datapath datapath;
  Matmul problem;
  Words a, b, c;

  Case(std::string_view name, std::uint64_t batch, std::uint64_t m, std::uint64_t n, std::uint64_t k,
       Format c_format = Format::none)
      : instruction(instruction_of(name)), datapath(hopper_row(instruction)) {
    problem.batch = batch;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    std::mt19937_64 random(m * 1000 + n * 100 + k);
    std::normal_distribution<double> normal;
    const auto draw = [&](std::size_t count, Format format) {
      Words words(count);
      for (auto& word : words)
        word = encode_nearest_even(std::ldexp(normal(random), static_cast<int>(random() % 9) - 4),
                                   spec_of(format));
      return words;
    };
    a = draw(batch * m * k, instruction.a);
    b = draw(batch * k * n, instruction.b);
    c = draw(batch * m * n, c_format == Format::none ? instruction.c : c_format);
    output = c_format == Format::none ? instruction.d : c_format;
  }
  Format output = Format::none;

  Words run(bool with_c, const MatmulOptions& options = {}) {
    const auto a_bytes = packed(a, instruction.a), b_bytes = packed(b, instruction.b),
               c_bytes = packed(c, output);
    const std::size_t bytes = spec_of(output).storage_bytes();
    std::vector<std::byte> d(c.size() * bytes, std::byte{0xA5});
    problem.a = a_bytes.data();
    problem.b = b_bytes.data();
    problem.c = with_c ? c_bytes.data() : nullptr;
    problem.d = d.data();
    EXPECT_EQ(why_no_matmul(instruction, datapath, problem), "");
    matmul(instruction, datapath, problem, options);
    Words words(c.size());
    for (std::size_t i = 0; i < words.size(); ++i) std::memcpy(&words[i], &d[i * bytes], bytes);
    return words;
  }

  /// The chain of instructions over k in [first, last) for one element, from `sum`.
  [[nodiscard]] std::uint64_t chain_of(std::uint64_t matrix, std::uint64_t i, std::uint64_t j,
                                       std::uint64_t first, std::uint64_t last, std::uint64_t sum) const {
    const DotSpec spec = make_dot_spec(instruction, datapath);
    const auto depth = static_cast<std::uint64_t>(instruction.k);
    for (std::uint64_t start = first; start < last; start += depth) {
      const auto load_a = [&](int k) {
        const std::uint64_t at = start + static_cast<std::uint64_t>(k);
        return at < last ? a[(matrix * problem.m + i) * problem.k + at] : 0;
      };
      const auto load_b = [&](int k) {
        const std::uint64_t at = start + static_cast<std::uint64_t>(k);
        return at < last ? b[(matrix * problem.k + at) * problem.n + j] : 0;
      };
      sum = dot(spec, load_a, load_b, sum, 0);
    }
    return sum;
  }

  template <typename Expected>
  void expect(const Words& d, const Expected& expected) const {
    for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix)
      for (std::uint64_t i = 0; i < problem.m; ++i)
        for (std::uint64_t j = 0; j < problem.n; ++j) {
          const std::uint64_t at = (matrix * problem.m + i) * problem.n + j;
          ASSERT_EQ(d[at], expected(matrix, i, j, at))
              << name_of(instruction) << " " << matrix << " " << i << " " << j;
        }
  }
};

float as_float(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
std::uint64_t as_bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST(Matmul, IsAChainOfInstructionsAtEveryEdge) {
  for (const Instruction& inst :
       instructions_where([](const Instruction& x) { return x.c == x.d && x.k <= 64; })) {
    for (const bool fast : {false, true}) {
      for (const std::uint64_t extra : {std::uint64_t{0}, std::uint64_t{1}}) {
        Case one(name_of(inst), 2, 3, 5, static_cast<std::uint64_t>(inst.k) * 2 + extra);
        if (is_integer(inst)) {  // numbers about 1 are hardly integers
          for (auto* words : {&one.a, &one.b})
            for (std::size_t i = 0; i < words->size(); ++i)
              (*words)[i] = (i * 37 + 11) & (spec_of(inst.a).storage_bits == 8 ? 1U : 0U);
        }
        MatmulOptions options;
        options.fast = fast;
        one.expect(one.run(true, options), [&](auto matrix, auto i, auto j, auto at) {
          return one.chain_of(matrix, i, j, 0, one.problem.k, one.c[at]);
        });
      }
    }
  }
}

TEST(Matmul, SpansTilesAndThreadsChangeNothing) {
  Case one(kF16, 1, 300, 290, 40);
  const Words d = one.run(true);
  one.expect(
      d, [&](auto matrix, auto i, auto j, auto at) { return one.chain_of(matrix, i, j, 0, 40, one.c[at]); });
  MatmulOptions options;
  for (const unsigned threads : {3U, 0U, 64U}) {
    options.threads = threads;
    EXPECT_TRUE(one.run(true, options) == d) << threads;
  }
  options.fast = false;
  EXPECT_TRUE(one.run(true, options) == d);
}

// Threads take the last tiles in strips: one tile alone, one with fewer strips than others, more threads than
// strips.
// An application may have set a rounding mode of its own; the bits of a GPU don't depend on it.
TEST(Matmul, TheRoundingModeOfTheCallerChangesNothing) {
  Case one(kF16, 1, 37, 41, 320);
  MatmulOptions options;
  options.threads = 1;  // the caller's
  const Words expected = one.run(true, options);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const Words found = one.run(true, options);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(found, expected) << mode;
  }
}

TEST(Matmul, ThreadsOfOneTileAndOfItsEdgeChangeNothing) {
  for (const std::uint64_t m : {1U, 64U, 65U, 256U, 257U, 450U}) {
    Case one(kF16, 2, m, 33, 40);
    const Words d = one.run(true);
    for (const unsigned threads : {2U, 3U, 64U}) {
      for (const bool fast : {true, false}) {
        MatmulOptions options;
        options.threads = threads;
        options.fast = fast;
        EXPECT_TRUE(one.run(true, options) == d) << m << " " << threads << " " << fast;
      }
    }
  }
}

TEST(Matmul, MoreSlicesThanInstructionsAreOneEach) {
  Case one(kF16, 1, 5, 7, 40);
  one.problem.split_k = 3;  // as many as there are instructions
  const Words d = one.run(true);
  for (const std::uint64_t slices : {std::uint64_t{4}, std::uint64_t{1} << 40, UINT64_MAX - 2, UINT64_MAX}) {
    one.problem.split_k = slices;
    EXPECT_TRUE(one.run(true) == d) << slices;
  }
  one.problem.split_k = 2;
  one.problem.promote = UINT64_MAX - 15;  // never
  const Words promoted = one.run(true);
  one.problem.promote = 64;
  EXPECT_TRUE(one.run(true) == promoted);
}

TEST(Matmul, WithoutDepthDIsC) {
  for (const char* name : {kF16, "wgmma.m64n64k16.f16.f16.f16"}) {
    Case one(name, 1, 4, 4, 0);
    one.c[0] = spec_of(one.instruction.d).infinity_bits() | 1;  // a NaN with a payload of its own
    EXPECT_TRUE(one.run(true) == one.c);
    EXPECT_TRUE(one.run(false) == Words(16, 0));
  }
}

TEST(Matmul, PromotionAddsPartialSumsToNearest) {
  Case one(kFp8, 1, 6, 9, 300);
  one.problem.promote = 128;
  for (const bool with_c : {false, true}) {
    one.expect(one.run(with_c), [&](auto matrix, auto i, auto j, auto at) {
      float total = with_c ? as_float(one.c[at]) : 0.0F;
      for (std::uint64_t k = 0; k < 300; k += 128)
        total += as_float(one.chain_of(matrix, i, j, k, std::min<std::uint64_t>(k + 128, 300), 0));
      return as_bits(total);
    });
  }
  // And it matters: without it other bits come out.
  const Words promoted = one.run(false);
  one.problem.promote = 0;
  EXPECT_FALSE(one.run(false) == promoted);
}

TEST(Matmul, SlicesOfKAreAddedInAscendingOrder) {
  Case one("mma.m16n8k8.f32.tf32.tf32.f32", 2, 5, 4, 100);  // 13 instructions in slices of 4, 4, 4, 1
  one.problem.split_k = 4;
  one.expect(one.run(true), [&](auto matrix, auto i, auto j, auto at) {
    float total = 0;
    for (std::uint64_t k = 0; k < 100; k += 32)
      total += as_float(
          one.chain_of(matrix, i, j, k, std::min<std::uint64_t>(k + 32, 100), k == 0 ? one.c[at] : 0));
    return as_bits(total);
  });
  one.problem.split_k = 1000;  // more than there are instructions: one each
  one.expect(one.run(false), [&](auto matrix, auto i, auto j, auto) {
    float total = 0;
    for (std::uint64_t k = 0; k < 100; k += 8)
      total += as_float(one.chain_of(matrix, i, j, k, std::min<std::uint64_t>(k + 8, 100), 0));
    return as_bits(total);
  });
}

TEST(Matmul, EpilogueIsOneFmaAndOneRounding) {
  for (const Format output : {Format::f32, Format::f16, Format::bf16}) {
    Case one(kF16, 1, 7, 8, 50, output);
    one.problem.epilogue = Epilogue{1.7F, -0.3F, output};
    const FormatSpec format = spec_of(output);
    one.expect(one.run(true), [&](auto matrix, auto i, auto j, auto at) {
      const float sum = as_float(one.chain_of(matrix, i, j, 0, 50, 0));
      const auto c = static_cast<float>(decode_value(one.c[at], format));
      return encode_nearest_even(std::fma(1.7F, sum, -0.3F * c), format);
    });
    one.problem.epilogue = Epilogue{1, 0, output};
    for (auto& word : one.c) word = format.infinity_bits();  // not read with beta = 0
    one.expect(one.run(true), [&](auto matrix, auto i, auto j, auto) {
      return encode_nearest_even(as_float(one.chain_of(matrix, i, j, 0, 50, 0)), format);
    });
  }
}

TEST(Matmul, EpilogueSpecials) {
  Case one(kF16, 1, 1, 3, 16, Format::f16);
  one.problem.epilogue = Epilogue{60000, 1, Format::f16};
  std::fill(one.a.begin(), one.a.end(), 0x3C00);
  std::fill(one.b.begin(), one.b.end(), 0x3C00);
  one.c = {0, 0xFC00, 0x7E01};  // sums of 960,000: overflow, -infinity, NaN
  const Words d = one.run(true);
  EXPECT_EQ(d[0], 0x7C00U);
  EXPECT_EQ(d[1], 0xFC00U);
  EXPECT_EQ(d[2], 0x7FFFU);
}

TEST(Matmul, RefusesWhatItCantDo) {
  const Instruction f16 = instruction_of(kF16), half = instruction_of("wgmma.m64n64k16.f16.f16.f16");
  const Datapath datapath = hopper_row(f16);
  Matmul problem;
  problem.m = problem.n = problem.k = 64;
  EXPECT_EQ(why_no_matmul(f16, datapath, problem), "");
  problem.promote = 24;
  EXPECT_EQ(why_no_matmul(f16, datapath, problem),
            "promote: found 24, allowed: a multiple of k = 16 of the instruction");
  problem.promote = 32;
  EXPECT_NE(why_no_matmul(half, hopper_row(half), problem).find("sums of f16"), std::string::npos);
  problem.promote = 0;
  problem.split_k = 0;
  EXPECT_NE(why_no_matmul(f16, datapath, problem).find("split_k: found 0"), std::string::npos);
  problem.split_k = 1;
  problem.m = std::uint64_t{1} << 40;
  problem.n = std::uint64_t{1} << 40;
  EXPECT_NE(why_no_matmul(f16, datapath, problem).find("sizes"), std::string::npos);
}

TEST(Matmul, RefusesScalesAndMetadataWhereTheyDontBelong) {
  const Instruction dense = instruction_of(kF16), sparse = instruction_of("mma.sp.m16n8k32.f32.f16.f16.f32");
  const std::uint8_t some = 0;
  Matmul problem;
  problem.m = problem.n = problem.k = 64;
  problem.scale_b = &some;
  EXPECT_EQ(why_no_matmul(dense, hopper_row(dense), problem),
            "scale_b: found some, allowed: with block-scaled instructions only (kind_mx...)");
  problem.scale_b = nullptr;
  EXPECT_EQ(why_no_matmul(sparse, hopper_row(sparse), problem),
            "metadata: found none, allowed: with sparse instructions, which need it");
  problem.metadata = &some;
  EXPECT_EQ(why_no_matmul(dense, hopper_row(dense), problem),
            "metadata: found some, allowed: with sparse instructions, which need it");
  EXPECT_EQ(why_no_matmul(sparse, hopper_row(sparse), problem), "");
  problem.k = 66;
  EXPECT_EQ(why_no_matmul(sparse, hopper_row(sparse), problem),
            "k: found 66, allowed: a multiple of 4, as many elements as one group of metadata places");
}

// Written out from the figure of the cuBLAS manual: rows 0, 32, 64, 96 of a tile are neighbours.
TEST(ScaleLayout, PlacesScalesAsTheManualDoes) {
  static_assert(blocked_scale_bytes(1, 1) == 512 && blocked_scale_bytes(129, 5) == 2048);
  constexpr std::uint64_t kBlocks = 6;  // two tiles along K
  static_assert(blocked_scale_index(0, 0, kBlocks) == 0 && blocked_scale_index(0, 3, kBlocks) == 3);
  static_assert(blocked_scale_index(1, 0, kBlocks) == 16 &&
                blocked_scale_index(31, 3, kBlocks) == 31 * 16 + 3);
  static_assert(blocked_scale_index(32, 0, kBlocks) == 4 && blocked_scale_index(96, 1, kBlocks) == 13);
  static_assert(blocked_scale_index(127, 3, kBlocks) == 511 && blocked_scale_index(0, 4, kBlocks) == 512);
  static_assert(blocked_scale_index(128, 0, kBlocks) == 1024 && blocked_scale_index(161, 5, kBlocks) == 1557);
}

TEST(ScaleLayout, ThereAndBackIsTheSame) {
  for (const ScaleOwner owner : {ScaleOwner::a, ScaleOwner::b}) {
    for (const auto& [rows, blocks] :
         {std::pair<std::uint64_t, std::uint64_t>{1, 1}, {128, 4}, {130, 9}, {300, 3}}) {
      std::vector<std::uint8_t> plain(2 * rows * blocks);
      for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::uint8_t>(i * 37 + i / 251);
      const auto blocked = blocked_scales(plain.data(), owner, 2, rows, blocks);
      EXPECT_EQ(blocked.size(), 2 * blocked_scale_bytes(rows, blocks));
      EXPECT_EQ(plain_scales(blocked.data(), owner, 2, rows, blocks), plain);
      EXPECT_NE(blocked, plain);
    }
  }
}

TEST(QuotientUp, HasNoLargestNumber) {
  static_assert(detail::quotient_up(0, 7) == 0 && detail::quotient_up(1, 7) == 1 &&
                detail::quotient_up(14, 7) == 2);
  static_assert(detail::quotient_up(UINT64_MAX, 16) == std::uint64_t{1} << 60);
  static_assert(detail::quotient_up(UINT64_MAX, UINT64_MAX) == 1);
}

/// Its sum leaves the vector code as the least integer, whose magnitude no signed integer has: seen by UBSan.
TEST(Matmul, AnInfiniteCOfBinary16IsTheSameOnEveryLevel) {
  constexpr std::size_t kM = 9, kN = 35;
  const Instruction instruction = instruction_of("mma.m16n8k16.f16.f16.f16.f16");
  const Datapath datapath = hopper_row(instruction);
  const std::vector<std::uint16_t> a(kM * 16, 0x3C00), b(16 * kN, 0x3C00), c(kM * kN, 0xFC00);
  for (const SimdLevel level : kSimdLevels) {
    if (!has_simd_level(level)) continue;
    std::vector<std::uint16_t> d(kM * kN);
    Matmul problem;
    problem.m = kM, problem.n = kN, problem.k = 16;
    problem.a = a.data(), problem.b = b.data(), problem.c = c.data(), problem.d = d.data();
    MatmulOptions options;
    options.level = level;
    matmul(instruction, datapath, problem, options);
    for (const std::uint16_t x : d) ASSERT_EQ(x, 0xFC00);
  }
}

TEST(Matmul, CountsItsBytes) {
  const Instruction f16 = instruction_of(kF16);
  Matmul problem;
  problem.batch = 3;
  problem.m = 1000;
  problem.n = 2000;
  problem.k = 500;
  constexpr std::uint64_t kC = 3ULL * 1000 * 2000 * 4;
  constexpr std::uint64_t kOperands = 3ULL * (1000 * 500 * 2 + 500 * 2000 * 2) + kC;
  const auto without = matmul_bytes(f16, problem, {});
  ASSERT_TRUE(without.has_value());
  EXPECT_GT(*without, kOperands);
  EXPECT_LE(*without, kOperands + kMatmulWorkspace);
  problem.c = &problem;
  EXPECT_EQ(*matmul_bytes(f16, problem, {}), *without + kC);
  MatmulOptions many;
  many.threads = 100000;
  EXPECT_LE(*matmul_bytes(f16, problem, many), kOperands + kC + kMatmulWorkspace);
}

}  // namespace
}  // namespace mmaudit::test
