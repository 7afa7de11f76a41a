// What alignment does to block-scaled products: one by one where a row aligns products, a group at a time
// where it aligns groups.
#include <algorithm>
#include <cmath>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) { return subject.steps.size() > 1 ? "more than one step" : ""; }

/// How many products are added before alignment.
int products_together(const Subject& subject) {
  return subject.datapath.arithmetic == Arithmetic::grouped_dot_add ? subject.datapath.group : 1;
}

/// Exponents of products that the elements alone can have.
int least_product(const Subject& subject) {
  return subject.a().min_exponent() - subject.a().fraction_bits + subject.b().min_exponent() -
         subject.b().fraction_bits;
}
int largest_product(const Subject& subject) {
  return subject.a().max_exponent() + subject.b().max_exponent();
}

/// +-2^e in element k of block `block`, by its elements as far as they reach, by its scales beyond.
void put(const Subject& subject, Draws& random, Tile& tile, int k, int e, bool negative) {
  const int inside = std::clamp(random.between(-2, 2), least_product(subject), largest_product(subject));
  put_power(subject, tile, k, inside, inside / 2, negative);
  put_scales(random, tile, tile.block_of(k), e - inside);
}

/// Element k of every row of A up to three binades larger or smaller, of either sign: a tile has as many
/// inputs as rows.
void spread(const Subject& subject, Draws& random, Tile& tile, int k) {
  const FormatSpec a = subject.a();
  const int own = std::ilogb(value_of(tile.at_a(0, k), a));
  for (int row = 0; row < tile.instruction.m; ++row) {
    const int e =
        std::clamp(own + random.between(-3, 3), a.min_exponent() - a.fraction_bits, int{a.max_exponent()});
    tile.at_a(row, k) = power_of_two_bits(a, e) | (random.one_in(2) ? a.sign_bit() : 0);
  }
}

/// The scales of `block` up to three binades larger or smaller from column to column.
void spread_scales(const Subject& subject, Draws& random, Tile& tile, int block) {
  const FormatSpec scale = subject.spec.scale;
  const int own = std::ilogb(scale_value(tile.at_scale_b(block, 0), scale));
  for (int col = 0; col < tile.instruction.n; ++col) {
    const int e = std::clamp(own + random.between(-3, 3), scale.min_exponent() - scale.fraction_bits,
                             int{scale.max_exponent()});
    tile.at_scale_b(block, col) = static_cast<std::uint8_t>(power_of_two_bits(scale, e));
  }
}

/// About the least result: the sum of a larger and a smaller number is rounded to one or other side by what
/// the floor leaves of the smaller; or that one is alone, or beside a subnormal c.
void fill_floor(const Subject& subject, Draws& random, Tile& tile) {
  const int least = subject.d().min_exponent() - subject.datapath.output.fraction_bits;
  const int beside = random.between(0, 3),
            at_floor = subject.datapath.min_alignment_exponent - subject.datapath.fraction_bits;
  const int small = beside == 0 ? random.between(at_floor, least) : at_floor + random.between(-3, 6);
  const int last = tile.stored() - 1;
  if (beside == 1)
    for (std::uint64_t& x : tile.c) x = 1 + (random.next() & 7U);
  if (tile.blocks() > 1) {
    if (beside > 1) put(subject, random, tile, 0, least, false);
    put(subject, random, tile, last, small, true);
    spread_scales(subject, random, tile, tile.block_of(last));
    return spread(subject, random, tile, last);
  }
  // One scale for both; sixteen products are the larger, so that narrow elements reach it too.
  constexpr int kSixteen = 4, kEach = 4;
  put_scales(random, tile, 0, beside > 1 ? least - kSixteen - kEach : small);
  const int left = beside > 1 ? small - (least - kSixteen - kEach) : 0;
  for (int k = 0; beside > 1 && k < 1 << kSixteen; ++k) put_power(subject, tile, k, kEach, kEach / 2, false);
  put_power(subject, tile, last, left, left / 2, true);
  spread(subject, random, tile, last);
}

/// Products beside the largest c.
void fill_overflow(const Subject& subject, Draws& random, Tile& tile) {
  const FormatSpec c = subject.c();
  for (std::uint64_t& x : tile.c) x = c.max_finite_bits() | (random.one_in(2) ? c.sign_bit() : 0);
  put(subject, random, tile, 0, c.max_exponent() - random.between(0, 30), random.one_in(2));
}

/// The scales of block 0, a subnormal among them where the format has them; the sum of their exponents.
int scale_first(const Subject& subject, Draws& random, Tile& tile) {
  const FormatSpec scale = subject.spec.scale;
  const int top = 2 * scale.max_exponent();
  if (scale.fraction_bits != 0 && random.one_in(3)) {
    const int below = random.between(1, scale.fraction_bits);
    for (int row = 0; row < tile.instruction.m; ++row)
      tile.at_scale_a(row, 0) =
          static_cast<std::uint8_t>(power_of_two_bits(scale, scale.min_exponent() - below));
    for (int col = 0; col < tile.instruction.n; ++col)
      tile.at_scale_b(0, col) = static_cast<std::uint8_t>(power_of_two_bits(scale, scale.max_exponent()));
    return scale.min_exponent() + scale.max_exponent();
  }
  const int exponent = top < 64 ? random.between(top - 2, top) : random.between(-12, 12);
  put_scales(random, tile, 0, exponent);
  return exponent;
}

