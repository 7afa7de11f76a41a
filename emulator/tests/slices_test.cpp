// Schemes of slices against a second computation: a tensor core as one step of 64-bit integers
// (docs/numerics.md, "The step"), digits by fmod of powers of two. MMAUDIT_SLICES_ELEMENTS: elements of D per
// scheme; docs/results/slices.md has 10^7.
#include "mmaudit/slices.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "c_interface.hpp"

namespace mmaudit {
namespace {

constexpr std::uint32_t kNan = 0x7FFFFFFF;

std::uint64_t elements() {
  const char* const given = std::getenv("MMAUDIT_SLICES_ELEMENTS");
  return given == nullptr ? 20000 : static_cast<std::uint64_t>(std::atof(given));
}

/// What an instruction reads of a part of binary32: significand with its sign, exponent of a normal number.
struct Part {
  std::int64_t significand = 0;
  int exponent = 0;
  bool infinite = false, nan = false;
};

Part part_of(std::uint32_t bits, bool tf32) {
  if (tf32) bits &= 0xFFFFE000;
  const int field = static_cast<int>(bits >> 23 & 255);
  const std::int64_t fraction = bits & 0x7FFFFF;
  Part out{field == 0 ? fraction : fraction | 0x800000, (field == 0 ? 1 : field) - 127,
           field == 255 && fraction == 0, field == 255 && fraction != 0};
  if (bits >> 31 != 0) out.significand = -out.significand;
  return out;
}

std::int64_t shifted(std::int64_t value, int by) {  // toward zero
  const std::int64_t size = std::abs(value);
  const std::int64_t out = by >= 0 ? size << by : by < -62 ? 0 : size >> -by;
  return value < 0 ? -out : out;
}

/// c + the sum of products, as one instruction: F = 25, minimum -133, toward zero.
std::uint32_t step(std::uint32_t c, const Part* a, const Part* b, std::uint64_t depth) {
  constexpr int kFraction = 25, kLeast = -133;
  const Part old = part_of(c, false);
  int top = old.significand != 0 ? std::max(old.exponent, kLeast) : kLeast;
  bool nan = old.nan, plus = old.infinite && old.significand > 0, minus = old.infinite && old.significand < 0;
  for (std::uint64_t k = 0; k < depth; ++k) {
    nan = nan || a[k].nan || b[k].nan || (a[k].infinite && b[k].significand == 0) ||
          (b[k].infinite && a[k].significand == 0);
    if (a[k].infinite || b[k].infinite)
      ((a[k].significand < 0) != (b[k].significand < 0) ? minus : plus) = true;
    if (a[k].significand != 0 && b[k].significand != 0) top = std::max(top, a[k].exponent + b[k].exponent);
  }
  if (nan || (plus && minus)) return kNan;
  if (plus || minus) return plus ? 0x7F800000 : 0xFF800000;
  std::int64_t sum = shifted(old.significand, old.exponent - 23 - (top - kFraction));
  for (std::uint64_t k = 0; k < depth; ++k)
    sum +=
        shifted(a[k].significand * b[k].significand, a[k].exponent + b[k].exponent - 46 - (top - kFraction));
  if (sum == 0) return 0;
  const int unit = top - kFraction,
            width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::abs(sum))));
  const int drop = std::max({width - 24, -149 - unit, 0});
  const double value = std::ldexp(static_cast<double>(shifted(sum, -drop)), unit + drop);
  if (std::abs(value) >= 0x1p128) return sum < 0 ? 0xFF800000 : 0x7F800000;
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

std::uint32_t quiet(float x) { return x == x ? std::bit_cast<std::uint32_t>(x) : kNan; }

std::uint32_t to_bf16(std::uint32_t x) {
  if (std::isnan(std::bit_cast<float>(x))) return 0x7FFF0000;
  return (x + 0x7FFF + (x >> 16 & 1)) & 0xFFFF0000;
}
std::uint32_t away(std::uint32_t x) {  // tf32, ties away from zero; of a NaN the low bits are cut off
  return (x & 0x7F800000) == 0x7F800000 ? x & 0xFFFFE000 : (x + 0x1000) & 0xFFFFE000;
}
std::uint32_t cut(std::uint32_t x) { return std::isnan(std::bit_cast<float>(x)) ? kNan : x & 0xFFFFE000; }
std::uint32_t same(std::uint32_t x) { return x; }

