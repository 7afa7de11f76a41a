#include "row_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "mmaudit/error.hpp"
#include "row_text.hpp"

namespace mmaudit::cli {
namespace {

using Json = nlohmann::json;

/// Enumerators by name; the order is that of the messages.
template <typename E>
struct Named {
  std::string_view name;
  E value;
};

constexpr Named<Arithmetic> kArithmetic[] = {{"fused_dot_add", Arithmetic::fused_dot_add},
                                             {"fma_chain", Arithmetic::fma_chain},
                                             {"integer", Arithmetic::integer},
                                             {"grouped_dot_add", Arithmetic::grouped_dot_add}};
constexpr Named<Rounding> kRounding[] = {{"RZ", Rounding::toward_zero},
                                         {"RNE", Rounding::nearest_even},
                                         {"RD", Rounding::down},
                                         {"RU", Rounding::up}};
constexpr Named<KOrder> kOrder[] = {{"ascending", KOrder::ascending},
                                    {"pairs_of_four", KOrder::pairs_of_four},
                                    {"descending", KOrder::descending},
                                    {"halves", KOrder::halves},
                                    {"even_then_odd", KOrder::even_then_odd}};
constexpr Named<AddendPlace> kAddend[] = {{"in_first_step", AddendPlace::in_first_step},
                                          {"after_last_nearest", AddendPlace::after_last_nearest},
                                          {"after_last_truncated", AddendPlace::after_last_truncated},
                                          {"before_each_nearest", AddendPlace::before_each_nearest}};
constexpr Named<Alignment> kAlignment[] = {
    {"truncate_magnitude", Alignment::truncate_magnitude},
    {"floor_toward_minus_infinity", Alignment::floor_toward_minus_infinity},
    {"nearest_even", Alignment::nearest_even}};
constexpr Named<ZeroRule> kZero[] = {{"no_part", ZeroRule::no_part},
                                     {"operand_exponent", ZeroRule::operand_exponent}};
constexpr Named<ProductRule> kProduct[] = {{"unnormalised", ProductRule::unnormalised},
                                           {"normalised", ProductRule::normalised}};
constexpr Named<SubnormalRule> kSubnormal[] = {{"kept", SubnormalRule::kept},
                                               {"normalised", SubnormalRule::normalised},
                                               {"flushed", SubnormalRule::flushed}};
constexpr Named<ZeroSign> kZeroSign[] = {
    {"plus", ZeroSign::plus}, {"of_sum", ZeroSign::of_sum}, {"ieee", ZeroSign::ieee}};
constexpr Named<Overflow> kOverflow[] = {{"infinity", Overflow::infinity},
                                         {"max_finite", Overflow::max_finite}};
constexpr Named<InfinityTimesZero> kInfinityTimesZero[] = {{"nan", InfinityTimesZero::nan},
                                                           {"zero", InfinityTimesZero::zero}};
constexpr Named<SaturationRule> kSaturation[] = {{"once_at_end", SaturationRule::once_at_end},
                                                 {"every_step", SaturationRule::every_step},
                                                 {"never", SaturationRule::never},
                                                 {"always", SaturationRule::always}};
constexpr Named<IntegerSign> kIntegerSign[] = {{"of_format", IntegerSign::of_format},
                                               {"both_signed", IntegerSign::both_signed},
                                               {"both_unsigned", IntegerSign::both_unsigned},
                                               {"exchanged", IntegerSign::exchanged}};
constexpr Named<BitOperation> kBitOperation[] = {{"of_instruction", BitOperation::of_instruction},
                                                 {"exchanged", BitOperation::exchanged}};
constexpr Named<ScaleUse> kScaleUse[] = {
    {"applied", ScaleUse::applied}, {"ignored", ScaleUse::ignored}, {"reversed", ScaleUse::reversed}};
constexpr Named<ScaleSign> kScaleSign[] = {{"ignored", ScaleSign::ignored}, {"negates", ScaleSign::negates}};
constexpr Named<ScaleNan> kScaleNan[] = {{"always", ScaleNan::always},
                                         {"beside_nonzero", ScaleNan::beside_nonzero}};
constexpr Named<GroupExponent> kGroupExponent[] = {{"of_scales", GroupExponent::of_scales},
                                                   {"of_products", GroupExponent::of_products},
                                                   {"of_sum", GroupExponent::of_sum}};
constexpr Named<CancelledGroup> kCancelledGroup[] = {{"counts", CancelledGroup::counts},
                                                     {"no_part", CancelledGroup::no_part}};
constexpr Named<NanRule> kNan[] = {{"canonical", NanRule::canonical}, {"ieee_quiet", NanRule::ieee_quiet}};

template <typename E, std::size_t N>
std::string_view text_of(const Named<E> (&names)[N], E value) {
  for (const Named<E>& row : names)
    if (row.value == value) return row.name;
  return "unknown";
}

/// The fields of a row, each read at most once; what is left over at the end is refused.
class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) refuse("", json, "an object");
  }

  /// An integer of [low, high]; `value` stays when the field is missing.
  template <typename T>
  void integer(const char* field, T& value, int low, int high) {
    const Json* found = take(field);
    if (found == nullptr) return;
    const bool fits = found->is_number_unsigned()  ? found->get<std::uint64_t>() <= 1000000
                      : found->is_number_integer() ? found->get<std::int64_t>() >= -1000000
                                                   : false;
    if (!fits || found->get<int>() < low || found->get<int>() > high)
      refuse(field, *found, fmt::format("a whole number from {} to {}", low, high));
    value = static_cast<T>(found->get<int>());
  }
  template <typename E, std::size_t N>
  void choice(const char* field, const Named<E> (&names)[N], E& value) {
    const Json* found = take(field);
    if (found == nullptr) return;
    std::string allowed;
    for (const Named<E>& row : names) {
      if (found->is_string() && found->get_ref<const std::string&>() == row.name) {
        value = row.value;
        return;
      }
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", row.name);
    }
    refuse(field, *found, allowed);
  }
  void boolean(const char* field, bool& value) {
    const Json* found = take(field);
    if (found == nullptr) return;
    if (!found->is_boolean()) refuse(field, *found, "true or false");
    value = found->get<bool>();
  }
  std::optional<std::string> text(const char* field) {
    const Json* found = take(field);
    if (found == nullptr) return std::nullopt;
    if (!found->is_string()) refuse(field, *found, "text");
    return found->get<std::string>();
  }
  void format(const char* field, Format& value) {
    const std::optional<std::string> name = text(field);
    if (!name) return;
    const auto found = find_format(*name);
    if (!found && *name != "none") {
      std::string allowed = "none";
      for (const NamedFormat& row : kFormats) allowed += fmt::format(", {}", row.name);
      refuse(field, *name, allowed);
    }
    value = found.value_or(Format::none);
  }
  const Json* take(const char* field) {
    known_.emplace_back(field);
    const auto at = json_.find(field);
    return at == json_.end() ? nullptr : &*at;
  }
  /// For fields that are printed for the reader and mean nothing here.
  void ignore(std::initializer_list<const char*> fields) {
    known_.insert(known_.end(), fields.begin(), fields.end());
  }
  void require(std::initializer_list<const char*> fields) const {
    for (const char* field : fields)
      if (!json_.contains(field))
        throw InputError(fmt::format("{}: found nothing, allowed: this field is required", at(field)));
  }
  void refuse_unknown() const {
    for (const auto& [key, value] : json_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        refuse("", key, fmt::format("the fields {}", fmt::join(known_, ", ")));
  }
  [[noreturn]] void refuse(const std::string& field, const Json& found, const std::string& allowed) const {
    constexpr std::size_t kMost = 60;
    std::string shown = found.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (shown.size() > kMost) shown = shown.substr(0, kMost) + "...";
    throw InputError(fmt::format("{}: found {}, allowed: {}", at(field), shown, allowed));
  }

 private:
  [[nodiscard]] std::string at(const std::string& field) const {
    return field.empty() ? where_ : fmt::format("{}.{}", where_, field);
  }
  const Json& json_;
  std::string where_;
  std::vector<std::string> known_;
};

