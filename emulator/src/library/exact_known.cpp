// Which known fault gives a wrong D: every one predicts all of it.
#include <algorithm>
#include <cmath>
#include <optional>

#include "exact_fault_rows.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::exact {
namespace {

double power(double x, int times) { return times == 0 ? 1 : times == 2 ? x * x : x; }
std::uint64_t moved(std::uint64_t lane, int by, std::uint64_t count) {
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(static_cast<std::int64_t>(lane) + by, 0,
                                                             static_cast<std::int64_t>(count) - 1));
}

bool reads_elsewhere(const Fault& f) {
  return (f.stride_a | f.stride_b | f.ld_a | f.ld_b) != 0 || f.turned == 'A' || f.turned == 'B';
}

/// The word at a row-major place, which may reach into other matrices; nullopt outside of the memory.
struct Flat {
  const Product& x;
  const Words& words;
  std::optional<int> a(std::uint64_t matrix, std::uint64_t i, std::uint64_t k, const Fault& f) const {
    const auto row = static_cast<std::int64_t>(x.k) + f.ld_a;
    const auto all = static_cast<std::int64_t>(x.m * x.k);
    const std::int64_t at = (x.one_a ? 0 : static_cast<std::int64_t>(matrix) * (all + f.stride_a)) +
                            static_cast<std::int64_t>(i) * row + static_cast<std::int64_t>(k);
    if (at < 0 || at >= all * static_cast<std::int64_t>(x.one_a ? 1 : x.batch)) return std::nullopt;
    const auto place = static_cast<std::uint64_t>(at);
    return word_of_a(words, place / x.k, place % x.k);
  }
  std::optional<int> b(std::uint64_t matrix, std::uint64_t k, std::uint64_t j, const Fault& f) const {
    const auto row = static_cast<std::int64_t>(x.n) + f.ld_b;
    const auto all = static_cast<std::int64_t>(x.k * x.n);
    const std::int64_t at = (x.one_b ? 0 : static_cast<std::int64_t>(matrix) * (all + f.stride_b)) +
                            static_cast<std::int64_t>(k) * row + static_cast<std::int64_t>(j);
    if (at < 0 || at >= all * static_cast<std::int64_t>(x.one_b ? 1 : x.batch)) return std::nullopt;
    const auto place = static_cast<std::uint64_t>(at), size = static_cast<std::uint64_t>(all);
    return word_of_b(words, place % size / x.n, place / size * x.n + place % x.n);
  }
};

/// The element that the fault gives; nullopt: it is not known, memory outside is read.
std::optional<double> element_of(const Product& x, const Words& words, const Fault& f,
                                 std::uint64_t element) {
  Place at = place_of(x, element);
  if (f.turned == 'D') {
    element = (at.matrix * x.m + at.column) * x.n + at.row;
    at = place_of(x, element);
  }
  const auto scale = [&](std::uint64_t k) {
    const auto one = [&](const Scale& s, std::uint64_t lane, int lane_by, std::uint64_t lanes, int block_by,
                         int times) {
      lane_by *= static_cast<int>(std::max<std::uint64_t>(s.lanes, 1));
      const std::uint64_t block = s.block == 0 ? x.k : s.block, blocks = (x.k + block - 1) / block;
      return power(s.at(moved(lane, lane_by, lanes), moved(k / block, block_by, blocks) * block), times);
    };
    const Scale &a = f.swapped ? x.scale_b : x.scale_a, &b = f.swapped ? x.scale_a : x.scale_b;
    return one(a, at.row, f.lane_a, x.m, f.block_a, f.scale_a) *
           one(b, at.column, f.lane_b, x.n, f.block_b, f.scale_b);
  };
  double scaled = 0;
  std::uint64_t used = words.first;
  if (reads_elsewhere(f)) {
    const Flat flat{x, words};
    for (std::uint64_t k = 0; k < x.k; ++k) {
      const auto a = flat.a(at.matrix, f.turned == 'A' ? k : at.row, f.turned == 'A' ? at.row : k, f),
                 b = flat.b(at.matrix, f.turned == 'B' ? at.column : k, f.turned == 'B' ? k : at.column, f);
      if (!a || !b) return std::nullopt;
      if (*a * *b != 0) scaled += *a * *b * scale(k);
    }
  } else {
    const Span span = span_of(x, words, at);
    used = std::min(span.begin, x.k - 1);
    for (std::uint64_t k = span.begin; k < span.end; ++k)
      scaled += word_of_a(words, at.lane_a, k) * word_of_b(words, k, at.lane_b) * scale(k);
  }
  double addend = 0, bias = 0;
  if (x.beta != 0) {
    const std::int64_t row = static_cast<std::int64_t>(at.row) + f.c_row,
                       column = static_cast<std::int64_t>(at.column) + f.c_column;
    if (row < 0 || column < 0 || row >= static_cast<std::int64_t>(x.m) ||
        column >= static_cast<std::int64_t>(x.n))
      return std::nullopt;
    Words of_c = words;
    if (f.c_seed != 0) of_c.seed = f.c_seed;
    const auto place = (static_cast<std::int64_t>(at.matrix * x.m) + row) * static_cast<std::int64_t>(x.n);
    addend =
        word_of_c(of_c, static_cast<std::uint64_t>(place + column)) * (f.beta == -1  ? 1
                                                                       : f.beta == 0 ? 0
                                                                                     : power(x.beta, f.beta));
  }
  if (x.bias)
    bias = f.bias * word_of_bias(words, f.bias_of_row ? at.row : moved(at.column, f.bias_column, x.n));
  double d = power(x.alpha, f.alpha) * scaled;
  if (f.early == Fault::Early::bias) bias *= scale(used);
  if (f.early == Fault::Early::all) bias *= scale(used), addend *= scale(used);
  if (x.relu && f.early_relu) return std::max(d, 0.0) + addend + bias;
  d += addend + bias;
  return x.relu && !f.no_relu && d < 0 ? 0 : d;
}

