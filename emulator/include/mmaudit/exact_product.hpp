#pragma once
// Products whose every element is known whatever the order of the sums: A and B are 0, 1 and -1 in a code
// over rows, columns and k, every other number is a small power of two or a small integer, so nothing rounds.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/config.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::exact {

/// Factors of A's rows or B's columns. Neighbours differ: the factor of group l of lanes and block b of K is
/// 2^((l + b) mod 3); without lanes and blocks it is `whole`.
struct Scale {
  bool given = false;
  std::uint64_t lanes = 0;  ///< rows of A or columns of B per factor; 0: all of them
  std::uint64_t block = 0;  ///< elements of K per factor; 0: all of K
  double whole = 1;

  [[nodiscard]] MMAUDIT_HD constexpr bool uniform() const { return lanes == 0 && block == 0; }
  [[nodiscard]] MMAUDIT_HD constexpr double at(std::uint64_t lane, std::uint64_t k) const {
    if (!given) return 1;
    if (uniform()) return whole;
    const std::uint64_t step = ((lanes == 0 ? 0 : lane / lanes) + (block == 0 ? 0 : k / block)) % 3;
    return static_cast<double>(std::uint64_t{1} << step);
  }
  [[nodiscard]] constexpr double most() const { return !given ? 1 : uniform() ? whole : 4; }
  [[nodiscard]] constexpr double least() const { return !given || !uniform() ? 1 : whole; }
};

/// D = relu(alpha * scale_a * scale_b * A B + beta * C + bias) of each matrix of a batch, (m, k) by (k, n).
struct Product {
  std::uint64_t batch = 1, m = 0, n = 0, k = 0;
  bool one_a = false, one_b = false;  ///< the matrices of a batch share one A, one B
  double alpha = 1, beta = 0;
  Scale scale_a = {}, scale_b = {};
  bool bias = false, relu = false;
  std::uint32_t digit_bits = 3;  ///< A and B have every integer of so many bits; e2m1 of 2
  double limit = 256;            ///< integers up to it are numbers of D and of whatever holds a part of a sum

  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t elements() const { return batch * m * n; }
};
/// The limit of a product of A and B in `of_a` with D in `of_d`.
double limit_of(const FormatSpec& of_a, const FormatSpec& of_d);

/// The code of one round. K is cut into windows; row r has ones in the windows of its class, column c too,
/// and each window is one pair of classes. So an element is the number of k that its window has in the sum,
/// with the signs of its row and column. Each k has a sign in A and in B, which no sum shows: k of A that
/// meets another of B does. In the other kinds one k, `first`, is not 0. `lanes`: D is a number
/// of the row times one of the column, both drawn; `rows`, `columns`: 1 and a digit of the row's or the
/// column's number.
struct Words {
  enum class Kind : std::uint8_t { windows, lanes, rows, columns };
  Kind kind = Kind::windows;
  std::uint64_t seed = 1, rotation = 0;
  std::uint64_t first = 0, window = 1;            ///< k of the first window; k per window
  std::uint64_t over_rows = 1, over_columns = 1;  ///< classes of rows, of columns
  std::uint32_t digit = 0;                        ///< of rows, columns: which one, from the lowest
  std::uint32_t digit_bits = 3;                   ///< of one
  std::uint32_t numbers = 1;                      ///< of lanes: they are drawn from 1 to this
  unsigned padding = 3;                           ///< NaN: 1 round A, 2 round B

  bool operator==(const Words&) const = default;
};

namespace detail {
MMAUDIT_HD constexpr int sign_of(std::uint64_t seed, std::uint64_t what, std::uint64_t lane) {
  return (mix(seed * 0x9E3779B97F4A7C15U + what * 0xD1B54A32D192ED03U + lane) & 1) != 0 ? 1 : -1;
}
MMAUDIT_HD constexpr int digit_of(const Words& w, std::uint64_t number) {
  return static_cast<int>(number >> (w.digit_bits * w.digit) & ((1U << w.digit_bits) - 1));
}
/// The element at the one k of the kinds that have one; `side` 1: A, 2: B.
MMAUDIT_HD constexpr int lane_word(const Words& w, std::uint64_t side, std::uint64_t lane) {
  if (w.kind == Words::Kind::lanes) return 1 + static_cast<int>(mix(mixed(w.seed ^ side) + lane) % w.numbers);
  return (w.kind == Words::Kind::rows) == (side == 1) ? 1 + digit_of(w, lane) : 1;
}
MMAUDIT_HD constexpr int small(std::uint64_t seed, std::uint64_t what, std::uint64_t place) {
  return static_cast<int>(mix(mixed(seed ^ what) + place) % 7) - 3;
}
}  // namespace detail

