// Every input class makes what it claims, the same every time, and no two matrices are made from one stream.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "mmaudit/convert.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/oracles/exact.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

using gen::InputClass;
using gen::Matrix;

constexpr std::uint64_t kDigest = 0x96BBE591D3FB00C8;  // of VersionOneMakesTheseBits
constexpr Matrix kMatrices[] = {Matrix::a, Matrix::b, Matrix::c};

Format format_of(const Instruction& inst, Matrix which) {
  return which == Matrix::a ? inst.a : which == Matrix::b ? inst.b : inst.c;
}

/// Calls visit(matrix, bits) for every element of `tiles` tiles of a input_class but those that metadata
/// keeps from being read.
void for_each_element(const Probe& probe, InputClass input_class, std::uint64_t tiles,
                      const std::function<void(Matrix, std::uint64_t)>& visit) {
  const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
  const int m = probe.instruction.m, n = probe.instruction.n, depth = probe.instruction.k;
  for (std::uint64_t tile = 0; tile < tiles; ++tile) {
    for (const Matrix which : kMatrices) {
      const int rows = which == Matrix::b ? depth : m;
      const int columns = which == Matrix::a ? probe.instruction.stored_k() : n;
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns && !(which == Matrix::b &&
                                         gen::detail::never_read(generator, input_class, kSeed, tile, i));
             ++j)
          visit(which, gen::generate(generator, input_class, kSeed, which, tile, i, j));
    }
  }
}

std::vector<OneDot> dots_of(const Probe& probe, InputClass input_class, std::size_t count) {
  const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
  TileBatch tiles(probe.instruction);
  gen::append_class(tiles, generator, input_class, kSeed, 0, count, 0);
  const auto m = static_cast<std::size_t>(probe.instruction.m),
             n = static_cast<std::size_t>(probe.instruction.n);
  std::vector<OneDot> dots;
  for (std::size_t t = 0; t < count; ++t)
    for (std::size_t i = 0; i < std::min(m, n); ++i) dots.push_back(cut(tiles, t, i, i));
  return dots;
}

TEST(Generators, EveryElementFitsItsFormat) {
  for (const Probe& probe : all_probes()) {
    for (int f = 0; f < gen::kInputClasses; ++f) {
      for_each_element(probe, static_cast<InputClass>(f), 3, [&](Matrix which, std::uint64_t bits) {
        const FormatSpec format = spec_of(format_of(probe.instruction, which));
        ASSERT_EQ(bits & ~(format.sign_bit() | (format.sign_bit() - 1)), 0U);
      });
    }
  }
}

TEST(Generators, AreFunctionsOfTheirArgumentsAlone) {
  for (const Probe& probe : all_probes()) {
    const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto input_class = static_cast<InputClass>(f);
      TileBatch together(probe.instruction), apart(probe.instruction), other(probe.instruction);
      gen::append_class(together, generator, input_class, kSeed, 5, 2, 0);
      gen::append_class(apart, generator, input_class, kSeed, 5, 1, 0);
      gen::append_class(apart, generator, input_class, kSeed, 6, 1, 0);
      gen::append_class(other, generator, input_class, kSeed + 1, 5, 2, 0);
      EXPECT_EQ(together.a, apart.a);
      EXPECT_EQ(together.b, apart.b);
      EXPECT_EQ(together.c, apart.c);
      EXPECT_NE(together.a, other.a) << name_of(input_class);
      EXPECT_NE(together.b, other.b) << name_of(input_class);
    }
  }
}

// Recordings state the generator's version: what a version makes must not drift.
TEST(Generators, VersionOneMakesTheseBits) {
  const Probe probe = all_probes().front();
  const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
  std::uint64_t digest = 0;
  for (int f = 0; f < gen::kInputClasses; ++f)
    for (const Matrix which : kMatrices)
      for (int i = 0; i < 8; ++i)
        digest = mix(digest ^ gen::generate(generator, static_cast<InputClass>(f), 1, which, 3, i, i % 4));
  ASSERT_EQ(gen::kGeneratorVersion, "1");
  EXPECT_EQ(digest, kDigest) << std::hex << digest;
}