/// Block 0 cancels and c has bits about the last that is kept.
void fill_cancelled(const Subject& subject, Draws& random, Tile& tile) {
  const int e = random.between(-2, 4), kept = subject.datapath.fraction_bits;
  const int exponent = scale_first(subject, random, tile);
  put_power(subject, tile, 0, e, e / 2, false);
  put_power(subject, tile, 1, e, e / 2, true);
  for (std::uint64_t& x : tile.c) {
    const int last = exponent - kept + random.between(-4, 4);  // of c, or c alone
    x = random_number(random, subject.c(), random.one_in(2) ? last : last + subject.c().fraction_bits);
  }
}

/// c takes away what block 0 gives; the last block gives about the last bit that is kept, in one product or
/// in two of half the size, of one group or of two.
void fill_taken_away(const Subject& subject, Draws& random, Tile& tile) {
  const int most = std::min(products_together(subject), 16), e = random.between(-2, 2);
  const int count = random.one_in(2) || most < 2 ? 1 : random.between(2, most);
  const int exponent = scale_first(subject, random, tile);
  for (int k = 0; k < count; ++k) put_power(subject, tile, k, e, e / 2, false);
  const FormatSpec scale = subject.spec.scale;
  const double scaled = scale_value(tile.at_scale_a(0, 0), scale) * scale_value(tile.at_scale_b(0, 0), scale);
  for (std::uint64_t& x : tile.c) x = encode_value(-scaled * count * std::ldexp(1.0, e), subject.c());
  const int last = exponent - subject.datapath.fraction_bits + random.between(-4, 1);
  const int block = tile.blocks() - 1, size = products_per_scale(subject.instruction);
  const int first = block == 0 ? count : block * size, span = tile.stored() - first;
  const int own = block == 0 ? last - exponent : random.between(-2, 2);
  if (block != 0) put_scales(random, tile, block, last - own);
  if (block != 0) spread_scales(subject, random, tile, block);
  // To either side of the middle of a group, or of its end.
  const int middle = first + (span > 16 && random.one_in(2) ? 16 : 8);
  const int one = middle - random.between(1, 4), other = middle + random.between(0, 3);
  put_power(subject, tile, one, own, own / 2, false);
  spread(subject, random, tile, one);
  if (random.one_in(3)) return;
  put_power(subject, tile, other, own, own / 2, false);
  for (int row = 0; row < tile.instruction.m; ++row) tile.at_a(row, other) = tile.at_a(row, one);
}

/// Any numbers, any scales of a window.
void fill_any(const Subject& subject, Draws& random, Tile& tile) {
  const FormatSpec scale = subject.spec.scale;
  for (std::uint64_t& x : tile.a) x = random_number(random, subject.a(), random.between(-3, 3));
  for (std::uint64_t& x : tile.b) x = random_number(random, subject.b(), random.between(-3, 3));
  for (std::uint64_t& x : tile.c) x = random_number(random, subject.c(), random.between(-24, 8));
  const int window = random.between(0, 20);
  for (auto* scales : {&tile.scale_a, &tile.scale_b})
    for (std::uint8_t& x : *scales) {
      if (scale.fraction_bits != 0)
        x = static_cast<std::uint8_t>(random.next());  // subnormals, zeros and the bit that is not read too
      else
        x = static_cast<std::uint8_t>(power_of_two_bits(scale, -random.between(0, window)));
    }
}

void fill(const Subject& subject, Draws& random, Tile& tile) {
  constexpr void (*kWays[])(const Subject&, Draws&, Tile&) = {fill_floor,     fill_floor,      fill_overflow,
                                                              fill_cancelled, fill_taken_away, fill_any};
  kWays[random.between(0, static_cast<int>(std::size(kWays)) - 1)](subject, random, tile);
}

struct Addend {
  double value = 0;
  int exponent = 0;
};

LawVerdict judge(const Case& at) {
  const Subject& subject = at.subject;
  const std::uint64_t c_bits = entering_c(at);
  std::vector<Addend> addends;
  if (!is_finite(c_bits, subject.c())) return silent();
  if (!is_zero(c_bits, subject.c()))
    addends.push_back({value_of(c_bits, subject.c()), field_exponent(c_bits, subject.c())});
  const int group = products_together(subject), before = static_cast<int>(addends.size());
  for (int first = 0; first < at.tile.stored(); first += group) {
    Addend one;
    bool any = false;
    for (int k = first; k < first + group; ++k) {
      const Product product = product_of(at, k);
      if (product.special) return silent();
      if (product.value == 0) continue;
      any = true;
      one.value += product.value;
      one.exponent = group > 1 ? scales_at(at, k).exponent : product.exponent;
    }
    if (any) addends.push_back(one);  // a group that cancels too
  }
  if (static_cast<int>(addends.size()) == before) return silent();
  int most = subject.datapath.min_alignment_exponent;
  for (const Addend& one : addends) most = std::max(most, one.exponent);
  double sum = 0;
  for (const Addend& one : addends) sum += cut(one.value, most - subject.datapath.fraction_bits);
  return equal_bits(at.d(), rounded_output(subject, sum));
}

}  // namespace

const Law kScaledAddendsAreCutAtF = {
    .order = 270,
    .statement =
        "A scaled product, or the exact sum of a group with the exponent of its scales, is cut off toward "
        "zero at 2^(E - F); D is the sum of what is left, rounded once.",
    .source = "numerics.md, block-scaled kinds; MMA-Sim",
    .why_not = why_not,
    .fill = fill,
    .judge = judge,
    .scales = Scales::own};

}  // namespace mmaudit::laws