/// The instructions that a row would serve.
std::vector<Instruction> served_by(const DatapathRow& row) {
  std::vector<Instruction> served;
  for (const Instruction& one : kInstructions)
    if (one.path == row.path && one.d == row.output && (row.addend == Format::none || row.addend == one.c))
      served.push_back(one);
  return served;
}

/// What single ranges cannot say.
void check_together(const Fields& fields, const DatapathRow& row) {
  const AccumulatorModel& model = row.model;
  const std::vector<Instruction> served = served_by(row);
  if (served.empty())
    fields.refuse("output_format", std::string(mmaudit::name_of(row.output)),
                  fmt::format("an output (and addend_format) of {}", mmaudit::name_of(row.path)));
  const bool binary64 = row.output == Format::f64;
  const bool integer = spec_of(row.output).integer();
  const Arithmetic only = binary64  ? Arithmetic::fma_chain
                          : integer ? Arithmetic::integer
                                    : Arithmetic::fused_dot_add;
  const bool grouped = model.arithmetic == Arithmetic::grouped_dot_add;
  const bool narrow_and_scaled = std::all_of(served.begin(), served.end(), [](const Instruction& one) {
    return one.scale != Format::none && one.a == Format::e2m1 && one.b == Format::e2m1;
  });
  if (narrow_and_scaled && model.arithmetic != only && !grouped)
    fields.refuse("arithmetic", std::string(text_of(kArithmetic, model.arithmetic)),
                  "grouped_dot_add and fused_dot_add, for block-scaled e2m1");
  if (model.arithmetic != only && !(narrow_and_scaled && grouped))
    fields.refuse("arithmetic", std::string(text_of(kArithmetic, model.arithmetic)),
                  fmt::format("{}, for {}", text_of(kArithmetic, only), mmaudit::name_of(row.output)));
  // 64 scaled products, each below 2^7 times its group's unit, and c have to fit 63 bits.
  constexpr int kMostGroupedBits = 45;
  if (grouped && model.fraction_bits > kMostGroupedBits)
    fields.refuse("F", model.fraction_bits, fmt::format("0 to {} for grouped_dot_add", kMostGroupedBits));
  const int most = spec_of(row.output).fraction_bits;
  const bool whole = binary64 || integer;
  if (model.output.fraction_bits > most || (whole && model.output.fraction_bits != most))
    fields.refuse(
        "output_fraction_bits", model.output.fraction_bits,
        whole ? fmt::format("{}", most) : fmt::format("0 to {} for {}", most, mmaudit::name_of(row.output)));
  if (model.sum_format != Format::none && (model.sum_format != Format::f32 || whole))
    fields.refuse("sum_format", std::string(mmaudit::name_of(model.sum_format)),
                  "none, and f32 for D of 16 or 32 bits");
  for (const Instruction& one : served) {
    const bool narrow =
        spec_of(one.a).storage_bits == 8 && spec_of(one.b).storage_bits == 8 && one.scale == Format::none;
    if (model.widen_to != Format::none && !(narrow && model.widen_to == Format::f16))
      fields.refuse("widen_to", std::string(mmaudit::name_of(model.widen_to)),
                    narrow ? "none, f16" : "none (only 8-bit operands without scales are widened)");
    if (model.addend != AddendPlace::in_first_step && one.c != one.d && model.sum_format == Format::none)
      fields.refuse(
          "addend", std::string(text_of(kAddend, model.addend)),
          fmt::format("in_first_step, because C of {} is not of D's format", mmaudit::name_of(one)));
  }
}

}  // namespace