TEST(Generators, MatricesAndTilesComeFromDifferentStreams) {
  for (const InputClass input_class :
       {InputClass::random_bits, InputClass::normal, InputClass::wide_window}) {
    const Probe probe = all_probes()[24];  // binary64: 64 bits hardly ever meet by chance
    ASSERT_EQ(probe.instruction.a, Format::f64);
    std::map<std::uint64_t, int> seen;
    for_each_element(probe, input_class, 4, [&](Matrix, std::uint64_t bits) { ++seen[bits]; });
    std::size_t repeated = 0;
    for (const auto& [bits, count] : seen) repeated += count > 1 ? 1U : 0U;
    EXPECT_LE(repeated, seen.size() / 50) << name_of(input_class);  // normal() has 32-bit resolution
  }
}

TEST(Generators, OnlyRandomBitsAndSpecialValuesMakeNanAndInfinity) {
  for (const Probe& probe : all_probes()) {
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto input_class = static_cast<InputClass>(f);
      std::size_t special = 0;
      for_each_element(probe, input_class, 6, [&](Matrix which, std::uint64_t bits) {
        special += std::isfinite(decode_value(bits, spec_of(format_of(probe.instruction, which)))) ? 0U : 1U;
      });
      const bool may = input_class == InputClass::random_bits || input_class == InputClass::special_values;
      EXPECT_TRUE(may || special == 0) << name_of(probe.instruction) << ' ' << name_of(input_class);
    }
  }
}

TEST(Generators, SpecialValuesHoldEveryKindInEveryMatrix) {
  for (const Probe& probe : all_probes()) {
    if (spec_of(probe.instruction.a).integer()) continue;
    for (const Matrix only : kMatrices) {
      const FormatSpec format = spec_of(format_of(probe.instruction, only));
      std::size_t nan = 0, plus = 0, minus = 0, plus_zero = 0, minus_zero = 0, subnormal = 0, largest = 0;
      for_each_element(probe, InputClass::special_values, 60, [&](Matrix which, std::uint64_t bits) {
        if (which != only) return;
        const double x = decode_value(bits, format);
        const bool negative = (bits & format.sign_bit()) != 0;
        nan += std::isnan(x) ? 1U : 0U;
        plus += std::isinf(x) && !negative ? 1U : 0U;
        minus += std::isinf(x) && negative ? 1U : 0U;
        plus_zero += x == 0 && !negative ? 1U : 0U;
        minus_zero += x == 0 && negative ? 1U : 0U;
        subnormal += x != 0 && std::fabs(x) < std::ldexp(1.0, format.min_exponent()) ? 1U : 0U;
        largest += (bits & (format.sign_bit() - 1)) >> format.ignored_low_bits ==
                           format.max_finite_bits() >> format.ignored_low_bits
                       ? 1U
                       : 0U;
      });
      SCOPED_TRACE(name_of(probe.instruction));
      EXPECT_GT(nan, 0U);
      EXPECT_GT(plus_zero, 0U);
      EXPECT_GT(minus_zero, 0U);
      EXPECT_GT(subnormal, 0U);
      EXPECT_GT(largest, 0U);
      EXPECT_EQ(plus > 0, format.specials == Specials::ieee);
      EXPECT_EQ(minus > 0, format.specials == Specials::ieee);
    }
  }
}

/// Share of dots for which `holds`.
double share(const std::vector<OneDot>& dots, const std::function<bool(const OneDot&)>& holds) {
  std::size_t count = 0;
  for (const OneDot& one : dots) count += holds(one) ? 1U : 0U;
  return static_cast<double>(count) / static_cast<double>(dots.size());
}

class Families : public testing::TestWithParam<std::size_t> {
 public:
  Probe probe = all_probes()[GetParam()];
  Instruction inst = probe.instruction;

  oracle::ExactDot exact(const OneDot& one) const { return oracle::exact_dot(inst, one); }
  /// Exponents of the products that are not zero, as the formats spell them.
  std::vector<int> product_exponents(const OneDot& one) const {
    std::vector<int> exponents;
    for (std::size_t k = 0; k < one.a.size(); ++k) {
      const double x = decode_value(one.a[k], spec_of(inst.a)),
                   y = decode_value(met(inst, one, k), spec_of(inst.b));
      if (x != 0 && y != 0) exponents.push_back(std::ilogb(x) + std::ilogb(y));
    }
    return exponents;
  }
};

TEST_P(Families, MostlyZerosAreMostlyZeros) {
  std::size_t zeros = 0, all = 0;
  for_each_element(probe, InputClass::mostly_zeros, 8, [&](Matrix which, std::uint64_t bits) {
    if (which == Matrix::c) return;
    ++all;
    zeros += decode_value(bits, spec_of(format_of(inst, which))) == 0 ? 1U : 0U;
  });
  EXPECT_NEAR(static_cast<double>(zeros) / static_cast<double>(all), 0.75, 0.12);
}

