// Laws of special functions: on a part of the operands here, on all of them in the slow test.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/functions.hpp"

namespace mmaudit::functions::test {
namespace {

/// The place of a number in the order of numbers.
std::int64_t place_of(std::uint32_t bits, std::uint32_t sign) {
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
void check_laws(const Function& function, std::uint64_t first, std::uint64_t count, Found& found) {
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

/// What a function approximates goes through all of these: the first and last operands of each binade, some
/// inside.
Found on_a_part(const Function& one) {
  Found found;
  const int fraction = one.bits == 32 ? 23 : one.name.ends_with("bf16") ? 7 : 10;
  const std::uint64_t binade = std::uint64_t{1} << fraction;
  for (std::uint64_t first = 0; first < std::uint64_t{1} << one.bits; first += binade)
    if (one.bits == 16)
      check_laws(one, first, binade, found);
    else
      for (const std::uint64_t inside :
           {std::uint64_t{0}, first * 2654435761U % (binade - 128), binade - 128})
        check_laws(one, first + inside, 128, found);
  return found;
}

TEST(Laws, HoldOnAPartOfTheOperands) {
  int judged = 0;
  for (const Function& one : all()) {
    if (one.operands != 1) continue;
    const Found part = on_a_part(one);
    const Found* known = found_on_all(one);
    if (known == nullptr) {
      EXPECT_EQ(part.above.count, 0U) << one.name << std::hex << " " << part.above.first;
      continue;
    }
    ++judged;
    EXPECT_LE(part.bound.error, known->bound.error) << one.name << std::hex << " " << part.bound.x;
    EXPECT_LE(part.elsewhere.error, known->elsewhere.error)
        << one.name << std::hex << " " << part.elsewhere.x;
    EXPECT_LE(part.above.count, known->above.count) << one.name << std::hex << " " << part.above.first;
    EXPECT_LE(part.symmetry.count, known->symmetry.count)
        << one.name << std::hex << " " << part.symmetry.first;
    EXPECT_LE(part.inside_binade.count, known->inside_binade.count)
        << one.name << std::hex << " " << part.inside_binade.first;
    EXPECT_LE(part.past_binade.count, known->past_binade.count)
        << one.name << std::hex << " " << part.past_binade.first;
  }
  EXPECT_GT(judged, 4);
}

/// The worst operands and the first ones where a law does not hold are what the listings say.
TEST(Laws, CounterexamplesAreOnes) {
  for (const Function& one : all()) {
    const Found* known = found_on_all(one);
    if (known == nullptr) continue;
    const auto at = [&](std::uint32_t x) {
      Found found;
      check_laws(one, x, 1, found);
      return found;
    };
    if (known->bound.error != 0) {
      EXPECT_EQ(at(known->bound.x).bound.error, known->bound.error) << one.name;
    }
    if (known->elsewhere.error != 0) {
      EXPECT_EQ(at(known->elsewhere.x).elsewhere.error, known->elsewhere.error) << one.name;
    }
    EXPECT_EQ(at(known->above.first).above.count, known->above.count != 0) << one.name;
    EXPECT_EQ(at(known->symmetry.first).symmetry.count, known->symmetry.count != 0) << one.name;
    EXPECT_EQ(at(known->inside_binade.first).inside_binade.count, known->inside_binade.count != 0)
        << one.name;
    EXPECT_EQ(at(known->past_binade.first).past_binade.count, known->past_binade.count != 0) << one.name;
  }
}

/// The errors of a row of 16 bits, by hand.
TEST(Laws, CountWhatIsAboveTheBound) {
  const Function& one = *find("tanh.approx.bf16");
  Found found;
  check_laws(one, 0, 65536, found);
  std::uint64_t above = 0;
  double most = 0;
  for (std::uint32_t x = 0; x < 65536; ++x) {
    const double value = as_float(x << 16), result = as_float(evaluate(one.id, x, 0, kUnit) << 16);
    if (std::isnan(value)) continue;
    const double away = std::fabs(result - std::tanh(value));
    above += away > 1.0 / 256 ? 1 : 0;
    most = std::max(most, away);
  }
  EXPECT_EQ(found.above.count, above);
  EXPECT_EQ(found.bound.error, most);
  EXPECT_GT(above, 0U);
}

/// Tables of another unit keep no law: ex2 whose results are not in order, where one number's neighbours are.
TEST(Laws, AreNoticedWhereTheyDoNotHold) {
  const Function wrong{"sqrtf", Id::rsqrtf, 1, 32, "sqrt", "", {BoundKind::ulps, 1, 0, 0x1p100, ""}};
  Found found;
  check_laws(wrong, 0x3F800000, 0x1000, found);
  EXPECT_GE(found.above.count,
            0xFFEU);  // at 1 both are 1; from the second number after it on they are 3 ulp apart
  EXPECT_LT(found.above.count, 0x1000U);
  EXPECT_GT(found.inside_binade.count, 0U);
  const Function uneven{"logf", Id::logf, 1, 32, "tanh", "", {}};
  check_laws(uneven, 0x3F800000, 16, found);
  EXPECT_EQ(found.symmetry.count, 16U);
}

std::string text_of(const Function& one, const Found& found) {
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
void add(Found& found, const Found& more) {
  for (Worst Found::*const worst : {&Found::bound, &Found::elsewhere})
    if ((more.*worst).error > (found.*worst).error) found.*worst = more.*worst;
  for (Breaks Found::*const breaks :
       {&Found::above, &Found::symmetry, &Found::inside_binade, &Found::past_binade}) {
    if ((found.*breaks).count == 0) (found.*breaks).first = (more.*breaks).first;
    (found.*breaks).count += (more.*breaks).count;
  }
}

/// The whole of a row by all threads of the processor, in pieces that are added in order.
Found on_all(const Function& one) {
  const std::uint64_t operands = std::uint64_t{1} << one.bits,
                      piece = std::min<std::uint64_t>(operands, 1U << 22);
  std::vector<Found> found(operands / piece);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < found.size(); i = next++) check_laws(one, i * piece, piece, found[i]);
  };
  std::vector<std::thread> threads(std::max(1U, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  Found sum;
  for (const Found& part : found) add(sum, part);
  return sum;
}

/// Pieces find what the whole does.
TEST(Laws, ArePiecesOfAWhole) {
  for (const char* name : {"tanh.approx.bf16", "tanh.approx.f32", "cos.approx.f32"}) {
    const Function& one = *find(name);
    const std::uint64_t first = one.bits == 16 ? 0 : 0x3DBF0000, count = 0x10000;
    Found whole, pieces;
    check_laws(one, first, count, whole);
    for (std::uint64_t at = 0; at < count; at += 0x2000) {
      Found part;
      check_laws(one, first + at, 0x2000, part);
      add(pieces, part);
    }
    EXPECT_EQ(text_of(one, pieces), text_of(one, whole));
  }
}

/// An hour of processor time by all of its threads: what found_on_all() says of every row, and should say.
TEST(SlowLaws, OnAllOperands) {
  for (const Function& one : all()) {
    if (one.operands != 1) continue;
    const Found found = on_all(one);
    const Found* known = found_on_all(one);
    if (known == nullptr) {
      EXPECT_EQ(found.above.count, 0U) << one.name;
    } else {
      EXPECT_EQ(text_of(one, *known), text_of(one, found));
    }
    std::printf("%s\n", text_of(one, found).c_str());
  }
}

}  // namespace
}  // namespace mmaudit::functions::test
