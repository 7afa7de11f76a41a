// Directed cases of places: last bits kept, the floor, zeros, subnormal factors, rounding, order.
#include "mmaudit/generators/tiles.hpp"

#include <string>
#include <string_view>

#include "directed_case.hpp"

namespace mmaudit::gen {
namespace {

/// Beside a base that sets the alignment exponent E and has its leading bit at `leading`: half a unit in the
/// last place, and a sliver about the last bit kept. Whether the sliver survives decides the direction of a
/// tie.
template <typename Base>
void scan_slivers(const Setting& spec, std::string_view question, int alignment, int leading,
                  const Base& base, Dots& out) {
  const Edges edge = edges_of(spec);
  const int third_k = third(spec);
  for (int j = edge.f - 1; j <= edge.f + 1; ++j) {
    for (const bool negative : {false, true}) {
      Case plain(spec, question);
      base(plain);
      plain.product(1, leading - edge.kept - 1).product(third_k, alignment - j, negative).into(out);
    }
  }
  Case rounded(spec, question);
  base(rounded);
  rounded.product(1, leading - edge.kept - 1).product_and_half(third_k, alignment - edge.f - 1).into(out);
}

/// Which bit is the last one kept below the maximum: x + 2^(e-j) - x is 2^(e-j) or 0.
void scan_fraction_bits(const Setting& spec, Dots& out) {
  const auto fraction = [&] { return Case(spec, "fraction bits"); };
  const auto unnormalised = [&] { return Case(spec, "unnormalised products"); };
  const Edges edge = edges_of(spec);
  const int third_k = third(spec);
  for (int j = edge.f - 1; j <= edge.f + 1; ++j) {
    for (const int e : {0, 9}) {
      for (const bool negative : {false, true}) {
        fraction().product(0, e).product(1, e - j, negative).product(third_k, e, true).into(out);
        fraction().product(0, e).product_and_half(1, e - j, negative).product(third_k, e, true).into(out);
        Case(spec, "place of c").addend_power(e).product(1, e - j, negative).product(0, e, true).into(out);
        Case(spec, "place of c")
            .product(0, e)
            .product(third_k, e, true)
            .addend_power(e - j, negative)
            .into(out);
      }
    }
    unnormalised().term(0, "1.5", "1.5").product(1, -j).term(third_k, "-1.5", "1.5").into(out);
    unnormalised().term(0, "1.5", "1.5").product(1, -j, true).term(third_k, "-1.5", "1.5").into(out);
  }
  for (const int e : {0, 9, 14}) {
    const auto power_of_two = [&](Case& one) { one.product(0, e); };
    scan_slivers(spec, "fraction bits", e, e, power_of_two, out);
    const std::string half = "1.5*2^" + std::to_string(e / 2);
    const std::string rest = "1.5*2^" + std::to_string(e - e / 2);
    const auto carried = [&](Case& one) { one.term(0, half, rest); };
    scan_slivers(spec, "unnormalised products", e, e + 1, carried, out);
  }
}

/// The least result next to an addend just above and below the last bit that the floor lets through.
void scan_floor(const Setting& spec, Dots& out) {
  const Edges edge = edges_of(spec);
  for (int last = edge.floor - edge.f - 2; last <= edge.floor - edge.f + 2; ++last) {
    for (const bool negative : {false, true}) {
      Case(spec, "floor").product(0, edge.least, negative).product(1, last, !negative).into(out);
      Case(spec, "floor").product(0, edge.least - 1, negative).product(1, last, negative).into(out);
    }
    Case(spec, "floor").product(0, edge.least).product(1, last, true).addend("-0").into(out);
  }
  for (int j = edge.f - 2; j <= edge.f + 2; ++j) {
    const int least_addend = edge.addend_minimum - spec.step.addend.fraction_bits;
    Case(spec, "subnormal c").addend_power(least_addend).product(0, edge.addend_minimum - j, true).into(out);
    Case(spec, "subnormal c").addend_power(least_addend).product(1, least_addend - j, true).into(out);
    Case(spec, "subnormal c")
        .addend_power(edge.least + 1)
        .product(0, edge.least - 1)
        .product(1, edge.addend_minimum - j)
        .into(out);
  }
}

void scan_zero_rule(const Setting& spec, Dots& out) {
  const Edges edge = edges_of(spec);
  // What "0 * max" and "max * 0" would bring if zeros took part.
  const bool widened = spec.wide.id != Format::none;
  const int zero_in_a = (widened ? spec.wide : spec.a).min_exponent() + spec.b.max_exponent();
  const int zero_in_b = spec.a.max_exponent() + (widened ? spec.wide : spec.b).min_exponent();
  const int zero_k = third(spec) + 1;
  for (int j = 1; j <= 2; ++j) {
    for (const std::string_view zero : {"0", "-0"}) {
      Case(spec, "zero products").term(0, zero, "max").product(1, zero_in_a - edge.f - j).into(out);
      Case(spec, "zero products").term(0, "max", zero).product(1, zero_in_b - edge.f - j).into(out);
    }
  }
  scan_slivers(
      spec, "zero products", zero_in_a, 0, [&](Case& one) { one.term(zero_k, "0", "max").product(0, 0); },
      out);
  scan_slivers(
      spec, "zero products", zero_in_b, 0, [&](Case& one) { one.term(zero_k, "max", "0").product(0, 0); },
      out);
  for (const std::string_view c : {"0", "-0"}) {
    Case(spec, "sign of zero").term(0, "-0", "0").term(1, "0", "-0").addend(c).into(out);
    Case(spec, "sign of zero").term(0, "0", "0").addend(c).into(out);
    Case(spec, "sign of zero").product(0, 0).product(1, 0, true).addend(c).into(out);
    Case(spec, "sign of zero").product(0, edge.least - 1, true).addend(c).into(out);
    Case(spec, "sign of zero").product(2, edge.least - 1, true).addend(c).into(out);
    Case all_minus(spec, "sign of zero");
    for (int k = 0; k < spec.k; ++k) all_minus.term(k, "-0", "0");
    all_minus.addend(c).into(out);
  }
}

void scan_subnormal_operands(const Setting& spec, Dots& out) {
  const Edges edge = edges_of(spec);
  const int third_k = third(spec);
  for (const bool in_a : {true, false}) {
    const FormatSpec& format = in_a ? spec.a : spec.b;
    const FormatSpec& other = in_a ? spec.b : spec.a;
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
          Case cancelled(spec, "subnormal operands");
          tiny(tiny(cancelled, 0, false).product(1, e), third_k, true).into(out);
          Case below(spec, "subnormal operands");
          tiny(below, 0, false).product(1, e, true).into(out);
        }
      }
      const auto base = [&](Case& one) { tiny(one, 0, false); };
      scan_slivers(spec, "subnormal operands", field + scale, value + scale, base, out);
      Case alone(spec, "subnormal operands");
      tiny(alone, 0, false).into(out);
    }
  }
}

