// Baselines: recorded, and compared.
#include "baseline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "replay.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

std::string inputs_hash(const TileBatch& tiles) {
  corpus::Checksum sum;
  for (const auto* operand : {&tiles.a, &tiles.b, &tiles.c}) sum.update(*operand);
  for (const auto* bytes : {&tiles.scale_a, &tiles.scale_b, &tiles.metadata})
    sum.update(std::as_bytes(std::span(*bytes)));
  return sum.hex();
}

std::string hash_of(const std::vector<std::byte>& bytes) {
  corpus::Checksum sum;
  sum.update(bytes);
  return sum.hex();
}

TileBatch tiles_of(const Instruction& instruction, const Datapath& datapath, gen::Family family,
                   const Baseline& of) {
  TileBatch tiles(instruction);
  gen::append_family(tiles, gen::make_generator_plan(instruction, datapath), family, of.seed, 0, of.tiles, 0);
  return tiles;
}

std::size_t d_bytes(const Instruction& instruction) { return spec_of(instruction.d).storage_bytes(); }

const BaselineInstruction* find_in(const Baseline& in, const std::string& name) {
  for (const BaselineInstruction& each : in.instructions)
    if (name_of(each.instruction) == name) return &each;
  return nullptr;
}

const BaselineFamily* find_in(const BaselineInstruction& in, const std::string& family) {
  for (const BaselineFamily& each : in.families)
    if (each.family == family) return &each;
  return nullptr;
}

/// The inputs of the first differing dot product, made again, and what the model says of them.
void explain_change(const Baseline& of, const BaselineFamily& before, BaselineChange& change) {
  const Architecture* architecture = find_architecture(of.architecture);
  const Instruction& instruction = change.instruction;
  const DatapathEntry* entry = architecture == nullptr ? nullptr : find_datapath(*architecture, instruction);
  if (entry == nullptr || of.generator != gen::kGeneratorVersion) return;
  int index = 0;
  while (index < gen::kFamilies && gen::name_of(static_cast<gen::Family>(index)) != change.family) ++index;
  if (index == gen::kFamilies) return;
  TileBatch tiles = tiles_of(instruction, entry->datapath, static_cast<gen::Family>(index), of);
  if (inputs_hash(tiles) != before.inputs) return;  // another version made other inputs
  const TileView batch = tiles.view();
  emulate(instruction, entry->datapath, batch);
  const auto m = static_cast<std::size_t>(instruction.m), n = static_cast<std::size_t>(instruction.n),
             k = static_cast<std::size_t>(instruction.k),
             stored = static_cast<std::size_t>(instruction.stored_k());
  const auto i = static_cast<std::size_t>(change.row), j = static_cast<std::size_t>(change.column);
  const std::uint64_t bits = gen::load_bits(tiles.d, d_bytes(instruction), (change.tile * m + i) * n + j);
  change.model = bits == change.old_bits   ? "as OLD"
                 : bits == change.new_bits ? "as NEW"
                                           : fmt::format("{:#x} as neither", bits);
  if (instruction.scale != Format::none) return;  // scales are not on explain's line
  std::vector<std::uint64_t> a, b;
  std::vector<std::uint8_t> metadata;
  for (std::size_t p = 0; p < stored; ++p) {
    const std::size_t at = (change.tile * m + i) * stored + p;
    a.push_back(gen::load_bits(tiles.a, spec_of(instruction.a).storage_bytes(), at));
    if (!tiles.metadata.empty()) metadata.push_back(tiles.metadata[at]);
  }
  for (std::size_t p = 0; p < k; ++p)
    b.push_back(
        gen::load_bits(tiles.b, spec_of(instruction.b).storage_bytes(), (change.tile * k + p) * n + j));
  const std::uint64_t c =
      gen::load_bits(tiles.c, spec_of(instruction.c).storage_bytes(), (change.tile * m + i) * n + j);
  change.explain = explain_command(instruction, of.architecture, a, b, c, metadata);
}

void compare_family(const Baseline& of, const Instruction& instruction, const BaselineFamily& before,
                    const BaselineFamily& after, BaselineDiff& out) {
  const std::size_t bytes = d_bytes(instruction), count = before.d.size() / bytes;
  const auto area = static_cast<std::size_t>(instruction.m) * static_cast<std::size_t>(instruction.n);
  BaselineChange change;
  change.instruction = instruction;
  change.family = before.family;
  change.dots = count;
  if (before.inputs != after.inputs) {
    out.changes.push_back(std::move(change));
    return;
  }
  out.dots += count;
  if (before.hash == after.hash) return;
  for (std::size_t e = 0; e < count; ++e) {
    const std::uint64_t x = gen::load_bits(before.d, bytes, e), y = gen::load_bits(after.d, bytes, e);
    if (x == y || change.differing++ != 0) continue;
    change.tile = e / area;
    change.row = static_cast<int>(e % area / static_cast<std::size_t>(instruction.n));
    change.column = static_cast<int>(e % static_cast<std::size_t>(instruction.n));
    change.old_bits = x, change.new_bits = y;
  }
  explain_change(of, before, change);
  out.changes.push_back(std::move(change));
}

