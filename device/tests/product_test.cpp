// Products with block scales or metadata: the fast kernels, and the plain core on the GPU, against matmul()'s
// plain core, bit by bit.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "gpu_fixture.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::device {
namespace {

class ProductsOnDevice : public Gpu {};

constexpr std::uint64_t kSeed = 17, kRows = 67, kColumns = 35;

/// One instruction with scales or metadata, and its datapath.
struct Served {
  Instruction instruction;
  Datapath datapath;
};

/// Those with scales or metadata that the kernels serve, each datapath once per set of formats; with `kinds`
/// all whose name contains it.
std::vector<Served> served(const char* kinds = nullptr) {
  std::vector<Served> found;
  std::set<std::string> seen;
  for (const Architecture& architecture : architectures()) {
    for (Instruction instruction : kInstructions) {
      instruction = with_shape(instruction, kWgmmaMinN);
      const DatapathEntry* entry = find_datapath(architecture, instruction);
      const bool side = is_sparse(instruction.op) || instruction.scale != Format::none;
      if (entry == nullptr || !(side || kinds != nullptr) || instruction.c != instruction.d) continue;
      if (kinds != nullptr && name_of(instruction).find(kinds) == std::string::npos) continue;
      if (!why_no_matmul_on_device(instruction, entry->datapath, {}).empty()) continue;
      if (seen.insert(product_key(instruction, entry->datapath)).second)
        found.push_back({instruction, entry->datapath});
    }
  }
  return found;
}

/// A product of an input class. Instruction s of its chain is one tile of the class, of m rows and n columns.
struct Product {
  Matmul problem;
  std::vector<std::byte> a, b, c, d;
  std::vector<std::uint8_t> scale_a, scale_b, metadata;

  Product(const Served& one, gen::InputClass input_class, std::uint64_t seed, std::uint64_t m,
          std::uint64_t n, std::uint64_t k) {
    const gen::GeneratorSpec generator = gen::make_generator_spec(one.instruction, one.datapath);
    const auto group = static_cast<std::uint64_t>(generator.sparsity.group),
               kept = static_cast<std::uint64_t>(generator.sparsity.kept),
               depth = static_cast<std::uint64_t>(one.instruction.k);
    const std::uint64_t stored = k / group * kept, of_tile = depth / group * kept;
    const auto fill = [](auto& to, std::size_t bytes, std::uint64_t rows, std::uint64_t columns,
                         const auto& element) {
      to.resize(rows * columns * bytes);
      detail::parallel_for(rows, 0, [&](std::uint64_t i) {
        for (std::uint64_t j = 0; j < columns; ++j)
          store_word(to.data(), bytes, i * columns + j, element(i, j));
      });
    };
    const auto made = [&](gen::Matrix which, std::uint64_t tile, std::uint64_t row, std::uint64_t column) {
      return gen::generate(generator, input_class, seed, which, tile, static_cast<int>(row),
                           static_cast<int>(column));
    };
    fill(a, generator.a.storage_bytes(), m, stored,
         [&](std::uint64_t i, std::uint64_t s) { return made(gen::Matrix::a, s / of_tile, i, s % of_tile); });
    fill(b, generator.b.storage_bytes(), k, n,
         [&](std::uint64_t s, std::uint64_t j) { return made(gen::Matrix::b, s / depth, s % depth, j); });
    fill(c, generator.c.storage_bytes(), m, n,
         [&](std::uint64_t i, std::uint64_t j) { return made(gen::Matrix::c, 0, i, j); });
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.a = a.data();
    problem.b = b.data();
    problem.c = c.data();
    if (generator.scale_block != 0) {
      const auto length = static_cast<std::uint64_t>(generator.scale_block), blocks = depth / length,
                 all = ::mmaudit::detail::quotient_up(k, length);
      fill(scale_a, 1, m, all, [&](std::uint64_t i, std::uint64_t s) {
        return made(gen::Matrix::scale_a, s / blocks, i, s % blocks);
      });
      fill(scale_b, 1, all, n, [&](std::uint64_t s, std::uint64_t j) {
        return made(gen::Matrix::scale_b, s / blocks, s % blocks, j);
      });
      problem.scale_a = scale_a.data();
      problem.scale_b = scale_b.data();
    }
    if (group != kept) {
      fill(metadata, 1, m, stored, [&](std::uint64_t i, std::uint64_t s) {
        return gen::generate_metadata(generator, input_class, seed, s / of_tile, static_cast<int>(i),
                                      static_cast<int>(s % of_tile));
      });
      problem.metadata = metadata.data();
    }
  }

