#include "mmaudit/model/instruction.hpp"

#include <charconv>
#include <vector>

#include "mmaudit/model/ptx_text.hpp"
#include "mmaudit/names.hpp"
#include "model/not_modelled.hpp"

namespace mmaudit {
namespace {

// In the order of Op.
constexpr std::string_view kOps[] = {"mma",  "wgmma",   "mma.sp",     "wgmma.sp",
                                     "wmma", "tcgen05", "tcgen05.sp", "mfma"};

std::string_view op_text(Op op) { return kOps[static_cast<int>(op)]; }

bool spells_c(Op op) { return !is_asynchronous(op); }

std::string shape_text(const Instruction& inst) {
  const std::string m = inst.m == 0 ? "M" : std::to_string(inst.m);
  const std::string n = inst.n == 0 ? "N" : std::to_string(inst.n);
  return "m" + m + "n" + n + "k" + std::to_string(inst.k);
}

/// AMD's name of an element of A or B.
std::string_view amd_name(Format format) {
  return format == Format::e4m3fnuz   ? "fp8"
         : format == Format::e5m2fnuz ? "bf8"
         : format == Format::tf32     ? "xf32"
                                      : name_of(format);
}

/// As CDNA1 and CDNA2 write it; what CDNA3 added as CDNA3 does.
std::string mfma_name(const Instruction& inst) {
  std::string name = "v_mfma_" + std::string(name_of(inst.d)) + "_" + std::to_string(inst.m) + "x" +
                     std::to_string(inst.n) + "x" + std::to_string(inst.k);
  const std::string a(amd_name(inst.a)), b(amd_name(inst.b));
  if (inst.unit == units::mfma_fp8) return name + "_" + a + "_" + b;
  if (inst.unit == units::mfma_xf32) return name + "_" + a;
  return name + a + (inst.unit == units::mfma_bf16_1k ? "_1k" : "");
}

/// The m and n that a name spells, and the name with them replaced as the table row `row` has them; m = -1
/// when the name is not of that form.
struct Shaped {
  int m = -1, n = -1;
  std::string generic;
};

/// A number without sign and leading zero; -1 otherwise. `text` loses it.
int take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.front() == '0' || text.front() == '-') return -1;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

Shaped take_shape(std::string_view name, const Instruction& inst) {
  Shaped shaped;
  const std::string_view op = op_text(inst.op);
  if (name.substr(0, op.size()) != op || name.substr(op.size(), 2) != ".m") return {};
  name.remove_prefix(op.size() + 2);
  shaped.m = take_number(name);
  if (shaped.m < 0 || name.empty() || name.front() != 'n') return {};
  name.remove_prefix(1);
  shaped.n = name.empty() ? -1 : take_number(name);
  if (shaped.n < 0) return {};
  shaped.generic =
      std::string(op) + ".m" + (inst.m == 0 ? "M" : std::to_string(shaped.m)) + "nN" + std::string(name);
  return shaped;
}

/// The names of kInstructions, in its order.
const std::vector<std::string>& every_name() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> list;
    list.reserve(std::size(kInstructions));
    for (const Instruction& inst : kInstructions) list.push_back(name_of(inst));
    return list;
  }();
  return all;
}

std::string allowed_shapes(const Instruction& inst, const Shaped& found) {
  if (is_tcgen05(inst.op) && !tcgen05_has_m(inst, found.m))
    return refusal("m: found {}, allowed: {}", found.m,
                   tcgen05_has_m(inst, 64) ? "32, 64, 128 and 256" : "128 and 256");
  if (is_tcgen05(inst.op) && found.m == 32)
    return refusal("n: found {} with m = 32, allowed: {}", found.n,
                   is_sparse(inst.op) ? "64 and 128" : "64, 128 and 256");
  if (is_tcgen05(inst.op) && found.m == 256)
    return refusal("n: found {} with m = 256, allowed: multiples of {} up to 256", found.n,
                   inst.d == Format::s32 ? "32" : "16");
  return refusal("n: found {}, allowed: {}", found.n,
                 wgmma_has_n(inst, 40) ? "8 to 256 in steps of 8"
                                       : "8 to 32 in steps of 8 and 48 to 256 in steps of 16");
}

/// The spelling of this table: mma.sp stands for mma.sp::ordered_metadata.
std::string plain_spelling(std::string_view name) {
  constexpr std::string_view kOrdered = "mma.sp::ordered_metadata.", kPlain = "mma.sp.";
  if (name.substr(0, kOrdered.size()) != kOrdered) return std::string(name);
  return std::string(kPlain) + std::string(name.substr(kOrdered.size()));
}

}  // namespace

std::string_view name_of(MmaKind kind) { return kMmaKindNames[static_cast<int>(kind)]; }

std::string name_of(const Instruction& inst) {
  if (inst.op == Op::mfma) return mfma_name(inst);
  std::string name = std::string(op_text(inst.op)) + "." + shape_text(inst);
  if (inst.kind != MmaKind::none) name += std::string(".kind_") + std::string(name_of(inst.kind));
  if (inst.scale != Format::none) name += ".scale_vec_" + std::to_string(scales_of(inst)) + "X";
  if (inst.satfinite) name += ".satfinite";
  for (const Format format : {inst.d, inst.a, inst.b}) (name += '.') += name_of(format);
  if (spells_c(inst.op)) (name += '.') += name_of(inst.c);
  if (inst.scale != Format::none) (name += '.') += name_of(inst.scale);
  if (inst.multiply == Multiply::xor_popc) name += ".xor.popc";
  if (inst.multiply == Multiply::and_popc) name += ".and.popc";
  return name;
}

std::optional<Instruction> find_instruction(std::string_view spelled) {
  const std::string name = plain_spelling(spelled);
  const std::vector<std::string>& listed = every_name();
  for (std::size_t i = 0; i < kInstructions.size(); ++i) {
    Instruction inst = kInstructions[i];
    if (inst.n != 0) {
      if (listed[i] == name) return inst;
      continue;
    }
    const Shaped shaped = take_shape(name, inst);
    if (shaped.m < 0 || !has_shape(inst, shaped.m, shaped.n) || listed[i] != shaped.generic) continue;
    inst.m = static_cast<std::int16_t>(shaped.m);
    inst.n = static_cast<std::int16_t>(shaped.n);
    return inst;
  }
  return std::nullopt;
}

std::string why_no_instruction(std::string_view spelled) {
  const std::string name = plain_spelling(spelled);
  if (find_instruction(name)) return {};
  const std::vector<std::string>& listed = every_name();
  for (std::size_t i = 0; i < kInstructions.size(); ++i) {
    if (kInstructions[i].n != 0) continue;
    const Shaped shaped = take_shape(name, kInstructions[i]);
    if (shaped.m >= 0 && listed[i] == shaped.generic) return allowed_shapes(kInstructions[i], shaped);
  }
  const std::string known = not_modelled(name, kInstructionsNotModelled);
  const std::vector<std::string> nearest =
      known.empty() ? nearest_instructions(spelled, kNearest) : std::vector<std::string>{};
  return refusal("found {}{}, allowed: {}", in_quotes(name), known,
                 nearest.empty() ? "an instruction of `mmaudit list`"
                                 : cut_list(nearest, kInstructions.size(), "mmaudit list --all"));
}

}  // namespace mmaudit
