#include "mmaudit/oracles/mutations.hpp"

#include <cstdint>
#include <initializer_list>
#include <utility>

namespace mmaudit::oracle {
namespace {

template <typename Rule>
using Named = std::pair<const char*, Rule>;

class Mutations {
 public:
  explicit Mutations(const AccumulatorModel& row) : row_(row) {}

  /// One mutation a value that the row does not have already.
  template <typename Rule>
  void rule(const char* name, Rule AccumulatorModel::*member, std::initializer_list<Named<Rule>> values) {
    for (const auto& [value_name, value] : values) {
      AccumulatorModel changed = row_;
      changed.*member = value;
      add(std::string(name) + ": " + value_name, changed);
    }
  }
  template <typename Rule>
  void output_rule(const char* name, Rule OutputRule::*member, std::initializer_list<Named<Rule>> values) {
    for (const auto& [value_name, value] : values) {
      AccumulatorModel changed = row_;
      changed.output.*member = value;
      add(std::string("output ") + name + ": " + value_name, changed);
    }
  }
  void number(const char* name, std::int16_t AccumulatorModel::*member, int value) {
    AccumulatorModel changed = row_;
    changed.*member = static_cast<std::int16_t>(value);
    add(std::string(name) + ": " + std::to_string(value), changed);
  }
  void add(std::string name, const AccumulatorModel& changed) {
    if (!(changed == row_)) list_.push_back({std::move(name), changed});
  }
  std::vector<Mutation> take() { return std::move(list_); }

 private:
  AccumulatorModel row_;
  std::vector<Mutation> list_;
};

void add_orders(Mutations& mutations) {
  mutations.rule("order", &AccumulatorModel::order,
                 {{"ascending", KOrder::ascending},
                  {"descending", KOrder::descending},
                  {"pairs of four", KOrder::pairs_of_four},
                  {"halves", KOrder::halves},
                  {"even then odd", KOrder::even_then_odd}});
}

void add_roundings(Mutations& mutations) {
  mutations.output_rule("rounding", &OutputRule::rounding,
                        {{"toward zero", Rounding::toward_zero},
                         {"nearest even", Rounding::nearest_even},
                         {"down", Rounding::down},
                         {"up", Rounding::up}});
  mutations.output_rule("nan", &OutputRule::nan,
                        {{"canonical", NanRule::canonical}, {"ieee quiet", NanRule::ieee_quiet}});
}

std::vector<Mutation> fma_chain_mutations(const AccumulatorModel& row) {
  Mutations mutations(row);
  mutations.rule("order", &AccumulatorModel::order,
                 {{"ascending", KOrder::ascending},
                  {"descending", KOrder::descending},
                  {"pairs of four", KOrder::pairs_of_four},
                  {"even then odd", KOrder::even_then_odd}});  // halves: the same sequence as ascending
  add_roundings(mutations);
  for (const char* order : {"abc", "acb", "bac", "bca", "cab", "cba"}) {
    AccumulatorModel changed = row;
    for (int i = 0; i < 3; ++i) changed.nan_priority[i] = order[i];
    mutations.add(std::string("nan priority: ") + order, changed);
  }
  return mutations.take();
}

void add_numbers(Mutations& mutations, const AccumulatorModel& row) {
  for (const int factor : {2, 4}) mutations.number("block", &AccumulatorModel::block, row.block / factor);
  mutations.number("block", &AccumulatorModel::block, row.block * 2);
  for (const int step : {-1, 1}) {
    mutations.number("fraction bits", &AccumulatorModel::fraction_bits, row.fraction_bits + step);
    mutations.number("floor", &AccumulatorModel::floor, row.floor + step);
  }
  const int kept = row.output.fraction_bits;
  for (const int step : {-1, 1}) {
    if (kept + step > spec_of(row.output.format).fraction_bits) continue;
    AccumulatorModel changed = row;
    changed.output.fraction_bits = static_cast<std::uint8_t>(kept + step);
    mutations.add("output fraction bits: " + std::to_string(kept + step), changed);
  }
}

void add_unpack_rules(Mutations& mutations) {
  mutations.rule("zero", &AccumulatorModel::zero,
                 {{"no part", ZeroRule::no_part}, {"operand exponent", ZeroRule::operand_exponent}});
  mutations.rule("product", &AccumulatorModel::product,
                 {{"unnormalised", ProductRule::unnormalised}, {"normalised", ProductRule::normalised}});
  const std::initializer_list<Named<SubnormalRule>> subnormals = {{"kept", SubnormalRule::kept},
                                                                  {"normalised", SubnormalRule::normalised},
                                                                  {"flushed", SubnormalRule::flushed}};
  mutations.rule("subnormal operand", &AccumulatorModel::subnormal_operand, subnormals);
  mutations.rule("subnormal addend", &AccumulatorModel::subnormal_addend, subnormals);
  mutations.rule("read ignored bits", &AccumulatorModel::read_ignored_bits, {{"no", false}, {"yes", true}});
  mutations.rule("widen to", &AccumulatorModel::widen_to, {{"none", Format::none}});
}

void add_output_rules(Mutations& mutations) {
  mutations.output_rule("zero sign", &OutputRule::zero_sign,
                        {{"plus", ZeroSign::plus}, {"of sum", ZeroSign::of_sum}, {"ieee", ZeroSign::ieee}});
  mutations.output_rule("overflow", &OutputRule::overflow,
                        {{"infinity", Overflow::infinity}, {"max finite", Overflow::max_finite}});
  mutations.output_rule("flush subnormals", &OutputRule::flush_subnormals, {{"no", false}, {"yes", true}});
  mutations.rule("infinity times zero", &AccumulatorModel::infinity_times_zero,
                 {{"nan", InfinityTimesZero::nan}, {"zero", InfinityTimesZero::zero}});
}

}  // namespace

std::vector<Mutation> single_rule_mutations(const AccumulatorModel& row) {
  if (row.arithmetic == Arithmetic::fma_chain) return fma_chain_mutations(row);
  Mutations mutations(row);
  add_numbers(mutations, row);
  add_orders(mutations);
  mutations.rule("addend", &AccumulatorModel::addend,
                 {{"in first step", AddendPlace::in_first_step},
                  {"after last, nearest", AddendPlace::after_last_nearest},
                  {"after last, truncated", AddendPlace::after_last_truncated}});
  mutations.rule("alignment", &AccumulatorModel::alignment,
                 {{"truncate magnitude", Alignment::truncate_magnitude},
                  {"floor", Alignment::floor_toward_minus_infinity},
                  {"nearest even", Alignment::nearest_even}});
  add_unpack_rules(mutations);
  add_roundings(mutations);
  add_output_rules(mutations);
  return mutations.take();
}

}  // namespace mmaudit::oracle
