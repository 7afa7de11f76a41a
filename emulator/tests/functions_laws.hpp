#pragma once
// What the operands of a function give against its laws, one operand at a time.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/functions.hpp"

namespace mmaudit::functions::test {

/// The place of a number in the order of numbers.
inline std::int64_t place_of(std::uint32_t bits, std::uint32_t sign) {
  return (bits & sign) != 0 ? -static_cast<std::int64_t>(bits & ~sign) : static_cast<std::int64_t>(bits);
}

struct Judge {
  const Function& function;
  const Value& value = value_of(function);
  const bool narrow = function.bits == 16;
  const FormatSpec format = format_of(function);
  const std::uint32_t sign = 1U << (function.bits - 1);
  const bool flush = flushes(function);
  const double least = std::ldexp(1.0, format.min_exponent());
  const double largest = decode_value(format.max_finite_bits(), format);

  [[nodiscard]] double number(std::uint32_t bits) const {
    return narrow ? decode_value(bits, format) : static_cast<double>(as_float(bits));
  }
  /// NaN: not judged.
  [[nodiscard]] double error(BoundKind kind, double exact, std::uint32_t result) const {
    if (std::isnan(exact) || std::isnan(number(result))) return NAN;
    if (kind == BoundKind::ulps)
      return static_cast<double>(
          std::abs(place_of(bits_of(static_cast<float>(exact)), sign) - place_of(result, sign)));
    const double away = std::fabs(number(result) - exact);
    if (kind == BoundKind::absolute) return away;
    return std::fabs(exact) < least || std::fabs(exact) > largest ? NAN : away / std::fabs(exact);
  }
  void bound(std::uint32_t x, std::uint32_t result, Found& found) const {
    const double at = number(x);
    const auto holds = [&](const Bound& one) {
      return one.kind != BoundKind::none && at >= one.low && at <= one.high;
    };
    const bool here = holds(function.bound);
    if (!here && !holds(function.elsewhere)) return;
    const double exact = value.of(at, 1);
    if (flush && (std::fabs(at) < least || std::fabs(exact) < least)) return;
    const Bound& one = here ? function.bound : function.elsewhere;
    const double away = error(one.kind, exact, result);
    if (!(away > 0)) return;
    Worst& worst = here ? found.bound : found.elsewhere;
    if (away > worst.error) worst = {away, x};
    if (away > one.most + (one.per_x == 0 ? 0 : std::floor(one.per_x * std::fabs(at)))) note(found.above, x);
  }
  static void note(Breaks& breaks, std::uint32_t x) {
    if (breaks.count++ == 0) breaks.first = x;
  }
  /// `larger`: the next number in size, of the same sign.
  void trend(std::uint32_t x, std::uint32_t result, std::uint32_t larger, Found& found) const {
    const double from = number(result), to = number(larger);
    const bool rises = (value.trend == Trend::rises) == ((x & sign) == 0);
    if (rises ? from <= to : from >= to) return;
    if (std::isnan(from) || std::isnan(to)) return;
    const std::uint32_t fraction = (1U << format.fraction_bits) - 1;
    note((x & fraction) == fraction ? found.past_binade : found.inside_binade, x);
  }
};

/// Adds what the `count` operands from `first` on give; of a function of one operand. Not judged: NaN, the
/// relative error of a value that is subnormal or overflows, and a flushing row's subnormal operands and
/// results. The exact value is libm's in binary64.
inline void check_laws(const Function& function, std::uint64_t first, std::uint64_t count, Found& found) {
  constexpr std::uint64_t kBlock = 4096;
  const Judge judge{function};
  std::vector<std::uint32_t> x(kBlock + 1), result(kBlock + 1), mirrored(kBlock + 1);
  for (std::uint64_t done = 0; done < count; done += kBlock) {
    const std::size_t size = std::min(kBlock, count - done);
    for (std::size_t i = 0; i <= size; ++i) x[i] = static_cast<std::uint32_t>(first + done + i);
    evaluate(function, x.data(), nullptr, result.data(), size + 1);
    for (std::size_t i = 0; i < size; ++i) judge.bound(x[i], result[i], found);
    if (judge.value.trend != Trend::none)
      for (std::size_t i = 0; i < size; ++i)
        if (((x[i] ^ x[i + 1]) & judge.sign) == 0) judge.trend(x[i], result[i], result[i + 1], found);
    if (judge.value.symmetry == Symmetry::none || (x[0] & judge.sign) != 0) continue;
    const std::uint32_t turned = judge.value.symmetry == Symmetry::odd ? judge.sign : 0;
    for (std::size_t i = 0; i < size; ++i) x[i] |= judge.sign;
    evaluate(function, x.data(), nullptr, mirrored.data(), size);
    for (std::size_t i = 0; i < size; ++i)
      if (mirrored[i] != (result[i] ^ turned) && !std::isnan(judge.number(result[i])))
        Judge::note(found.symmetry, x[i] & ~judge.sign);
  }
}

inline std::string text_of(const Function& one, const Found& found) {
  char text[400] = "";
  const auto add = [&](const char* format, auto first, auto second) {
    const std::string before = text;
    std::snprintf(text, sizeof text, format, before.c_str(), first, second);
  };
  for (const Worst& at : {found.bound, found.elsewhere}) add("%s{%a, 0x%08X}, ", at.error, at.x);
  for (const Breaks& at : {found.above, found.symmetry, found.inside_binade, found.past_binade})
    add("%s{%llu, 0x%08X}, ", static_cast<unsigned long long>(at.count), at.first);
  return std::string(one.name) + " " + text;
}

/// `more` is of later operands.
inline void add(Found& found, const Found& more) {
  for (Worst Found::*const worst : {&Found::bound, &Found::elsewhere})
    if ((more.*worst).error > (found.*worst).error) found.*worst = more.*worst;
  for (Breaks Found::*const breaks :
       {&Found::above, &Found::symmetry, &Found::inside_binade, &Found::past_binade}) {
    if ((found.*breaks).count == 0) (found.*breaks).first = (more.*breaks).first;
    (found.*breaks).count += (more.*breaks).count;
  }
}

}  // namespace mmaudit::functions::test