void scan_rounding(const Setting& spec, Dots& out) {
  const int p = edges_of(spec).kept;
  for (const bool minus : {false, true}) {
    Case(spec, "rounding").products({0, -p - 1}, minus).into(out);
    Case(spec, "rounding").products({0, -p - 1, -p}, minus).into(out);
    Case(spec, "rounding").products({0, -p - 1, -p - 2}, minus).into(out);
    Case(spec, "rounding").products({0, -p - 2}, minus).into(out);
    Case(spec, "rounding").product(0, 0, minus).product(1, -p - 1, !minus).into(out);
    Case(spec, "rounding").products({0, 0, -p, -p - 2}, minus).into(out);
    Case(spec, "c added last").addend_power(0, minus).products({-p - 1}, minus).into(out);
    Case(spec, "c added last").addend_power(0, minus).products({-p - 1, -p - 6}, minus).into(out);
    Case(spec, "c added last").addend_power(8, minus).products({7 - p, 6 - p}, minus).into(out);
    Case(spec, "c added last").addend_power(0, minus).products({-p, -p - 1}, minus).into(out);
    Case(spec, "one rounding").products({0, -11, -24}, minus).into(out);
    Case(spec, "one rounding").products({1, -10, -23}, minus).into(out);
  }
}

/// Two large pairs that cancel, and a small product that a step boundary between the pairs would lose.
void scan_order(const Setting& spec, Dots& out) {
  const Edges edge = edges_of(spec);
  constexpr int kLarge = 8;
  for (const int pair : {2, 4, 8, 16}) {
    for (const int j : {2, 3, 4, 5, 6, 7, 9, 14, 15, 18, 31}) {
      if (j == pair || j == pair + 1 || j >= spec.k || pair + 1 >= spec.k) continue;
      Case(spec, "order of k")
          .products({kLarge, kLarge})
          .product(pair, kLarge, true)
          .product(pair + 1, kLarge, true)
          .product(j, kLarge - edge.f, j % 2 != 0)
          .into(out);
    }
  }
}

}  // namespace

std::vector<DirectedDot> directed_dots(const Instruction& instruction, const Datapath& datapath) {
  const DotSpec plain = make_dot_spec(instruction, datapath);
  if (plain.integer) return directed_integer_dots(instruction);
  Dots out;
  if (plain.grouped) return directed_group_dots(instruction, datapath);
  std::vector<int> shifts = {0};
  // The floor, the ends of binary32, and the middle between.
  if (plain.block_scaled())
    shifts = {0, datapath.min_alignment_exponent - datapath.fraction_bits / 2, -126, -149, 118, 100};
  for (const int shift : shifts) {
    const Setting spec(plain, shift);
    if (spec.binary64) {
      add_binary64(spec, out);
    } else {
      scan_fraction_bits(spec, out);
      scan_floor(spec, out);
      scan_subnormal_operands(spec, out);
      scan_order(spec, out);
      add_addends(spec, out);
      add_ignored_bits(spec, out);
      add_second_rounding(spec, out);
    }
    scan_zero_rule(spec, out);
    scan_rounding(spec, out);
    add_extremes(spec, out);
    add_specials(spec, out);
  }
  if (plain.block_scaled()) add_scaled_dots(instruction, datapath, out);
  return out;
}

}  // namespace mmaudit::gen
