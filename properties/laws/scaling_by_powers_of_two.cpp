#include <algorithm>
#include <optional>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (subject.datapath.arithmetic == Arithmetic::integer) return "integers have no exponent";
  if (!subject.fused()) return fused_only(subject);
  return subject.spec.converts ? "c or D is converted beside the steps" : "";
}

/// 1 to 3 up or down; 1 where the format has few exponents.
int shift_of(const Tile& tile) {
  const FormatSpec a = spec_of(tile.instruction.a);
  const auto most = static_cast<std::uint64_t>(a.max_exponent() - a.min_exponent() < 8 ? 1 : 3);
  const int shift = 1 + static_cast<int>(tile.salt % most);
  return (tile.salt >> 32) % 2 != 0 ? shift : -shift;
}

/// Exponents about the middle of D's range.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const FormatSpec a = subject.a(), b = subject.b(), c = subject.c();
  const int range = a.max_exponent() - a.min_exponent(), margin = std::min(4, range / 2);
  const int width = random.between(0, std::min(3, margin));
  const int ea = random.between(a.min_exponent() + margin, a.max_exponent() - std::min(3, range - margin));
  const int eb =
      std::clamp(random.between(4, 8) - ea, b.min_exponent() + std::min(3, width), b.max_exponent());
  for (std::uint64_t& x : tile.a)
    x = random_number(random, a, std::max(ea - random.between(0, width), a.min_exponent()));
  for (std::uint64_t& x : tile.b)
    x = random_number(random, b, std::max(eb - random.between(0, width), b.min_exponent()));
  for (std::uint64_t& x : tile.c) x = random_number(random, c, ea + eb + random.between(-2, 4));
}

/// `bits` times 2^shift; nullopt when that leaves the normal numbers.
std::optional<std::uint64_t> scaled(std::uint64_t bits, const FormatSpec& format, int shift) {
  if (is_zero(bits, format)) return bits;
  const int place = format.fraction_bits + format.ignored_low_bits;
  const int field = static_cast<int>((bits & format.magnitude_mask()) >> place);
  const int to = field + shift;
  const int most = format.max_exponent() + format.bias;
  if (field == 0 || field > most || to < 1 || to > most) return std::nullopt;
  const std::uint64_t out =
      bits + (static_cast<std::uint64_t>(to) << place) - (static_cast<std::uint64_t>(field) << place);
  if ((out & format.magnitude_mask()) > format.max_finite_bits()) return std::nullopt;
  return out;
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other = tile;
  const int shift = shift_of(tile);
  for (std::uint64_t& x : other.a) x = scaled(x, subject.a(), shift).value_or(x);
  for (std::uint64_t& x : other.c) x = scaled(x, subject.c(), shift).value_or(x);
  return {other};
}

LawVerdict judge(const Case& at) {
  const Subject& subject = at.subject;
  const int shift = shift_of(at.tile);
  const FormatSpec d = subject.d();
  // Nothing may come near the floor or D's subnormals on the way, nor near overflow.
  const int low = std::max<int>(subject.datapath.min_alignment_exponent, d.min_exponent() - d.fraction_bits) +
                  std::max(0, -shift);
  const int bits = subject.a().fraction_bits + subject.b().fraction_bits;
  if (!is_zero(at.c(), subject.c()) &&
      (!scaled(at.c(), subject.c(), shift) ||
       field_exponent(at.c(), subject.c()) - subject.c().fraction_bits < low))
    return silent();
  for (int k = 0; k < at.tile.stored(); ++k) {
    if (!scaled(at.tile.at_a(at.row, k), subject.a(), shift)) return silent();
    const Product one = product_of(at, k);
    if (one.special) return silent();
    if (one.value != 0 && one.exponent - bits < low) return silent();
  }
  const std::uint64_t found = at.related[0].at_d(at.row, at.col);
  if (!is_finite(at.d(), d) || !is_finite(found, d)) return silent();
  if (is_zero(at.d(), d)) return equal_bits(found, at.d());
  const auto expected = scaled(at.d(), d, shift);
  if (!expected) return silent();
  return verdict(found == *expected, *expected);
}

}  // namespace

const Law kScalingByPowersOfTwo = {
    .order = 100,
    .statement = "A and c times a power of two give D times it, away from the ends of the formats.",
    .source = "consequence of alignment relative to E",
    .why_not = why_not,
    .fill = fill,
    .related = related,
    .judge = judge};

}  // namespace mmaudit::laws