TEST_P(Families, NormalIsAboutStandardNormal) {
  double sum = 0, squares = 0, count = 0;
  for_each_element(probe, InputClass::normal, 20, [&](Matrix which, std::uint64_t bits) {
    const double x = decode_value(bits, spec_of(format_of(inst, which)));
    sum += x;
    squares += x * x;
    count += 1;
  });
  EXPECT_NEAR(sum / count, 0, 0.05);
  EXPECT_NEAR(squares / count, 1, 0.1);
}

TEST_P(Families, CancellationLeavesLittle) {
  const auto dots = dots_of(probe, InputClass::cancellation, 40);
  EXPECT_GT(share(dots,
                  [&](const OneDot& one) {
                    OneDot products = one;
                    products.c = 0;
                    const oracle::ExactDot sum = exact(products);
                    return sum.magnitude > 0 && std::fabs(sum.value) <= sum.magnitude / 16;
                  }),
            0.4);
}

TEST_P(Families, NearOverflowMeetsBothSides) {
  const auto dots = dots_of(probe, InputClass::near_overflow, 40);
  const double largest = decode_value(spec_of(inst.d).max_finite_bits(), spec_of(inst.d));
  const bool reachable =
      spec_of(inst.a).max_exponent() + spec_of(inst.b).max_exponent() + 5 >= spec_of(inst.d).max_exponent();
  if (reachable) {
    EXPECT_GT(share(dots, [&](const OneDot& one) { return std::fabs(exact(one).value) > largest; }), 0.01);
  }
  const bool c_is_wide = spec_of(inst.c).max_exponent() >= spec_of(inst.d).max_exponent();
  if (!reachable && !c_is_wide) return;
  EXPECT_GT(share(dots,
                  [&](const OneDot& one) {
                    const double x = std::fabs(exact(one).value);
                    return x <= largest && x >= largest / 64;
                  }),
            0.05);
}

TEST_P(Families, FloorEdgeLiesAboutTheFloor) {
  const auto dots = dots_of(probe, InputClass::floor_edge, 60);
  const gen::GeneratorSpec generator = gen::make_generator_spec(inst, probe.datapath);
  EXPECT_GT(share(dots, [&](const OneDot& one) { return decode_value(one.c, spec_of(inst.c)) == 0; }), 0.2);
  if (spec_of(inst.a).min_exponent() + spec_of(inst.b).min_exponent() > generator.floor)
    return;  // none is that small
  std::size_t with_products = 0, near = 0;
  for (const OneDot& one : dots) {
    const std::vector<int> exponents = product_exponents(one);
    with_products += exponents.empty() ? 0U : 1U;
    near += std::any_of(exponents.begin(), exponents.end(), [&](int exponent) {
      return std::abs(exponent - generator.floor) <= generator.fraction_bits + 8;
    });
  }
  EXPECT_GE(5 * with_products, dots.size());
  EXPECT_GE(10 * near, 9 * with_products);
}

TEST_P(Families, FarAddendsAreFarAndWindowsAreAsWideAsTheySay) {
  const auto spread = [&](const OneDot& one) {
    const std::vector<int> exponents = product_exponents(one);
    if (exponents.empty()) return 0;
    const auto [low, high] = std::minmax_element(exponents.begin(), exponents.end());
    return *high - *low;
  };
  const auto narrow = dots_of(probe, InputClass::narrow_window, 40);
  const auto wide = dots_of(probe, InputClass::wide_window, 40);
  double narrow_sum = 0, wide_sum = 0;
  for (const OneDot& one : narrow) narrow_sum += spread(one);
  for (const OneDot& one : wide) wide_sum += spread(one);
  EXPECT_GT(wide_sum, narrow_sum);
  // Subnormals, which spread downwards by losing bits, aside: twice two units a factor.
  EXPECT_GT(share(narrow, [&](const OneDot& one) { return spread(one) <= 8; }), 0.5);
}

TEST_P(Families, SparsePowersAreFew) {
  const auto dots = dots_of(probe, InputClass::sparse_powers, 40);
  double products = 0;
  for (const OneDot& one : dots) products += static_cast<double>(product_exponents(one).size());
  EXPECT_LT(products / static_cast<double>(dots.size()), probe.instruction.stored_k() / 2.0);
  EXPECT_GT(products, 0);
}

