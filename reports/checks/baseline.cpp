// Baselines: recorded, and compared.
#include "baseline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "choice.hpp"
#include "every_part.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::checks {
namespace {

std::string inputs_hash(const TileBatch& tiles) {
  corpus::Checksum sum;
  for (const auto* operand : {&tiles.a, &tiles.b, &tiles.c}) sum.update(*operand);
  for (const auto* bytes : {&tiles.scale_a, &tiles.scale_b, &tiles.metadata})
    sum.update(std::as_bytes(std::span(*bytes)));
  return sum.hex();
}

TileBatch tiles_of(const Instruction& instruction, const Datapath& datapath, gen::InputClass family,
                   const Baseline& of) {
  TileBatch tiles(instruction);
  gen::append_class(tiles, gen::make_generator_spec(instruction, datapath), family, of.provenance.seed, 0,
                    of.tiles, 0);
  return tiles;
}

std::size_t d_bytes(const Instruction& instruction) { return spec_of(instruction.d).storage_bytes(); }

std::string name_of_inst(const BaselineInstruction& each) { return name_of(each.instruction); }

/// The inputs of the first differing dot product, made again, and what the model says of them.
void explain_change(const Baseline& of, const BaselineFamily& before, BaselineChange& change) {
  const Instruction& inst = change.instruction;
  std::optional<TileBatch> tiles = inputs_again(of, inst, before);
  if (!tiles) return;
  const TileView batch = tiles->view();
  emulate(inst, find_datapath(*find_architecture(of.architecture), inst)->datapath, batch);
  Mismatch& first = change.first;
  const auto [tile, row, column] = std::tuple(first.dot.tile, first.dot.row, first.dot.column);
  const std::uint64_t bits = d_at(inst, batch, tile, row, column);
  change.model = bits == first.expected ? "as OLD"
                 : bits == first.found  ? "as NEW"
                                        : fmt::format("{:#x} as neither", bits);
  first.dot = dot_at(inst, batch, tile, row, column);
  first.dot.input_class = before.family;
  change.explain = explain_command(inst, first.dot, fmt::format(" --arch {}", of.architecture));
}

void compare_family(const Baseline& of, const Instruction& instruction, const BaselineFamily& before,
                    const BaselineFamily& after, BaselineDiff& out) {
  const std::size_t bytes = d_bytes(instruction), count = before.d.size() / bytes;
  const auto area = static_cast<std::size_t>(instruction.m) * static_cast<std::size_t>(instruction.n);
  BaselineChange change;
  change.instruction = instruction;
  change.first.dot.input_class = before.family;
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
    change.first.dot.tile = e / area;
    change.first.dot.row = static_cast<int>(e % area / static_cast<std::size_t>(instruction.n));
    change.first.dot.column = static_cast<int>(e % static_cast<std::size_t>(instruction.n));
    change.first.expected = x, change.first.found = y;
  }
  explain_change(of, before, change);
  out.changes.push_back(std::move(change));
}

void require_equal(const char* field, const std::string& before, const std::string& after) {
  if (before != after)
    refuse("NEW: {}: found {}, allowed: {}, as OLD has", field, printable(after, 80), printable(before, 80));
}

}  // namespace

std::optional<TileBatch> inputs_again(const Baseline& of, const Instruction& instruction,
                                      const BaselineFamily& family) {
  const Architecture* architecture = find_architecture(of.architecture);
  const DatapathEntry* entry = architecture == nullptr ? nullptr : find_datapath(*architecture, instruction);
  if (entry == nullptr || of.generator != gen::kGeneratorVersion) return std::nullopt;
  for (int index = 0; index < gen::kInputClasses; ++index) {
    const auto input_class = static_cast<gen::InputClass>(index);
    if (gen::name_of(input_class) != family.family) continue;
    TileBatch tiles = tiles_of(instruction, entry->datapath, input_class, of);
    if (inputs_hash(tiles) == family.inputs) return tiles;
  }
  return std::nullopt;
}

