#include "mmaudit/exact_product.hpp"

#include <algorithm>
#include <cmath>

#include "mmaudit/detail/quotient_up.hpp"

namespace mmaudit::exact {
namespace {

using mmaudit::detail::quotient_up;

constexpr double kAddend = 3;  ///< C and the bias reach from -3 to 3

double at_scales(const Product& x, const Place& at, std::uint64_t k) {
  return x.scale_a.at(at.row, k) * x.scale_b.at(at.column, k);
}

double finished(const Product& x, const Words& words, std::uint64_t element, const Place& at, double scaled) {
  double d = x.alpha * scaled;
  if (x.beta != 0) d += x.beta * word_of_c(words, element);
  if (x.bias) d += word_of_bias(words, at.column);
  return x.relu && d < 0 ? 0 : d;
}

Verdict judged(const Run& run, const std::vector<double>& should) {
  Verdict out{0, run.outside};
  for (std::size_t e = 0; e < should.size(); ++e) out.wrong += run.d[e] == should[e] ? 0 : 1;
  return out;
}

}  // namespace

double limit_of(const FormatSpec& of_a, const FormatSpec& of_d) {
  constexpr int kMost = 20;  // larger sums would take windows of more elements than help
  constexpr int kFp8 = 13;   // bits that Hopper keeps of a sum of FP8 (docs/numerics.md)
  int bits = of_d.integer() ? kMost : std::min<int>(of_d.fraction_bits + 1, kMost);
  if (of_a.storage_bits == 8 && !of_a.integer()) bits = std::min(bits, kFp8);
  return std::ldexp(1.0, bits);
}

std::vector<Words> rounds_of(const Product& x, std::uint64_t seed, bool wide, std::uint64_t most) {
  const double factor = std::abs(x.alpha) * x.scale_a.most() * x.scale_b.most();
  const double unit = std::min(1.0, std::abs(x.alpha) * x.scale_a.least() * x.scale_b.least());
  const double rest = (x.beta != 0 ? std::abs(x.beta) * kAddend : 0) + (x.bias ? kAddend : 0);
  const auto widest = static_cast<std::uint64_t>(std::max(1.0, std::floor((x.limit * unit - rest) / factor)));
  constexpr std::uint64_t kClasses = 16;
  Words words;
  words.seed = seed, words.digit_bits = x.digit_bits;
  words.over_rows = std::min(x.m, kClasses);
  words.over_columns = std::min(x.n, kClasses);
  words.window = std::max<std::uint64_t>(1, quotient_up(x.k, words.over_rows * words.over_columns));
  if (words.window > widest) {
    words.window = widest;
    const std::uint64_t windows = quotient_up(x.k, widest);
    words.over_rows = std::min(x.m, quotient_up(windows, words.over_columns));
    words.over_columns = std::min(x.n, quotient_up(windows, words.over_rows));
  }
  const std::uint64_t step = words.window * words.over_rows * words.over_columns;
  std::vector<Words> out;
  const std::uint64_t needed = quotient_up(x.k, step);
  for (std::uint64_t i = 0; i < std::min(needed, most); ++i) {
    words.first = needed <= most ? i * step : i * (x.k - step) / (most - 1);  // the last ends with K
    out.push_back(words);
    ++words.seed;
  }
  // Odd, so that fewer bits don't hold it.
  if (const std::uint64_t window = (std::min(x.k, widest) + 1) / 2 * 2 - 1; wide && window > words.window) {
    Words large = words;
    large.window = window, large.over_rows = large.over_columns = 1;
    large.first = mixed(seed) % (x.k - window + 1);
    out.push_back(large);
    ++words.seed;
  }
  words.kind = Words::Kind::lanes;
  words.first = mixed(seed) % x.k;
  words.numbers = (1U << x.digit_bits) - 1;
  while (words.numbers > 1 && factor * words.numbers * words.numbers + rest > x.limit * unit) --words.numbers;
  out.push_back(words);
  if (wide) {  // two rows with one number and one sign in all rounds so far
    ++words.seed;
    out.push_back(words);
  }
  return out;
}

std::vector<double> expected(const Product& x, const Words& words) {
  std::vector<double> out(x.elements());
  const bool uniform = x.scale_a.uniform() && x.scale_b.uniform();
  for (std::uint64_t e = 0; e < out.size(); ++e) {
    if (uniform) {
      out[e] = element_of(x, words, e);
      continue;
    }
    const Place at = place_of(x, e);
    double scaled = 0;
    const Span span = span_of(x, words, at);
    for (std::uint64_t k = span.begin; k < span.end; ++k)
      scaled += word_of_a(words, at.lane_a, k) * word_of_b(words, k, at.lane_b) * at_scales(x, at, k);
    out[e] = finished(x, words, e, at, scaled);
  }
  return out;
}

// What is wrong is told by exact_faults.cpp.
void tell_faults(const Product& x, const Multiply& multiply, std::uint64_t seed, Finding& out);

Finding check(const Product& x, const Multiply& multiply, const Judge& judge, std::uint64_t repeat,
              std::uint64_t seed, bool wide) {
  Finding out;
  out.elements = x.elements();
  bool outside = false;
  for (const Words& round : rounds_of(x, seed, wide)) {
    std::vector<double> should;
    out.asked = repeat;
    for (std::uint64_t r = 0; r < repeat; ++r) {
      Verdict verdict;
      if (judge) {
        verdict = judge(round);
      } else {
        if (should.empty()) should = expected(x, round);
        verdict = judged(multiply(round), should);
      }
      ++out.runs;
      outside = outside || verdict.outside;
      if (verdict.wrong == 0 && !verdict.outside) continue;
      if (out.failing++ == 0) out.words = round;
      out.wrong = std::max(out.wrong, verdict.wrong);
    }
    if (out.failing != 0) break;  // further rounds say no more
  }
  if (outside) out.faults.emplace_back("memory outside of D is written");
  if (out.failing != 0) tell_faults(x, multiply, seed, out);
  return out;
}

}  // namespace mmaudit::exact
