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
  const auto fraction = [&] { return Case(plan, "fraction bits"); };
  const auto unnormalised = [&] { return Case(plan, "unnormalised products"); };
  const Edges edge = edges_of(plan);
  const int third_k = third(plan);
  for (int j = edge.f - 1; j <= edge.f + 1; ++j) {
    for (const int e : {0, 9}) {
      for (const bool negative : {false, true}) {
        fraction().product(0, e).product(1, e - j, negative).product(third_k, e, true).into(out);
        fraction().product(0, e).product_and_half(1, e - j, negative).product(third_k, e, true).into(out);
        Case(plan, "place of c").addend_power(e).product(1, e - j, negative).product(0, e, true).into(out);
        Case(plan, "place of c")
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
    Case(plan, "rounding").products({0, -p - 1}, minus).into(out);
    Case(plan, "rounding").products({0, -p - 1, -p}, minus).into(out);
    Case(plan, "rounding").products({0, -p - 1, -p - 2}, minus).into(out);
    Case(plan, "rounding").products({0, -p - 2}, minus).into(out);
    Case(plan, "rounding").product(0, 0, minus).product(1, -p - 1, !minus).into(out);
    Case(plan, "rounding").products({0, 0, -p, -p - 2}, minus).into(out);
    Case(plan, "c added last").addend_power(0, minus).products({-p - 1}, minus).into(out);
    Case(plan, "c added last").addend_power(0, minus).products({-p - 1, -p - 6}, minus).into(out);
    Case(plan, "c added last").addend_power(8, minus).products({7 - p, 6 - p}, minus).into(out);
    Case(plan, "c added last").addend_power(0, minus).products({-p, -p - 1}, minus).into(out);
    Case(plan, "one rounding").products({0, -11, -24}, minus).into(out);
    Case(plan, "one rounding").products({1, -10, -23}, minus).into(out);
  }
}

/// Two large pairs that cancel, and a small product that a step boundary between the pairs would lose.
void scan_order(const Setting& plan, Dots& out) {
  const Edges edge = edges_of(plan);
  constexpr int kLarge = 8;
  for (const int pair : {2, 4, 8, 16}) {
    for (const int j : {2, 3, 4, 5, 6, 7, 9, 14, 15, 18, 31}) {
      if (j == pair || j == pair + 1 || j >= plan.k || pair + 1 >= plan.k) continue;
      Case(plan, "order of k")
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
  const DotPlan plain = make_plan(instruction, datapath);
  if (plain.integer) return directed_integer_dots(instruction);
  Dots out;
  if (plain.grouped) return directed_group_dots(instruction, datapath);
  std::vector<int> shifts = {0};
  // The floor, the ends of binary32, and the middle between.
  if (plain.block_scaled())
    shifts = {0, datapath.min_alignment_exponent - datapath.fraction_bits / 2, -126, -149, 118, 100};
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
  if (plain.block_scaled()) add_scaled_dots(instruction, datapath, out);
  return out;
}

}  // namespace mmaudit::gen
