#include "mmaudit/corpus/user_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/arithmetic/staged_dot.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/model/rule_names.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit::corpus {
namespace {

/// The fields of a row.
class Fields : public JsonFields {
 public:
  Fields(const Json& json, const std::string& where)
      : JsonFields(json, where, {.separator = ".", .quoted = true}) {}

  void format(std::string_view field, Format& value) {
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
  void letters(std::string_view field, char (&value)[3]) {
    const std::optional<std::string> order = text(field);
    if (!order) return;
    std::string sorted = *order;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != "abc") refuse(field, *order, "the letters a, b and c in some order");
    std::copy(order->begin(), order->end(), value);
  }
};

/// The instructions that a row would serve.
std::vector<Instruction> served_by(const DatapathEntry& entry) {
  std::vector<Instruction> served;
  for (const Instruction& one : kInstructions)
    if (one.unit == entry.unit && one.d == entry.output &&
        (entry.addend == Format::none || entry.addend == one.c))
      served.push_back(one);
  return served;
}

/// F of two_stage_dot_add: it is cut to fewer bits than sum_fraction_bits afterwards.
constexpr int kMostStagedBits = 24;

/// What single ranges cannot say.
void check_together(const Fields& fields, const DatapathEntry& entry) {
  const Datapath& model = entry.datapath;
  const std::vector<Instruction> served = served_by(entry);
  if (served.empty())
    fields.refuse("output_format", std::string(name_of(entry.output)),
                  fmt::format("an output (and addend_format) of {}", name_of(entry.unit)));
  const bool binary64 = entry.output == Format::f64;
  const bool integer = spec_of(entry.output).integer();
  const Arithmetic only = binary64  ? Arithmetic::fma_chain
                          : integer ? Arithmetic::integer
                                    : Arithmetic::fused_dot_add;
  const bool grouped = model.arithmetic == Arithmetic::grouped_dot_add;
  const bool narrow_and_scaled = std::all_of(served.begin(), served.end(), [](const Instruction& one) {
    return one.scale != Format::none && one.a == Format::e2m1 && one.b == Format::e2m1;
  });
  if (narrow_and_scaled && model.arithmetic != only && !grouped)
    fields.refuse("arithmetic", std::string(name_in(names::kArithmetic, model.arithmetic)),
                  "grouped_dot_add and fused_dot_add, for block-scaled e2m1");
  const bool staged = is_staged(model.arithmetic);
  const bool takes_stages = std::all_of(served.begin(), served.end(), [](const Instruction& one) {
    return one.scale == Format::none && !is_sparse(one.op) && one.c == Format::f32 && one.d == Format::f32;
  });
  const bool plain_stages = model.widen_to == Format::none && model.sum_format == Format::none &&
                            model.addend == AddendPlace::in_first_step;
  if (staged && (!takes_stages || !plain_stages))
    fields.refuse("arithmetic", std::string(name_in(names::kArithmetic, model.arithmetic)),
                  "it for dense f32 results without widen_to, sum_format and addend");
  if (model.arithmetic == Arithmetic::two_stage_dot_add && model.fraction_bits > kMostStagedBits)
    fields.refuse("F", model.fraction_bits, fmt::format("0 to {} for two_stage_dot_add", kMostStagedBits));
  if (model.arithmetic != only && !(narrow_and_scaled && grouped) && !staged)
    fields.refuse("arithmetic", std::string(name_in(names::kArithmetic, model.arithmetic)),
                  fmt::format("{}, for {}", name_in(names::kArithmetic, only), name_of(entry.output)));
  // 64 scaled products, each below 2^7 times its group's unit, and c have to fit 63 bits.
  constexpr int kMostGroupedBits = 45;
  if (grouped && model.fraction_bits > kMostGroupedBits)
    fields.refuse("F", model.fraction_bits, fmt::format("0 to {} for grouped_dot_add", kMostGroupedBits));
  const int most = spec_of(entry.output).fraction_bits;
  const bool whole = binary64 || integer;
  if (model.output.fraction_bits > most || (whole && model.output.fraction_bits != most))
    fields.refuse(
        "output_fraction_bits", model.output.fraction_bits,
        whole ? fmt::format("{}", most) : fmt::format("0 to {} for {}", most, name_of(entry.output)));
  if (model.sum_format != Format::none && (model.sum_format != Format::f32 || whole))
    fields.refuse("sum_format", std::string(name_of(model.sum_format)),
                  "none, and f32 for D of 16 or 32 bits");
  for (const Instruction& one : served) {
    const bool narrow =
        spec_of(one.a).storage_bits == 8 && spec_of(one.b).storage_bits == 8 && one.scale == Format::none;
    if (model.widen_to != Format::none && !(narrow && model.widen_to == Format::f16))
      fields.refuse("widen_to", std::string(name_of(model.widen_to)),
                    narrow ? "none, f16" : "none (only 8-bit operands without scales are widened)");
    if (model.addend != AddendPlace::in_first_step && one.c != one.d && model.sum_format == Format::none)
      fields.refuse("addend", std::string(name_in(names::kAddend, model.addend)),
                    fmt::format("in_first_step, because C of {} is not of D's format", name_of(one)));
  }
}

}  // namespace

Json to_json(const DatapathEntry& entry) { return parse_json(datapath_json(entry)).sorted(); }

Json to_json(const Instruction& instruction, const DatapathEntry& entry) {
  return parse_json(instruction_json(instruction, entry)).sorted();
}

Json to_json(const Architecture& architecture) {
  return parse_json(architecture_json(architecture)).sorted();
}

DatapathEntry row_from_json(const Json& json, const std::string& where, std::string_view source) {
  Fields fields(json, where);
  fields.require({"datapath", "output_format", "arithmetic", "output_fraction_bits", "rounding"});
  DatapathEntry entry{MatrixUnit{}, Format::none, {}, Evidence::user, source};
  Datapath& model = entry.datapath;
  const std::string path = fields.text("datapath").value_or("");
  const auto* known = std::find_if(std::begin(kInstructions), std::end(kInstructions),
                                   [&](const Instruction& one) { return name_of(one.unit) == path; });
  if (known == std::end(kInstructions)) {
    std::vector<std::string_view> allowed;
    for (const Instruction& one : kInstructions)
      if (std::find(allowed.begin(), allowed.end(), name_of(one.unit)) == allowed.end())
        allowed.push_back(name_of(one.unit));
    fields.refuse("datapath", path, fmt::format("{}", fmt::join(allowed, ", ")));
  }
  entry.unit = known->unit;
  fields.format("output_format", entry.output);
  fields.format("addend_format", entry.addend);
  for_each_rule(model, fields);
  if (model.arithmetic == Arithmetic::fused_dot_add) fields.require({"block", "F", "floor"});
  if (model.arithmetic == Arithmetic::grouped_dot_add) fields.require({"block", "F", "floor", "group"});
  model.output.format = entry.output;
  fields.ignore({"evidence", "source", "instruction", "L", "scale_format", "scale_block", "shape"});
  fields.refuse_unknown();
  check_together(fields, entry);
  return entry;
}

}  // namespace mmaudit::corpus
