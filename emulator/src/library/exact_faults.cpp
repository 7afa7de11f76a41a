// What is wrong with a product whose elements are known: every known fault predicts a D, and the one that was
// found says which it is; k, rows and columns are asked for by further rounds.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "exact_fault_rows.hpp"
#include "mmaudit/exact_product.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::exact {
namespace {

double power(double x, int times) { return times == 0 ? 1 : times == 2 ? x * x : x; }
std::uint64_t moved(std::uint64_t lane, int by, std::uint64_t count) {
  return static_cast<std::uint64_t>(std::clamp<std::int64_t>(static_cast<std::int64_t>(lane) + by, 0,
                                                             static_cast<std::int64_t>(count) - 1));
}

bool reads_elsewhere(const Fault& f) { return (f.stride_a | f.stride_b | f.ld_a | f.ld_b) != 0; }

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
  const Place at = place_of(x, element);
  const auto scale = [&](std::uint64_t k) {
    const auto one = [&](const Scale& s, std::uint64_t lane, int lane_by, std::uint64_t lanes, int block_by,
                         int times) {
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
      const auto a = flat.a(at.matrix, at.row, k, f), b = flat.b(at.matrix, k, at.column, f);
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
  if (x.beta != 0)
    addend = word_of_c(words, element) * (f.beta == -1 ? 1 : f.beta == 0 ? 0 : power(x.beta, f.beta));
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

/// Whether the fault gives all of D, and something else than a right product does.
bool explains(const Product& x, const Words& words, const Fault& f, const std::vector<double>& d,
              const std::vector<double>& right) {
  constexpr std::uint64_t kMostWork = 1 << 26;
  if (reads_elsewhere(f) && x.elements() > kMostWork / x.k) return false;
  if ((f.stride_a | f.stride_b) != 0 && x.batch == 1) return false;
  if (f.early != Fault::Early::no && (x.scale_a.block != 0 || x.scale_b.block != 0)) return false;
  std::uint64_t differs = 0, unknown = 0;
  for (std::uint64_t e = 0; e < d.size(); ++e) {
    const std::optional<double> found = element_of(x, words, f, e);
    if (!found) {
      ++unknown;
      continue;
    }
    if (!is(d[e], *found, x)) return false;
    differs += *found == right[e] ? 0 : 1;
  }
  return differs != 0 && unknown <= d.size() / 2;
}

std::string ordinal_list(const std::set<std::uint64_t>& numbers) {
  const bool contiguous = *numbers.rbegin() - *numbers.begin() + 1 == numbers.size();
  if (numbers.size() == 1) return with_values("{}", {*numbers.begin()});
  if (contiguous) return with_values("{} to {}", {*numbers.begin(), *numbers.rbegin()});
  return with_values("{} of them from {} to {}", {numbers.size(), *numbers.begin(), *numbers.rbegin()});
}

/// Where the wrong elements are, unless they are everywhere.
std::string whereabouts(const Product& x, const std::vector<std::uint64_t>& wrong) {
  std::vector<bool> rows(x.m), columns(x.n), matrices(x.batch);
  for (const std::uint64_t e : wrong) {
    const Place at = place_of(x, e);
    rows[at.row] = columns[at.column] = matrices[at.matrix] = true;
  }
  std::string out;
  const auto add = [&](const char* what, const std::vector<bool>& flags, std::uint64_t all) {
    std::set<std::uint64_t> found;
    for (std::uint64_t i = 0; i < all; ++i)
      if (flags[i]) found.insert(i);
    if (found.size() != all) out += (out.empty() ? "" : ", ") + std::string(what) + " " + ordinal_list(found);
  };
  add("matrices", matrices, x.batch);
  add("rows", rows, x.m);
  add("columns", columns, x.n);
  return out.empty() ? out : " (" + out + ")";
}

/// An element's number of k in the sum, from D: the factors and addends taken off. nullopt where relu hides
/// it; a 0 that should not be one hides none.
std::optional<double> count_of(const Product& x, const Words& words, std::uint64_t element, double d) {
  const Place at = place_of(x, element);
  if (x.relu && d == 0) {
    const bool known = x.scale_a.uniform() && x.scale_b.uniform();
    return known && exact::element_of(x, words, element) > 0 ? std::optional(0.0) : std::nullopt;
  }
  if (x.beta != 0) d -= x.beta * word_of_c(words, element);
  if (x.bias) d -= word_of_bias(words, at.column);
  const std::uint64_t k = span_of(x, words, at).begin;
  d /= x.alpha * x.scale_a.at(at.row, k) * x.scale_b.at(at.column, k);
  if (words.kind == Words::Kind::windows)
    d *= detail::sign_of(words.seed, 1, at.lane_a) * detail::sign_of(words.seed, 2, at.lane_b);
  return d;
}

/// Relu hides the elements of one sign. With other signs they are others, so each is seen in one of so many.
constexpr int kMostSigns = 8;

/// How often each k of [begin, end) is in the sums, where that is not once: the commonest wrong number over
/// the elements that see it.
std::map<std::uint64_t, double> wrong_in(const Product& x, const Multiply& multiply, Words words,
                                         std::uint64_t begin, std::uint64_t end) {
  std::map<std::uint64_t, double> out;
  words.window = 1;
  words.over_rows = std::min<std::uint64_t>(x.m, 16);
  words.over_columns = std::min<std::uint64_t>(x.n, 16);
  constexpr int kMostRounds = 64;
  const std::uint64_t step = words.over_rows * words.over_columns;
  int round = 0;
  for (words.first = begin; words.first < end && round < kMostRounds; ++round, words.first += step) {
    std::map<std::uint64_t, std::map<double, std::uint64_t>> wrong;
    std::set<std::uint64_t> seen;
    for (int i = 0; i < kMostSigns && seen.size() < std::min(step, end - words.first); ++i, ++words.seed) {
      const std::vector<double> d = multiply(words).d;
      for (std::uint64_t e = 0; e < d.size(); ++e) {
        const std::uint64_t k = words.first + window_of(words, place_of(x, e));
        const auto count = k < end ? count_of(x, words, e, d[e]) : std::nullopt;
        if (!count) continue;
        seen.insert(k);
        if (*count != 1) ++wrong[k][*count];
      }
      if (!x.relu) break;
    }
    for (const auto& [k, counts] : wrong)
      out[k] = std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) {
                 return a.second < b.second;
               })->first;
  }
  return out;
}

/// The k that are in the sums another number of times than once.
std::vector<KRange> wrong_k_of(const Product& x, const Multiply& multiply, const Words& failing,
                               const std::vector<double>& d, const std::vector<double>& right) {
  if (failing.kind != Words::Kind::windows) return {};
  std::set<std::uint64_t> windows;
  const auto look = [&](const Words& words, const std::vector<double>& found,
                        const std::vector<double>& wanted) {
    for (std::uint64_t e = 0; e < found.size(); ++e)
      if (found[e] != wanted[e]) windows.insert(window_of(words, place_of(x, e)));
  };
  look(failing, d, right);
  Words signs = failing;
  for (int i = 0; x.relu && i < kMostSigns; ++i) {
    ++signs.seed;
    look(signs, multiply(signs).d, expected(x, signs));
  }
  constexpr std::size_t kMostWindows = 64;  // more of them: not a matter of k
  std::map<std::uint64_t, double> wrong;
  std::size_t asked = 0;
  for (auto at = windows.begin(); at != windows.end() && asked < kMostWindows; ++at) {
    const bool first = windows.count(*at - 1) == 0, last = windows.count(*at + 1) == 0;
    const std::uint64_t begin = failing.first + *at * failing.window,
                        end = std::min(begin + failing.window, x.k);
    if (first || last || windows.size() <= 8) {
      wrong.merge(wrong_in(x, multiply, failing, begin, end));
      ++asked;
    } else {  // between wrong windows: as its neighbour
      for (std::uint64_t k = begin; k < end && !wrong.empty(); ++k) wrong.emplace(k, wrong.rbegin()->second);
    }
  }
  std::vector<KRange> out;
  for (const auto& [k, times] : wrong) {
    if (!out.empty() && out.back().last + 1 == k && out.back().times == times)
      out.back().last = k;
    else
      out.push_back({k, k, times});
  }
  return out;
}

std::string times_text(double times) {
  return times == 0   ? "in no sum"
         : times == 2 ? "in the sums twice"
                      : with_values("in the sums {} times", {times});
}

std::string text_of(const KRange& range, const Product& x) {
  const std::uint64_t count = range.last - range.first + 1;
  const char* const be = count == 1 ? "is " : "are ";
  std::string what = range.last + 1 == x.k && count != x.k
                         ? count == 1 ? std::string("the last element of K ")
                                      : with_values("the last {} elements of K ", {count})
                     : count == 1 ? with_values("element {} of K ", {range.first})
                                  : with_values("elements {} to {} of K ", {range.first, range.last});
  return what + be + times_text(range.times);
}

/// Which rows of A or columns of B the elements of D are made of, where that is not their own.
std::string wrong_lanes(const Product& x, const Multiply& multiply, Words words, Words::Kind kind) {
  const bool of_rows = kind == Words::Kind::rows;
  const std::uint64_t each = of_rows ? x.m : x.n,
                      lanes = each * ((of_rows ? x.one_a : x.one_b) ? 1 : x.batch);
  words.kind = kind;
  std::vector<double> found(x.elements(), 0);
  double place = 1;
  for (words.digit = 0; place < static_cast<double>(lanes); ++words.digit, place *= kDigits) {
    const std::vector<double> d = multiply(words).d;
    for (std::uint64_t e = 0; e < d.size(); ++e) {
      const double digit = count_of(x, words, e, d[e]).value_or(std::nan(""));
      const bool known = digit >= 0 && digit < kDigits && digit == std::floor(digit);
      found[e] = known ? found[e] + digit * place : std::nan("");
    }
  }
  std::map<std::uint64_t, std::map<std::uint64_t, std::uint64_t>> wrong;  // own lane, taken lane: elements
  std::map<std::int64_t, std::uint64_t> distances;
  for (std::uint64_t e = 0; e < found.size(); ++e) {
    const Place at = place_of(x, e);
    const std::uint64_t own = of_rows ? at.lane_a : at.lane_b;
    if (!(found[e] < static_cast<double>(lanes)) || found[e] == static_cast<double>(own)) continue;
    const auto taken = static_cast<std::uint64_t>(found[e]);
    if (++wrong[own][taken] == 1)
      ++distances[static_cast<std::int64_t>(taken) - static_cast<std::int64_t>(own)];
  }
  if (wrong.empty()) return {};
  const char *const row = of_rows ? "row" : "column", *const matrix = of_rows ? "A" : "B";
  const auto name = [&](std::uint64_t lane) {
    std::string out = with_values("{} {}", {row, lane % each});
    if (lanes != each) out += with_values(" of matrix {}", {lane / each});
    return out;
  };
  const auto& [own, taken] = *wrong.begin();
  std::string out =
      with_values("{} of D is made of {} of {}", {name(own), name(taken.begin()->first), matrix});
  if (wrong.size() > 1) {
    out += with_values("; {} {}s in all", {wrong.size(), row});
    if (distances.size() == 1) out += with_values(", each {} away", {distances.begin()->first});
  }
  return out;
}

}  // namespace

