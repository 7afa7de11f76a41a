#include "changes.hpp"

#include <algorithm>
#include <utility>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/model/rule_names.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit::probe {
namespace {

constexpr std::string_view kMetadataRule = "metadata";
constexpr std::string_view kMetadata[] = {"selected", "ignored", "exchanged", "mirrored", "whole_group"};
/// Least alignment exponents that are tried: below the least, no product of a known format has a bit left to
/// cut, and a floor above the largest would cut every result away.
constexpr int kLeastFloor = -420, kMostFloor = 80;
/// Grouped sums leave less room in 63 bits.
constexpr int kMostGroupedBits = 45;

bool narrow(const Instruction& inst) {
  return spec_of(inst.a).storage_bits == 8 && spec_of(inst.b).storage_bits == 8 &&
         inst.scale == Format::none && !spec_of(inst.a).integer();
}

bool can_group(const Instruction& inst) {
  return inst.scale != Format::none && inst.a == Format::e2m1 && inst.b == Format::e2m1;
}

bool reads(const Instruction& inst, const Datapath& datapath, std::string_view rule) {
  const auto one_of = [&](std::initializer_list<std::string_view> rules) {
    return std::find(rules.begin(), rules.end(), rule) != rules.end();
  };
  if (rule == kMetadataRule) return is_sparse(inst.op);
  if (datapath.arithmetic == Arithmetic::integer) {
    if (rule == "block") return datapath.saturation == SaturationRule::every_step;
    return one_of({"saturation", "integer_sign"}) ||
           (rule == "bit_operation" && inst.multiply != Multiply::product);
  }
  if (datapath.arithmetic == Arithmetic::fma_chain)
    return one_of({"order", "nan_priority", "rounding", "nan"});
  if (one_of({"saturation", "integer_sign", "bit_operation", "nan_priority"})) return false;
  if (one_of({"scale_use", "scale_sign", "scale_nan", "subnormal_scale"})) return inst.scale != Format::none;
  const bool grouped = datapath.arithmetic == Arithmetic::grouped_dot_add;
  if (one_of({"group", "group_exponent", "cancelled_group"})) return grouped;
  if (rule == "arithmetic") return can_group(inst);
  if (rule == "widen_to") return narrow(inst);
  if (rule == "read_ignored_bits")
    return spec_of(inst.a).ignored_low_bits + spec_of(inst.b).ignored_low_bits != 0;
  return true;
}

/// Values of a number that are worth trying.
std::pair<int, int> range_of(const Instruction& inst, std::string_view rule, int least, int most) {
  if (rule == "block" || rule == "group") return {1, std::min<int>(most, inst.stored_k())};
  if (rule == "floor") return {kLeastFloor, kMostFloor};
  if (rule == "output_fraction_bits") return {0, spec_of(inst.d).fraction_bits};
  return {least, most};
}

/// Visits one rule: its value as text, or every other value it can take.
struct RuleVisitor {
  const Instruction& inst;
  Datapath& model;  // what for_each_rule visits
  const std::string& rule;
  std::vector<Change>* changes;  // null: the value alone is wanted
  std::string* text;

