// Products out of parts, by what computes one chain per element.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "gemm/k_slices.hpp"
#include "gemm/sliced_product.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/gemm_combination.hpp"
#include "mmaudit/slices.hpp"

namespace mmaudit {
namespace {

using Bytes = std::vector<std::byte>;

std::uint32_t bits_of(float x) { return x == x ? std::bit_cast<std::uint32_t>(x) : SumsOf<float>::kNan; }

/// The parts of binary32 numbers, largest first, in the storage of their format.
std::vector<Bytes> float_parts(const SliceScheme& scheme, const void* from, std::uint64_t count) {
  const FormatSpec f32 = spec_of(Format::f32), to = spec_of(find_gemm_dtype(scheme.dtype)->element);
  const float factor = std::ldexp(1.0F, scheme.part_shift);
  std::vector<Bytes> out(static_cast<std::size_t>(scheme.parts), Bytes(count * to.storage_bytes()));
  for (std::uint64_t i = 0; i < count; ++i) {
    std::uint64_t rest = load_word(from, sizeof(float), i);
    for (std::size_t p = 0; p < out.size(); ++p) {
      const bool last = p + 1 == out.size();
      const std::optional<CastRounding> rounding = last ? scheme.last_rounding : scheme.rounding;
      const std::uint64_t part = rounding ? cast_bits(rest, f32, to, CastRule{*rounding, false}) : rest;
      store_word(out[p].data(), to.storage_bytes(), i, part);
      if (last) continue;
      const auto below =
          std::bit_cast<float>(static_cast<std::uint32_t>(rest)) - static_cast<float>(decode_value(part, to));
      rest = bits_of(below * factor);
    }
  }
  return out;
}

void from_floats(const Slicing& slicing, const Instruction& inst, const Datapath& datapath,
                 const Matmul& problem, const Product& product) {
  const SliceScheme& scheme = *slicing.scheme;
  const std::uint64_t count = problem.batch * problem.m * problem.n;
  const std::vector<Bytes> a = float_parts(scheme, problem.a, problem.batch * problem.m * problem.k),
                           b = float_parts(scheme, problem.b, problem.batch * problem.k * problem.n);
  const std::uint64_t round = slicing.round != 0  ? slicing.round
                              : scheme.round != 0 ? scheme.round
                                                  : static_cast<std::uint64_t>(inst.k);
  std::vector<float> totals(count, 0.0F), sums(count), next(count);
  Matmul part = problem;
  for (std::uint64_t first = 0; first < problem.k; first += round) {
    part.k = std::min(round, problem.k - first);
    const KSlice slice({{first, first + part.k}});
    std::vector<Bytes> of_a, of_b;
    Matmul whole = problem;
    for (std::size_t p = 0; p < a.size(); ++p) {
      whole.a = a[p].data(), whole.b = b[p].data();
      of_a.push_back(slice.of_a(whole, inst.a));
      of_b.push_back(slice.of_b(whole, inst.b));
    }
    if (!scheme.continues) std::fill(sums.begin(), sums.end(), 0.0F);
    for (const PartPair& pair : scheme.products) {
      if (pair.clear_nan)
        for (float& sum : sums) sum = sum == sum ? sum : 0.0F;
      if (pair.shift != 0)
        for (float& sum : sums) sum = std::bit_cast<float>(bits_of(std::ldexp(sum, pair.shift)));
      part.a = of_a[pair.a].data(), part.b = of_b[pair.b].data();
      part.c = sums.data(), part.d = next.data();
      product(inst, datapath, part);
      std::swap(sums, next);
    }
    if (scheme.continues) continue;
    for (std::uint64_t e = 0; e < count; ++e) totals[e] = std::bit_cast<float>(bits_of(totals[e] + sums[e]));
  }
  if (count != 0) std::memcpy(problem.d, (scheme.continues ? sums : totals).data(), count * sizeof(float));
}

/// Rows of A or columns of B.
struct Lanes {
  const double* from = nullptr;
  std::uint64_t count = 0, k = 0, stride = 0, k_stride = 0;

