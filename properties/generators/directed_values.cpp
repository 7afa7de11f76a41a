// Directed cases of values: the ends of the range, infinities and NaN, c, bits that are not read, binary64.
#include <string_view>

#include "directed_case.hpp"

namespace mmaudit::gen {

void add_extremes(const Setting& spec, Dots& out) {
  const auto overflow = [&] { return Case(spec, "overflow"); };
  const int top = spec.step.output.max_exponent();
  const int p = spec.step.output.fraction_bits;
  for (const std::string_view c : {"max", "-max", "0"}) {
    Case all(spec, "carry bits");
    for (int k = 0; k < spec.k; ++k) all.term(k, "max", "max");
    all.addend(c).into(out);
  }
  Case ones(spec, "carry bits");
  for (int k = 0; k < spec.k; ++k) ones.term(k, "1.5", "1.75");
  ones.addend("1.875").into(out);
  for (const bool minus : {false, true}) {
    for (int e = top - p - 2; e <= top - p + 1; ++e)
      overflow().addend(minus ? "-max" : "max").product(0, e, minus).into(out);
    overflow().product(0, top, minus).product(1, top, minus).into(out);
    overflow().product(0, top, minus).addend_power(top, minus).into(out);
    overflow().product(0, top + 1, minus).into(out);
    overflow().product(0, top + 1, minus).product(1, top - p - 1, !minus).into(out);
    overflow().product(0, top + 1, minus).product(1, top - p, !minus).into(out);
    overflow().product(0, top + 1, minus).product(2, top + 1, !minus).into(out);
    overflow().product(0, top + 1, minus).product(spec.k / 2, top + 1, !minus).into(out);
    overflow().term(0, "max", minus ? "-max" : "max").term(1, "max", minus ? "max" : "-max").into(out);
  }
}

void add_specials(const Setting& spec, Dots& out) {
  // Tiles cross every row with every column, so the pairs not listed here meet there.
  constexpr std::string_view kValues[] = {"inf", "-inf", "nan", "-nan", "0", "-0", "1", "max"};
  for (const std::string_view x : kValues) {
    for (const std::string_view y : {"inf", "nan", "-0", "-1"})
      Case(spec, "infinity and NaN").term(1, x, y).into(out);
    Case(spec, "infinity and NaN").term(2, x, "1").addend("-inf").into(out);
  }
  Case(spec, "infinity and NaN").term(0, "inf", "1").term(1, "-inf", "1").into(out);
  Case(spec, "infinity and NaN").term(0, "inf", "1").term(spec.k - 1, "1", "-inf").into(out);
  Case(spec, "infinity and NaN").term(0, "inf", "1").term(spec.k - 1, "inf", "1").addend("-inf").into(out);
  Case(spec, "infinity and NaN").term(0, "inf", "0").addend("inf").into(out);
  for (const std::string_view raw : {"0x7c01", "0xfe34", "0x7f81", "0xffc1", "0x7d", "0xff", "0x7f800001",
                                     "0xffc12345", "0x7ff0000000000001", "0xfff8000000abcdef"}) {
    Case(spec, "NaN payload").term(0, raw, "1").into(out);
    Case(spec, "NaN payload").term(spec.k - 1, "1", raw).into(out);
    Case(spec, "NaN payload").term(0, "1", "1").addend(raw).into(out);
    Case(spec, "NaN payload").term(0, raw, raw).addend(raw).into(out);
    Case(spec, "NaN payload").term(0, raw, "nan").addend("nan").into(out);
    Case(spec, "NaN payload").term(0, "nan", raw).addend("-nan").into(out);
  }
}

/// c with more fraction bits than the datapath keeps, alone and beside small products.
void add_addends(const Setting& spec, Dots& out) {
  for (const std::string_view c :
       {"0x3f8003ff", "0xbf8003ff", "0x000003ff", "0x00000401", "0x7f7fffff", "0x40490fdb", "0x00000001",
        "0x3fffffff", "0x3c01", "0x0001", "0x7bff", "0x3fff", "0xbbff"}) {
    Case(spec, "c alone").addend(c).into(out);
    Case(spec, "c alone").addend(c).term(0, "tiny", "tiny").term(1, "-tiny", "tiny").into(out);
    Case swamped(spec, "c alone");
    for (int k = 0; k < spec.k; ++k) swamped.product(k, -4);
    swamped.addend(c).into(out);
  }
  Case swamping(spec, "c alone");
  for (int k = 0; k < spec.k; ++k) swamping.product(k, 0);
  swamping.addend_power(14).into(out);
}

/// Sums in binary32 that become a binary16 D: an addend that a tie of binary32 swallows or not, by its turn,
/// decides a tie of binary16.
void add_second_rounding(const Setting& spec, Dots& out) {
  const auto pairs = [&] { return Case(spec, "order of pairs"); };
  if (spec.d.id == spec.step.output.id) return;
  pairs().product(0, -24).product(2, -11).product(3, -23, true).addend("0x3c01").into(out);
  pairs().product(2, -24).product(0, -11).product(1, -23, true).addend("0x3c01").into(out);
  // The sign of a zero D tells whether anything of a sum far below D's range was kept ...
  for (const std::string_view c : {"0x80000001", "0x80000010", "0x80000200", "0x80004000"})
    Case(spec, "floor").addend(c).into(out);
  // ... and a tie of D what was kept beside a product of a subnormal factor.
  for (const int c : {-22, -26, -30, -34}) {
    Case(spec, "subnormal operands").term(0, "tiny", "2^15").product(1, -20).addend_power(c).into(out);
    Case(spec, "subnormal operands").term(0, "2^15", "tiny").product(1, -20).addend_power(c).into(out);
  }
}

/// The 13 low bits of a tf32 register: dirty numbers, and NaNs that live in them alone.
void add_ignored_bits(const Setting& spec, Dots& out) {
  if (spec.a.ignored_low_bits == 0) return;
  for (const std::string_view raw : {"0x3f801fff", "0x7f800001", "0xff801fff", "0x7f801000", "0x7f802000",
                                     "0x00001fff", "0x80001000", "0x00003fff", "0x3f803fff"}) {
    for (const std::string_view partner : {"1", "2^120", "inf", "0", "0x3f801000"}) {
      Case(spec, "ignored bits").term(0, raw, partner).into(out);
      Case(spec, "ignored bits").term(1, partner, raw).into(out);
    }
  }
}

/// binary64: order of k, fusion, subnormals.
void add_binary64(const Setting& spec, Dots& out) {
  const int quarter = spec.k / 4;
  const auto at = [&](std::string_view w, std::string_view x, std::string_view y, std::string_view z) {
    Case(spec, "order of k")
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
  Case(spec, "one rounding").term(0, "0x1.0000001p0", "0x1.0000001p0").addend("-1").into(out);
  Case(spec, "one rounding").term(1, "0x1.0000001p0", "-0x1.0000001p0").addend("1").into(out);
  Case(spec, "subnormals").term(0, "tiny", "1").addend("tiny").into(out);
  Case(spec, "subnormals").term(0, "min", "0.5").addend("-tiny").into(out);
  Case(spec, "subnormals").term(0, "tiny", "0.5").into(out);
  Case(spec, "subnormals").term(0, "-tiny", "0.5").addend("-0").into(out);
}

}  // namespace mmaudit::gen