  template <typename T>
  void put(T& field, T value, std::string name, int distance = 0) const {
    if (field == value) return;
    const T before = std::exchange(field, value);
    if (can_be(inst, model)) changes->push_back({rule, std::move(name), model, distance});
    field = before;
  }
  template <typename E, std::size_t N>
  void choice(std::string_view name, const std::string_view (&names)[N], E& value) const {
    if (name != rule) return;
    if (text != nullptr) *text = name_in(names, value);
    for (std::size_t i = 0; changes != nullptr && i < N; ++i)
      put(value, static_cast<E>(i), std::string(names[i]));
  }
  void format(std::string_view name, Format& value) const {
    if (name != rule) return;
    if (text != nullptr) *text = name_of(value);
    if (changes == nullptr) return;
    for (const Format one : {Format::none, Format::f16, Format::f32})
      put(value, one, std::string(name_of(one)));
  }
  template <typename T>
  void integer(std::string_view name, T& value, int least, int most) const {
    if (name != rule) return;
    if (text != nullptr) *text = std::to_string(value);
    if (changes == nullptr) return;
    const auto [low, high] = range_of(inst, name, least, most);
    for (int i = low; i <= high; ++i) put(value, static_cast<T>(i), std::to_string(i), i - int{value});
  }
  void boolean(std::string_view name, bool& value) const {
    if (name != rule) return;
    if (text != nullptr) *text = value ? "true" : "false";
    if (changes != nullptr) put(value, !value, value ? "false" : "true");
  }
  void letters(std::string_view name, char (&value)[3]) const {
    if (name != rule) return;
    const std::string before(value, 3);
    if (text != nullptr) *text = before;
    std::string order = "abc";
    do {
      if (changes == nullptr || order == before) continue;
      std::copy(order.begin(), order.end(), value);
      changes->push_back({rule, order, model});
    } while (std::next_permutation(order.begin(), order.end()));
    std::copy(before.begin(), before.end(), value);
  }
};

struct NameCollector {
  std::vector<std::string>& names;
  template <typename... Rest>
  void choice(std::string_view name, const Rest&... /*rest*/) const {
    names.emplace_back(name);
  }
  void format(std::string_view name, Format /*value*/) const { names.emplace_back(name); }
  template <typename T>
  void integer(std::string_view name, T /*value*/, int /*least*/, int /*most*/) const {
    names.emplace_back(name);
  }
  void boolean(std::string_view name, bool /*value*/) const { names.emplace_back(name); }
  void letters(std::string_view name, const char (&/*value*/)[3]) const { names.emplace_back(name); }
};

void visit(const Instruction& inst, Datapath model, const std::string& rule, std::vector<Change>* changes,
           std::string* text) {
  const RuleVisitor visitor{inst, model, rule, changes, text};
  if (rule == kMetadataRule)
    visitor.choice(rule, kMetadata, model.metadata);
  else
    for_each_rule(model, visitor);
}

}  // namespace

bool can_be(const Instruction& inst, const Datapath& datapath) {
  const FormatSpec d = spec_of(inst.d);
  const bool whole = d.integer() || inst.d == Format::f64;
  if (datapath.arithmetic != blank_datapath(inst).arithmetic &&
      !(can_group(inst) && (datapath.arithmetic == Arithmetic::fused_dot_add ||
                            datapath.arithmetic == Arithmetic::grouped_dot_add)))
    return false;
  if (datapath.arithmetic == Arithmetic::grouped_dot_add && datapath.fraction_bits > kMostGroupedBits)
    return false;
  if (datapath.output.fraction_bits > d.fraction_bits ||
      (whole && datapath.output.fraction_bits != d.fraction_bits))
    return false;
  if (datapath.sum_format != Format::none && (datapath.sum_format != Format::f32 || whole)) return false;
  if (datapath.widen_to != Format::none && !(narrow(inst) && datapath.widen_to == Format::f16)) return false;
  return datapath.addend == AddendPlace::in_first_step || inst.c == inst.d ||
         datapath.sum_format != Format::none;
}

std::vector<std::string> rules_read(const Instruction& inst, const Datapath& datapath) {
  std::vector<std::string> names;
  for_each_rule(datapath, NameCollector{names});
  names.emplace_back(kMetadataRule);
  names.erase(std::remove_if(names.begin(), names.end(),
                             [&](const std::string& name) { return !reads(inst, datapath, name); }),
              names.end());
  return names;
}

std::string value_of(const Datapath& datapath, const std::string& rule) {
  std::string text;
  visit({}, datapath, rule, nullptr, &text);
  return text;
}

std::vector<Change> changes_of(const Instruction& inst, const Datapath& datapath, const std::string& rule) {
  std::vector<Change> changes;
  visit(inst, datapath, rule, &changes, nullptr);
  return changes;
}

Datapath blank_datapath(const Instruction& inst) {
  const FormatSpec d = spec_of(inst.d);
  Datapath datapath;
  datapath.products_per_step = static_cast<std::int16_t>(inst.stored_k());
  datapath.output.format = inst.d;
  datapath.output.fraction_bits = d.fraction_bits;
  if (d.integer()) {
    datapath.arithmetic = Arithmetic::integer;
    datapath.products_per_step = 1;
  } else if (inst.d == Format::f64) {
    datapath.arithmetic = Arithmetic::fma_chain;
    datapath.products_per_step = 1;
    datapath.fraction_bits = datapath.min_alignment_exponent = 0;
    datapath.output.rounding = Rounding::nearest_even;
    datapath.output.zero_sign = ZeroSign::ieee;
    datapath.output.nan = NanRule::ieee_quiet;
  } else {
    // A floor that cuts nothing until an answer shows one.
    datapath.min_alignment_exponent = kLeastFloor;
  }
  return datapath;
}

}  // namespace mmaudit::probe
