#include "mmaudit/generators/neighbours.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "integer_cases.hpp"
#include "mmaudit/dot.hpp"
#include "scaled_cases.hpp"

namespace mmaudit::gen {
namespace {

/// The k of each step, sorted, and of its groups: two plans with the same list are the same function of k
/// order.
std::vector<std::vector<int>> steps_of(const DotPlan& plan) {
  std::vector<std::vector<int>> steps;
  for_each_step(plan, [&](int start, int count) {
    std::vector<int> step;
    for (int i = start; i < start + count; ++i) step.push_back(evaluation_k(plan.datapath.order, plan.k, i));
    std::vector<std::vector<int>> groups;
    for (int i = 0; plan.grouped && i < count; i += plan.datapath.group) {
      const auto first = step.begin() + i;
      groups.emplace_back(first, step.begin() + std::min<int>(i + plan.datapath.group, count));
      std::sort(groups.back().begin(), groups.back().end());
    }
    std::sort(groups.begin(), groups.end());
    std::sort(step.begin(), step.end());
    steps.push_back(step);
    steps.insert(steps.end(), groups.begin(), groups.end());
  });
  return steps;
}

/// What the formats let reach the alignment.
struct Reach {
  int least_product = 0;    ///< least exponent of a non-zero product
  int largest_product = 0;  ///< largest exponent of a product
  int finest_product = 0;   ///< exponent of the last bit a product can have
  int finest = 0;           ///< the same with c, where c enters a step
  int zero_exponent = 0;    ///< largest exponent that a zero would bring if zeros counted
  bool addend_in_step = true;
  bool c_is_widened = false;     ///< a binary16 c, added in binary32
  bool exact_alignment = false;  ///< F reaches every bit that can decide the rounding of a step
  bool infinity = false;
  int subnormal_product =
      0;  ///< largest exponent of a product with a factor that is subnormal to the datapath
  bool wide_subnormals = false;  ///< the operands the datapath sees can be subnormal
};

Reach reach_of(const DotPlan& plan) {
  const bool widened = plan.wide.id != Format::none;
  const auto least = [&](const FormatSpec& format) {
    if (!widened) return format.min_exponent();
    return std::max(plan.wide.min_exponent(), format.min_exponent() - format.fraction_bits);
  };
  Reach reach;
  reach.addend_in_step = plan.datapath.addend == AddendPlace::in_first_step;
  reach.c_is_widened = plan.converts && plan.step.addend.id != plan.step.output.id;
  reach.exact_alignment = plan.datapath.fraction_bits >= 2 * plan.step.output.fraction_bits &&
                          plan.datapath.products_per_step <= 2 &&
                          plan.datapath.output.rounding == Rounding::nearest_even;
  reach.least_product = least(plan.a) + least(plan.b);
  reach.largest_product = plan.a.max_exponent() + plan.b.max_exponent();
  reach.finest_product =
      plan.a.min_exponent() - plan.a.fraction_bits + plan.b.min_exponent() - plan.b.fraction_bits;
  const int finest_addend = plan.step.addend.min_exponent() - plan.step.addend.fraction_bits;
  reach.finest = reach.addend_in_step ? std::min(reach.finest_product, finest_addend) : reach.finest_product;
  const int zero_a = widened ? plan.wide.min_exponent() : plan.a.min_exponent();
  const int zero_b = widened ? plan.wide.min_exponent() : plan.b.min_exponent();
  reach.zero_exponent = std::max(
      {zero_a + plan.b.max_exponent(), plan.a.max_exponent() + zero_b, plan.step.addend.min_exponent()});
  reach.infinity = plan.a.specials == Specials::ieee || plan.b.specials == Specials::ieee;
  const int wide_minimum = widened ? plan.wide.min_exponent() : 0;
  const auto subnormal = [&](const FormatSpec& format) {
    return !widened || format.min_exponent() - format.fraction_bits < wide_minimum;
  };
  const auto field = [&](const FormatSpec& format) { return widened ? wide_minimum : format.min_exponent(); };
  reach.wide_subnormals = subnormal(plan.a) || subnormal(plan.b);
  constexpr int kNone = -10000;
  reach.subnormal_product = std::max(subnormal(plan.a) ? field(plan.a) + plan.b.max_exponent() : kNone,
                                     subnormal(plan.b) ? field(plan.b) + plan.a.max_exponent() : kNone);
  if (!plan.block_scaled()) return reach;
  const int low = 2 * plan.scale.min_exponent(), high = 2 * plan.scale.max_exponent();
  // A group brings the exponents of its scales; a product brings its own besides.
  reach.least_product = low + (plan.grouped ? 0 : reach.least_product);
  reach.largest_product += high;
  reach.finest_product += low - 2 * plan.scale.fraction_bits;
  reach.finest = std::min(reach.finest, reach.finest_product);
  reach.zero_exponent = plan.grouped ? high : reach.zero_exponent + high;
  reach.subnormal_product += high;
  return reach;
}

class Collector {
 public:
  Collector(const Instruction& instruction, const Datapath& datapath)
      : instruction_(instruction),
        row_(datapath),
        plan_(make_plan(instruction, datapath)),
        steps_(steps_of(plan_)),
        reach_(reach_of(plan_)) {}