/// Whether D is that number; a wrong one may have been rounded to D's format.
bool is(double found, double number, const Product& x) {
  return found == number || std::abs(found - number) <= std::abs(number) / x.limit;
}

/// Whether the fault gives all of D, and something else than a right product does; `part`: of the elements
/// that are wrong.
bool explains(const Product& x, const Words& words, const Fault& f, const std::vector<double>& d,
              const std::vector<double>& right, bool part) {
  constexpr std::uint64_t kMostWork = 1 << 26, kEnough = 8;  // fewer may be chance
  if (reads_elsewhere(f) && (part || x.elements() > kMostWork / x.k)) return false;
  if ((f.stride_a | f.stride_b) != 0 && x.batch == 1) return false;
  if ((f.turned == 'A' && x.m != x.k) || (f.turned == 'B' && x.k != x.n) || (f.turned == 'D' && x.m != x.n))
    return false;
  if (f.early != Fault::Early::no && (x.scale_a.block != 0 || x.scale_b.block != 0)) return false;
  if (x.beta == 0 && (f.c_seed != 0 || f.c_row != 0 || f.c_column != 0)) return false;
  std::uint64_t differs = 0, unknown = 0;
  for (std::uint64_t e = 0; e < d.size(); ++e) {
    if (part && d[e] == right[e]) continue;
    const std::optional<double> found = element_of(x, words, f, e);
    if (!found) {
      if (part) return false;
      ++unknown;
      continue;
    }
    if (!is(d[e], *found, x)) return false;
    differs += *found == right[e] ? 0 : 1;
  }
  return differs >= (part ? kEnough : 1) && unknown <= d.size() / 2;
}

/// C of another row or column, as far away as a tile is wide, or of an earlier round.
std::vector<std::pair<Fault, std::string>> faults_of_c(const Words& words, std::uint64_t seed) {
  std::vector<std::pair<Fault, std::string>> out;
  for (std::uint64_t earlier = seed; earlier < words.seed; ++earlier)
    out.emplace_back(Fault{}, "C is from an earlier call").first.c_seed = earlier;
  for (const int size : {1, 8, 16, 32, 64, 128, 256})
    for (const int by : {size, -size}) {
      out.emplace_back(Fault{}, with_values("C is taken {} rows away", {by})).first.c_row = by;
      out.emplace_back(Fault{}, with_values("C is taken {} columns away", {by})).first.c_column = by;
    }
  return out;
}

}  // namespace

std::string known_fault_of(const Product& x, const Words& words, std::uint64_t seed,
                           const std::vector<double>& d, const std::vector<double>& right, bool part) {
  for (const Fault& fault : kFaults)
    if (explains(x, words, fault, d, right, part)) return std::string(fault.text);
  for (const auto& [fault, text] : faults_of_c(words, seed))
    if (explains(x, words, fault, d, right, part)) return text;
  return {};
}

}  // namespace mmaudit::exact