/// A scheme, told again: how each part is rounded, what rests are multiplied by, and the products; 'n' before
/// one clears NaNs, 's' scales the sum by 2^-8.
struct Told {
  std::vector<std::uint32_t (*)(std::uint32_t)> rounds;
  float scale;
  const char* products;
  std::uint64_t round, depth;
  bool continues;
};
const std::map<std::string, Told> kTold = {
    {"tf32x3", {{away, same}, 1, "10 01 n00", 32, 8, false}},
    {"bf16x3", {{to_bf16, to_bf16}, 1, "10 01 n00", 32, 16, false}},
    {"bf16x6", {{to_bf16, to_bf16, to_bf16}, 1, "11 20 02 10 01 n00", 32, 16, false}},
    {"bf16x9", {{to_bf16, to_bf16, to_bf16}, 256, "22 s12 21 s02 11 20 s01 10 s00", 16, 16, false}},
    {"3xtf32", {{cut, away}, 1, "10 01 00", 8, 8, true}}};

/// parts[p][i] of numbers.
std::vector<std::vector<Part>> parts_of(const Told& told, const std::vector<std::uint32_t>& numbers) {
  std::vector<std::vector<Part>> out(told.rounds.size());
  for (const std::uint32_t number : numbers) {
    std::uint32_t rest = number;
    for (std::size_t p = 0; p < out.size(); ++p) {
      const std::uint32_t part = told.rounds[p](rest);
      out[p].push_back(part_of(part, told.depth == 8));
      rest = quiet((std::bit_cast<float>(rest) - std::bit_cast<float>(part)) * told.scale);
    }
  }
  return out;
}

std::vector<std::uint32_t> told_again(const Told& told, const std::vector<std::uint32_t>& a,
                                      const std::vector<std::uint32_t>& b, std::uint64_t m, std::uint64_t n,
                                      std::uint64_t k) {
  std::vector<std::uint32_t> columns(b.size());
  for (std::uint64_t l = 0; l < k; ++l)
    for (std::uint64_t j = 0; j < n; ++j) columns[j * k + l] = b[l * n + j];
  const auto of_a = parts_of(told, a), of_b = parts_of(told, columns);
  std::vector<std::uint32_t> out(m * n);
  for (std::uint64_t i = 0; i < m; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      float total = 0;
      std::uint32_t sum = 0;
      for (std::uint64_t first = 0; first < k; first += told.round) {
        if (!told.continues) sum = 0;
        const std::uint64_t last = std::min(k, first + told.round);
        for (const char* at = told.products; *at != 0; at += *at == ' ' ? 1 : 2) {
          if (*at == ' ') continue;
          if (*at == 'n' && std::isnan(std::bit_cast<float>(sum))) sum = 0;
          if (*at == 's') sum = quiet(std::bit_cast<float>(sum) * 0x1p-8F);
          if (*at == 'n' || *at == 's') ++at;
          for (std::uint64_t l = first; l < last; l += told.depth)
            sum =
                step(sum, &of_a[static_cast<std::size_t>(at[0] - '0')][i * k + l],
                     &of_b[static_cast<std::size_t>(at[1] - '0')][j * k + l], std::min(told.depth, last - l));
        }
        total += std::bit_cast<float>(sum);
      }
      out[i * n + j] = told.continues ? sum : quiet(total);
    }
  return out;
}