void tell_faults(const Product& x, const Multiply& multiply, Finding& out) {
  if (out.wrong == 0) return;  // D is right; what lies round it is said
  const std::vector<double> right = expected(x, out.words);
  const auto wrong_of = [&](const std::vector<double>& d) {
    std::vector<std::uint64_t> wrong;
    for (std::uint64_t e = 0; e < d.size(); ++e)
      if (d[e] != right[e]) wrong.push_back(e);
    return wrong;
  };
  std::vector<double> d;
  std::vector<std::uint64_t> wrong;
  std::uint64_t failing = 0, runs = 0;
  constexpr std::uint64_t kMost = 400, kLarge = 1 << 20;
  const std::uint64_t enough = x.elements() < kLarge ? 10 : 2;
  while (runs < enough || (failing == 0 && runs < kMost)) {  // a race may take many
    const Run run = multiply(out.words);
    ++runs;
    std::vector<std::uint64_t> now = wrong_of(run.d);
    if (now.empty()) continue;
    ++failing;
    if (wrong.size() < now.size()) wrong = std::move(now), d = run.d;
  }
  if (wrong.empty()) {
    out.faults.push_back(with_values("D is not the same each time, a race: wrong in {} of {} runs",
                                     {out.failing, out.asked + runs}));
    return;
  }
  const Place first = place_of(x, wrong.front());
  out.matrix = first.matrix, out.row = first.row, out.column = first.column;
  out.expected = right[wrong.front()], out.found = d[wrong.front()];
  out.wrong = std::max<std::uint64_t>(out.wrong, wrong.size());
  if (failing != runs || out.failing != out.asked) {
    out.faults.push_back(with_values("D is not the same each time, a race: wrong in {} of {} runs",
                                     {out.failing + failing, out.asked + runs}));
    return;
  }
  const std::string where = whereabouts(x, wrong);
  const auto right_with = [&](unsigned padding) {
    Words words = out.words;
    words.padding = padding;
    return wrong_of(multiply(words).d).empty();
  };
  if (right_with(0)) {
    const bool of_a = !right_with(1), of_b = !right_with(2);
    out.faults.push_back(std::string("the padding of ") +
                         (of_a && of_b ? "A and B"
                          : of_a       ? "A"
                                       : "B") +
                         " is read and reaches D" + where);
    return;
  }
  for (const Fault& fault : kFaults)
    if (explains(x, out.words, fault, d, right)) {
      out.faults.emplace_back(fault.text);
      return;
    }
  out.wrong_k = wrong_k_of(x, multiply, out.words, d, right);
  const std::string rows = wrong_lanes(x, multiply, out.words, Words::Kind::rows),
                    columns = wrong_lanes(x, multiply, out.words, Words::Kind::columns);
  for (const std::string& each : {rows, columns})
    if (!each.empty()) out.faults.push_back(each);
  constexpr std::size_t kMostRanges = 8;
  if (out.faults.empty() && out.wrong_k.size() <= kMostRanges)
    for (const KRange& each : out.wrong_k) {
      out.faults.push_back(text_of(each, x));  // which elements see a k is the code's choice
      if (each.last + 1 == x.k && each.times == 0) out.tail = each.last - each.first + 1;
    }
  if (out.faults.empty())
    out.faults.push_back(with_values("{} of {} elements are wrong", {wrong.size(), out.elements}) + where);
}

}  // namespace mmaudit::exact
