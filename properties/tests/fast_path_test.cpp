// The fast path of matmul() against the plain core, bit for bit: every row it serves on every architecture,
// every level of vector instructions, every input class of inputs; and rows that no hardware has.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <vector>

#include "mmaudit/arithmetic/staged_dot.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/mutants/mutants.hpp"
#include "mmaudit/raw_words.hpp"
#include "probe.hpp"

namespace mmaudit::test {
namespace {

/// Operands are more than A, B and C: side_data_test has those.
bool has_side_data(const Instruction& instruction) {
  return is_sparse(instruction.op) || instruction.scale != Format::none;
}

/// Every row of every architecture that the fast path serves and that reads A, B and C alone; wgmma with the
/// least n.
std::vector<Probe> served_probes() {
  std::vector<Probe> probes;
  for (const Architecture& architecture : architectures()) {
    for (Instruction instruction : kInstructions) {
      instruction = with_shape(instruction, kWgmmaMinN);
      const DatapathEntry* entry = find_datapath(architecture, instruction);
      if (entry != nullptr && !has_side_data(instruction) && fast_serves(instruction, entry->datapath))
        probes.push_back({instruction, entry->datapath});
    }
  }
  return probes;
}

/// Operands and room for D.
struct Product {
  Matmul problem;
  std::vector<std::byte> a, b, c, d;

  Product(const Instruction& instruction, std::uint64_t m, std::uint64_t n, std::uint64_t k)
      : a(m * k * spec_of(instruction.a).storage_bytes()),
        b(k * n * spec_of(instruction.b).storage_bytes()),
        c(m * n * spec_of(instruction.c).storage_bytes()),
        d(m * n * spec_of(instruction.d).storage_bytes()) {
    problem.m = m;
    problem.n = n;
    problem.k = k;
  }

  /// `bits(matrix, i, j)` for every element.
  template <typename Bits>
  void fill(const Instruction& instruction, const Bits& bits) {
    const auto one = [&](std::vector<std::byte>& buffer, gen::Matrix which, std::uint64_t rows,
                         std::uint64_t columns, Format format) {
      for (std::uint64_t i = 0; i < rows; ++i)
        for (std::uint64_t j = 0; j < columns; ++j)
          gen::store_bits(buffer, spec_of(format).storage_bytes(), i * columns + j, bits(which, i, j));
    };
    one(a, gen::Matrix::a, problem.m, problem.k, instruction.a);
    one(b, gen::Matrix::b, problem.k, problem.n, instruction.b);
    one(c, gen::Matrix::c, problem.m, problem.n, instruction.c);
  }