/// Bits of binary32 or binary64, kind by kind: near 1, 41 exponents, all exponents, cancelling pairs along k
/// (`stride` apart), subnormal against large, zeros of both signs, special values among others.
template <typename Bits>
std::vector<Bits> drawn(int kind, std::uint64_t count, std::uint64_t stride, bool of_b,
                        std::mt19937_64& random) {
  constexpr bool kWide = sizeof(Bits) == 8;
  constexpr int kFraction = kWide ? 52 : 23, kExponents = kWide ? 11 : 8, kBias = (1 << (kExponents - 1)) - 1;
  const auto number = [&](int least, int most) {
    const std::uint64_t field =
        static_cast<std::uint64_t>(least) + random() % static_cast<std::uint64_t>(most - least + 1);
    const std::uint64_t fraction = random() & ((std::uint64_t{1} << kFraction) - 1);
    return static_cast<Bits>((random() & 1) << (kFraction + kExponents) | field << kFraction | fraction);
  };
  constexpr Bits kSign = Bits{1} << (kFraction + kExponents);
  const Bits infinity = ((Bits{1} << kExponents) - 1) << kFraction;
  const Bits special[] = {infinity,
                          infinity | kSign,
                          infinity | 1,
                          kSign,
                          0,
                          1,
                          kSign | 1,
                          infinity - 1,
                          (infinity - 1) | kSign,
                          static_cast<Bits>(infinity | (Bits{1} << (kFraction - 1)))};
  std::vector<Bits> out(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (kind == 0) out[i] = number(kBias - 4, kBias);
    if (kind == 1) out[i] = number(kBias - 20, kBias + 20);
    if (kind == 2) out[i] = kWide ? number(300, 1700) : number(0, 2 * kBias);
    if (kind == 3) {
      const bool second = i / stride % 2 == 1;
      out[i] = !second ? number(kBias - 4, kBias) : static_cast<Bits>(out[i - stride] ^ (of_b ? 0 : kSign));
    }
    if (kind == 4) out[i] = of_b ? number(kBias - 20, kBias + 40) : number(0, 30);
    if (kind == 5) out[i] = random() % 3 != 0 ? (random() & 1) * kSign : number(kBias, kBias + 1);
    if (kind == 6)
      out[i] = random() % 500 != 0 ? number(kBias - 4, kBias) : special[random() % std::size(special)];
  }
  return out;
}
constexpr int kKinds = 7;

const Product kOnHost = [](const Instruction& inst, const Datapath& datapath, const Matmul& part) {
  matmul(inst, datapath, part);
};

Matmul problem_of(const void* a, const void* b, void* d, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Matmul out;
  out.m = m, out.n = n, out.k = k, out.a = a, out.b = b, out.d = d;
  return out;
}

TEST(Slices, PartsOfBinary32AreWhatIntegersSay) {
  std::mt19937_64 random(1);
  for (const SliceScheme& scheme : slice_schemes()) {
    if (scheme.integer()) continue;
    const Told& told = kTold.at(std::string(scheme.name));
    const SlicePath path = slice_path(scheme, *find_architecture("hopper"));
    ASSERT_EQ(path.why_not, "");
    std::uint64_t done = 0, wrong = 0;
    for (int kind = 0; done < elements(); kind = (kind + 1) % kKinds) {
      const std::uint64_t edge = elements() > 1000000 ? 256 : 40, k = 24 + random() % 60;
      const auto a = drawn<std::uint32_t>(kind, edge * k, 1, false, random),
                 b = drawn<std::uint32_t>(kind, k * edge, edge, true, random);
      std::vector<std::uint32_t> d(edge * edge);
      sliced_matmul({&scheme, scheme.parts}, path.instruction, path.entry->datapath,
                    problem_of(a.data(), b.data(), d.data(), edge, edge, k), kOnHost);
      const auto expected = told_again(told, a, b, edge, edge, k);
      for (std::size_t e = 0; e < d.size(); ++e) wrong += d[e] != expected[e] ? 1U : 0U;
      done += d.size();
    }
    EXPECT_EQ(wrong, 0U) << scheme.name << " of " << done;
    RecordProperty(std::string(scheme.name), std::to_string(done));
  }
}

/// Digits of a row or a column, largest first, and the exponent that they stand over; nullopt: not finite.
std::optional<int> digits_again(const SliceScheme& scheme, int parts, const std::vector<double>& lane,
                                std::vector<std::vector<std::int64_t>>& digits) {
  double most = 0;
  for (const double x : lane) {
    if (!std::isfinite(x)) return std::nullopt;
    most = std::max(most, std::abs(x));
  }
  int exponent = most == 0 ? 0 : std::ilogb(most) + 1;
  if (scheme.balanced && std::ldexp(most, 7 - exponent) >= 127) ++exponent;
  const double base = std::ldexp(1, scheme.digit_bits);
  const int first = scheme.balanced ? 7 : 6;  // bits of the first digit
  digits.assign(static_cast<std::size_t>(parts), {});
  for (const double x : lane) {  // truncated to an integer, whose digits are all exact in binary64
    double rest = std::trunc(std::ldexp(x, first + scheme.digit_bits * (parts - 1) - exponent));
    for (std::size_t p = digits.size(); p-- > 1;) {
      double low = std::fmod(rest, base);
      if (scheme.balanced && low >= base / 2) low -= base;
      if (scheme.balanced && low < -base / 2) low += base;
      digits[p].push_back(static_cast<std::int64_t>(low));
      rest = (rest - low) / base;
    }
    digits[0].push_back(static_cast<std::int64_t>(rest));
  }
  return exponent;
}