/// Lanes are rows of A or columns of B, counted through the batch.
MMAUDIT_HD constexpr int word_of_a(const Words& w, std::uint64_t lane, std::uint64_t k) {
  if (w.kind != Words::Kind::windows) return k != w.first ? 0 : detail::lane_word(w, 1, lane);
  if (k < w.first) return 0;
  const std::uint64_t at = (k - w.first) / w.window;
  if (at >= w.over_rows * w.over_columns || at % w.over_rows != (lane + w.rotation) % w.over_rows) return 0;
  return detail::sign_of(w.seed, 1, lane) * detail::sign_of(w.seed, 5, k);
}
MMAUDIT_HD constexpr int word_of_b(const Words& w, std::uint64_t k, std::uint64_t lane) {
  if (w.kind != Words::Kind::windows) return k != w.first ? 0 : detail::lane_word(w, 2, lane);
  if (k < w.first) return 0;
  const std::uint64_t at = (k - w.first) / w.window;
  if (at / w.over_rows != (lane + w.rotation) % w.over_columns) return 0;
  return detail::sign_of(w.seed, 2, lane) * detail::sign_of(w.seed, 5, k);
}
/// From -3 to 3.
MMAUDIT_HD constexpr int word_of_c(const Words& w, std::uint64_t element) {
  return detail::small(w.seed, 3, element);
}
MMAUDIT_HD constexpr int word_of_bias(const Words& w, std::uint64_t column) {
  return detail::small(w.seed, 4, column);
}

/// Where an element of D stands, and the lanes of A and B that it is made of.
struct Place {
  std::uint64_t matrix, row, column, lane_a, lane_b;
};
MMAUDIT_HD constexpr Place place_of(const Product& x, std::uint64_t element) {
  const std::uint64_t matrix = element / (x.m * x.n), row = element / x.n % x.m, column = element % x.n;
  return {matrix, row, column, (x.one_a ? 0 : matrix * x.m) + row, (x.one_b ? 0 : matrix * x.n) + column};
}
/// The window of an element.
MMAUDIT_HD constexpr std::uint64_t window_of(const Words& w, const Place& at) {
  return (at.lane_b + w.rotation) % w.over_columns * w.over_rows + (at.lane_a + w.rotation) % w.over_rows;
}
/// The k, from `begin` to before `end`, at which an element's row and column both have a number.
struct Span {
  std::uint64_t begin, end;
};
MMAUDIT_HD constexpr Span span_of(const Product& x, const Words& w, const Place& at) {
  if (w.kind != Words::Kind::windows) return {w.first, w.first + 1};
  const std::uint64_t begin = w.first + window_of(w, at) * w.window, end = begin + w.window;
  return {begin < x.k ? begin : x.k, end < x.k ? end : x.k};
}
/// The exact sum of an element where both scales are uniform.
MMAUDIT_HD constexpr double sum_of(const Product& x, const Words& w, const Place& at) {
  if (w.kind != Words::Kind::windows)
    return detail::lane_word(w, 1, at.lane_a) * detail::lane_word(w, 2, at.lane_b);
  const Span span = span_of(x, w, at);
  return detail::sign_of(w.seed, 1, at.lane_a) * detail::sign_of(w.seed, 2, at.lane_b) *
         static_cast<double>(span.end - span.begin);
}
/// The exact element where both scales are uniform.
MMAUDIT_HD constexpr double element_of(const Product& x, const Words& w, std::uint64_t element) {
  const Place at = place_of(x, element);
  double d = x.alpha * x.scale_a.at(0, 0) * x.scale_b.at(0, 0) * sum_of(x, w, at);
  if (x.beta != 0) d += x.beta * word_of_c(w, element);
  if (x.bias) d += word_of_bias(w, at.column);
  return x.relu && d < 0 ? 0 : d;
}

/// One product that was run: D as numbers, (batch, m, n).
struct Run {
  std::vector<double> d;
  bool outside = false;  ///< something beside D changed
};
struct Verdict {
  std::uint64_t wrong = 0;
  bool outside = false;
};
using Multiply = std::function<Run(const Words&)>;
using Judge = std::function<Verdict(const Words&)>;

struct KRange {
  std::uint64_t first = 0, last = 0;
  double times = 0;  ///< in the sum; 0: missing
};

struct Finding {
  std::vector<std::string> faults;  ///< in words; empty: every product is right
  std::uint64_t runs = 0, failing = 0, elements = 0, wrong = 0;
  std::uint64_t asked = 0;                        ///< runs of the round that fails
  std::uint64_t matrix = 0, row = 0, column = 0;  ///< of the first wrong element
  double expected = 0, found = 0;
  std::vector<KRange> wrong_k;
  std::uint64_t tail = 0;  ///< k at the end that are in no sum
  bool named = true;       ///< the faults say more than how many elements are wrong
  Words words;             ///< of the first failing round
};

/// The rounds that a product takes: every k is in one window of one of them, or, where M * N is so small that
/// `most` rounds don't hold K, the first and last k and as many as fit; then a round of lanes. `wide`: and
/// one whose sums are as large as `limit` allows, which accumulators of fewer bits don't hold. C and the bias
/// are others in every round.
std::vector<Words> rounds_of(const Product& product, std::uint64_t seed, bool wide = false,
                             std::uint64_t most = 32);
/// The exact D, for any scales.
std::vector<double> expected(const Product& product, const Words& words);
/// What: runs every round `repeat` times and, after a failure, further rounds that show what is wrong.
/// `judge`: a quick verdict of one round; null: from `multiply`.
Finding check(const Product& product, const Multiply& multiply, const Judge& judge, std::uint64_t repeat,
              std::uint64_t seed, bool wide = false);

/// A shape that was tried, for condition_of().
struct Trial {
  std::uint64_t batch = 1, m = 0, n = 0, k = 0, slices = 0;  ///< slices 0: not known
  bool failing = false;
};
/// The simplest rule over shapes that holds for every failing trial and for no other; empty: none is known.
std::string condition_of(const std::vector<Trial>& trials);

}  // namespace mmaudit::exact