  std::vector<std::byte> run(const Probe& probe, const MatmulOptions& options) {
    problem.a = a.data();
    problem.b = b.data();
    problem.c = c.data();
    problem.d = d.data();
    std::fill(d.begin(), d.end(), std::byte{0xA5});
    matmul(probe.instruction, probe.datapath, problem, options);
    return d;
  }
};

Product family_product(const Probe& probe, gen::InputClass input_class, std::uint64_t tile) {
  const gen::GeneratorSpec generator = gen::make_generator_spec(probe.instruction, probe.datapath);
  const auto k = static_cast<std::uint64_t>(probe.instruction.k);
  // More than one vector and one row group, none of them whole; two instructions and a piece.
  Product product(probe.instruction, 5, 35, 2 * k + 1 + tile % k);
  product.fill(probe.instruction, [&](gen::Matrix which, std::uint64_t i, std::uint64_t j) {
    return gen::generate(generator, input_class, kSeed, which, tile, static_cast<int>(i),
                         static_cast<int>(j));
  });
  return product;
}

MatmulOptions plain() {
  MatmulOptions options;
  options.fast = false;
  return options;
}

MatmulOptions at(SimdLevel level) {
  MatmulOptions options;
  options.level = level;
  return options;
}

std::vector<SimdLevel> levels_here() {
  std::vector<SimdLevel> levels;
  for (const SimdLevel level : kSimdLevels)
    if (has_simd_level(level)) levels.push_back(level);
  return levels;
}

TEST(FastPath, ServesWhatItWasMadeFor) {
  std::map<std::string_view, int> rows;
  for (const Architecture& architecture : architectures()) {
    for (Instruction instruction : kInstructions) {
      instruction = with_shape(instruction, kWgmmaMinN);
      const DatapathEntry* entry = find_datapath(architecture, instruction);
      if (entry == nullptr) continue;
      const bool adds = entry->datapath.arithmetic == Arithmetic::fused_dot_add ||
                        entry->datapath.arithmetic == Arithmetic::grouped_dot_add;
      const bool served =
          entry->datapath.arithmetic == Arithmetic::integer ||
          entry->datapath.arithmetic == Arithmetic::rounded_tree ||
          entry->datapath.arithmetic == Arithmetic::two_stage_dot_add ||
          entry->datapath.arithmetic == Arithmetic::fma_chain ||
          (adds && instruction.c == instruction.d && entry->datapath.sum_format == Format::none &&
           (!is_sparse(instruction.op) || instruction.scale == Format::none));
      EXPECT_EQ(fast_serves(instruction, entry->datapath), served)
          << architecture.name << " " << name_of(instruction);
      // An architecture whose every row is staged has nothing to serve.
      rows[architecture.name] += served || is_staged(entry->datapath.arithmetic) ? 1 : 0;
    }
  }
  for (const Architecture& architecture : architectures())
    EXPECT_GT(rows[architecture.name], 0) << architecture.name;
}

TEST(FastPath, IsThePlainCoreOnEveryRowLevelAndFamily) {
  std::size_t compared = 0;
  for (const Probe& probe : served_probes()) {
    for (int f = 0; f < gen::kInputClasses; ++f) {
      for (std::uint64_t tile = 0; tile < 2; ++tile) {
        Product product = family_product(probe, static_cast<gen::InputClass>(f), tile);
        const std::vector<std::byte> expected = product.run(probe, plain());
        for (const SimdLevel level : levels_here()) {
          ASSERT_TRUE(product.run(probe, at(level)) == expected)
              << name_of(probe.instruction) << " L " << probe.datapath.products_per_step << " F "
              << probe.datapath.fraction_bits << " " << name_of(static_cast<gen::InputClass>(f)) << " tile "
              << tile << " " << name_of(level);
          compared += product.problem.m * product.problem.n;
        }
      }
    }
  }
  std::printf("%zu elements compared\n", compared);
  EXPECT_GE(compared, 300'000U * levels_here().size());
}

TEST(FastPath, ManyLargeProductsOverflowAsInThePlainCore) {
  // Each product is below 2^121, and 256 of them lift a C of 2^119 past the largest number.
  const Instruction instruction = *find_instruction("mma.m16n8k16.f32.bf16.bf16.f32");
  const Probe probe{instruction, find_datapath(*find_architecture("hopper"), instruction)->datapath};
  Product product(instruction, 5, 35, 256);
  product.fill(instruction, [](gen::Matrix which, std::uint64_t, std::uint64_t) {
    if (which == gen::Matrix::c) return encode_nearest_even(0x1p119, spec_of(Format::f32));
    return encode_nearest_even(1.8984375 * (which == gen::Matrix::a ? 0x1p59 : 0x1p60),
                               spec_of(Format::bf16));
  });
  const std::vector<std::byte> expected = product.run(probe, plain());
  EXPECT_EQ(load_word(expected.data(), 4, 0), 0x7F800000U);
  for (const SimdLevel level : levels_here())
    EXPECT_TRUE(product.run(probe, at(level)) == expected) << name_of(level);
}

TEST(FastPath, ExponentsThatAreNoBytes) {
  // Vectors keep exponents of BF16 and TF32 as bytes, which holds up to 2^64; each larger one is the plain
  // core's.
  for (const char* name : {"mma.m16n8k16.f32.bf16.bf16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"}) {
    const Instruction instruction = *find_instruction(name);
    const Probe probe{instruction, find_datapath(*find_architecture("hopper"), instruction)->datapath};
    for (int large = 62; large <= 127; ++large) {
      Product product(instruction, 9, 67, 64);
      product.fill(instruction, [&](gen::Matrix which, std::uint64_t i, std::uint64_t j) {
        const double digits = 1 + static_cast<double>((5 * i + 3 * j) % 8) / 8;
        const auto at = [&](std::uint64_t row, std::uint64_t column) { return i == row && j == column; };
        if (which == gen::Matrix::c) return encode_nearest_even(0, spec_of(Format::f32));
        if (which == gen::Matrix::a)
          return encode_nearest_even(std::ldexp(digits, at(1, 17) || at(6, 40) ? large : -40),
                                     spec_of(instruction.a));
        const bool partner = i == 17 || at(40, 3);
        return encode_nearest_even(std::ldexp(digits, at(22, 50) ? large
                                                      : partner  ? -80 - large
                                                                 : -39),
                                   spec_of(instruction.b));
      });
      const std::vector<std::byte> expected = product.run(probe, plain());
      for (const SimdLevel level : levels_here())
        EXPECT_TRUE(product.run(probe, at(level)) == expected)
            << name << " " << name_of(level) << " " << large;
    }
  }
}

TEST(FastPath, SpecialsInLaterChunksOfK) {
  // Packed 256 of K at a time; what vectors can't do is read again from where it stands.
  const Instruction instruction = *find_instruction("mma.m16n8k16.f32.f16.f16.f32");
  const Probe probe{instruction, find_datapath(*find_architecture("hopper"), instruction)->datapath};
  Product product(instruction, 5, 35, 700);
  const FormatSpec f16 = spec_of(Format::f16);
  product.fill(instruction, [&](gen::Matrix which, std::uint64_t i, std::uint64_t j) -> std::uint64_t {
    if (which == gen::Matrix::c) return 0;
    if (which == gen::Matrix::a && i > 0 && j == 150 * i) return f16.infinity_bits();
    return encode_nearest_even(static_cast<double>((3 * i + j) % 7) - 3, f16);
  });
  const std::vector<std::byte> expected = product.run(probe, plain());
  EXPECT_EQ(load_word(expected.data(), 4, 35 * 2 + 1) & 0x7F800000U, 0x7F800000U);
  for (const SimdLevel level : levels_here())
    EXPECT_TRUE(product.run(probe, at(level)) == expected) << name_of(level);
}

/// Directed cases as a batch of products, one instruction each.
struct Directed {
  TileBatch tiles;
  Matmul problem;

  explicit Directed(const Probe& probe) : tiles(probe.instruction) {
    gen::append_directed(tiles, probe.datapath, 0);
    const TileView batch = tiles.view();
    problem.batch = tiles.tiles;
    problem.m = static_cast<std::uint64_t>(probe.instruction.m);
    problem.n = static_cast<std::uint64_t>(probe.instruction.n);
    problem.k = static_cast<std::uint64_t>(probe.instruction.k);
    problem.a = batch.a;
    problem.b = batch.b;
    problem.c = batch.c;
    problem.d = batch.d;
  }

  std::vector<std::byte> run(const Probe& probe, const MatmulOptions& options) {
    matmul(probe.instruction, probe.datapath, problem, options);
    return tiles.d;
  }
  std::vector<std::byte> emulated(const Probe& probe) {
    emulate(probe.instruction, probe.datapath, tiles.view());
    return tiles.d;
  }
};

TEST(FastPath, IsThePlainCoreOnDirectedCases) {
  for (const Probe& probe : served_probes()) {
    Directed directed(probe);
    const std::vector<std::byte> expected = directed.emulated(probe);
    EXPECT_TRUE(directed.run(probe, plain()) == expected) << name_of(probe.instruction);
    for (const SimdLevel level : levels_here())
      EXPECT_TRUE(directed.run(probe, at(level)) == expected)
          << name_of(probe.instruction) << " " << name_of(level);
  }
}

/// The same comparison must see a fast path whose row is wrong in one number.
TEST(FastPath, TheComparisonSeesAWrongRow) {
  std::size_t seen = 0;
  for (const Probe& probe : served_probes()) {
    // Products of two such formats hardly reach below 2^(E - F), and a binary16 D shows it in ties alone.
    if (spec_of(probe.instruction.a).value_bits() < 8 && spec_of(probe.instruction.b).value_bits() < 8)
      continue;
    for (const Mutant& wrong : mutants_of(probe.instruction, probe.datapath)) {
      if (wrong.rule != "F" || wrong.datapath.fraction_bits >= probe.datapath.fraction_bits ||
          !wrong.invisible.empty())
        continue;
      const Probe other{probe.instruction, wrong.datapath};
      if (!fast_serves(probe.instruction, wrong.datapath)) {
        EXPECT_TRUE(is_staged(probe.datapath.arithmetic)) << name_of(probe.instruction);  // F is fixed
        continue;
      }
      Directed directed(probe);
      bool found = directed.run(other, {}) != directed.emulated(probe);
      for (int f = 0; f < gen::kInputClasses && !found; ++f) {
        Product product = family_product(probe, static_cast<gen::InputClass>(f), 0);
        found = product.run(other, {}) != product.run(probe, plain());
      }
      EXPECT_TRUE(found) << name_of(probe.instruction) << " " << wrong.rule << " " << wrong.change;
      seen += found ? 1 : 0;
    }
  }
  std::printf("%zu wrong rows seen\n", seen);
  EXPECT_GE(seen, 80U);
}

/// Raw bits of a format in which zeros, ones, specials and the least and largest numbers are as frequent as
/// random bits.
rc::Gen<std::uint64_t> arbitrary_bits(const FormatSpec& format) {
  const std::uint64_t sign = format.sign_bit();
  const std::uint64_t unit = std::uint64_t{1} << format.ignored_low_bits;
  const std::uint64_t one = static_cast<std::uint64_t>(format.bias)
                            << (format.fraction_bits + format.ignored_low_bits);
  const std::uint64_t mask = sign | (sign - 1);
  const auto near_one = rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [=](std::uint64_t x) {
    const std::uint64_t around =
        one + ((x & 7U) << (format.fraction_bits + format.ignored_low_bits)) - 4 * (one & ~(one - 1));
    return (around | (x & sign) | (x & ((unit << format.fraction_bits) - 1))) & mask;
  });
  return rc::gen::weightedOneOf<std::uint64_t>(
      {{4, rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [mask](std::uint64_t x) { return x & mask; })},
       {8, near_one},
       {2, rc::gen::element(std::uint64_t{0}, sign, unit, sign | unit, one, sign | one, one + unit,
                            one - unit, format.max_finite_bits())},
       {1, rc::gen::element(format.infinity_bits() & mask, sign - 1)}});
}

/// A row that the fast path serves though no hardware has it.
Datapath arbitrary_row(const Instruction& instruction, Datapath datapath) {
  const bool widened = datapath.widen_to != Format::none;
  datapath.products_per_step =
      *rc::gen::inRange<std::int16_t>(1, static_cast<std::int16_t>(instruction.k + 1));
  datapath.fraction_bits = *rc::gen::inRange<std::int16_t>(2, 29);
  datapath.min_alignment_exponent = *rc::gen::inRange<std::int16_t>(-170, 5);
  if (datapath.output.format == Format::f32) {
    datapath.output.fraction_bits = static_cast<std::uint8_t>(*rc::gen::inRange(1, 24));
  }
  datapath.order = *rc::gen::element(KOrder::ascending, KOrder::descending, KOrder::halves,
                                     KOrder::even_then_odd, KOrder::pairs_of_four);
  datapath.addend = *rc::gen::element(AddendPlace::in_first_step, AddendPlace::after_last_nearest);
  if (!widened && instruction.a != Format::tf32)
    datapath.output.nan = *rc::gen::element(NanRule::canonical, NanRule::ieee_quiet);
  return datapath;
}

TEST(FastPath, IsThePlainCoreOnArbitraryRowsShapesAndBits) {
  std::vector<Probe> probes = served_probes();
  // Integers and binary64 have few rules, and every input class of theirs is above.
  std::erase_if(probes, [](const Probe& probe) {
    return probe.datapath.arithmetic == Arithmetic::integer ||
           probe.datapath.arithmetic == Arithmetic::fma_chain;
  });
  const std::vector<SimdLevel> levels = levels_here();
  std::size_t served = 0;
  EXPECT_TRUE(rc::check("the fast path is the plain core", [&] {
    Probe probe = *rc::gen::elementOf(probes);
    if (*rc::gen::arbitrary<bool>()) probe.datapath = arbitrary_row(probe.instruction, probe.datapath);
    const auto k = static_cast<std::uint64_t>(probe.instruction.k);
    served += fast_serves(probe.instruction, probe.datapath) ? 1 : 0;
    Product product(probe.instruction, *rc::gen::inRange<std::uint64_t>(1, 7),
                    *rc::gen::inRange<std::uint64_t>(1, 40), *rc::gen::inRange<std::uint64_t>(0, 3 * k));
    // A few patterns, drawn often: full containers would take RapidCheck most of the time.
    std::map<gen::Matrix, std::vector<std::uint64_t>> pool;
    for (const auto& [which, format] :
         {std::pair{gen::Matrix::a, probe.instruction.a}, std::pair{gen::Matrix::b, probe.instruction.b},
          std::pair{gen::Matrix::c, probe.instruction.c}}) {
      pool[which] = *rc::gen::container<std::vector<std::uint64_t>>(12, arbitrary_bits(spec_of(format)));
    }
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    product.fill(probe.instruction, [&](gen::Matrix which, std::uint64_t i, std::uint64_t j) {
      Draws random = gen::detail::element_stream(seed + static_cast<std::uint64_t>(which),
                                                 static_cast<int>(i), static_cast<int>(j));
      return pool[which][random.next() % pool[which].size()];
    });
    if (probe.instruction.d == Format::f32 && *rc::gen::arbitrary<bool>()) {
      product.problem.promote = k * *rc::gen::inRange<std::uint64_t>(0, 3);
      product.problem.split_k = *rc::gen::inRange<std::uint64_t>(1, 4);
    }
    const std::vector<std::byte> expected = product.run(probe, plain());
    for (const SimdLevel level : levels) RC_ASSERT(product.run(probe, at(level)) == expected);
  }));
  std::printf("%zu of them served\n", served);
  EXPECT_GT(served, 1000U);
}

}  // namespace
}  // namespace mmaudit::test
