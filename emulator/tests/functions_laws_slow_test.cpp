// Laws of special functions on all operands: rows with one value side by side, by all of the processor's
// threads.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "functions_laws.hpp"
#include "mmaudit/detail/clones.hpp"

namespace mmaudit::functions::test {
namespace {

/// Operands of a row side by side, and whether any of them could change what is found: loops that a compiler
/// makes vector code of. A block that could is judged one operand at a time, so a false alarm only takes
/// time.
struct Block {
  static constexpr std::size_t kSize = 4096;
  std::vector<std::uint32_t> x = std::vector<std::uint32_t>(kSize + 1), result = x, mirrored = x;
  std::vector<double> exact = std::vector<double>(kSize);
};

/// Away from the exact value by more than `most` in a bound's unit, at least nearly so.
MMAUDIT_CLONES int any_away(const Judge& judge, const Block& block, BoundKind kind, double most) {
  const double least = judge.least, largest = judge.largest, limit = most * (1 - 0x1p-40);
  const bool flush = judge.flush;
  const std::uint32_t *x = block.x.data(), *result = block.result.data();
  const double* exact = block.exact.data();
  int any = 0;
  if (kind == BoundKind::ulps) {
    for (std::size_t i = 0; i < Block::kSize; ++i) {
      const std::uint32_t nearest = bits_of(static_cast<float>(exact[i])), found = result[i];
      const std::int32_t size = static_cast<std::int32_t>(nearest & 0x7FFFFFFF),
                         other = static_cast<std::int32_t>(found & 0x7FFFFFFF);
      // Sums of sizes, where the signs differ, are beyond any bound: cut to what 32 bits hold.
      const std::int32_t away = (nearest ^ found) >> 31 != 0 ? std::max(size, other) : std::abs(size - other);
      const int numbers = (size <= 0x7F800000) & (other <= 0x7F800000);
      const int left_out = flush & (((x[i] & 0x7F800000) == 0) | (std::fabs(exact[i]) < least));
      any |= numbers & (left_out ^ 1) & (static_cast<double>(away) > most);
    }
    return any;
  }
  for (std::size_t i = 0; i < Block::kSize; ++i) {
    const double size = std::fabs(exact[i]), unit = kind == BoundKind::relative ? size : 1;
    const double away = std::fabs(static_cast<double>(as_float(result[i])) - exact[i]);
    const int normal = (kind != BoundKind::relative) | ((size >= least) & (size <= largest));
    const int left_out = flush & (((x[i] & 0x7F800000) == 0) | (size < least));
    any |= normal & (left_out ^ 1) & (away > limit * unit);
  }
  return any;
}
/// In the wrong order, or with a sign that breaks the symmetry.
MMAUDIT_CLONES int any_fall(const std::uint32_t* result, bool rises) {
  int any = 0;
  for (std::size_t i = 0; i < Block::kSize; ++i) {
    const float from = as_float(result[i]), to = as_float(result[i + 1]);
    any |= rises ? from > to : from < to;
  }
  return any;
}
MMAUDIT_CLONES int any_other(const std::uint32_t* result, const std::uint32_t* mirrored,
                             std::uint32_t turned) {
  int any = 0;
  for (std::size_t i = 0; i < Block::kSize; ++i)
    any |= (mirrored[i] != (result[i] ^ turned)) & ((result[i] & 0x7FFFFFFF) <= 0x7F800000);
  return any;
}

/// Whether the bound speaks of a number in [from, to]; of a NaN perhaps.
bool touches(const Bound& bound, double from, double to) {
  return bound.kind != BoundKind::none && !(from > bound.high) && !(to < bound.low);
}

/// check_laws() of rows of 32 bits with one value, whose libm is asked once: most of the time is its.
void check_together(const std::vector<const Function*>& rows, std::uint64_t first, std::uint64_t count,
                    Found* found) {
  Block block;
  const Value& value = value_of(*rows[0]);
  for (std::uint64_t at = first; at < first + count; at += Block::kSize) {
    for (std::size_t i = 0; i <= Block::kSize; ++i) block.x[i] = static_cast<std::uint32_t>(at + i);
    for (std::size_t i = 0; i < Block::kSize; ++i) block.exact[i] = value.of(as_float(block.x[i]), 1);
    const bool negative = at >> 31 != 0;
    const double first_x = as_float(block.x[0]), last_x = as_float(block.x[Block::kSize - 1]);
    const double from = std::min(first_x, last_x), to = std::max(first_x, last_x);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Function& one = *rows[row];
      const Judge judge{one};
      evaluate(one, block.x.data(), nullptr, block.result.data(), Block::kSize + 1);
      int any = 0;
      if (touches(one.bound, from, to))
        any = any_away(judge, block, one.bound.kind, std::min(one.bound.most, found[row].bound.error));
      if (touches(one.elsewhere, from, to) && !(from >= one.bound.low && to <= one.bound.high))
        any |= any_away(judge, block, one.elsewhere.kind,
                        std::min(one.elsewhere.most, found[row].elsewhere.error));
      if (value.trend != Trend::none)
        any |= any_fall(block.result.data(), (value.trend == Trend::rises) != negative);
      if (value.symmetry != Symmetry::none && !negative) {
        std::vector<std::uint32_t>& turned = block.mirrored;
        for (std::size_t i = 0; i < Block::kSize; ++i) turned[i] = block.x[i] | judge.sign;
        evaluate(one, turned.data(), nullptr, turned.data(), Block::kSize);
        any |=
            any_other(block.result.data(), turned.data(), value.symmetry == Symmetry::odd ? judge.sign : 0);
      }
      if (any != 0) check_laws(one, at, Block::kSize, found[row]);
    }
  }
}

/// Whole rows of one value by all threads of the processor, in pieces that are added in order.
std::vector<Found> on_all(const std::vector<const Function*>& rows) {
  const std::uint64_t operands = std::uint64_t{1} << rows[0]->bits,
                      piece = std::min<std::uint64_t>(operands, 1U << 22), pieces = operands / piece;
  std::vector<Found> found(pieces * rows.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < pieces; i = next++)
      if (rows[0]->bits == 32)
        check_together(rows, i * piece, piece, &found[i * rows.size()]);
      else
        for (std::size_t row = 0; row < rows.size(); ++row)
          check_laws(*rows[row], i * piece, piece, found[i * rows.size() + row]);
  };
  std::vector<std::thread> threads(std::max(1U, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
  std::vector<Found> sums(rows.size());
  for (std::size_t i = 0; i < found.size(); ++i) add(sums[i % rows.size()], found[i]);
  return sums;
}

/// What rows of one operand approximate.
std::vector<const Value*> values() {
  std::vector<const Value*> out;
  for (const Function& one : all())
    if (one.operands == 1 && std::find(out.begin(), out.end(), &value_of(one)) == out.end())
      out.push_back(&value_of(one));
  return out;
}
std::vector<const Function*> rows_of(const Value& value, int bits) {
  std::vector<const Function*> out;
  for (const Function& one : all())
    if (one.operands == 1 && one.bits == bits && &value_of(one) == &value) out.push_back(&one);
  return out;
}

/// Rows side by side give what each gives alone, where laws break and where they don't.
TEST(Laws, AreTheSameSideBySide) {
  for (const Value* value : values()) {
    const std::vector<const Function*> rows = rows_of(*value, 32);
    for (const std::uint64_t first :
         {0x00000000U, 0x007FF000U, 0x3DBFE000U, 0x3F055000U, 0x3F78C000U, 0x40978000U, 0x42B00000U,
          0x7F7FF000U, 0x80000000U, 0xBBA08000U, 0xC2AEA000U, 0xFF7FF000U}) {
      std::vector<Found> found(rows.size());
      check_together(rows, first, 0x2000, found.data());
      for (std::size_t row = 0; row < rows.size(); ++row) {
        Found alone;
        check_laws(*rows[row], first, 0x2000, alone);
        EXPECT_EQ(text_of(*rows[row], found[row]), text_of(*rows[row], alone)) << std::hex << first;
      }
    }
  }
}

/// By all of the processor's threads: what found_on_all() says of every row, and should say.
TEST(SlowLaws, OnAllOperands) {
  std::size_t judged = 0;
  for (const int bits : {16, 32})
    for (const Value* value : values()) {
      const std::vector<const Function*> rows = rows_of(*value, bits);
      if (rows.empty()) continue;
      const std::vector<Found> found = on_all(rows);
      for (std::size_t row = 0; row < rows.size(); ++row) {
        const Found* known = found_on_all(*rows[row]);
        ++judged;
        std::printf("%s\n", text_of(*rows[row], found[row]).c_str());
        std::fflush(stdout);
        if (known == nullptr)
          ADD_FAILURE() << rows[row]->name;
        else
          EXPECT_EQ(text_of(*rows[row], *known), text_of(*rows[row], found[row]));
      }
    }
  EXPECT_EQ(judged,
            std::count_if(all().begin(), all().end(), [](const Function& one) { return one.operands == 1; }));
}

}  // namespace
}  // namespace mmaudit::functions::test
