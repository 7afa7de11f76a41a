#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dot_lines.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::report {
namespace {

constexpr std::string_view kDown = "toward minus infinity";

/// "even k", "odd k", "k 0-7".
std::string steps_of(const std::vector<int>& ks) {
  const auto [least, most] = std::minmax_element(ks.begin(), ks.end());
  const bool dense = *most - *least + 1 == static_cast<int>(ks.size());
  if (!dense && std::all_of(ks.begin(), ks.end(), [first = *least](int k) { return (k - first) % 2 == 0; }))
    return *least % 2 == 0 ? "even k" : "odd k";
  return *least == *most ? fmt::format("k {}", *least) : fmt::format("k {}-{}", *least, *most);
}

/// x without its bits below a power.
Dyadic cut_at(Dyadic x, int power) {
  const int low = power - x.exponent;
  if (low <= 0) return x;
  return low > 62 ? Dyadic{} : Dyadic{x.significand / (std::int64_t{1} << low), power};
}

/// x as a multiple of 2^power, rounded toward minus infinity.
Dyadic floored(Dyadic x, int power) {
  const Dyadic cut = cut_at(x, power);
  if (x.significand >= 0 || value_of(cut) == value_of(x)) return cut;
  return {cut.significand - 1, power};
}

/// A product that a step adds; bits below `cut` go.
void add_product(Panel& panel, const DotSpec& spec, const ExplainedTerm& x, std::optional<int> cut) {
  Line line{.label = fmt::format("k {}  {} x {}", x.k, value_text(x.a, spec.a), value_text(x.b, spec.b))};
  line.hint = "exact " + value_of(x.product);
  if (!std::isfinite(x.product)) {
    panel.lines.push_back(std::move(line));
    return;
  }
  const bool same = x.taken == x.product;
  line.bits = dyadic_of(x.product);
  if (same && cut) {
    line.cut = cut;
    line.hint += ", kept " + value_of(cut_at(*line.bits, *cut));
  } else if (!same && x.taken == 0) {
    line.cut = lead_of(*line.bits) + 1;
  } else if (!same && std::isfinite(x.taken)) {
    line.cut = last_place(*line.bits, spec.step.output);
  }
  panel.lines.push_back(std::move(line));
  if (same) return;
  Line taken{.label =
                 fmt::format("  taken as {}{}", value_of(x.taken), x.flushed ? " (a subnormal factor)" : "")};
  if (std::isfinite(x.taken)) taken.bits = dyadic_of(x.taken);
  panel.lines.push_back(std::move(taken));
}

void add_zeros(Panel& panel, std::size_t zeros) {
  if (zeros != 0)
    panel.lines.push_back({.label = fmt::format("({} zero product{})", zeros, zeros == 1 ? "" : "s")});
}

/// c, or the sum of the steps before.
Line addend_line(const DotSpec& spec, const ExplainedStage& stage, bool first) {
  Line line =
      number_line(first ? "c" : "sum before", stage.before, first ? spec.step.addend : spec.step.output, "");
  if (!stage.flushed || !line.bits) return line;
  line.cut = lead_of(*line.bits) + 1;
  line.hint += ", a subnormal c is taken as 0";
  return line;
}

void add_title(Panel& panel, std::string text) {
  panel.lines.push_back({.label = std::move(text), .style = "title"});
}

/// An exact sum and what it is rounded to; the exact one only where the two differ.
void add_tree_sum(Panel& panel, const Explanation& trace, const ExplainedPartial& partial) {
  const FormatSpec& output = trace.spec.step.output;
  const double rounded = decode_value(partial.bits, output);
  const std::string name = steps_of(partial.ks);
  const bool exact =
      partial.fits && value_of(partial.sum) == value_of(std::abs(rounded) == 0 ? 0.0 : rounded);
  if (!exact && partial.fits) {
    Line line = sum_line(partial.sum, output);
    line.label = name + " " + line.label;
    panel.lines.push_back(std::move(line));
  }
  panel.lines.push_back(number_line(name + (exact ? "" : " rounded"), partial.bits, output, "sum"));
}

/// What rounding toward minus infinity makes of a number below zero; its bits alone do not show it.
void add_floored(Panel& panel, Dyadic exact, Dyadic kept) {
  if (exact.significand < 0 && value_of(kept) != value_of(exact))
    panel.lines.push_back({.label = "  kept " + value_of(kept), .bits = kept});
}

/// The products of one sum, cut below its largest exponent, and the sum, of which bits below `cut` go.
void add_partial(Panel& panel, const Explanation& trace, const ExplainedStage& stage,
                 const ExplainedPartial& partial, int cut) {
  const std::string name = steps_of(partial.ks);
  const int last = partial.exponent - trace.spec.datapath.fraction_bits;
  std::vector<ExplainedTerm> products;
  for (const ExplainedTerm& x : stage.products)
    if (x.product != 0 && std::find(partial.ks.begin(), partial.ks.end(), x.k) != partial.ks.end())
      products.push_back(x);
  if (products.empty()) {
    add_title(panel, name + ": every product is zero");
    return;
  }
  add_title(panel, fmt::format("{}: the largest exponent is {}; bits below 2^{} are cut", name,
                               partial.exponent, last));
  for (const ExplainedTerm& x : products) add_product(panel, trace.spec, x, last);
  add_zeros(panel, partial.ks.size() - products.size());
  panel.lines.push_back({.label = fmt::format("sum of {} {}", name, value_of(partial.sum)),
                         .bits = partial.sum,
                         .cut = cut,
                         .style = "sum"});
}

/// The products and their sums, each aligned by itself, and how much of them the sum with c keeps.
void add_two_stages(Panel& panel, const Explanation& trace, const ExplainedStage& stage, bool first) {
  const DotSpec& spec = trace.spec;
  const Datapath& datapath = spec.datapath;
  const ExplainedTotal& total = stage.total;
  int most = stage.partials.front().exponent;
  for (const ExplainedPartial& partial : stage.partials) most = std::max(most, partial.exponent);
  const int beside_c = total.exponent - datapath.sum_fraction_bits - 1;
  const bool several = stage.partials.size() > 1, zero = most == kZeroExponent;
  for (const ExplainedPartial& partial : stage.partials)
    add_partial(panel, trace, stage, partial, several ? most - datapath.fraction_bits : beside_c);
  if (several && !zero) {
    add_title(panel, fmt::format("both sums: the larger exponent is {}; bits below 2^{} are cut {}", most,
                                 most - datapath.fraction_bits, kDown));
    for (const ExplainedPartial& partial : stage.partials)
      add_floored(panel, partial.sum, floored(partial.sum, most - datapath.fraction_bits));
    panel.lines.push_back({.label = "sum of both " + value_of(total.products),
                           .bits = total.products,
                           .cut = beside_c,
                           .style = "sum"});
  }
  const int of_c = total.exponent - datapath.fraction_bits;
  add_title(panel, fmt::format("with {}: the larger exponent is {}; bits below 2^{} of {} and below 2^{} of "
                               "the products' sum are cut {}",
                               first ? "c" : "the sum before", total.exponent, of_c, first ? "c" : "it",
                               beside_c, kDown));
  add_floored(panel, total.products, total.kept_products);
  Line addend = addend_line(spec, stage, first);
  if (addend.bits && addend.bits->significand != 0 && !stage.flushed) {
    addend.cut = of_c;
    addend.hint += ", kept " + value_of(total.kept_addend);
  }
  const std::optional<Dyadic> exact = addend.bits;
  panel.lines.push_back(std::move(addend));
  if (exact && !stage.flushed && total.kept_addend.significand != 0)
    add_floored(panel, *exact, total.kept_addend);
  if (value_of(total.kept) != value_of(total.sum)) {
    panel.lines.push_back({.label = "sum " + value_of(total.sum),
                           .hint = fmt::format("cut {}", kDown),
                           .bits = total.sum,
                           .cut = total.kept.exponent,
                           .style = "sum"});
    add_floored(panel, total.sum, total.kept);
  }
  panel.lines.push_back(sum_line(total.kept, spec.step.output));
}

}  // namespace