// The integer rows have claims of their own: integer_classes_test.cpp.
std::vector<std::size_t> floating_probes() {
  const std::vector<Probe> probes = all_probes();
  std::vector<std::size_t> floating;
  for (std::size_t i = 0; i < probes.size(); ++i)
    if (!spec_of(probes[i].instruction.a).integer()) floating.push_back(i);
  return floating;
}

INSTANTIATE_TEST_SUITE_P(EveryInstruction, Families, testing::ValuesIn(floating_probes()),
                         [](const auto& information) {
                           std::string name = name_of(all_probes()[information.param].instruction);
                           for (char& x : name) x = x == '.' ? '_' : x;
                           return name;
                         });

// Metadata is valid, every pattern occurs, and some B holds what must not be read; directed tiles too.
TEST(Generators, MetadataIsValidAndEveryPatternOccurs) {
  std::size_t sparse = 0;
  for (const Probe& probe : all_probes()) {
    const Instruction& inst = probe.instruction;
    TileBatch tiles(inst);
    const gen::GeneratorSpec generator = gen::make_generator_spec(inst, probe.datapath);
    for (int f = 0; f < gen::kInputClasses; ++f)
      gen::append_class(tiles, generator, static_cast<InputClass>(f), kSeed, 0, 2, 0);
    const std::size_t seeded = tiles.tiles;
    gen::append_directed(tiles, probe.datapath, 0);
    EXPECT_EQ(why_bad_metadata(inst, tiles.metadata, tiles.tiles), "") << name_of(inst);
    if (!is_sparse(inst.op)) continue;
    ++sparse;
    const auto kept = static_cast<std::size_t>(sparsity_of(inst).kept);
    const std::size_t boundary = seeded * tiles.metadata.size() / tiles.tiles;
    std::map<std::uint32_t, int> in_families, in_directed;
    for (std::size_t i = 0; i < tiles.metadata.size(); i += kept)
      ++(i < boundary ? in_families : in_directed)[encode_group(sparsity_of(inst), &tiles.metadata[i])];
    EXPECT_EQ(in_families.size(), static_cast<std::size_t>(patterns(sparsity_of(inst))));
    EXPECT_EQ(in_directed.size(), static_cast<std::size_t>(patterns(sparsity_of(inst))));
    bool unread = false;
    for (int k = 0; k < inst.k; ++k)
      for (int f = 0; f < gen::kInputClasses; ++f)
        unread = unread || gen::detail::never_read(generator, static_cast<InputClass>(f), kSeed, 0, k);
    EXPECT_TRUE(unread);
  }
  EXPECT_GT(sparse, 50U);
}

TEST(Generators, DirectedCasesExistForEveryInstructionAndRepeat) {
  for (const Probe& probe : all_probes()) {
    const std::vector<gen::DirectedDot> dots = gen::directed_dots(probe.instruction, probe.datapath);
    EXPECT_GE(dots.size(), 8U) << name_of(probe.instruction);
    const std::vector<gen::DirectedDot> again = gen::directed_dots(probe.instruction, probe.datapath);
    ASSERT_EQ(dots.size(), again.size());
    for (std::size_t i = 0; i < dots.size(); ++i) {
      EXPECT_EQ(dots[i].a, again[i].a);
      EXPECT_EQ(dots[i].b, again[i].b);
      EXPECT_EQ(dots[i].c, again[i].c);
      EXPECT_EQ(dots[i].a.size(), static_cast<std::size_t>(probe.instruction.stored_k()));
    }
  }
}

// A search starts from a floor that cuts nothing: no sum of the products reaches it.
TEST(Generators, DirectedCasesExistBesideAFloorThatIsOutOfReach) {
  for (const Architecture& architecture : architectures())
    for (const Instruction& listed : kInstructions) {
      const Instruction inst = with_shape(listed, kWgmmaMinN);
      const DatapathEntry* entry = find_datapath(architecture, inst);
      if (entry == nullptr || entry->datapath.arithmetic != Arithmetic::fused_dot_add) continue;
      Datapath low = entry->datapath;
      low.min_alignment_exponent = -420;
      EXPECT_NO_THROW(EXPECT_FALSE(gen::directed_dots(inst, low).empty())) << name_of(inst);
    }
}

}  // namespace
}  // namespace mmaudit::test