double digits_product(const SliceScheme& scheme, int parts, const std::vector<std::vector<std::int64_t>>& row,
                      const std::vector<std::vector<std::int64_t>>& column) {
  double total = 0;
  for (std::size_t sum = 0; sum < static_cast<std::size_t>(parts); ++sum) {
    std::int64_t band = 0;
    for (std::size_t p = 0; p <= sum; ++p) {
      for (std::size_t l = 0; l < row[p].size(); ++l) band += row[p][l] * column[sum - p][l];
      if (scheme.by_band && p < sum) continue;
      total += std::ldexp(static_cast<double>(band),
                          (scheme.balanced ? -14 : -12) - scheme.digit_bits * static_cast<int>(sum));
      band = 0;
    }
  }
  return total;
}

TEST(Slices, DigitsOfBinary64AreWhatIntegersSay) {
  std::mt19937_64 random(2);
  for (const SliceScheme& scheme : slice_schemes()) {
    if (scheme.digit_bits == 0) continue;
    const SlicePath path = slice_path(scheme, *find_architecture("hopper"));
    std::uint64_t done = 0, wrong = 0;
    for (int kind = 0; done < elements(); kind = (kind + 1) % kKinds) {
      if (kind == 6 && scheme.balanced) continue;  // a chain of fma, see below
      const std::uint64_t edge = elements() > 1000000 ? 256 : 24, k = 16 + random() % 30;
      const int parts =
          1 + static_cast<int>(random() % (elements() > 1000000 ? 10 : static_cast<unsigned>(scheme.most)));
      const auto a = drawn<std::uint64_t>(kind, edge * k, 1, false, random),
                 b = drawn<std::uint64_t>(kind, k * edge, edge, true, random);
      std::vector<double> d(edge * edge);
      sliced_matmul({&scheme, parts}, path.instruction, path.entry->datapath,
                    problem_of(a.data(), b.data(), d.data(), edge, edge, k), kOnHost);
      // Bands of more parts: where digits are not balanced, the one of `parts` is D.
      std::vector<double> more(edge * edge);
      if (!scheme.balanced)
        sliced_matmul({&scheme, std::min(scheme.most, parts + 1)}, path.instruction, path.entry->datapath,
                      problem_of(a.data(), b.data(), more.data(), edge, edge, k), kOnHost,
                      [&](int sum, const double* of) {
                        if (sum + 1 == parts)
                          for (std::size_t e = 0; e < d.size(); ++e)
                            wrong += std::bit_cast<std::uint64_t>(of[e]) != std::bit_cast<std::uint64_t>(d[e])
                                         ? 1U
                                         : 0U;
                        return sum + 1 < parts;
                      });
      std::vector<std::vector<std::vector<std::int64_t>>> rows(edge), columns(edge);
      std::vector<std::optional<int>> of_row, of_column;
      for (std::uint64_t i = 0; i < edge; ++i) {
        std::vector<double> row(k), column(k);
        for (std::uint64_t l = 0; l < k; ++l) {
          row[l] = std::bit_cast<double>(a[i * k + l]);
          column[l] = std::bit_cast<double>(b[l * edge + i]);
        }
        of_row.push_back(digits_again(scheme, parts, row, rows[i]));
        of_column.push_back(digits_again(scheme, parts, column, columns[i]));
      }
      for (std::uint64_t e = 0; e < d.size(); ++e) {
        const std::uint64_t i = e / edge, j = e % edge;
        const bool finite = of_row[i] && of_column[j];
        const double expected = finite ? std::ldexp(digits_product(scheme, parts, rows[i], columns[j]),
                                                    *of_row[i] + *of_column[j])
                                       : std::bit_cast<double>(0xFFF8000000000000);
        wrong += std::bit_cast<std::uint64_t>(expected) != std::bit_cast<std::uint64_t>(d[e]) ? 1U : 0U;
      }
      done += d.size();
    }
    EXPECT_EQ(wrong, 0U) << scheme.name << " of " << done;
    RecordProperty(std::string(scheme.name == "ozaki1" ? "ozaki1" : "cublas"), std::to_string(done));
  }
}

