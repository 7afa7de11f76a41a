#include "mmaudit/datapath_text.hpp"
#include "mmaudit/model/rule_names.hpp"
#include "mmaudit/name_in.hpp"
#include "writer.hpp"

namespace mmaudit {
namespace {

/// Writes every rule except `without`.
struct RuleWriter {
  json::Writer& out;
  std::string_view without;

  template <typename E, std::size_t N>
  void choice(std::string_view name, const std::string_view (&names)[N], E value) const {
    if (name != without) out.field(name, name_in(names, value));
  }
  void format(std::string_view name, Format value) const { out.field(name, name_of(value)); }
  template <typename T>
  void integer(std::string_view name, T value, int /*least*/, int /*most*/) const {
    out.field(name, static_cast<int>(value));
  }
  void boolean(std::string_view name, bool value) const { out.field(name, value); }
  void letters(std::string_view name, const char (&value)[3]) const {
    out.field(name, std::string_view(value, 3));
  }
};

void write_datapath(json::Writer& out, const DatapathEntry& entry, std::string_view without) {
  out.field("datapath", name_of(entry.unit));
  out.field("output_format", name_of(entry.output));
  out.field("addend_format", name_of(entry.addend));
  out.field("evidence", name_of(entry.evidence));
  out.field("source", entry.source);
  for_each_rule(entry.datapath, RuleWriter{out, without});
}

void write_shape(json::Writer& out, const Instruction& inst) {
  // m and n are 0 where one entry stands for many shapes.
  out.key("shape").begin_object();
  out.field("m", inst.m).field("n", inst.n).field("k", inst.k).field("stored_k", inst.stored_k());
  out.field("a", name_of(inst.a)).field("b", name_of(inst.b));
  out.field("c", name_of(inst.c)).field("d", name_of(inst.d));
  out.end_object();
}

}  // namespace

std::string datapath_json(const DatapathEntry& entry) {
  json::Writer out;
  out.begin_object();
  write_datapath(out, entry, {});
  return out.end_object().text();
}

std::string instruction_json(const Instruction& instruction, const DatapathEntry& entry) {
  const bool integer = entry.datapath.arithmetic == Arithmetic::integer;
  json::Writer out;
  out.begin_object();
  out.field("instruction", name_of(instruction));
  write_shape(out, instruction);
  write_datapath(out, entry, integer ? "rounding" : "");
  if (instruction.scale != Format::none) {
    out.field("scale_format", name_of(instruction.scale));
    out.field("scale_block", instruction.scale_block);
  }
  if (integer)
    out.field("rounding", rounding_text(instruction, entry.datapath));
  else
    out.field("L", entry.datapath.arithmetic == Arithmetic::fma_chain
                       ? 1
                       : products_per_step_of(instruction, entry.datapath));
  return out.end_object().text();
}

std::string architecture_json(const Architecture& architecture) {
  json::Writer out;
  out.begin_object();
  out.field("name", architecture.name);
  out.field("compute_capability", architecture.compute_capability);
  out.key("aliases").begin_array();
  for (const std::string_view alias : architecture.aliases) out.value(alias);
  out.end_array();
  out.key("rows").begin_array();
  for (const DatapathEntry& entry : architecture.datapaths) out.json(datapath_json(entry));
  out.end_array();
  out.key("instructions").begin_array();
  for (const Instruction& instruction : kInstructions)
    if (const DatapathEntry* entry = find_datapath(architecture, instruction))
      out.json(instruction_json(instruction, *entry));
  out.end_array();
  return out.end_object().text();
}

std::string format_json(const NamedFormat& format) {
  const FormatSpec& spec = format.spec;
  json::Writer out;
  out.begin_object();
  out.field("name", format.name);
  out.field("storage_bits", spec.storage_bits);
  out.field("value_bits", spec.value_bits());
  out.field("integer", spec.integer());
  out.field("signed", spec.integer() ? spec.encoding == Encoding::signed_integer : !spec.signless);
  out.field("exponent_bits", spec.exponent_bits);
  out.field("fraction_bits", spec.integer() ? 0 : spec.fraction_bits);
  out.field("bias", spec.bias);
  out.field("infinity", !spec.integer() && spec.specials == Specials::ieee);
  out.field("nan", !spec.integer() && spec.specials != Specials::finite);
  out.field("nan_at_minus_zero", !spec.integer() && spec.specials == Specials::nan_at_minus_zero);
  return out.end_object().text();
}

}  // namespace mmaudit
