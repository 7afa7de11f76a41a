#include "mmaudit/generators/directed.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "integer_cases.hpp"
#include "mmaudit/value_text.hpp"
#include "scaled_cases.hpp"

namespace mmaudit::gen {
namespace {

/// 2^exponent, subnormals included; nullopt outside the format.
std::optional<std::uint64_t> power(const FormatSpec& format, int exponent) {
  const int p = format.fraction_bits;
  if (exponent < format.min_exponent() - p || exponent > format.max_exponent()) return std::nullopt;
  const std::uint64_t bits = exponent < format.min_exponent()
                                 ? std::uint64_t{1} << (exponent - format.min_exponent() + p)
                                 : static_cast<std::uint64_t>(exponent + format.bias) << p;
  return bits << format.ignored_low_bits;
}

/// A plan, and the exponent that the scales of every block bring together: exponents in the cases below are
/// those of whole products, and elements of few bits reach them through their scales.
struct Setting : DotPlan {
  explicit Setting(const DotPlan& plan, int shift = 0) : DotPlan(plan), scale_shift(shift) {}
  int scale_shift;
  /// The byte that brings A's share (B's is the rest).
  [[nodiscard]] std::uint8_t scale_byte(bool of_a) const {
    const int half = scale_shift / 2;
    const int exponent = of_a ? half : scale_shift - half;
    return static_cast<std::uint8_t>((exponent + scale.bias) << scale.fraction_bits);
  }
};

/// Builds one case; a term the formats cannot express makes the case inapplicable and it is dropped.
class Case {
 public:
  Case(const Setting& plan, std::string_view question) : plan_(plan) {
    dot_.question = question;
    dot_.a.assign(static_cast<std::size_t>(plan.k), 0);
    dot_.b.assign(static_cast<std::size_t>(plan.k), 0);
    if (!plan.block_scaled()) return;
    dot_.scale_a.assign(static_cast<std::size_t>(plan.k / plan.scale_block), plan.scale_byte(true));
    dot_.scale_b.assign(static_cast<std::size_t>(plan.k / plan.scale_block), plan.scale_byte(false));
  }

  /// a_k * b_k from texts such as "1.5", "0x7fc1", "max".
  Case& term(int k, std::string_view a, std::string_view b) {
    const ParsedValue x = parse_value(a, plan_.a);
    const ParsedValue y = parse_value(b, plan_.b);
    if (!x.error.empty() || !y.error.empty()) applies_ = false;
    return set(k, x.bits, y.bits);
  }

  /// a_k * b_k = +-2^exponent, from factors as normal as the formats allow.
  Case& product(int k, int exponent, bool negative = false) {
    exponent -= plan_.scale_shift;
    // The middle of the possible splits keeps both factors away from subnormals where it can.
    const int low =
        std::max(plan_.a.min_exponent() - plan_.a.fraction_bits, exponent - plan_.b.max_exponent());
    const int high =
        std::min(plan_.a.max_exponent(), exponent - plan_.b.min_exponent() + plan_.b.fraction_bits);
    if (low > high) {
      applies_ = false;
      return *this;
    }
    const int middle = std::clamp(exponent / 2, low, high);
    const auto x = power(plan_.a, middle);
    const auto y = power(plan_.b, exponent - middle);
    if (!x || !y) {
      applies_ = false;
      return *this;
    }
    return set(k, *x | (negative ? plan_.a.sign_bit() : 0), *y);
  }

  /// a_k * b_k = +-1.5 * 2^exponent.
  Case& product_and_half(int k, int exponent, bool negative = false) {
    product(k, exponent, negative);
    if (!applies_) return *this;
    // Half of a significand next to it: three halves of a power of two, subnormal or not.
    std::uint64_t& factor = dot_.a[static_cast<std::size_t>(k)];
    const std::uint64_t unit = std::uint64_t{1} << plan_.a.ignored_low_bits;
    const std::uint64_t magnitude = factor & ~plan_.a.sign_bit();
    const std::uint64_t least_normal = unit << plan_.a.fraction_bits;
    if (magnitude >= least_normal) {
      factor |= least_normal >> 1;
    } else if (magnitude > unit) {
      factor |= magnitude >> 1;
    } else {
      applies_ = false;
    }
    return *this;
  }