TEST(Slices, WithoutFiniteNumbersTheLibraryTakesItsOwnProduct) {
  const std::vector<double> a = {1.0 / 3, HUGE_VAL, 1.0 / 3, 1.0 / 7}, b = {1, 1.0 / 3, 0, 1.0 / 7};
  std::vector<double> d(4);
  const Slicing slicing = *find_slicing("cublas-f64:1");
  const SlicePath path = slice_path(*slicing.scheme, *find_architecture("hopper"));
  sliced_matmul(slicing, path.instruction, path.entry->datapath,
                problem_of(a.data(), b.data(), d.data(), 2, 2, 2), kOnHost);
  EXPECT_TRUE(std::isnan(d[0]));  // infinity times zero
  EXPECT_EQ(d[1], HUGE_VAL);
  EXPECT_EQ(d[2], 1.0 / 3);
  EXPECT_EQ(d[3], std::fma(1.0 / 7, 1.0 / 7, 1.0 / 3 * (1.0 / 3)));
}

TEST(Slices, SumsOfDigitsFitInInt32) {
  for (const auto& [name, most] : {std::pair{"ozaki1:3", std::uint64_t{1} << 17},
                                   std::pair{"cublas-f64:3", (std::uint64_t{1} << 17) - 1}}) {
    const Slicing slicing = *find_slicing(name);
    const SlicePath path = slice_path(*slicing.scheme, *find_architecture("hopper"));
    // 99.5 / 128: second digits of -128, the least there is.
    const std::vector<double> number(most + 1, 25472.0 / 32768);
    double d = 0;
    Matmul problem = problem_of(number.data(), number.data(), &d, 1, 1, most);
    EXPECT_EQ(why_no_slices(slicing, path.instruction, path.entry->datapath, problem), "");
    sliced_matmul(slicing, path.instruction, path.entry->datapath, problem, kOnHost);
    EXPECT_EQ(d, static_cast<double>(most) * number[0] * number[0]) << name;  // all exact
    ++problem.k;
    EXPECT_EQ(why_no_slices(slicing, path.instruction, path.entry->datapath, problem).substr(0, 9),
              "k: found ")
        << name;
  }
}

TEST(Slices, NamesOfSchemes) {
  for (const char* name : {"tf32x3", "bf16x3", "bf16x6", "bf16x9", "3xtf32", "ozaki1:1", "ozaki1:18",
                           "ozaki1:auto", "cublas-f64:7", "cublas-f64:auto", "ozaki2:2", "ozaki2:20"}) {
    const auto found = find_slicing(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(name_of(*found), name);
  }
  for (const char* name :
       {"", "bf16x4", "bf16x9:2", "ozaki1", "ozaki1:", "ozaki1:0", "ozaki1:19", "ozaki1:-1", "ozaki1:8x",
        "cublas-f64:0", "cublas-f64:11", "ozaki2:1", "ozaki2:21", "ozaki2:auto"})
    EXPECT_FALSE(find_slicing(name)) << name;
  EXPECT_EQ(products_of(*find_slicing("ozaki1:8")), 36);
  EXPECT_EQ(products_of(*find_slicing("bf16x9")), 9);
  for (const SliceScheme& scheme : slice_schemes()) EXPECT_FALSE(scheme.source.empty()) << scheme.name;
}

TEST(Slices, CInterface) {
  const std::vector<double> a = {1, 0x1p-30}, b = {3, 5};
  double d = -1;
  mmaudit_product work{};
  work.size = sizeof work;
  work.arch = "hopper";
  work.batch = work.m = work.n = work.split_k = 1;
  work.k = 2;
  work.a = {a.data(), sizeof(double) * 2};
  work.b = {b.data(), sizeof(double) * 2};
  work.d = {&d, sizeof d};
  ASSERT_EQ(mmaudit_sliced_matmul(&work, "ozaki1:auto"), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(d, 3 + 5 * 0x1p-30);
  ASSERT_EQ(mmaudit_sliced_matmul(&work, "ozaki1:2"), MMAUDIT_OK) << mmaudit_last_error();
  EXPECT_EQ(d, 3);
  EXPECT_EQ(mmaudit_sliced_matmul(&work, "bf16x3"), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(mmaudit_sliced_matmul(&work, nullptr), MMAUDIT_BAD_INPUT);
  EXPECT_EQ(std::string(mmaudit_last_error()).substr(0, 23), "scheme: found nothing, ");
  work.epilogue = 1;
  EXPECT_EQ(mmaudit_sliced_matmul(&work, "ozaki1:2"), MMAUDIT_BAD_INPUT);
}

}  // namespace
}  // namespace mmaudit