Json to_json(const DatapathRow& row) {
  const AccumulatorModel& model = row.model;
  return {{"datapath", mmaudit::name_of(row.path)},
          {"output_format", mmaudit::name_of(row.output)},
          {"addend_format", mmaudit::name_of(row.addend)},
          {"evidence", mmaudit::name_of(row.evidence)},
          {"source", row.source},
          {"arithmetic", text_of(kArithmetic, model.arithmetic)},
          {"widen_to", mmaudit::name_of(model.widen_to)},
          {"sum_format", mmaudit::name_of(model.sum_format)},
          {"order", text_of(kOrder, model.order)},
          {"block", model.block},
          {"F", model.fraction_bits},
          {"floor", model.floor},
          {"addend", text_of(kAddend, model.addend)},
          {"alignment", text_of(kAlignment, model.alignment)},
          {"zero", text_of(kZero, model.zero)},
          {"product", text_of(kProduct, model.product)},
          {"subnormal_operand", text_of(kSubnormal, model.subnormal_operand)},
          {"subnormal_addend", text_of(kSubnormal, model.subnormal_addend)},
          {"infinity_times_zero", text_of(kInfinityTimesZero, model.infinity_times_zero)},
          {"read_ignored_bits", model.read_ignored_bits},
          {"nan_priority", std::string(model.nan_priority, 3)},
          {"saturation", text_of(kSaturation, model.saturation)},
          {"integer_sign", text_of(kIntegerSign, model.integer_sign)},
          {"bit_operation", text_of(kBitOperation, model.bit_operation)},
          {"scale_use", text_of(kScaleUse, model.scale_use)},
          {"scale_sign", text_of(kScaleSign, model.scale_sign)},
          {"scale_nan", text_of(kScaleNan, model.scale_nan)},
          {"subnormal_scale", text_of(kSubnormal, model.subnormal_scale)},
          {"group", model.group},
          {"group_exponent", text_of(kGroupExponent, model.group_exponent)},
          {"cancelled_group", text_of(kCancelledGroup, model.cancelled_group)},
          {"output_fraction_bits", model.output.fraction_bits},
          {"rounding", text_of(kRounding, model.output.rounding)},
          {"overflow", text_of(kOverflow, model.output.overflow)},
          {"flush_subnormals", model.output.flush_subnormals},
          {"zero_sign", text_of(kZeroSign, model.output.zero_sign)},
          {"nan", text_of(kNan, model.output.nan)}};
}