  [[nodiscard]] std::uint64_t at(std::uint64_t lane, std::uint64_t i) const {
    return lane * stride + i * k_stride;
  }
  [[nodiscard]] double operator()(std::uint64_t lane, std::uint64_t i) const { return from[at(lane, i)]; }
  /// Infinity where one is not finite.
  [[nodiscard]] double most(std::uint64_t lane) const {
    double out = 0;
    for (std::uint64_t i = 0; i < k; ++i)
      out = std::isfinite((*this)(lane, i)) ? std::max(out, std::abs((*this)(lane, i))) : HUGE_VAL;
    return out;
  }
};
Lanes rows_of(const Matmul& problem, std::uint64_t matrix) {
  return {static_cast<const double*>(problem.a) + matrix * problem.m * problem.k, problem.m, problem.k,
          problem.k, 1};
}
Lanes columns_of(const Matmul& problem, std::uint64_t matrix) {
  return {static_cast<const double*>(problem.b) + matrix * problem.k * problem.n, problem.n, problem.k, 1,
          problem.n};
}

using Parts = std::vector<std::vector<std::int8_t>>;  // a matrix each, in the order of the lanes' numbers

/// What the parts of a row of A or a column of B stand over.
struct Lane {
  int exponent = 0;
  bool finite = true;
};

std::vector<Lane> digits_of(const SliceScheme& scheme, const Lanes& lanes, Parts& digits) {
  __extension__ using Wide = __int128;
  constexpr int kSignificand = 53;
  const int later = static_cast<int>(digits.size()) - 1, bits = scheme.first_bits + scheme.digit_bits * later;
  const Wide base = Wide{1} << scheme.digit_bits;
  std::vector<Lane> out(lanes.count);
  for (std::uint64_t lane = 0; lane < lanes.count; ++lane) {
    const double most = lanes.most(lane);
    out[lane].finite = std::isfinite(most);
    if (!out[lane].finite || most == 0) continue;
    const double size = std::frexp(most, &out[lane].exponent);
    if (scheme.balanced && size >= 1 - std::ldexp(1.0, -scheme.first_bits)) ++out[lane].exponent;
    for (std::uint64_t i = 0; i < lanes.k; ++i) {
      const std::uint64_t at = lanes.at(lane, i);
      int exponent = 0;
      const double fraction = std::frexp(lanes.from[at], &exponent);
      const int shift = bits - kSignificand - (out[lane].exponent - exponent);
      if (shift <= -kSignificand) continue;
      const auto significand = static_cast<std::int64_t>(std::ldexp(fraction, kSignificand));
      Wide rest = shift >= 0 ? static_cast<Wide>(significand) * (Wide{1} << shift)
                             : static_cast<Wide>(significand / (std::int64_t{1} << -shift));
      for (auto digit = static_cast<std::size_t>(later); digit > 0; --digit) {
        Wide low = rest % base;  // with the sign of the number
        if (scheme.balanced) low = ((rest + base / 2) & (base - 1)) - base / 2;
        digits[digit][at] = static_cast<std::int8_t>(low);
        rest = (rest - low) / base;
      }
      digits[0][at] = static_cast<std::int8_t>(rest);
    }
  }
  return out;
}

/// What the Chinese remainder theorem multiplies residues by, in two binary64: the weights are multiples of
/// the product over their modulus. The first parts of all of them end at one power of two, so that their sums
/// are exact. With up to 6 moduli one binary64 is taken, as GEMMul8's P_is_double has it.
struct Remainders {
  std::vector<double> high, low;
  double product = 1, product_low = 0;
  bool two = false;

