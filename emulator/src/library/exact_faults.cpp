// What is wrong with a product whose elements are known: every known fault predicts a D, and the one that was
// found says which it is; k, rows and columns are asked for by further rounds.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "exact_fault_rows.hpp"
#include "mmaudit/exact_product.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::exact {
namespace {

std::string ordinal_list(const std::set<std::uint64_t>& numbers) {
  if (numbers.size() == 1) return with_values(" {}", {*numbers.begin()});
  const bool contiguous = *numbers.rbegin() - *numbers.begin() + 1 == numbers.size();
  if (contiguous) return with_values("s {} to {}", {*numbers.begin(), *numbers.rbegin()});
  return with_values("s {} of them from {} to {}", {numbers.size(), *numbers.begin(), *numbers.rbegin()});
}

std::vector<std::uint64_t> wrong_of(const std::vector<double>& d, const std::vector<double>& right) {
  std::vector<std::uint64_t> wrong;
  for (std::uint64_t e = 0; e < d.size(); ++e)
    if (d[e] != right[e]) wrong.push_back(e);
  return wrong;
}

/// Where the wrong elements are, unless in all products, rows and columns of the elements that can be wrong.
std::string whereabouts(
    const Product& x, const std::vector<std::uint64_t>& wrong,
    const std::function<bool(std::uint64_t)>& can = [](auto) { return true; }) {
  std::set<std::uint64_t> found[3], all[3];
  constexpr const char* kWhat[] = {"product", "row", "column"};
  const auto lanes_of = [&](std::uint64_t e) {
    const Place at = place_of(x, e);
    return std::array{at.matrix, at.row, at.column};
  };
  for (const std::uint64_t e : wrong)
    for (std::size_t i = 0; i < std::size(kWhat); ++i) found[i].insert(lanes_of(e)[i]);
  for (std::uint64_t e = 0; e < x.elements(); ++e)
    for (std::size_t i = 0; can(e) && i < std::size(kWhat); ++i) {
      all[i].insert(lanes_of(e)[i]);
      if (found[i].count(lanes_of(e)[i]) == 0) break;  // rows of other products, columns of other rows
    }
  std::string out;
  for (std::size_t i = 0; i < std::size(kWhat); ++i)
    if (!std::includes(found[i].begin(), found[i].end(), all[i].begin(), all[i].end()))
      out += (out.empty() ? "" : ", ") + std::string(kWhat[i]) + ordinal_list(found[i]);
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
    for (const std::uint64_t e : wrong_of(found, wanted)) windows.insert(window_of(words, place_of(x, e)));
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

/// Whether these k give what is wrong, and every element of the part of D where wrong ones are.
bool gives(const Product& x, const Words& words, const std::vector<KRange>& ranges,
           const std::vector<double>& d, const std::vector<double>& right,
           const std::vector<std::uint64_t>& wrong) {
  if (ranges.empty()) return false;
  Place least = place_of(x, wrong.front()), most = least;
  for (const std::uint64_t e : wrong) {
    const Place at = place_of(x, e);
    least.row = std::min(least.row, at.row), most.row = std::max(most.row, at.row);
    least.column = std::min(least.column, at.column), most.column = std::max(most.column, at.column);
    least.matrix = std::min(least.matrix, at.matrix), most.matrix = std::max(most.matrix, at.matrix);
  }
  for (std::uint64_t e = 0; e < d.size(); ++e) {
    const Place at = place_of(x, e);
    if (at.row < least.row || at.row > most.row || at.column < least.column || at.column > most.column ||
        at.matrix < least.matrix || at.matrix > most.matrix)
      continue;
    const Span span = span_of(x, words, at);
    double off = 0;
    for (const KRange& each : ranges)
      for (std::uint64_t k = std::max(span.begin, each.first); k < std::min(span.end, each.last + 1); ++k)
        off += (each.times - 1) * word_of_a(words, at.lane_a, k) * word_of_b(words, k, at.lane_b) *
               x.scale_a.at(at.row, k) * x.scale_b.at(at.column, k);
    double sum = right[e] + x.alpha * off;
    if (x.relu && right[e] == 0) continue;  // what it hides isn't known
    if (x.relu) sum = std::max(sum, 0.0);
    if (!(std::abs(d[e] - sum) <= std::abs(sum) / x.limit)) return false;
  }
  return true;
}

/// Whether these k give what is wrong where rows and columns see others of K, too: what is wrong in a row,
/// whatever its k, is no matter of K.
bool gives_turned(const Product& x, const Multiply& multiply, const Finding& found) {
  Words turned = found.words;
  if (turned.kind != Words::Kind::windows) return true;
  ++turned.rotation;
  const std::vector<double> right = expected(x, turned), d = multiply(turned).d;
  const std::vector<std::uint64_t> wrong = wrong_of(d, right);
  return wrong.empty() || gives(x, turned, found.wrong_k, d, right, wrong);
}

/// The sums of one round, of few windows, as they grow: from which one on they are wrong, and how.
std::string told_by_size(const Product& x, const Multiply& multiply, Words words,
                         const std::vector<double>& d) {
  const std::uint64_t whole = words.window;
  std::uint64_t good = 0, bad = whole / 2;  // of 2 i + 1 ones
  std::vector<double> least = d;
  words.window = 1;
  if (multiply(words).d != expected(x, words)) return {};
  while (good + 1 < bad) {
    const std::uint64_t middle = good + (bad - good) / 2;
    words.window = 2 * middle + 1;
    std::vector<double> found = multiply(words).d;
    if (found == expected(x, words))
      good = middle;
    else
      bad = middle, least = std::move(found);
  }
  // As many ones elsewhere do the same: it is their number, not their place.
  for (const std::uint64_t ones : {2 * good + 1, 2 * bad + 1}) {
    Words elsewhere = words;
    elsewhere.window = ones, elsewhere.first = words.first + (whole - ones);
    if ((multiply(elsewhere).d == expected(x, elsewhere)) != (ones == 2 * good + 1)) return {};
  }
  good = 2 * good + 2;
  const auto largest = [](const std::vector<double>& of) {
    double out = 0;
    for (const double each : of) out = std::max(out, std::abs(each));
    return out;
  };
  const double most = largest(d);
  if (!(most > 0)) return {};
  if (most == largest(least)) return with_values("D saturates: it is never beyond {}", {most});
  std::string out = with_values("sums of more than {} ones are rounded", {good});
  if ((good & (good - 1)) == 0)
    out += with_values(": they are kept in {} bits", {std::llround(std::log2(good))}) +
           (good == 2048  ? ", as f16 does"
            : good == 256 ? ", as bf16 does"
                          : "");
  return out;
}

std::string text_of(const KRange& range, const Product& x) {
  const std::uint64_t count = range.last - range.first + 1;
  const char* const be = count == 1 ? "is " : "are ";
  std::string what = range.last + 1 == x.k && count != x.k
                         ? count == 1 ? std::string("the last element of K ")
                                      : with_values("the last {} elements of K ", {count})
                     : count == 1 ? with_values("element {} of K ", {range.first})
                                  : with_values("elements {} to {} of K ", {range.first, range.last});
  return what + be +
         (range.times == 0   ? "in no sum"
          : range.times < 0  ? "in the sums with the other sign, or A and B are not taken at the same k"
          : range.times == 2 ? "in the sums twice"
                             : with_values("in the sums {} times", {range.times}));
}

/// Which rows of A or columns of B the elements of D are made of, where that is not their own.
std::string wrong_lanes(const Product& x, const Multiply& multiply, Words words, Words::Kind kind,
                        std::vector<double>& found) {
  const bool of_rows = kind == Words::Kind::rows;
  const std::uint64_t each = of_rows ? x.m : x.n,
                      lanes = each * ((of_rows ? x.one_a : x.one_b) ? 1 : x.batch);
  words.kind = kind;
  found.assign(x.elements(), 0);
  double place = 1;
  const double base = std::ldexp(1.0, static_cast<int>(words.digit_bits));
  for (words.digit = 0; place < static_cast<double>(lanes); ++words.digit, place *= base) {
    const std::vector<double> d = multiply(words).d;
    for (std::uint64_t e = 0; e < d.size(); ++e) {
      const double digit = count_of(x, words, e, d[e]).value_or(std::nan("")) - 1;
      const bool known = digit >= 0 && digit < base && digit == std::floor(digit);
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

/// Whether D is made of these rows and columns, where they are known.
bool made_of(const Product& x, const Words& words, const std::vector<double>& rows,
             const std::vector<double>& columns, const std::vector<double>& d) {
  if (!x.scale_a.uniform() || !x.scale_b.uniform()) return true;
  for (std::uint64_t e = 0; e < d.size(); ++e) {
    Place at = place_of(x, e);
    if (std::isnan(rows[e]) || std::isnan(columns[e])) continue;
    at.lane_a = static_cast<std::uint64_t>(rows[e]), at.lane_b = static_cast<std::uint64_t>(columns[e]);
    double should = x.alpha * x.scale_a.at(0, 0) * x.scale_b.at(0, 0) * sum_of(x, words, at);
    if (x.beta != 0) should += x.beta * word_of_c(words, e);
    if (x.bias) should += word_of_bias(words, at.column);
    if (x.relu) should = std::max(should, 0.0);
    if (!(std::abs(d[e] - should) <= std::abs(should) / x.limit)) return false;
  }
  return true;
}

}  // namespace

void tell_faults(const Product& x, const Multiply& multiply, std::uint64_t seed, Finding& out) {
  if (out.wrong == 0) return;  // D is right; what lies round it is said
  const std::vector<double> right = expected(x, out.words);
  std::vector<double> d;
  std::vector<std::uint64_t> wrong;
  std::uint64_t failing = 0, runs = 0;
  constexpr std::uint64_t kMost = 400, kLarge = 1 << 20;
  const std::uint64_t enough = x.elements() < kLarge ? 10 : 2;
  while (runs < enough || (failing == 0 && runs < kMost)) {  // a race may take many
    const Run run = multiply(out.words);
    ++runs;
    std::vector<std::uint64_t> now = wrong_of(run.d, right);
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
  const std::string where = whereabouts(x, wrong);
  if (failing != runs || out.failing != out.asked) {
    out.faults.push_back(with_values("D is not the same each time, a race: wrong in {} of {} runs",
                                     {out.failing + failing, out.asked + runs}) +
                         where);
    return;
  }
  const auto right_with = [&](unsigned padding) {
    Words words = out.words;
    words.padding = padding;
    return wrong_of(multiply(words).d, right).empty();
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
  const bool wide =
      out.words.kind == Words::Kind::windows && out.words.over_rows * out.words.over_columns == 1;
  if (std::string told = known_fault_of(x, out.words, seed, d, right, false); !told.empty()) {
    out.faults.push_back(std::move(told));
    return;
  }
  if (wide && x.m * x.n != 1)  // rounds of smaller sums are right
    if (std::string told = told_by_size(x, multiply, out.words, d); !told.empty()) {
      out.faults.push_back(std::move(told));
      return;
    }
  out.wrong_k = wrong_k_of(x, multiply, out.words, d, right);
  Words lanes = out.words;
  for (const KRange& each : out.wrong_k)  // a k that is in the sums
    if (lanes.first >= each.first && lanes.first <= each.last) lanes.first = (each.last + 1) % x.k;
  std::vector<double> from_rows, from_columns;
  const std::string rows = wrong_lanes(x, multiply, lanes, Words::Kind::rows, from_rows),
                    columns = wrong_lanes(x, multiply, lanes, Words::Kind::columns, from_columns);
  if (made_of(x, out.words, from_rows, from_columns, d))
    for (const std::string& each : {rows, columns})
      if (!each.empty()) out.faults.push_back(each);
  constexpr std::size_t kMostRanges = 8;
  if (out.faults.empty() && out.wrong_k.size() <= kMostRanges &&
      gives(x, out.words, out.wrong_k, d, right, wrong) && gives_turned(x, multiply, out))
    for (const KRange& each : out.wrong_k) {
      const auto can = [&](std::uint64_t e) {  // by the code a row and a column see some of K
        const Span span = span_of(x, out.words, place_of(x, e));
        return span.begin <= each.last && span.end > each.first && !(x.relu && right[e] == 0);
      };
      out.faults.push_back(text_of(each, x) + whereabouts(x, wrong, can));
      if (each.last + 1 == x.k && each.times == 0) out.tail = each.last - each.first + 1;
    }
  if (!out.faults.empty()) return;
  if (std::string told = known_fault_of(x, out.words, seed, d, right, true); !told.empty()) {
    out.faults.push_back(told + where);
    return;
  }
  out.named = false;
  const double off = d[wrong.front()] - right[wrong.front()];
  const bool same = std::all_of(wrong.begin(), wrong.end(), [&](auto e) { return d[e] - right[e] == off; });
  out.faults.push_back(with_values("{} of {} elements are wrong", {wrong.size(), out.elements}) + where +
                       (same && wrong.size() > 1 ? with_values(", each by {}", {off}) : ""));
}

}  // namespace mmaudit::exact