  Case& addend(std::string_view text) {
    const ParsedValue c = parse_value(text, plan_.step.addend);
    if (!c.error.empty()) applies_ = false;
    dot_.c = c.bits;
    return *this;
  }

  Case& addend_power(int exponent, bool negative = false) {
    const auto c = power(plan_.step.addend, exponent);
    if (!c) applies_ = false;
    dot_.c = c.value_or(0) | (negative ? plan_.step.addend.sign_bit() : 0);
    return *this;
  }

  void into(std::vector<DirectedDot>& out) {
    if (applies_) out.push_back(dot_);
  }

 private:
  Case& set(int k, std::uint64_t a, std::uint64_t b) {
    if (k >= plan_.k) {
      applies_ = false;
      return *this;
    }
    dot_.a[static_cast<std::size_t>(k)] = a;
    dot_.b[static_cast<std::size_t>(k)] = b;
    return *this;
  }

  Setting plan_;
  DirectedDot dot_;
  bool applies_ = true;
};

using Dots = std::vector<DirectedDot>;

/// Where a row's rules become visible.
struct Edges {
  int f, floor;
  int kept;            // fraction bits of the result
  int least;           // exponent of the least positive result
  int addend_minimum;  // exponent of c's subnormals
};

Edges edges_of(const Setting& plan) {
  const OutputRule& output = plan.row.output;
  return {plan.row.fraction_bits, plan.row.floor, output.fraction_bits,
          plan.step.output.min_exponent() - output.fraction_bits, plan.step.addend.min_exponent()};
}

/// A position that falls into the same step as 0 and 1 whatever the segments.
int third(const Setting& plan) { return plan.segments == 2 ? 4 : 2; }

/// Beside a base that sets the alignment exponent E and has its leading bit at `leading`: half a unit in the
/// last place, and a sliver about the last bit kept. Whether the sliver survives decides the direction of a
/// tie.
template <typename Base>
void scan_slivers(const Setting& plan, std::string_view question, int alignment, int leading,
                  const Base& base, Dots& out) {
  const Edges edge = edges_of(plan);
  const int third_k = third(plan);
  for (int j = edge.f - 1; j <= edge.f + 1; ++j) {
    for (const bool negative : {false, true}) {
      Case plain(plan, question);
      base(plain);
      plain.product(1, leading - edge.kept - 1).product(third_k, alignment - j, negative).into(out);
    }
  }
  Case rounded(plan, question);
  base(rounded);
  rounded.product(1, leading - edge.kept - 1).product_and_half(third_k, alignment - edge.f - 1).into(out);
}

/// Which bit is the last one kept below the maximum: x + 2^(e-j) - x is 2^(e-j) or 0.
void scan_fraction_bits(const Setting& plan, Dots& out) {
  const Edges edge = edges_of(plan);
  const int third_k = third(plan);
  for (int j = edge.f - 1; j <= edge.f + 1; ++j) {
    for (const int e : {0, 9}) {
      for (const bool negative : {false, true}) {
        Case(plan, "fraction bits")
            .product(0, e)
            .product(1, e - j, negative)
            .product(third_k, e, true)
            .into(out);
        Case(plan, "fraction bits")
            .product(0, e)
            .product_and_half(1, e - j, negative)
            .product(third_k, e, true)
            .into(out);
        Case(plan, "place of c").addend_power(e).product(1, e - j, negative).product(0, e, true).into(out);
        Case(plan, "place of c")
            .product(0, e)
            .product(third_k, e, true)
            .addend_power(e - j, negative)
            .into(out);
      }
    }
    Case(plan, "unnormalised products")
        .term(0, "1.5", "1.5")
        .product(1, -j)
        .term(third_k, "-1.5", "1.5")
        .into(out);
    Case(plan, "unnormalised products")
        .term(0, "1.5", "1.5")
        .product(1, -j, true)
        .term(third_k, "-1.5", "1.5")
        .into(out);
  }
  for (const int e : {0, 9, 14}) {
    const auto power_of_two = [&](Case& one) { one.product(0, e); };
    scan_slivers(plan, "fraction bits", e, e, power_of_two, out);
    const std::string half = "1.5*2^" + std::to_string(e / 2);
    const std::string rest = "1.5*2^" + std::to_string(e - e / 2);
    const auto carried = [&](Case& one) { one.term(0, half, rest); };
    scan_slivers(plan, "unnormalised products", e, e + 1, carried, out);
  }
}

/// The least result next to an addend just above and below the last bit that the floor lets through.
void scan_floor(const Setting& plan, Dots& out) {
  const Edges edge = edges_of(plan);
  for (int last = edge.floor - edge.f - 2; last <= edge.floor - edge.f + 2; ++last) {
    for (const bool negative : {false, true}) {
      Case(plan, "floor").product(0, edge.least, negative).product(1, last, !negative).into(out);
      Case(plan, "floor").product(0, edge.least - 1, negative).product(1, last, negative).into(out);
    }
    Case(plan, "floor").product(0, edge.least).product(1, last, true).addend("-0").into(out);
  }
  for (int j = edge.f - 2; j <= edge.f + 2; ++j) {
    const int least_addend = edge.addend_minimum - plan.step.addend.fraction_bits;
    Case(plan, "subnormal c").addend_power(least_addend).product(0, edge.addend_minimum - j, true).into(out);
    Case(plan, "subnormal c").addend_power(least_addend).product(1, least_addend - j, true).into(out);
    Case(plan, "subnormal c")
        .addend_power(edge.least + 1)
        .product(0, edge.least - 1)
        .product(1, edge.addend_minimum - j)
        .into(out);
  }
}

void scan_zero_rule(const Setting& plan, Dots& out) {
  const Edges edge = edges_of(plan);
  // What "0 * max" and "max * 0" would bring if zeros took part.
  const bool widened = plan.wide.id != Format::none;
  const int zero_in_a = (widened ? plan.wide : plan.a).min_exponent() + plan.b.max_exponent();
  const int zero_in_b = plan.a.max_exponent() + (widened ? plan.wide : plan.b).min_exponent();
  const int zero_k = third(plan) + 1;
  for (int j = 1; j <= 2; ++j) {
    for (const std::string_view zero : {"0", "-0"}) {
      Case(plan, "zero products").term(0, zero, "max").product(1, zero_in_a - edge.f - j).into(out);
      Case(plan, "zero products").term(0, "max", zero).product(1, zero_in_b - edge.f - j).into(out);
    }
  }
  scan_slivers(
      plan, "zero products", zero_in_a, 0, [&](Case& one) { one.term(zero_k, "0", "max").product(0, 0); },
      out);
  scan_slivers(
      plan, "zero products", zero_in_b, 0, [&](Case& one) { one.term(zero_k, "max", "0").product(0, 0); },
      out);
  for (const std::string_view c : {"0", "-0"}) {
    Case(plan, "sign of zero").term(0, "-0", "0").term(1, "0", "-0").addend(c).into(out);
    Case(plan, "sign of zero").term(0, "0", "0").addend(c).into(out);
    Case(plan, "sign of zero").product(0, 0).product(1, 0, true).addend(c).into(out);
    Case(plan, "sign of zero").product(0, edge.least - 1, true).addend(c).into(out);
    Case(plan, "sign of zero").product(2, edge.least - 1, true).addend(c).into(out);
    Case all_minus(plan, "sign of zero");
    for (int k = 0; k < plan.k; ++k) all_minus.term(k, "-0", "0");
    all_minus.addend(c).into(out);
  }
}

void scan_subnormal_operands(const Setting& plan, Dots& out) {
  const Edges edge = edges_of(plan);
  const int third_k = third(plan);
  for (const bool in_a : {true, false}) {
    const FormatSpec& format = in_a ? plan.a : plan.b;
    const FormatSpec& other = in_a ? plan.b : plan.a;
    const int field = format.min_exponent();
    const int value = field - format.fraction_bits;
    for (const int scale : {0, 3, other.max_exponent()}) {
      const std::string partner = "2^" + std::to_string(scale);
      const auto tiny = [&](Case& one, int k, bool minus) -> Case& {
        const std::string_view sign_tiny = minus ? "-tiny" : "tiny";
        return in_a ? one.term(k, sign_tiny, partner) : one.term(k, partner, sign_tiny);
      };
      for (int j = edge.f; j <= edge.f + 1; ++j) {
        for (const int e : {field + scale - j, value + scale - j}) {
          Case cancelled(plan, "subnormal operands");
          tiny(tiny(cancelled, 0, false).product(1, e), third_k, true).into(out);
          Case below(plan, "subnormal operands");
          tiny(below, 0, false).product(1, e, true).into(out);
        }
      }
      const auto base = [&](Case& one) { tiny(one, 0, false); };
      scan_slivers(plan, "subnormal operands", field + scale, value + scale, base, out);
      Case alone(plan, "subnormal operands");
      tiny(alone, 0, false).into(out);
    }
  }
}

void scan_rounding(const Setting& plan, Dots& out) {
  const int p = edges_of(plan).kept;
  for (const bool minus : {false, true}) {
    Case(plan, "rounding").product(0, 0, minus).product(1, -p - 1, minus).into(out);
    Case(plan, "rounding").product(0, 0, minus).product(1, -p - 1, minus).product(2, -p, minus).into(out);
    Case(plan, "rounding").product(0, 0, minus).product(1, -p - 1, minus).product(2, -p - 2, minus).into(out);
    Case(plan, "rounding").product(0, 0, minus).product(1, -p - 2, minus).into(out);
    Case(plan, "rounding").product(0, 0, minus).product(1, -p - 1, !minus).into(out);
    Case(plan, "rounding")
        .product(0, 0, minus)
        .product(1, 0, minus)
        .product(2, -p, minus)
        .product(3, -p - 2, minus)
        .into(out);
    Case(plan, "c added last").addend_power(0, minus).product(0, -p - 1, minus).into(out);
    Case(plan, "c added last")
        .addend_power(0, minus)
        .product(0, -p - 1, minus)
        .product(1, -p - 6, minus)
        .into(out);
    Case(plan, "c added last")
        .addend_power(8, minus)
        .product(0, 7 - p, minus)
        .product(1, 6 - p, minus)
        .into(out);
    Case(plan, "c added last")
        .addend_power(0, minus)
        .product(0, -p, minus)
        .product(1, -p - 1, minus)
        .into(out);
    Case(plan, "one rounding").product(0, 0, minus).product(1, -11, minus).product(2, -24, minus).into(out);
    Case(plan, "one rounding").product(0, 1, minus).product(1, -10, minus).product(2, -23, minus).into(out);
  }
}

/// Two large pairs that cancel, and a small product that a step boundary between the pairs would lose.
void scan_order(const Setting& plan, Dots& out) {
  const Edges edge = edges_of(plan);
  constexpr int kLarge = 8;
  for (const int pair : {2, 4, 8, 16}) {
    for (const int j : {2, 3, 4, 5, 6, 7, 9, 14, 15, 18, 31}) {
      if (j == pair || j == pair + 1 || j >= plan.k || pair + 1 >= plan.k) continue;
      for (const int small : {kLarge - edge.f}) {
        Case(plan, "order of k")
            .product(0, kLarge)
            .product(1, kLarge)
            .product(pair, kLarge, true)
            .product(pair + 1, kLarge, true)
            .product(j, small, j % 2 != 0)
            .into(out);
      }
    }
  }
}

void add_extremes(const Setting& plan, Dots& out) {
  const int top = plan.step.output.max_exponent();
  const int p = plan.step.output.fraction_bits;
  for (const std::string_view c : {"max", "-max", "0"}) {
    Case all(plan, "carry bits");
    for (int k = 0; k < plan.k; ++k) all.term(k, "max", "max");
    all.addend(c).into(out);
  }
  Case ones(plan, "carry bits");
  for (int k = 0; k < plan.k; ++k) ones.term(k, "1.5", "1.75");
  ones.addend("1.875").into(out);
  for (const bool minus : {false, true}) {
    for (int e = top - p - 2; e <= top - p + 1; ++e) {
      Case(plan, "overflow").addend(minus ? "-max" : "max").product(0, e, minus).into(out);
    }
    Case(plan, "overflow").product(0, top, minus).product(1, top, minus).into(out);
    Case(plan, "overflow").product(0, top, minus).addend_power(top, minus).into(out);
    Case(plan, "overflow").product(0, top + 1, minus).into(out);
    Case(plan, "overflow").product(0, top + 1, minus).product(1, top - p - 1, !minus).into(out);
    Case(plan, "overflow").product(0, top + 1, minus).product(1, top - p, !minus).into(out);
    Case(plan, "overflow").product(0, top + 1, minus).product(2, top + 1, !minus).into(out);
    Case(plan, "overflow").product(0, top + 1, minus).product(plan.k / 2, top + 1, !minus).into(out);
    Case(plan, "overflow")
        .term(0, "max", minus ? "-max" : "max")
        .term(1, "max", minus ? "max" : "-max")
        .into(out);
  }
}

void add_specials(const Setting& plan, Dots& out) {
  // Tiles cross every row with every column, so the pairs not listed here meet there.
  constexpr std::string_view kValues[] = {"inf", "-inf", "nan", "-nan", "0", "-0", "1", "max"};
  for (const std::string_view x : kValues) {
    for (const std::string_view y : {"inf", "nan", "-0", "-1"}) {
      Case(plan, "infinity and NaN").term(1, x, y).into(out);
    }
    Case(plan, "infinity and NaN").term(2, x, "1").addend("-inf").into(out);
  }
  Case(plan, "infinity and NaN").term(0, "inf", "1").term(1, "-inf", "1").into(out);
  Case(plan, "infinity and NaN").term(0, "inf", "1").term(plan.k - 1, "1", "-inf").into(out);
  Case(plan, "infinity and NaN").term(0, "inf", "1").term(plan.k - 1, "inf", "1").addend("-inf").into(out);
  Case(plan, "infinity and NaN").term(0, "inf", "0").addend("inf").into(out);
  for (const std::string_view raw : {"0x7c01", "0xfe34", "0x7f81", "0xffc1", "0x7d", "0xff", "0x7f800001",
                                     "0xffc12345", "0x7ff0000000000001", "0xfff8000000abcdef"}) {
    Case(plan, "NaN payload").term(0, raw, "1").into(out);
    Case(plan, "NaN payload").term(plan.k - 1, "1", raw).into(out);
    Case(plan, "NaN payload").term(0, "1", "1").addend(raw).into(out);
    Case(plan, "NaN payload").term(0, raw, raw).addend(raw).into(out);
    Case(plan, "NaN payload").term(0, raw, "nan").addend("nan").into(out);
    Case(plan, "NaN payload").term(0, "nan", raw).addend("-nan").into(out);
  }
}

/// c with more fraction bits than the datapath keeps, alone and beside small products.
void add_addends(const Setting& plan, Dots& out) {
  for (const std::string_view c :
       {"0x3f8003ff", "0xbf8003ff", "0x000003ff", "0x00000401", "0x7f7fffff", "0x40490fdb", "0x00000001",
        "0x3fffffff", "0x3c01", "0x0001", "0x7bff", "0x3fff", "0xbbff"}) {
    Case(plan, "c alone").addend(c).into(out);
    Case(plan, "c alone").addend(c).term(0, "tiny", "tiny").term(1, "-tiny", "tiny").into(out);
    Case swamped(plan, "c alone");
    for (int k = 0; k < plan.k; ++k) swamped.product(k, -4);
    swamped.addend(c).into(out);
  }
  Case swamping(plan, "c alone");
  for (int k = 0; k < plan.k; ++k) swamping.product(k, 0);
  swamping.addend_power(14).into(out);
}

/// Sums in binary32 that become a binary16 D: an addend that a tie of binary32 swallows or not, by its turn,
/// decides a tie of binary16.
void add_second_rounding(const Setting& plan, Dots& out) {
  if (plan.d.id == plan.step.output.id) return;
  Case(plan, "order of pairs")
      .product(0, -24)
      .product(2, -11)
      .product(3, -23, true)
      .addend("0x3c01")
      .into(out);
  Case(plan, "order of pairs")
      .product(2, -24)
      .product(0, -11)
      .product(1, -23, true)
      .addend("0x3c01")
      .into(out);
  // The sign of a zero D tells whether anything of a sum far below D's range was kept ...
  for (const std::string_view c : {"0x80000001", "0x80000010", "0x80000200", "0x80004000"})
    Case(plan, "floor").addend(c).into(out);
  // ... and a tie of D what was kept beside a product of a subnormal factor.
  for (const int c : {-22, -26, -30, -34}) {
    Case(plan, "subnormal operands").term(0, "tiny", "2^15").product(1, -20).addend_power(c).into(out);
    Case(plan, "subnormal operands").term(0, "2^15", "tiny").product(1, -20).addend_power(c).into(out);
  }
}

/// The 13 low bits of a tf32 register: dirty numbers, and NaNs that live in them alone.
void add_ignored_bits(const Setting& plan, Dots& out) {
  if (plan.a.ignored_low_bits == 0) return;
  for (const std::string_view raw : {"0x3f801fff", "0x7f800001", "0xff801fff", "0x7f801000", "0x7f802000",
                                     "0x00001fff", "0x80001000", "0x00003fff", "0x3f803fff"}) {
    for (const std::string_view partner : {"1", "2^120", "inf", "0", "0x3f801000"}) {
      Case(plan, "ignored bits").term(0, raw, partner).into(out);
      Case(plan, "ignored bits").term(1, partner, raw).into(out);
    }
  }
}

/// binary64: order of k, fusion, subnormals.
void add_binary64(const Setting& plan, Dots& out) {
  const int quarter = plan.k / 4;
  const auto at = [&](std::string_view w, std::string_view x, std::string_view y, std::string_view z) {
    Case(plan, "order of k")
        .term(0, w, "1")
        .term(quarter, x, "1")
        .term(2 * quarter, y, "1")
        .term(3 * quarter, z, "1")
        .into(out);
  };
  at("2^53", "1", "-2^53", "0");
  at("2^53", "1", "1", "-2^53");
  at("1", "2^53", "1", "-2^53");
  at("1", "1", "2^53", "-2^53");
  Case(plan, "one rounding").term(0, "0x1.0000001p0", "0x1.0000001p0").addend("-1").into(out);
  Case(plan, "one rounding").term(1, "0x1.0000001p0", "-0x1.0000001p0").addend("1").into(out);
  Case(plan, "subnormals").term(0, "tiny", "1").addend("tiny").into(out);
  Case(plan, "subnormals").term(0, "min", "0.5").addend("-tiny").into(out);
  Case(plan, "subnormals").term(0, "tiny", "0.5").into(out);
  Case(plan, "subnormals").term(0, "-tiny", "0.5").addend("-0").into(out);
}

}  // namespace

std::vector<DirectedDot> directed_dots(const Instruction& instruction, const AccumulatorModel& row) {
  const DotPlan plain = make_plan(instruction, row);
  if (plain.integer) return directed_integer_dots(instruction);
  Dots out;
  if (plain.grouped) return directed_group_dots(instruction, row);
  std::vector<int> shifts = {0};
  // The floor, the ends of binary32, and the middle between.
  if (plain.block_scaled()) shifts = {0, row.floor - row.fraction_bits / 2, -126, -149, 118, 100};
  for (const int shift : shifts) {
    const Setting plan(plain, shift);
    if (plan.binary64) {
      add_binary64(plan, out);
    } else {
      scan_fraction_bits(plan, out);
      scan_floor(plan, out);
      scan_subnormal_operands(plan, out);
      scan_order(plan, out);
      add_addends(plan, out);
      add_ignored_bits(plan, out);
      add_second_rounding(plan, out);
    }
    scan_zero_rule(plan, out);
    scan_rounding(plan, out);
    add_extremes(plan, out);
    add_specials(plan, out);
  }
  if (plain.block_scaled()) add_scaled_dots(instruction, row, out);
  return out;
}

}  // namespace mmaudit::gen