  template <typename Run>
  std::vector<std::byte> result(const Run& run) {
    const Format output = problem.epilogue ? problem.epilogue->output : Format::none;
    d.assign(output == Format::bf16 ? problem.m * problem.n * 2 : c.size(), std::byte{0xA5});
    problem.d = d.data();
    run(problem);
    return d;
  }
};

/// D by the host's plain core.
std::vector<std::byte> plain_result(const Served& one, Product& product) {
  return product.result([&](const Matmul& problem) {
    MatmulOptions plain;
    plain.fast = false;
    plain.threads = 0;
    matmul(one.instruction, one.datapath, problem, plain);
  });
}

TEST_F(ProductsOnDevice, GiveTheBitsOfThePlainCore) {
  std::size_t ran = 0, kinds = 0;
  for (const Served& one : served()) {
    ++kinds;
    const auto k = static_cast<std::uint64_t>(one.instruction.k);
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto input_class = static_cast<gen::InputClass>(f);
      Product product(one, input_class, kSeed, kRows, kColumns, 2 * k + k / 2 + 4);
      const bool totals = one.instruction.d == Format::f32;
      product.problem.promote = totals && f % 3 == 1 ? k : 0;
      product.problem.split_k = totals && f % 4 == 1 ? 2 : 1;
      if (f % 5 == 4) product.problem.scale_b = nullptr;
      if (totals && f % 6 == 2)
        product.problem.epilogue =
            Epilogue{0.37F, f == 2 ? -2.5F : 0.0F, f == 2 ? Format::f32 : Format::bf16};
      const std::vector<std::byte> expected = plain_result(one, product);
      for (const DeviceModel model : {DeviceModel::fast, DeviceModel::plain}) {
        const auto found = product.result([&](const Matmul& problem) {
          matmul_on_device(info_, one.instruction, one.datapath, problem, model);
        });
        EXPECT_TRUE(found == expected) << name_of(one.instruction) << " " << gen::name_of(input_class) << " "
                                       << (model == DeviceModel::fast ? "fast" : "plain");
        ran += kRows * kColumns;
      }
    }
  }
  std::printf("%zu elements of %zu datapaths\n", ran, kinds);
  EXPECT_GE(kinds, 25U + 3U + 6U);
  EXPECT_GE(ran, 1'000'000U);
}

/// Scales about 1 that span so many half binades, as scales of tensors do; one in `least` is the least code.
void draw_scales(Product& product, const FormatSpec& scale, unsigned spread, Draws& random, unsigned least) {
  for (auto* const scales : {&product.scale_a, &product.scale_b})
    for (std::uint8_t& x : *scales) {
      const unsigned step = static_cast<unsigned>(random.next()) % ((spread << scale.fraction_bits) / 2 + 1);
      x = static_cast<std::uint8_t>(random.once_in(least) ? 0 : (one_bits(scale) - spread + step) & 0x7FU);
    }
}