void require_equal(const char* field, const std::string& before, const std::string& after) {
  if (before != after)
    throw InputError(fmt::format("NEW: {}: found {}, allowed: {}, as OLD has", field, after, before));
}

}  // namespace

void record_baseline(const Architecture& architecture, int n, const std::vector<std::string>& filters,
                     const BaselineBackend& backend, const BaselineRefusal& refusal, Baseline& out) {
  out.architecture = std::string(architecture.name);
  out.generator = std::string(gen::kGeneratorVersion);
  std::vector<Instruction> chosen;
  for (const Instruction& each : all_instructions(n))
    if (find_datapath(architecture, each) != nullptr && selected(name_of(each), filters))
      chosen.push_back(each);
  Progress progress("baseline", chosen.size());
  for (const Instruction& each : chosen) {
    const std::string name = name_of(each);
    progress.advance(1, name);
    if (const std::string why = refusal(each); !why.empty()) {
      out.left_out.push_back(fmt::format("{}: {}", name, why));
      continue;
    }
    const DatapathEntry& entry = *find_datapath(architecture, each);
    BaselineInstruction one{each, {}};
    for (int f = 0; f < gen::kFamilies; ++f) {
      const auto family = static_cast<gen::Family>(f);
      TileBatch tiles = tiles_of(each, entry.datapath, family, out);
      const std::string inputs = inputs_hash(tiles);
      backend(entry, each, tiles.view());
      one.families.push_back(
          {std::string(gen::name_of(family)), inputs, hash_of(tiles.d), std::move(tiles.d)});
    }
    out.instructions.push_back(std::move(one));
  }
}

bool BaselineDiff::same() const {
  return gone.empty() && added.empty() && changes.empty() &&
         std::all_of(product_changes.begin(), product_changes.end(),
                     [](const BaselineProductChange& each) { return each.differing == 0; });
}

BaselineDiff diff_baselines(const Baseline& before, const Baseline& after) {
  require_equal("architecture", before.architecture, after.architecture);
  require_equal("generator", before.generator, after.generator);
  require_equal("seed", std::to_string(before.seed), std::to_string(after.seed));
  require_equal("tiles", std::to_string(before.tiles), std::to_string(after.tiles));
  BaselineDiff out;
  for (const auto& [field, was, is] :
       {std::tuple{"on", &before.on, &after.on},
        {"gpu", &before.gpu, &after.gpu},
        {"compute capability", &before.compute_capability, &after.compute_capability},
        {"driver", &before.driver, &after.driver},
        {"CUDA", &before.cuda, &after.cuda},
        {"cuBLASLt", &before.cublaslt, &after.cublaslt},
        {"mmaudit", &before.version, &after.version},
        {"revision", &before.git_revision, &after.git_revision}})
    if (*was != *is)
      out.provenance.push_back(
          fmt::format("{}: {}, was {}", field, is->empty() ? "none" : *is, was->empty() ? "none" : *was));
  for (const BaselineInstruction& each : before.instructions) {
    const std::string name = name_of(each.instruction);
    const BaselineInstruction* other = find_in(after, name);
    if (other == nullptr) {
      out.gone.push_back(name);
      continue;
    }
    ++out.instructions;
    for (const BaselineFamily& family : each.families)
      if (const BaselineFamily* same = find_in(*other, family.family))
        compare_family(before, each.instruction, family, *same, out);
  }
  for (const BaselineInstruction& each : after.instructions)
    if (std::string name = name_of(each.instruction); find_in(before, name) == nullptr)
      out.added.push_back(std::move(name));
  diff_products(before, after, out);
  return out;
}

std::string to_text(const BaselineDiff& diff) {
  std::string out;
  for (const std::string& line : diff.provenance) out += line + "\n";
  for (const std::string& name : diff.gone) out += fmt::format("{}: in OLD only\n", name);
  for (const std::string& name : diff.added) out += fmt::format("{}: in NEW only\n", name);
  for (const BaselineChange& each : diff.changes) {
    const std::string head = fmt::format("{} {}", name_of(each.instruction), each.family);
    if (each.differing == 0) {
      out += head + ": the inputs differ, nothing was compared\n";
      continue;
    }
    const int digits = static_cast<int>(2 * d_bytes(each.instruction));
    out += fmt::format(
        "{}: {} of {} dot products differ\n  tile {}, row {}, column {}: OLD 0x{:0{}x}, NEW "
        "0x{:0{}x}{}\n",
        head, each.differing, each.dots, each.tile, each.row, each.column, each.old_bits, digits,
        each.new_bits, digits, each.model.empty() ? "" : "; the model: " + each.model);
    if (!each.explain.empty()) out += "  " + each.explain + "\n";
  }
  for (const BaselineProductChange& each : diff.product_changes) out += product_text(each);
  const std::string compared =
      fmt::format("{} instructions, {} dot products", diff.instructions, diff.dots) +
      (diff.products == 0 ? "" : fmt::format(", {} products of cuBLASLt", diff.products));
  return out +
         (diff.same() ? "no difference: " + compared + ", bit for bit\n" : "compared: " + compared + "\n");
}

}  // namespace mmaudit::cli
