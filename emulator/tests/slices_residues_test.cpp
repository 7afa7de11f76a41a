// ozaki2 with up to 15 moduli against 128-bit integers: whole numbers, their exact product, the weights of
// the Chinese remainder theorem. The tests of Python have more moduli. MMAUDIT_SLICES_ELEMENTS as in
// slices_test.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "mmaudit/slices.hpp"

namespace mmaudit {
namespace {

__extension__ using Whole = __int128;

std::uint64_t elements() {
  const char* const given = std::getenv("MMAUDIT_SLICES_ELEMENTS");
  return given == nullptr ? 20000 : static_cast<std::uint64_t>(std::atof(given));
}

struct Lanes {
  std::vector<Whole> numbers;
  std::vector<int> shifts;
};

/// Numbers below 2^64 in units of 2^-64 and so on: whatever the shift, a significand and zeros.
Whole shifted(double x, int by) {
  int exponent = 0;
  const auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  if (significand == 0) return 0;
  const int shift = exponent - 53 + by;
  if (shift >= 0) return static_cast<Whole>(significand) << shift;
  return shift < -60 ? 0 : significand / (std::int64_t{1} << -shift);
}

Lanes whole_numbers(const std::vector<double>& from, std::uint64_t k, Whole product) {
  Lanes out{std::vector<Whole>(from.size()), {}};
  const double room = std::log2(static_cast<double>(product)) / 2;
  for (std::uint64_t first = 0; first < from.size(); first += k) {
    float most = 0;  // of binary32, as GEMMul8 takes its exponent
    for (std::uint64_t i = 0; i < k; ++i)
      most = std::max(most, static_cast<float>(std::abs(from[first + i])));
    long double squares = 0;
    for (std::uint64_t i = 0; i < k; ++i) {
      const long double x =
          std::ldexp(static_cast<long double>(from[first + i]), most == 0 ? 0 : -std::ilogb(most));
      squares += x * x;
    }
    const double norm =
        most == 0 ? 0
                  : static_cast<double>(std::log2(squares) / 2 + static_cast<long double>(std::ilogb(most)));
    const int shift =
        most == 0 ? 0 : static_cast<int>(std::floor(room - 2 - std::max(1.0, norm))) - std::ilogb(most);
    out.shifts.push_back(shift);
    for (std::uint64_t i = 0; i < k; ++i) out.numbers[first + i] = shifted(from[first + i], shift);
  }
  return out;
}

/// Rows, or columns one after the other, of one of five kinds.
std::vector<double> drawn(int kind, std::uint64_t lanes, std::uint64_t k, std::mt19937_64& random) {
  std::vector<double> out(lanes * k);
  for (double& each : out) {
    const double x = std::ldexp(static_cast<double>(random()), -64) - 0.5;
    const auto exponent = static_cast<int>(random() % 81) - 40;
    const double kinds[] = {x, std::ldexp(x, exponent), std::ldexp(x, 3 * exponent),
                            exponent < 0 ? -0.0 : std::ldexp(x, -140), std::ldexp(std::trunc(x * 16), 30)};
    each = kinds[kind];
  }
  return out;
}

TEST(Slices, ResiduesOfBinary64AreWhatIntegersSay) {
  std::mt19937_64 random(3);
  const SliceScheme& scheme = *find_slicing("ozaki2:2")->scheme;
  const SlicePath path = slice_path(scheme, *find_architecture("hopper"));
  const int moduli[] = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197};
  std::uint64_t done = 0, wrong = 0;
  for (int turn = 0; done < elements(); ++turn) {
    const std::uint64_t edge = elements() > 1000000 ? 256 : 24, k = 1 + random() % 60;
    const int parts = 2 + turn % 14;
    const std::vector<double> a = drawn(turn % 5, edge, k, random),
                              columns = drawn(turn / 5 % 5, edge, k, random);
    std::vector<double> b(columns.size()), d(edge * edge);
    for (std::uint64_t j = 0; j < edge; ++j)
      for (std::uint64_t l = 0; l < k; ++l) b[l * edge + j] = columns[j * k + l];
    Matmul problem;
    problem.m = problem.n = edge, problem.k = k, problem.a = a.data(), problem.b = b.data(),
    problem.d = d.data();
    sliced_matmul(
        {&scheme, parts}, path.instruction, path.entry->datapath, problem,
        [](const Instruction& inst, const Datapath& by, const Matmul& part) { matmul(inst, by, part); });
    Whole product = 1;
    int halves = 0, width = 0, unit = 0;
    for (int p = 0; p < parts; ++p) product *= moduli[p], halves += moduli[p] / 2;
    while (product >> width != 0) ++width;
    if (parts > 6) unit = width - 53 + static_cast<int>(std::ceil(std::log2(halves)));
    std::vector<double> high, low;
    for (int p = 0; p < parts; ++p) {
      const Whole others = product / moduli[p];
      Whole weight = others;
      while (weight % moduli[p] != 1) weight += others;
      high.push_back(static_cast<double>(weight >> unit << unit));
      low.push_back(static_cast<double>(weight & ((Whole{1} << unit) - 1)));
    }
    const auto near = static_cast<double>(product);
    const auto lacks = static_cast<double>(product - static_cast<Whole>(near));
    const Lanes rows = whole_numbers(a, k, product), lanes = whole_numbers(columns, k, product);
    for (std::uint64_t e = 0; e < d.size(); ++e) {
      const std::uint64_t i = e / edge, j = e % edge;
      double total = 0, rest = 0;
      for (int p = 0; p < parts; ++p) {
        std::int64_t sum = 0;
        for (std::uint64_t l = 0; l < k; ++l)
          sum += static_cast<std::int64_t>(rows.numbers[i * k + l] % moduli[p]) *
                 static_cast<std::int64_t>(lanes.numbers[j * k + l] % moduli[p]);
        std::int64_t residue = (sum % moduli[p] + moduli[p]) % moduli[p];
        if (residue > (moduli[p] - 1) / 2) residue -= moduli[p];
        const auto factor = static_cast<double>(residue);
        total = std::fma(high[static_cast<std::size_t>(p)], factor, total);
        rest = std::fma(low[static_cast<std::size_t>(p)], factor, rest);
      }
      const double times = std::nearbyint(1 / near * total);
      double expected = std::fma(-near, times, total);
      if (parts > 6) expected = std::fma(-lacks, times, expected + rest);
      expected = std::ldexp(expected, -rows.shifts[i] - lanes.shifts[j]);
      wrong += std::bit_cast<std::uint64_t>(expected) != std::bit_cast<std::uint64_t>(d[e]) ? 1U : 0U;
    }
    done += d.size();
  }
  EXPECT_EQ(wrong, 0U) << "of " << done;
  RecordProperty("ozaki2", std::to_string(done));
}

}  // namespace
}  // namespace mmaudit