  explicit Remainders(std::span<const std::uint16_t> moduli) : two(moduli.size() > 6) {
    __extension__ using Wide = unsigned __int128;  // of numbers up to 2^156 the low bits
    __extension__ using Signed = __int128;
    Wide whole = 1;
    unsigned halves = 0;
    for (const std::uint16_t by : moduli) {  // the product and what it lacks
      const double next = product * by, rest = std::fma(product, by, -next) + product_low * by;
      product = next + rest;
      product_low = rest - (product - next);
      whole *= by, halves += by / 2U;
    }
    const int width = std::ilogb(product) + 1, unit = two ? width - 53 + std::bit_width(halves - 1) : 0;
    const int below = std::max(width - 53, 0);
    const auto top = static_cast<Wide>(std::ldexp(product, -below)) << below;
    product_low = static_cast<double>(static_cast<Signed>(whole - top));
    for (const std::uint16_t own : moduli) {
      Wide others = 1;
      unsigned residue = 1, inverse = 1;
      for (const std::uint16_t by : moduli)
        if (by != own) others *= by, residue = residue * by % own;
      while (residue * inverse % own != 1) ++inverse;
      others *= inverse;
      low.push_back(two ? static_cast<double>(others & ((Wide{1} << unit) - 1)) : 0);
      const double near = product / own * inverse;  // right to 2^-50, its first part has up to 46 bits
      high.push_back(two ? std::ldexp(std::nearbyint(std::ldexp(near - low.back(), -unit)), unit)
                         : static_cast<double>(others));
    }
  }
  /// Sums of weights times residues, less the multiple of the product that is nearest.
  [[nodiscard]] double number(double sum, double sum_low) const {
    const double times = std::nearbyint(1 / product * sum), near = std::fma(-product, times, sum);
    return two ? std::fma(-product_low, times, near + sum_low) : near;
  }
};

double least_residue(double whole, int modulus) {
  const double rest = std::fmod(whole, modulus);
  const int most = (modulus - 1) / 2, least = -(modulus / 2);
  return rest > most ? rest - modulus : rest < least ? rest + modulus : rest;
}

/// The power of two leaves room for sums as large as the norms of row and column allow. Numbers above 2 are
/// in it twice, in the norm and by themselves, as GEMMul8 has it.
std::vector<Lane> residues_of(std::span<const std::uint16_t> moduli, const Lanes& lanes, Parts& residues) {
  double room = -2;
  for (const std::uint16_t by : moduli) room += std::log2(by) / 2;
  std::vector<Lane> out(lanes.count);
  for (std::uint64_t lane = 0; lane < lanes.count; ++lane) {
    const auto most = static_cast<float>(lanes.most(lane));  // GEMMul8 takes its exponent in binary32
    out[lane].finite = std::isfinite(most);
    if (!out[lane].finite || most == 0) continue;
    const int top = std::ilogb(most);
    double squares = 0;
    for (std::uint64_t i = 0; i < lanes.k; ++i) squares += std::pow(std::ldexp(lanes(lane, i), -top), 2);
    const double norm = top + std::log2(squares) / 2;
    out[lane].exponent = top - static_cast<int>(std::floor(room - std::max(1.0, norm)));
    for (std::uint64_t i = 0; i < lanes.k; ++i) {
      const double whole = std::trunc(std::ldexp(lanes(lane, i), -out[lane].exponent));
      for (std::size_t p = 0; p < moduli.size(); ++p)
        residues[p][lanes.at(lane, i)] = static_cast<std::int8_t>(least_residue(whole, moduli[p]));
    }
  }
  return out;
}

bool all_finite(const Lanes& lanes) {
  return std::all_of(lanes.from, lanes.from + lanes.count * lanes.k,
                     [](double x) { return std::isfinite(x); });
}

void from_digits(const Slicing& slicing, const Instruction& inst, const Datapath& datapath,
                 const Matmul& problem, const Product& product, const OnBand& on_band) {
  const SliceScheme& scheme = *slicing.scheme;
  const int parts = slicing.parts;
  const std::uint64_t of_d = problem.m * problem.n;
  std::vector<std::int32_t> sums(of_d);
  std::vector<std::int64_t> together(of_d);
  std::vector<double> totals(of_d), scaled(of_d), lows(of_d);
  const auto moduli = scheme.moduli.first(std::min(scheme.moduli.size(), static_cast<std::size_t>(parts)));
  for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix) {
    const Lanes from_a = rows_of(problem, matrix), from_b = columns_of(problem, matrix);
    auto* const d = static_cast<double*>(problem.d) + matrix * of_d;
    if (scheme.fma_where_not_finite && !(all_finite(from_a) && all_finite(from_b))) {
      GemmPlan chain;
      chain.scalar = true, chain.output = Format::f64;
      chain.instruction = scalar_instruction(Format::f64, Format::f64);
      Matmul whole = problem;
      whole.batch = 1, whole.a = from_a.from, whole.b = from_b.from, whole.d = d;
      predict(chain, datapath, whole, product);
      continue;
    }
    const auto split = [&](const Lanes& lanes, Parts& into) {
      into.assign(static_cast<std::size_t>(parts), std::vector<std::int8_t>(lanes.count * lanes.k));
      return moduli.empty() ? digits_of(scheme, lanes, into) : residues_of(moduli, lanes, into);
    };
    Parts a, b;
    const std::vector<Lane> rows = split(from_a, a), columns = split(from_b, b);
    const auto multiply = [&](std::size_t of_row, std::size_t of_column) {
      Matmul part = problem;
      part.batch = 1;
      part.a = a[of_row].data(), part.b = b[of_column].data(), part.d = sums.data();
      product(inst, datapath, part);
    };
    const auto finish = [&] {
      for (std::uint64_t i = 0, e = 0; i < problem.m; ++i)
        for (std::uint64_t j = 0; j < problem.n; ++j, ++e)
          scaled[e] = rows[i].finite && columns[j].finite
                          ? std::ldexp(totals[e], rows[i].exponent + columns[j].exponent)
                          : std::bit_cast<double>(SumsOf<double>::kNan);
    };
    std::fill(totals.begin(), totals.end(), 0.0);
    if (!moduli.empty()) {
      const Remainders remainders(moduli);
      std::fill(lows.begin(), lows.end(), 0.0);
      for (std::size_t p = 0; p < moduli.size(); ++p) {
        multiply(p, p);
        for (std::uint64_t e = 0; e < of_d; ++e) {
          const double residue = least_residue(sums[e], moduli[p]);
          totals[e] = std::fma(remainders.high[p], residue, totals[e]);
          lows[e] = std::fma(remainders.low[p], residue, lows[e]);
        }
      }
      for (std::uint64_t e = 0; e < of_d; ++e) totals[e] = remainders.number(totals[e], lows[e]);
    }
    for (int sum = 0; moduli.empty() && sum < parts; ++sum) {
      const double unit = std::ldexp(1.0, -2 * scheme.first_bits - scheme.digit_bits * sum);
      std::fill(together.begin(), together.end(), 0);
      for (int of_row = 0; of_row <= sum; ++of_row) {
        multiply(static_cast<std::size_t>(of_row), static_cast<std::size_t>(sum - of_row));
        const bool now = !scheme.by_band || of_row == sum;
        for (std::uint64_t e = 0; e < of_d; ++e) {
          together[e] += sums[e];
          if (!now) continue;
          totals[e] += static_cast<double>(together[e]) * unit;
          together[e] = 0;
        }
      }
      if (!on_band || problem.batch != 1) continue;
      finish();
      if (!on_band(sum, scaled.data())) break;
    }
    finish();
    if (of_d != 0) std::memcpy(d, scaled.data(), of_d * sizeof(double));
  }
}

/// The largest distance of an exponent from the largest of its lane.
int most_below(const Lanes& lanes) {
  int out = 0;
  for (std::uint64_t lane = 0; lane < lanes.count; ++lane) {
    int most = std::numeric_limits<int>::min(), least = std::numeric_limits<int>::max();
    for (std::uint64_t i = 0; i < lanes.k; ++i) {
      const double x = lanes(lane, i);
      if (!std::isfinite(x) || x == 0) continue;
      most = std::max(most, std::ilogb(x));
      least = std::min(least, std::ilogb(x));
    }
    if (least <= most) out = std::max(out, most - least);
  }
  return out;
}

/// The largest and the least exponent of each lane and block of k.
struct BlockExponents {
  std::vector<int> most, least;

