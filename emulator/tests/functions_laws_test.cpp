// Laws of special functions on a part of the operands; on all of them: functions_laws_slow_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "functions_laws.hpp"

namespace mmaudit::functions::test {
namespace {

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

/// By hand.
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

}  // namespace
}  // namespace mmaudit::functions::test