  template <typename Change>
  void add(std::string_view rule, std::string change, Change&& apply, std::string invisible = {}) {
    Datapath datapath = row_;
    apply(datapath);
    if (datapath == row_) return;
    if (invisible.empty() && !plan_.binary64) invisible = structural_reason(datapath);
    out_.push_back({std::string(rule), std::move(change), datapath, std::move(invisible)});
  }

  void fused();
  void chain();
  [[nodiscard]] std::vector<Neighbour> take() { return std::move(out_); }

 private:
  /// Rows that differ only in how k falls into steps are equal when the steps are.
  [[nodiscard]] std::string structural_reason(const Datapath& datapath) const {
    Datapath same = datapath;
    same.products_per_step = row_.products_per_step;
    same.order = row_.order;
    if (!(same == row_) || steps_of(make_plan(instruction_, datapath)) != steps_) return {};
    return "the steps hold the same k, and a step's exact sum has no order";
  }
  void steps();
  void alignment();
  void operands();
  void output();

  Instruction instruction_;
  Datapath row_;
  DotPlan plan_;
  std::vector<std::vector<int>> steps_;
  Reach reach_;
  std::vector<Neighbour> out_;
};

void Collector::steps() {
  for (const int block : {row_.products_per_step / 2, row_.products_per_step * 2}) {
    if (block == 0) continue;
    add("L", fmt::format("{} -> {}", row_.products_per_step, block),
        [&](auto& row) { row.products_per_step = static_cast<std::int16_t>(block); });
  }
  constexpr std::pair<KOrder, std::string_view> kOrders[] = {{KOrder::ascending, "ascending"},
                                                             {KOrder::pairs_of_four, "pairs of four"},
                                                             {KOrder::descending, "descending"},
                                                             {KOrder::halves, "halves"},
                                                             {KOrder::even_then_odd, "even, then odd"}};
  for (const auto& [order, name] : kOrders) {
    if (plan_.k < 4) continue;
    add("order of k", fmt::format("{}", name), [&, chosen = order](auto& row) { row.order = chosen; });
  }
  constexpr std::pair<AddendPlace, std::string_view> kPlaces[] = {
      {AddendPlace::in_first_step, "in the first step"},
      {AddendPlace::after_last_nearest, "after the last step, to nearest"},
      {AddendPlace::after_last_truncated, "after the last step, truncated"}};
  for (const auto& [place, name] : kPlaces) {
    add("place of c", fmt::format("{}", name), [&, chosen = place](auto& row) { row.addend = chosen; });
  }
}

void Collector::alignment() {
  const std::string exact =
      reach_.exact_alignment ? "what alignment cuts off can't decide a rounding of so few addends to nearest"
                             : "";
  for (const int change : {-1, 1}) {
    add(
        "F", fmt::format("{} -> {}", row_.fraction_bits, row_.fraction_bits + change),
        [&](auto& row) { row.fraction_bits = static_cast<std::int16_t>(row.fraction_bits + change); }, exact);
  }
  // A floor acts only above the least exponent of a non-zero addend, and only if its unit cuts a bit off.
  const int least_exponent =
      std::min(reach_.least_product,
               reach_.addend_in_step ? plan_.step.addend.min_exponent() : plan_.step.output.min_exponent());
  const int harmless = std::max(least_exponent, reach_.finest + row_.fraction_bits);
  constexpr int kNoFloor = -1000;
  for (const int floor :
       {row_.min_alignment_exponent - 1, row_.min_alignment_exponent + 1, kNoFloor, harmless + 1}) {
    if (floor == harmless + 1 &&
        (harmless <= row_.min_alignment_exponent || row_.min_alignment_exponent <= kNoFloor))
      continue;
    add(
        "floor",
        floor == kNoFloor ? fmt::format("{} -> none", row_.min_alignment_exponent)
                          : fmt::format("{} -> {}", row_.min_alignment_exponent, floor),
        [&](auto& row) { row.min_alignment_exponent = static_cast<std::int16_t>(floor); },
        std::max<int>(row_.min_alignment_exponent, floor) <= harmless
            ? fmt::format("every floor up to {} keeps every bit of every addend that reaches it", harmless)
            : "");
  }
  add(
      "alignment", "toward minus infinity",
      [](auto& row) { row.alignment = Alignment::floor_toward_minus_infinity; }, exact);
  add(
      "alignment", "to nearest even", [](auto& row) { row.alignment = Alignment::nearest_even; }, exact);
  add(
      "zero rule", "zeros take part in the maximum", [](auto& row) { row.zero = ZeroRule::operand_exponent; },
      reach_.zero_exponent - row_.fraction_bits <= reach_.finest
          ? fmt::format("a zero brings at most exponent {}, and no addend has a bit below 2^{}",
                        reach_.zero_exponent, reach_.finest)
          : "");
  if (plan_.grouped) return;  // groups have the exponents of their scales
  add(
      "products", "normalised", [](auto& row) { row.product = ProductRule::normalised; }, exact);
}

void Collector::operands() {
  const std::string no_subnormals =
      reach_.wide_subnormals ? "" : "the operands the datapath sees are never subnormal";
  std::string subnormal_exponent = no_subnormals;
  if (subnormal_exponent.empty() && reach_.subnormal_product - row_.fraction_bits <= reach_.finest) {
    subnormal_exponent =
        fmt::format("a subnormal factor brings at most exponent {}, and no addend has a bit below 2^{}",
                    reach_.subnormal_product, reach_.finest);
  }
  if (!plan_.grouped)
    add(
        "subnormal operands", "normalised",
        [](auto& row) { row.subnormal_operand = SubnormalRule::normalised; }, subnormal_exponent);
  add(
      "subnormal operands", "flushed", [](auto& row) { row.subnormal_operand = SubnormalRule::flushed; },
      no_subnormals);
  // In a step, c or the running sum: subnormal below the least normal of its format.
  const FormatSpec& running = reach_.addend_in_step ? plan_.step.addend : plan_.step.output;
  const bool running_subnormal = (reach_.addend_in_step && !reach_.c_is_widened) ||
                                 reach_.finest_product < plan_.step.output.min_exponent();
  const std::string never =
      reach_.c_is_widened ? "binary16 c and products are never subnormal in binary32"
                          : "the sum between the steps is never subnormal, and c is added by an IEEE add";
  const int unit = running.min_exponent() - row_.fraction_bits;
  const int running_finest = std::min(reach_.finest_product, running.min_exponent() - running.fraction_bits);
  const bool lost_beside_products = reach_.least_product - row_.fraction_bits >= running.min_exponent();
  const bool same_alone = row_.output.rounding == Rounding::toward_zero &&
                          unit <= running.min_exponent() - row_.output.fraction_bits;
  add(
      "subnormal c", "normalised", [](auto& row) { row.subnormal_addend = SubnormalRule::normalised; },
      !running_subnormal                   ? never
      : lost_beside_products && same_alone ? "beside any product a subnormal c is lost whole, and alone it "
                                             "is cut off at the same bit either way"
      : unit <= running_finest
          ? fmt::format("a subnormal addend brings exponent {}, whose unit 2^{} keeps every bit",
                        running.min_exponent(), unit)
          : "");
  add(
      "subnormal c", "flushed", [](auto& row) { row.subnormal_addend = SubnormalRule::flushed; },
      running_subnormal ? "" : never);
  add(
      "infinity * 0", "0", [](auto& row) { row.infinity_times_zero = InfinityTimesZero::zero; },
      reach_.infinity ? "" : "neither operand format has an infinity");
  if (plan_.a.ignored_low_bits != 0) {
    add("ignored low bits", "read for NaN", [](auto& row) { row.read_ignored_bits = true; });
  }
  if (plan_.wide.id != Format::none) {
    // What a subnormal of the narrow format would bring to the maximum if it were not widened.
    const auto narrow = [&](const FormatSpec& x, const FormatSpec& y) {
      return x.min_exponent() == plan_.wide.min_exponent() ? -10000 : x.min_exponent() + y.max_exponent();
    };
    const int exponent = std::max(narrow(plan_.a, plan_.b), narrow(plan_.b, plan_.a));
    add(
        "widening", "operands used as they are", [](auto& row) { row.widen_to = Format::none; },
        exponent - row_.fraction_bits <= reach_.finest
            ? "every operand is the same number either way, or its exponent keeps every bit either way"
            : "");
  }
}

void Collector::output() {
  const FormatSpec& format = plan_.d;
  const OutputRule& rule = row_.output;
  const bool narrowed = plan_.d.id != plan_.step.output.id;
  constexpr std::pair<Rounding, std::string_view> kRoundings[] = {{Rounding::toward_zero, "toward zero"},
                                                                  {Rounding::nearest_even, "to nearest even"},
                                                                  {Rounding::down, "toward minus infinity"},
                                                                  {Rounding::up, "toward plus infinity"}};
  for (const auto& [rounding, name] : kRoundings) {
    add("output rounding", fmt::format("{}", name),
        [&, chosen = rounding](auto& row) { row.output.rounding = chosen; });
  }
  for (const int bits : {rule.fraction_bits - 1, rule.fraction_bits + 1, int{format.fraction_bits}}) {
    if (bits > format.fraction_bits || bits == rule.fraction_bits) continue;
    add("output fraction bits", fmt::format("{} -> {}", rule.fraction_bits, bits),
        [&](auto& row) { row.output.fraction_bits = static_cast<std::uint8_t>(bits); });
  }
  // The largest sum of products that can stand beside the largest c.
  const int product_sum = reach_.largest_product + 2 + floor_log2(static_cast<std::uint64_t>(2 * plan_.k));
  const bool overflows = narrowed || product_sum >= format.max_exponent() - row_.fraction_bits;
  add(
      "overflow", "largest finite number", [](auto& row) { row.output.overflow = Overflow::max_finite; },
      overflows ? ""
                : "no finite inputs overflow: beside the largest c every product is below the last bit kept");
  add(
      "subnormal results", "flushed", [](auto& row) { row.output.flush_subnormals = true; },
      !narrowed && reach_.c_is_widened && reach_.finest_product >= format.min_exponent()
          ? "binary16 c and products are never subnormal in binary32"
          : "");
  const int least_exponent = std::min(
      reach_.least_product, reach_.addend_in_step ? plan_.step.addend.min_exponent() : format.min_exponent());
  const int finest_unit = std::max(
      std::max<int>(row_.min_alignment_exponent, least_exponent) - row_.fraction_bits, reach_.finest);
  const int least_result = format.min_exponent() - rule.fraction_bits;
  const std::string never_rounds = !narrowed && finest_unit >= least_result
                                       ? "no sum has a bit below the least result, so none rounds to zero"
                                       : "";
  add(
      "sign of zero", "minus when a negative sum rounds to zero",
      [](auto& row) { row.output.zero_sign = ZeroSign::of_sum; }, never_rounds);
  add(
      "sign of zero", "IEEE", [](auto& row) { row.output.zero_sign = ZeroSign::ieee; },
      narrowed && reach_.addend_in_step                 ? "the sum in binary32 is never -0"
      : !reach_.addend_in_step && !never_rounds.empty() ? "the steps start from +0, and " + never_rounds
                                                        : "");
  add("NaN", "7fc00000 style quiet NaN", [](auto& row) { row.output.nan = NanRule::ieee_quiet; });
}

void Collector::fused() {
  steps();
  alignment();
  operands();
  output();
}

void Collector::chain() {
  for (const KOrder order : {KOrder::descending, KOrder::halves, KOrder::even_then_odd}) {
    const bool same = order == KOrder::halves;
    add(
        "order of k",
        order == KOrder::descending ? "descending"
        : same                      ? "halves"
                                    : "even, then odd",
        [&](auto& row) { row.order = order; }, same ? "halves in ascending order are ascending order" : "");
  }
  constexpr std::pair<Rounding, std::string_view> kRoundings[] = {{Rounding::toward_zero, "toward zero"},
                                                                  {Rounding::down, "toward minus infinity"},
                                                                  {Rounding::up, "toward plus infinity"}};
  for (const auto& [rounding, name] : kRoundings) {
    add("output rounding", fmt::format("{}", name),
        [&, chosen = rounding](auto& row) { row.output.rounding = chosen; });
  }
  for (const std::string_view priority : {"abc", "acb", "bac", "cab", "cba"}) {
    add("NaN priority", fmt::format("{}", priority),
        [&](auto& row) { std::copy(priority.begin(), priority.end(), row.nan_priority); });
  }
  add("NaN", "canonical", [](auto& row) { row.output.nan = NanRule::canonical; });
}

}  // namespace

void append_metadata_neighbours(const Instruction& instruction, const Datapath& datapath,
                                std::vector<Neighbour>& out) {
  const auto add = [&](MetadataRule rule, std::string change) {
    Datapath changed = datapath;
    changed.metadata = rule;
    if (!(changed == datapath)) out.push_back({"metadata", std::move(change), changed, {}});
  };
  if (!is_sparse(instruction.op)) return;
  add(MetadataRule::ignored, "ignored: the first of every group");
  if (sparsity_of(instruction).kept > 1) add(MetadataRule::exchanged, "positions of a group exchanged");
  add(MetadataRule::mirrored, "positions counted from the end of the group");
  if (!spec_of(instruction.b).integer())
    add(MetadataRule::whole_group, "elements that are not selected are multiplied by zero");
}

std::vector<Neighbour> neighbours(const Instruction& instruction, const Datapath& datapath) {
  if (datapath.arithmetic == Arithmetic::integer) return integer_neighbours(instruction, datapath);
  Collector collector(instruction, datapath);
  if (datapath.arithmetic == Arithmetic::fma_chain) {
    collector.chain();
  } else {
    collector.fused();
  }
  std::vector<Neighbour> all = collector.take();
  append_metadata_neighbours(instruction, datapath, all);
  if (instruction.scale != Format::none)
    for (Neighbour& one : scale_neighbours(instruction, datapath)) all.push_back(std::move(one));
  return all;
}

}  // namespace mmaudit::gen
