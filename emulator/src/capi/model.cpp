// The C interface: architectures, instructions, formats.
#include <cstring>

#include "guard.hpp"
#include "mmaudit/datapath_text.hpp"
#include "mmaudit/version.hpp"
#include "text/json/writer.hpp"

namespace mmaudit::capi {
namespace {

// Every name and source in the lists is a literal, so these views end with a null byte.
const char* text_of(std::string_view text) { return text.empty() ? nullptr : text.data(); }
const char* text_of(Format format) { return format == Format::none ? nullptr : name_of(format).data(); }

mmaudit_format described(const NamedFormat& format) {
  const FormatSpec& spec = format.spec;
  mmaudit_format out{};
  out.name = format.name.data();
  out.storage_bits = spec.storage_bits;
  out.value_bits = static_cast<std::uint32_t>(spec.value_bits());
  out.exponent_bits = spec.exponent_bits;
  out.fraction_bits = spec.integer() ? 0 : spec.fraction_bits;
  out.bias = spec.bias;
  out.is_integer = spec.integer() ? 1 : 0;
  const bool has_sign = spec.integer() ? spec.encoding == Encoding::signed_integer : !spec.signless;
  out.is_signed = has_sign ? 1 : 0;
  out.has_infinity = !spec.integer() && spec.specials == Specials::ieee ? 1 : 0;
  out.has_nan = !spec.integer() && spec.specials != Specials::finite ? 1 : 0;
  out.nan_at_minus_zero = !spec.integer() && spec.specials == Specials::nan_at_minus_zero ? 1 : 0;
  out.file = text_of(format.names.file);
  out.numpy = text_of(format.names.numpy);
  out.ml_dtypes = text_of(format.names.ml_dtypes);
  out.torch = text_of(format.names.torch);
  return out;
}

mmaudit_instruction described(const Instruction& inst, const DatapathEntry& entry) {
  mmaudit_instruction out{};
  const std::string name = name_of(inst);
  if (name.size() >= sizeof out.name)
    refuse("inst: found a name of {} characters, allowed: less than {}", name.size(), sizeof out.name);
  std::memcpy(out.name, name.c_str(), name.size() + 1);
  out.m = static_cast<std::uint32_t>(inst.m);
  out.n = static_cast<std::uint32_t>(inst.n);
  out.k = static_cast<std::uint32_t>(inst.k);
  out.stored_k = static_cast<std::uint32_t>(inst.stored_k());
  out.a = text_of(inst.a);
  out.b = text_of(inst.b);
  out.c = text_of(inst.c);
  out.d = text_of(inst.d);
  out.scale = text_of(inst.scale);
  out.scale_block = static_cast<std::uint32_t>(inst.scale_block);
  out.takes_modifiers = is_asynchronous(inst.op) ? 1 : 0;
  out.evidence = name_of(entry.evidence).data();
  out.source = entry.source.data();
  return out;
}

std::string listing(const char* arch) {
  const Architecture* one = arch == nullptr ? nullptr : &architecture_of(arch);
  json::Writer out;
  out.begin_object().field("schema", "mmaudit.list/1");
  out.key("architectures").begin_array();
  for (const Architecture& each : architectures())
    if (one == nullptr || one == &each) out.json(architecture_json(each));
  out.end_array().key("formats").begin_array();
  for (const NamedFormat& format : kFormats) out.json(format_json(format));
  return out.end_array().end_object().text();
}

}  // namespace
}  // namespace mmaudit::capi

namespace capi = mmaudit::capi;
using capi::guarded;
using mmaudit::architectures;
using mmaudit::kFormats;
using mmaudit::kInstructions;
using mmaudit::refuse;

extern "C" {

const char* mmaudit_version() { return mmaudit::kVersion; }

const char* mmaudit_revision() { return mmaudit::kGitRevision; }

unsigned mmaudit_abi() { return MMAUDIT_ABI; }

size_t mmaudit_architecture_count() { return architectures().size(); }

const char* mmaudit_architecture_name(size_t index) {
  return index < architectures().size() ? architectures()[index].name.data() : nullptr;
}

size_t mmaudit_format_count() { return std::size(kFormats); }

int mmaudit_format_at(size_t index, mmaudit_format* out) {
  return guarded([&] {
    if (index >= std::size(kFormats))
      refuse("index: found {}, allowed: 0 to {}", index, std::size(kFormats) - 1);
    capi::give(capi::described(kFormats[index]), out);
  });
}

int mmaudit_find_format(const char* name, mmaudit_format* out) {
  return guarded([&] {
    const mmaudit::Format wanted = capi::format_of("format", name).id;
    for (const mmaudit::NamedFormat& format : kFormats)
      if (format.spec.id == wanted) return capi::give(capi::described(format), out);
  });
}

size_t mmaudit_instruction_count(const char* arch) {
  const mmaudit::Architecture* found =
      mmaudit::find_architecture(arch == nullptr ? mmaudit::kDefaultArchitecture : arch);
  std::size_t count = 0;
  for (const mmaudit::Instruction& inst : kInstructions)
    if (found != nullptr && mmaudit::find_datapath(*found, inst) != nullptr) ++count;
  return count;
}

int mmaudit_instruction_at(const char* arch, size_t index, mmaudit_instruction* out) {
  return guarded([&] {
    const mmaudit::Architecture& architecture = capi::architecture_of(arch);
    std::size_t position = 0;
    for (const mmaudit::Instruction& inst : kInstructions) {
      const mmaudit::DatapathEntry* datapath = mmaudit::find_datapath(architecture, inst);
      if (datapath != nullptr && position++ == index)
        return capi::give(capi::described(inst, *datapath), out);
    }
    refuse("index: found {}, allowed: less than {}", index, position);
  });
}

int mmaudit_find_instruction(const char* arch, const char* name, mmaudit_instruction* out) {
  return guarded([&] {
    const mmaudit::Instruction inst = capi::instruction_of(name);
    capi::give(capi::described(inst, capi::entry_of(capi::architecture_of(arch), inst)), out);
  });
}

int mmaudit_list(const char* arch, char** json) {
  return guarded([&] { capi::give_text(json, [&] { return capi::listing(arch); }); });
}
}