/// Scales that lie close together: what the kernel for groups is made for.
/// Then C is made so large, or so small, that alignment cuts something off.
TEST_F(ProductsOnDevice, TakeScalesAndSumsOfEveryDistance) {
  std::size_t ran = 0;
  for (const Served& one : served()) {
    const FormatSpec scale = spec_of(one.instruction.scale);
    if (one.datapath.arithmetic != Arithmetic::grouped_dot_add) continue;
    for (unsigned spread = 0; spread < 20; ++spread) {
      Product product(one, gen::InputClass::normal, kSeed + spread, 125, 100, 64);
      Draws random = gen::detail::element_stream(kSeed, 1, static_cast<int>(spread));
      draw_scales(product, scale, spread, random, 50);
      for (std::uint64_t e = 0; e < product.c.size() / 4; ++e) {
        const auto bits = static_cast<std::uint32_t>(random.next()) & 0x807FFFFFU;
        const std::uint32_t field = 127 - 60 + static_cast<std::uint32_t>(random.next() % 121);
        store_word(product.c.data(), 4, e, bits | field << 23);
      }
      const auto expected = plain_result(one, product);
      const auto found = product.result(
          [&](const Matmul& problem) { matmul_on_device(info_, one.instruction, one.datapath, problem); });
      EXPECT_TRUE(found == expected) << name_of(one.instruction) << " spread " << spread;
      ran += expected.size() / 4;
    }
  }
  EXPECT_GE(ran, 700'000U);
}

/// Sums that grow through many chunks and pass the largest number of their format early, late or just not.
TEST_F(ProductsOnDevice, OverflowWhereThePlainCoreDoes) {
  constexpr std::uint64_t kSide = 40, kDepth = 1024;
  std::size_t infinite = 0, finite = 0;
  for (const char* const kind : {"bf16.bf16", "tf32.tf32", "f16.f16.f16", "e5m2.e5m2"}) {
    for (const Served& one : served(kind)) {
      const FormatSpec a = spec_of(one.instruction.a), d = spec_of(one.instruction.d);
      for (int below = 2; below <= 11; below += 3) {
        Product product(one, gen::InputClass::normal, kSeed, kSide, kSide, kDepth);
        const int exponent = std::min((d.max_exponent() - below) / 2, a.max_exponent() - 1);
        Draws random = gen::detail::element_stream(kSeed, 1, below);
        const std::size_t bytes = a.storage_bytes();
        for (auto* const operand : {&product.a, &product.b})
          for (std::size_t i = 0; i < operand->size() / bytes; ++i) {
            const std::uint64_t field = static_cast<std::uint64_t>(exponent + a.bias) + random.next() % 2,
                                bits = field << a.fraction_bits |
                                       random.next() % (std::uint64_t{1} << a.fraction_bits);
            store_word(operand->data(), bytes, i,
                       bits << a.ignored_low_bits | (random.once_in(40) ? a.sign_bit() : 0));
          }
        const auto expected = plain_result(one, product);
        const auto found = product.result(
            [&](const Matmul& problem) { matmul_on_device(info_, one.instruction, one.datapath, problem); });
        EXPECT_TRUE(found == expected) << name_of(one.instruction) << " 2^" << exponent;
        for (std::size_t i = 0; i < expected.size() / d.storage_bytes(); ++i)
          ++(load_word(expected.data(), d.storage_bytes(), i) == d.infinity_bits() ? infinite : finite);
      }
    }
  }
  EXPECT_GT(infinite, 10'000U);
  EXPECT_GT(finite, 10'000U);
}

/// Dot products of one instruction; of a chain every instruction counts.
double dots_of(const Served& one, const Matmul& problem) {
  return static_cast<double>(problem.m * problem.n * problem.k) / one.instruction.k;
}

/// The fast kernels beside the plain core on the GPU and, on fewer elements, the host's vector code, each
/// input class once; then beside the vector code, in the classes in which both are quick, until there are
/// `wanted`.
double compare_many(const DeviceInfo& info, const Served& one, double wanted, std::uint64_t side) {
  const auto k = static_cast<std::uint64_t>(one.instruction.k);
  // What is slow shows at full depth alone: there sums leave the range that vectors take.
  constexpr std::uint64_t kShort = 2, kLong = 32;
  // The plain core on the GPU is too slow for many.
  const bool groups = one.datapath.arithmetic == Arithmetic::grouped_dot_add;
  double done = 0, seconds[gen::kInputClasses] = {};
  const auto compare = [&](int f, std::uint64_t seed, std::uint64_t edge, std::uint64_t length, bool host,
                           bool quick_groups) {
    const auto input_class = static_cast<gen::InputClass>(f);
    Product product(one, input_class, seed, edge, edge, length * k);
    if (quick_groups) {
      Draws random = gen::detail::element_stream(seed, 1, f);
      draw_scales(product, spec_of(one.instruction.scale), static_cast<unsigned>(seed % 6), random, 20000);
      product.problem.c = nullptr;
    }
    const auto start = std::chrono::steady_clock::now();
    const auto found = product.result(
        [&](const Matmul& problem) { matmul_on_device(info, one.instruction, one.datapath, problem); });
    const bool equal = found == product.result([&](const Matmul& problem) {
      if (!host) {
        matmul_on_device(info, one.instruction, one.datapath, problem, DeviceModel::plain);
        return;
      }
      MatmulOptions options;
      options.threads = 0;
      if (const char* level = std::getenv("MMAUDIT_LEVEL")) options.level = find_simd_level(level);
      matmul(one.instruction, one.datapath, problem, options);
    });
    EXPECT_TRUE(equal) << name_of(one.instruction) << " " << gen::name_of(input_class) << " seed " << seed;
    if (equal) done += dots_of(one, product.problem);
    seconds[f] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return equal;
  };
  for (int f = 0; f < gen::kInputClasses; ++f) {
    if (!compare(f, kSeed + 100, side, kShort, false, false) ||
        !compare(f, kSeed + 101, side / 8, kLong, true, false))
      return done;
    if (groups && !compare(f, kSeed + 102, side / 8, kLong, true, true)) return done;
  }
  const double limit = 8 * *std::min_element(std::begin(seconds), std::end(seconds));
  bool quick[gen::kInputClasses];
  for (int f = 0; f < gen::kInputClasses; ++f) quick[f] = seconds[f] <= limit;
  for (std::uint64_t round = 0; done < wanted; ++round) {
    const auto f = static_cast<int>(round % gen::kInputClasses);
    if (quick[f] && !compare(f, kSeed + 200 + round, side, kLong, true, groups)) return done;
  }
  return done;
}

TEST_F(ProductsOnDevice, OfManyDotProductsAreThePlainCores) {
  const char* asked = std::getenv("MMAUDIT_DOTS");
  const char* kinds = std::getenv("MMAUDIT_KINDS");
  const double wanted = asked != nullptr ? std::atof(asked) : 0;
  const std::uint64_t side = wanted >= 1e9 ? 4096 : wanted >= 1e8 ? 1024 : 128;
  std::size_t compared = 0;
  for (const Served& one : served(kinds)) {
    const auto start = std::chrono::steady_clock::now();
    const double done = compare_many(info_, one, wanted, side);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (asked != nullptr) {
      std::printf("%s: %.4g dot products, %.1f s\n", name_of(one.instruction).c_str(), done, seconds.count());
      std::fflush(stdout);
    }
    ++compared;
  }
  EXPECT_GT(compared, 0U);
}

}  // namespace
}  // namespace mmaudit::device