void record_baseline(const Architecture& architecture, int n, const std::vector<std::string>& filters,
                     const Backend& backend, Progress& progress, Baseline& out) {
  out.architecture = std::string(architecture.name);
  out.generator = std::string(gen::kGeneratorVersion);
  std::vector<Instruction> chosen;
  for (const Instruction& each : all_instructions(n))
    if (find_datapath(architecture, each) != nullptr && selected(each, filters)) chosen.push_back(each);
  require_each("--inst", filters, chosen,
               fmt::format("part of a name of `mmaudit list --arch {}`", architecture.name));
  progress.begin("baseline", chosen.size());
  for (const Instruction& each : chosen) {
    const std::string name = name_of(each);
    progress.advance(1, name);
    if (const std::string why = backend.why_not(each, 0); !why.empty()) {
      out.left_out.push_back(fmt::format("{}: {}", name, why));
      continue;
    }
    const DatapathEntry& entry = *find_datapath(architecture, each);
    BaselineInstruction one{each, {}};
    for (int f = 0; f < gen::kInputClasses; ++f) {
      const auto family = static_cast<gen::InputClass>(f);
      TileBatch tiles = tiles_of(each, entry.datapath, family, out);
      const std::string inputs = inputs_hash(tiles);
      backend.run(each, tiles.view());
      const std::string hash = corpus::checksum_of(tiles.d);
      one.families.push_back({{inputs, hash, std::move(tiles.d)}, std::string(gen::name_of(family))});
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
  require_equal("seed", std::to_string(before.provenance.seed), std::to_string(after.provenance.seed));
  require_equal("tiles", std::to_string(before.tiles), std::to_string(after.tiles));
  BaselineDiff out;
  const Provenance &old = before.provenance, &now = after.provenance;
  for (const auto& [field, was, is] : {std::tuple{"on", before.on, after.on},
                                       {"gpu", old.gpu, now.gpu},
                                       {"compute capability", capability_text(old.compute_capability),
                                        capability_text(now.compute_capability)},
                                       {"driver", old.driver, now.driver},
                                       {"CUDA", old.cuda, now.cuda},
                                       {"cuBLASLt", before.cublaslt, after.cublaslt},
                                       {"mmaudit", old.version, now.version},
                                       {"revision", old.revision, now.revision}})
    if (was != is)
      out.provenance.push_back(
          fmt::format("{}: {}, was {}", field, is.empty() ? "none" : is, was.empty() ? "none" : was));
  for (const BaselineInstruction& each : before.instructions) {
    const std::string name = name_of(each.instruction);
    const BaselineInstruction* other = find_where(after.instructions, name_of_inst, name);
    if (other == nullptr) {
      out.gone.push_back(name);
      continue;
    }
    ++out.instructions;
    const std::size_t so_far = out.changes.size();
    require_equal((name + ": families").c_str(), std::to_string(each.families.size()),
                  std::to_string(other->families.size()));
    for (const BaselineFamily& family : each.families) {
      const BaselineFamily* same = find_where(other->families, &BaselineFamily::family, family.family);
      if (same == nullptr)
        refuse("NEW: {}: families: found no {}, allowed: every class that OLD has", name,
               printable(family.family, 80));
      compare_family(before, each.instruction, family, *same, out);
    }
    if (out.changes.size() == so_far) continue;
    BaselineCause cause = cause_of(before, each, *other);
    const auto known = std::find_if(out.causes.begin(), out.causes.end(),
                                    [&](const BaselineCause& one) { return one.text == cause.text; });
    BaselineCause& group = known == out.causes.end() ? out.causes.emplace_back(std::move(cause)) : *known;
    group.instructions.push_back(name);
  }
  std::stable_sort(out.causes.begin(), out.causes.end(), [](const BaselineCause& x, const BaselineCause& y) {
    return std::tuple(y.explained, y.instructions.size()) < std::tuple(x.explained, x.instructions.size());
  });
  for (const BaselineInstruction& each : after.instructions)
    if (std::string name = name_of(each.instruction);
        find_where(before.instructions, name_of_inst, name) == nullptr)
      out.added.push_back(std::move(name));
  diff_products(before, after, out);
  return out;
}

}  // namespace mmaudit::checks