Panel stage_panel(const Explanation& trace, std::size_t index) {
  const ExplainedStage& stage = trace.stages[index];
  const DotSpec& spec = trace.spec;
  const Arithmetic arithmetic = spec.datapath.arithmetic;
  const bool first = index == 0, tree = arithmetic == Arithmetic::rounded_tree,
             two = arithmetic == Arithmetic::two_stage_dot_add && !stage.special;
  Panel panel;
  add_title(panel, fmt::format("step {} of {}: {}", index + 1, trace.stages.size(),
                               stage.special ? "an input is NaN or infinite, no sum is formed"
                               : tree        ? "every product and every sum of two is rounded"
                               : two         ? "products are added first, then c"
                                             : "nothing is cut before the one rounding"));
  if (two) add_two_stages(panel, trace, stage, first);
  const auto is_zero = [](const ExplainedTerm& x) { return x.product == 0; };
  if (!two) {
    if (!tree) panel.lines.push_back(addend_line(spec, stage, first));
    for (const ExplainedTerm& x : stage.products)
      if (!is_zero(x)) add_product(panel, spec, x, {});
    add_zeros(panel,
              static_cast<std::size_t>(std::count_if(stage.products.begin(), stage.products.end(), is_zero)));
  }
  if (tree) {
    const auto all_zero = [&](const ExplainedPartial& partial) {
      return std::all_of(stage.products.begin(), stage.products.end(), [&](const ExplainedTerm& x) {
        return is_zero(x) || std::find(partial.ks.begin(), partial.ks.end(), x.k) == partial.ks.end();
      });
    };
    for (const ExplainedPartial& partial : stage.partials)
      if (!all_zero(partial)) add_tree_sum(panel, trace, partial);
    panel.lines.push_back(addend_line(spec, stage, first));
  }
  if (!two && !stage.special) {
    Line sum = sum_line(stage.total.sum, spec.step.output);
    if (!stage.total.fits) sum = {.label = "sum: more than 64 bits", .style = "sum"};
    panel.lines.push_back(std::move(sum));
  }
  panel.lines.push_back(rounded_line(trace, stage.after));
  return panel;
}

}  // namespace mmaudit::report