Json to_json(const Instruction& instruction, const DatapathRow& row) {
  Json out = to_json(row);
  out["instruction"] = mmaudit::name_of(instruction);
  if (instruction.scale != Format::none) {
    out["scale_format"] = mmaudit::name_of(instruction.scale);
    out["scale_block"] = instruction.scale_block;
  }
  if (row.model.arithmetic == Arithmetic::integer)
    out["rounding"] = rounding_text(instruction, row.model);
  else
    out["L"] = row.model.arithmetic == Arithmetic::fma_chain ? 1 : block_of(instruction, row.model);
  return out;
}

Json to_json(const Architecture& architecture) {
  Json rows = Json::array(), instructions = Json::array();
  for (const DatapathRow& row : architecture.datapaths) rows.push_back(to_json(row));
  for (const Instruction& instruction : kInstructions)
    if (const DatapathRow* row = find_datapath(architecture, instruction))
      instructions.push_back(to_json(instruction, *row));
  return {{"name", architecture.name},
          {"compute_capability", architecture.compute_capability},
          {"aliases", architecture.aliases},
          {"rows", rows},
          {"instructions", instructions}};
}

DatapathRow row_from_json(const Json& json, const std::string& where, std::string_view source) {
  Fields fields(json, where);
  fields.require({"datapath", "output_format", "arithmetic", "output_fraction_bits", "rounding"});
  DatapathRow row{Datapath::mma_f16, Format::none, {}, Evidence::user, source};
  AccumulatorModel& model = row.model;
  const std::string path = fields.text("datapath").value_or("");
  const auto* known =
      std::find_if(std::begin(kInstructions), std::end(kInstructions),
                   [&](const Instruction& one) { return mmaudit::name_of(one.path) == path; });
  if (known == std::end(kInstructions)) {
    std::vector<std::string_view> allowed;
    for (const Instruction& one : kInstructions)
      if (std::find(allowed.begin(), allowed.end(), mmaudit::name_of(one.path)) == allowed.end())
        allowed.push_back(mmaudit::name_of(one.path));
    fields.refuse("datapath", path, fmt::format("{}", fmt::join(allowed, ", ")));
  }
  row.path = known->path;
  fields.format("output_format", row.output);
  fields.format("addend_format", row.addend);
  fields.choice("arithmetic", kArithmetic, model.arithmetic);
  if (model.arithmetic == Arithmetic::fused_dot_add) fields.require({"block", "F", "floor"});
  if (model.arithmetic == Arithmetic::grouped_dot_add) fields.require({"block", "F", "floor", "group"});
  fields.format("widen_to", model.widen_to);
  fields.format("sum_format", model.sum_format);
  fields.choice("order", kOrder, model.order);
  fields.integer("block", model.block, 1, 64);
  // 66 addends below 2^(F + 2) each have to fit 63 bits.
  fields.integer("F", model.fraction_bits, 0, 50);
  fields.integer("floor", model.floor, -2000, 200);
  fields.choice("addend", kAddend, model.addend);
  fields.choice("alignment", kAlignment, model.alignment);
  fields.choice("zero", kZero, model.zero);
  fields.choice("product", kProduct, model.product);
  fields.choice("subnormal_operand", kSubnormal, model.subnormal_operand);
  fields.choice("subnormal_addend", kSubnormal, model.subnormal_addend);
  fields.choice("infinity_times_zero", kInfinityTimesZero, model.infinity_times_zero);
  fields.boolean("read_ignored_bits", model.read_ignored_bits);
  if (const auto order = fields.text("nan_priority")) {
    std::string sorted = *order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != "abc") fields.refuse("nan_priority", *order, "the letters a, b and c in some order");
    std::copy(order->begin(), order->end(), model.nan_priority);
  }
  fields.choice("saturation", kSaturation, model.saturation);
  fields.choice("integer_sign", kIntegerSign, model.integer_sign);
  fields.choice("bit_operation", kBitOperation, model.bit_operation);
  fields.choice("scale_use", kScaleUse, model.scale_use);
  fields.choice("scale_sign", kScaleSign, model.scale_sign);
  fields.choice("scale_nan", kScaleNan, model.scale_nan);
  fields.choice("subnormal_scale", kSubnormal, model.subnormal_scale);
  fields.integer("group", model.group, 1, 64);
  fields.choice("group_exponent", kGroupExponent, model.group_exponent);
  fields.choice("cancelled_group", kCancelledGroup, model.cancelled_group);
  model.output.format = row.output;
  fields.integer("output_fraction_bits", model.output.fraction_bits, 0, 52);
  fields.choice("rounding", kRounding, model.output.rounding);
  fields.choice("overflow", kOverflow, model.output.overflow);
  fields.boolean("flush_subnormals", model.output.flush_subnormals);
  fields.choice("zero_sign", kZeroSign, model.output.zero_sign);
  fields.choice("nan", kNan, model.output.nan);
  fields.ignore({"evidence", "source", "instruction", "L", "scale_format", "scale_block"});
  fields.refuse_unknown();
  check_together(fields, row);
  return row;
}

}  // namespace mmaudit::cli
