#pragma once
// The rules of a row by name: what listings print and what a row in a file is read from.
#include <cstddef>
#include <string_view>

#include "mmaudit/model/datapath.hpp"

namespace mmaudit {
namespace names {

/// Enumerators by name; the order is that of messages.
template <typename E>
struct Named {
  std::string_view name;
  E value;
};

inline constexpr Named<Arithmetic> kArithmetic[] = {{"fused_dot_add", Arithmetic::fused_dot_add},
                                                    {"fma_chain", Arithmetic::fma_chain},
                                                    {"integer", Arithmetic::integer},
                                                    {"grouped_dot_add", Arithmetic::grouped_dot_add}};
inline constexpr Named<Rounding> kRounding[] = {{"RZ", Rounding::toward_zero},
                                                {"RNE", Rounding::nearest_even},
                                                {"RD", Rounding::down},
                                                {"RU", Rounding::up}};
inline constexpr Named<KOrder> kOrder[] = {{"ascending", KOrder::ascending},
                                           {"pairs_of_four", KOrder::pairs_of_four},
                                           {"descending", KOrder::descending},
                                           {"halves", KOrder::halves},
                                           {"even_then_odd", KOrder::even_then_odd}};
inline constexpr Named<AddendPlace> kAddend[] = {{"in_first_step", AddendPlace::in_first_step},
                                                 {"after_last_nearest", AddendPlace::after_last_nearest},
                                                 {"after_last_truncated", AddendPlace::after_last_truncated},
                                                 {"before_each_nearest", AddendPlace::before_each_nearest}};
inline constexpr Named<Alignment> kAlignment[] = {
    {"truncate_magnitude", Alignment::truncate_magnitude},
    {"floor_toward_minus_infinity", Alignment::floor_toward_minus_infinity},
    {"nearest_even", Alignment::nearest_even}};
inline constexpr Named<ZeroRule> kZero[] = {{"no_part", ZeroRule::no_part},
                                            {"operand_exponent", ZeroRule::operand_exponent}};
inline constexpr Named<ProductRule> kProduct[] = {{"unnormalised", ProductRule::unnormalised},
                                                  {"normalised", ProductRule::normalised}};
inline constexpr Named<SubnormalRule> kSubnormal[] = {{"kept", SubnormalRule::kept},
                                                      {"normalised", SubnormalRule::normalised},
                                                      {"flushed", SubnormalRule::flushed}};
inline constexpr Named<ZeroSign> kZeroSign[] = {
    {"plus", ZeroSign::plus}, {"of_sum", ZeroSign::of_sum}, {"ieee", ZeroSign::ieee}};
inline constexpr Named<Overflow> kOverflow[] = {{"infinity", Overflow::infinity},
                                                {"max_finite", Overflow::max_finite}};
inline constexpr Named<InfinityTimesZero> kInfinityTimesZero[] = {{"nan", InfinityTimesZero::nan},
                                                                  {"zero", InfinityTimesZero::zero}};
inline constexpr Named<SaturationRule> kSaturation[] = {{"once_at_end", SaturationRule::once_at_end},
                                                        {"every_step", SaturationRule::every_step},
                                                        {"never", SaturationRule::never},
                                                        {"always", SaturationRule::always}};
inline constexpr Named<IntegerSign> kIntegerSign[] = {{"of_format", IntegerSign::of_format},
                                                      {"both_signed", IntegerSign::both_signed},
                                                      {"both_unsigned", IntegerSign::both_unsigned},
                                                      {"exchanged", IntegerSign::exchanged}};
inline constexpr Named<BitOperation> kBitOperation[] = {{"of_instruction", BitOperation::of_instruction},
                                                        {"exchanged", BitOperation::exchanged}};
inline constexpr Named<ScaleUse> kScaleUse[] = {
    {"applied", ScaleUse::applied}, {"ignored", ScaleUse::ignored}, {"reversed", ScaleUse::reversed}};
inline constexpr Named<ScaleSign> kScaleSign[] = {{"ignored", ScaleSign::ignored},
                                                  {"negates", ScaleSign::negates}};
inline constexpr Named<ScaleNan> kScaleNan[] = {{"always", ScaleNan::always},
                                                {"beside_nonzero", ScaleNan::beside_nonzero}};
inline constexpr Named<GroupExponent> kGroupExponent[] = {{"of_scales", GroupExponent::of_scales},
                                                          {"of_products", GroupExponent::of_products},
                                                          {"of_sum", GroupExponent::of_sum}};
inline constexpr Named<CancelledGroup> kCancelledGroup[] = {{"counts", CancelledGroup::counts},
                                                            {"no_part", CancelledGroup::no_part}};
inline constexpr Named<NanRule> kNan[] = {{"canonical", NanRule::canonical},
                                          {"ieee_quiet", NanRule::ieee_quiet}};

template <typename E, std::size_t N>
constexpr std::string_view text_of(const Named<E> (&names)[N], E value) {
  for (const Named<E>& row : names)
    if (row.value == value) return row.name;
  return "unknown";
}

}  // namespace names

/// Shows `visit` every rule of a row under its name in files: choice(name, names, value), format(name,
/// value), integer(name, value, least, most), boolean(name, value), letters(name, value of "abc" in some
/// order). The format of D belongs to the row around the model and is left out.
template <typename Model, typename Visit>
constexpr void for_each_rule(Model& model, Visit&& visit) {
  visit.choice("arithmetic", names::kArithmetic, model.arithmetic);
  visit.format("widen_to", model.widen_to);
  visit.format("sum_format", model.sum_format);
  visit.choice("order", names::kOrder, model.order);
  visit.integer("block", model.products_per_step, 1, 64);
  // 66 addends below 2^(F + 2) each have to fit 63 bits.
  visit.integer("F", model.fraction_bits, 0, 50);
  visit.integer("floor", model.min_alignment_exponent, -2000, 200);
  visit.choice("addend", names::kAddend, model.addend);
  visit.choice("alignment", names::kAlignment, model.alignment);
  visit.choice("zero", names::kZero, model.zero);
  visit.choice("product", names::kProduct, model.product);
  visit.choice("subnormal_operand", names::kSubnormal, model.subnormal_operand);
  visit.choice("subnormal_addend", names::kSubnormal, model.subnormal_addend);
  visit.choice("infinity_times_zero", names::kInfinityTimesZero, model.infinity_times_zero);
  visit.boolean("read_ignored_bits", model.read_ignored_bits);
  visit.letters("nan_priority", model.nan_priority);
  visit.choice("saturation", names::kSaturation, model.saturation);
  visit.choice("integer_sign", names::kIntegerSign, model.integer_sign);
  visit.choice("bit_operation", names::kBitOperation, model.bit_operation);
  visit.choice("scale_use", names::kScaleUse, model.scale_use);
  visit.choice("scale_sign", names::kScaleSign, model.scale_sign);
  visit.choice("scale_nan", names::kScaleNan, model.scale_nan);
  visit.choice("subnormal_scale", names::kSubnormal, model.subnormal_scale);
  visit.integer("group", model.group, 1, 64);
  visit.choice("group_exponent", names::kGroupExponent, model.group_exponent);
  visit.choice("cancelled_group", names::kCancelledGroup, model.cancelled_group);
  visit.integer("output_fraction_bits", model.output.fraction_bits, 0, 52);
  visit.choice("rounding", names::kRounding, model.output.rounding);
  visit.choice("overflow", names::kOverflow, model.output.overflow);
  visit.boolean("flush_subnormals", model.output.flush_subnormals);
  visit.choice("zero_sign", names::kZeroSign, model.output.zero_sign);
  visit.choice("nan", names::kNan, model.output.nan);
}

}  // namespace mmaudit
