#include <limits>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (subject.datapath.arithmetic == Arithmetic::integer) return "integers have neither";
  if (!subject.fused()) return "NaNs carry payloads: another law";
  return subject.datapath.output.nan == NanRule::canonical ? "" : "its NaN is not the canonical one";
}

void fill(const Subject& subject, Draws& random, Tile& tile) {
  const int rarity = random.between(1, 40);
  const auto element = [&](const FormatSpec& format) -> std::uint64_t {
    const std::uint64_t sign = random.one_in(2) ? format.sign_bit() : 0;
    if (random.one_in(rarity)) {
      switch (random.between(0, 3)) {
        case 0:
          if (format.specials == Specials::ieee) return sign | format.infinity_bits();
          break;
        case 1:
          return sign | format.magnitude_mask();
        case 2:
          return sign;
        default:
          return sign | format.max_finite_bits();
      }
    }
    return random_number(random, format, random.between(-4, 4));
  };
  for (std::uint64_t& x : tile.a) x = element(subject.a());
  for (std::uint64_t& x : tile.b) x = element(subject.b());
  for (std::uint64_t& x : tile.c) x = element(subject.c());
}

LawVerdict judge(const Case& at) {
  const FormatSpec d = at.subject.d();
  bool nan = false, plus = false, minus = false;
  const auto add = [&](double x) {
    nan = nan || std::isnan(x);
    plus = plus || x == std::numeric_limits<double>::infinity();
    minus = minus || x == -std::numeric_limits<double>::infinity();
  };
  double finite = 0;
  const double c = value_of(entering_c(at), at.subject.c());
  add(c);
  if (std::isfinite(c)) finite += std::fabs(c);
  for (int k = 0; k < at.tile.stored(); ++k) add(product_of(at, k).value);  // infinity * 0 is NaN there too
  for (int k = 0; k < at.tile.stored(); ++k)
    if (const double x = product_of(at, k).value; std::isfinite(x)) finite += std::fabs(x);
  if (nan || (plus && minus)) return equal_bits(at.d(), d.conversion_nan_bits());
  // Finite addends may overflow in a step and meet the infinity as another one.
  if (finite >= value_of(d.max_finite_bits(), d) / 4) return silent();
  if (plus || minus) return equal_bits(at.d(), d.infinity_bits() | (minus ? d.sign_bit() : 0));
  return verdict(is_finite(at.d(), d));
}

}  // namespace

const Law kNanAndInfinity = {.order = 140,
                             .statement =
                                 "A NaN, infinity * 0 and infinity - infinity give the canonical NaN; an "
                                 "infinity else gives itself; finite inputs of one step never give a NaN.",
                             .source = "Fasi et al. 2021; PTX ISA (canonical NaN); measured on Hopper",
                             .why_not = why_not,
                             .fill = fill,
                             .judge = judge,
                             .scales = Scales::any};

}  // namespace mmaudit::laws