  BlockExponents(const Lanes& lanes, std::uint64_t block) {
    constexpr int kOfZero = -4194;
    for (std::uint64_t lane = 0; lane < lanes.count; ++lane)
      for (std::uint64_t i = 0; i < lanes.k; ++i) {
        int exponent = kOfZero;
        if (lanes(lane, i) != 0) std::frexp(lanes(lane, i), &exponent);
        if (i % block == 0) most.push_back(exponent), least.push_back(exponent);
        most.back() = std::max(most.back(), exponent);
        least.back() = std::min(least.back(), exponent);
      }
  }
};

/// What slices_for() says of blocks, without the 54 bits.
int span_of_blocks(const Lanes& rows, const Lanes& columns, std::uint64_t block) {
  const std::uint64_t blocks = detail::quotient_up(rows.k, block);
  const BlockExponents a(rows, block), b(columns, block);
  int out = 0;
  for (std::uint64_t i = 0; i < rows.count; ++i)
    for (std::uint64_t j = 0; j < columns.count && blocks != 0; ++j) {
      int together = std::numeric_limits<int>::min(), of_a = together, of_b = together;
      for (std::uint64_t at = 0; at < blocks; ++at) {
        const std::uint64_t x = i * blocks + at, y = j * blocks + at;
        together = std::max({together, a.most[x] + b.least[y], a.least[x] + b.most[y]});
        of_a = std::max(of_a, a.most[x]), of_b = std::max(of_b, b.most[y]);
      }
      out = std::max(out, of_a + of_b - together);
    }
  return out;
}

}  // namespace

int slices_for(const SliceScheme& scheme, const Matmul& problem) {
  int below = 0;
  for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix) {
    const Lanes rows = rows_of(problem, matrix), columns = columns_of(problem, matrix);
    if (scheme.choice_block == 0)
      below = std::max({below, most_below(rows), most_below(columns)});
    else if (all_finite(rows) && all_finite(columns))
      below = std::max(below, span_of_blocks(rows, columns, scheme.choice_block));
  }
  // A significand behind `below` others, in digits of which the first may be shorter.
  const int bits = 53 + below + (scheme.choice_block == 0 ? 0 : 1) + scheme.digit_bits - scheme.first_bits;
  return (bits + scheme.digit_bits - 1) / scheme.digit_bits;
}

void sliced_matmul(const Slicing& slicing, const Instruction& instruction, const Datapath& datapath,
                   const Matmul& problem, const Product& product, const OnBand& on_band) {
  if (slicing.scheme->integer())
    return from_digits(slicing, instruction, datapath, problem, product, on_band);
  from_floats(slicing, instruction, datapath, problem, product);
}

}  // namespace mmaudit
