// Steps in stages, from the text of docs/numerics.md, "AMD matrix cores".
#include <algorithm>

#include "reference_parts.hpp"

namespace mmaudit::oracle {
namespace {

/// A number that a step passes on: a value, or what is none.
Number finite_number(const Exact& value, bool negative) {
  Number x;
  x.value = value;
  x.negative = value.significand == 0 ? negative : value.significand < 0;
  return x;
}

class Stages {
 public:
  Stages(const Instruction& instruction, const Datapath& datapath)
      : rules_(datapath), d_(spec_of(instruction.d)) {}

  Number step(std::span<const Number> a, std::span<const Number> b, const Number& c) const {
    std::vector<Number> products;
    for (std::size_t k = 0; k < a.size(); ++k) products.push_back(product(a[k], b[k]));
    if (rules_.arithmetic == Arithmetic::rounded_tree) return tree(products, c);
    std::vector<Number> all = products;
    all.push_back(c);
    Number special;
    if (is_special(all, special)) return special;
    if (rules_.arithmetic == Arithmetic::exact_dot_add) return rounded(total_of(all), all_minus_zero(all));
    return two_stages(products, c);
  }

  [[nodiscard]] std::uint64_t bits(const Number& x) const {
    if (x.nan) return nan_of(rules_.output, d_);
    if (x.infinite) return infinity_of(d_, x.negative);
    if (x.zero()) return signed_bits(d_, x.negative, 0);
    return encode(x.value, rules_.output, d_, true);
  }

 private:
  Number product(const Number& x, const Number& y) const {
    Number out;
    out.negative = x.negative != y.negative;
    out.nan = x.nan || y.nan || (x.infinite && y.zero()) || (y.infinite && x.zero());
    out.infinite = !out.nan && (x.infinite || y.infinite);
    if (out.nan || out.infinite) return out;
    out.value = product_of(x.value, y.value);
    out.spelled = x.spelled + y.spelled;
    if (rules_.product_overflow == ProductOverflow::infinity && !out.zero() &&
        leading_exponent(out.value) > d_.max_exponent())
      out.infinite = true;
    return out;
  }

  /// Whether the sum of `all` is a NaN or an infinity whatever the numbers among them.
  static bool is_special(std::span<const Number> all, Number& out) {
    bool nan = false, plus = false, minus = false;
    for (const Number& x : all) {
      nan = nan || x.nan;
      plus = plus || (x.infinite && !x.negative);
      minus = minus || (x.infinite && x.negative);
    }
    out.nan = nan || (plus && minus);
    out.infinite = !out.nan && (plus || minus);
    out.negative = minus;
    return out.nan || out.infinite;
  }

  static Exact total_of(std::span<const Number> all) {
    Exact total = all.front().value;
    for (const Number& x : all.subspan(1)) total = plus(total, x.value);
    return total;
  }

  static bool all_minus_zero(std::span<const Number> all) {
    return std::all_of(all.begin(), all.end(), [](const Number& x) { return x.zero() && x.negative; });
  }

  /// The number that D's bits spell, the sign of a zero included.
  Number rounded(const Exact& value, bool minus_zero) const {
    if (value.significand == 0)
      return finite_number({}, minus_zero && rules_.output.zero_sign == ZeroSign::ieee);
    return decode(d_, encode(value, rules_.output, d_, true));
  }

  Number add(const Number& x, const Number& y) const {
    const Number both[] = {x, y};
    Number special;
    return is_special(both, special) ? special : rounded(plus(x.value, y.value), all_minus_zero(both));
  }

  Number tree(std::vector<Number> sums, const Number& c) const {
    for (Number& x : sums)
      if (!x.nan && !x.infinite) x = rounded(x.value, x.negative);
    while (sums.size() > 1) {
      std::vector<Number> half;
      for (std::size_t i = 0; i < sums.size(); i += 2)
        half.push_back(i + 1 < sums.size() ? add(sums[i], sums[i + 1]) : sums[i]);
      sums = half;
    }
    return add(c, sums.front());
  }

  struct Aligned {
    Exact value;
    int exponent = -100000;
  };

  Aligned cut_sum(std::span<const Number> products, std::size_t from) const {
    Aligned out;
    const auto step = static_cast<std::size_t>(rules_.partial_sums);
    for (std::size_t k = from; k < products.size(); k += step)
      if (!products[k].zero()) out.exponent = std::max(out.exponent, products[k].spelled);
    const int unit = out.exponent - rules_.fraction_bits;
    out.value.exponent = unit;
    for (std::size_t k = from; k < products.size(); k += step)
      if (!products[k].zero())
        out.value.significand += in_units(products[k].value, unit, Rounding::toward_zero);
    return out;
  }

  static Exact floored(const Exact& x, int unit) { return {in_units(x, unit, Rounding::down), unit}; }

  Number two_stages(std::span<const Number> products, const Number& c) const {
    Aligned dot = cut_sum(products, 0);
    for (int i = 1; i < rules_.partial_sums; ++i) {
      const Aligned other = cut_sum(products, static_cast<std::size_t>(i));
      const int exponent = std::max(dot.exponent, other.exponent), unit = exponent - rules_.fraction_bits;
      dot.value = plus(floored(dot.value, unit), floored(other.value, unit));
      dot.exponent = exponent;
    }
    const int of_c = c.zero() ? d_.min_exponent() : c.spelled;
    const int exponent = std::max(dot.exponent, of_c);
    Exact addend = floored(c.value, exponent - rules_.fraction_bits);
    if (rules_.far_addend == FarAddend::dropped && of_c < exponent - rules_.fraction_bits - 1) addend = {};
    Exact sum = plus(floored(dot.value, exponent - rules_.sum_fraction_bits - 1), addend);
    if (sum.significand == 0) return finite_number({}, false);
    const int leading = std::max(leading_exponent(sum), d_.min_exponent());
    sum = floored(sum, leading - rules_.sum_fraction_bits);
    return rounded(sum, false);
  }

  Datapath rules_;
  FormatSpec d_;
};

}  // namespace

std::uint64_t reference_staged_dot(const Instruction& instruction, const Datapath& datapath,
                                   std::span<const Number> a, std::span<const Number> b, Number c) {
  const Stages stages(instruction, datapath);
  const auto block = static_cast<std::size_t>(datapath.products_per_step);
  for (std::size_t first = 0; first < a.size(); first += block) {
    const std::size_t count = std::min(block, a.size() - first);
    c = stages.step(a.subspan(first, count), b.subspan(first, count), c);
  }
  return stages.bits(c);
}

}  // namespace mmaudit::oracle
