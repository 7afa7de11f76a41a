#include "record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "choice.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/report/fields.hpp"

namespace mmaudit::checks {
namespace {

using report::Tone;

/// Modifier bytes worth a tile of their own: every combination of scale-d and negation, where A comes from,
/// and how the matrices lie in memory.
std::vector<std::uint8_t> modifier_sets(const Instruction& instruction) {
  if (instruction.op == Op::wmma) {
    if (register_bits(instruction.a) < 8) return {kTransposeC};
    return {kTransposeA, kTransposeB, kTransposeA | kTransposeB, kTransposeC,
            kTransposeA | kTransposeB | kTransposeC};
  }
  if (is_tcgen05(instruction.op)) {
    if (spec_of(instruction.a).integer()) return {kScaleDZero};
    return {kScaleDZero, kNegateA, kNegateB, kNegateA | kNegateB, kScaleDZero | kNegateA};
  }
  if (!is_wgmma(instruction.op)) return {};
  if (spec_of(instruction.a).integer()) return {kScaleDZero, kAFromRegisters, kScaleDZero | kAFromRegisters};
  std::vector<std::uint8_t> sets = {kScaleDZero,
                                    kNegateA,
                                    kNegateB,
                                    kNegateA | kNegateB,
                                    kScaleDZero | kNegateA,
                                    kAFromRegisters,
                                    kAFromRegisters | kNegateA | kNegateB};
  if (instruction.a == Format::f16 || instruction.a == Format::bf16)
    sets.insert(sets.end(), {kTransposeA, kTransposeB, kTransposeA | kTransposeB});
  return sets;
}

corpus::Recording record_one(const device::DeviceInfo& gpu, const Instruction& instruction,
                             const Datapath& datapath, const RecordQuestion& question) {
  TileBatch tiles(instruction);
  std::vector<corpus::FamilyRange> families;
  if (question.directed) families.push_back({"directed", gen::append_directed(tiles, datapath, 0)});
  const gen::GeneratorSpec generator = gen::make_generator_spec(instruction, datapath);
  const std::size_t per_class = is_wgmma(instruction.op) ? question.wgmma_tiles : question.mma_tiles;
  for (int f = 0; f < gen::kInputClasses && per_class > 0; ++f) {
    const auto input_class = static_cast<gen::InputClass>(f);
    gen::append_class(tiles, generator, input_class, question.provenance.seed, 0, per_class, 0);
    families.push_back({std::string(gen::name_of(input_class)), per_class});
  }
  const std::vector<std::uint8_t> sets =
      question.directed ? modifier_sets(instruction) : std::vector<std::uint8_t>{};
  std::uint64_t tile = per_class;  // beyond the tiles above, so that the numbers are fresh
  for (const std::uint8_t modifiers : sets) {
    const auto input_class = tile % 2 == 0 ? gen::InputClass::narrow_window : gen::InputClass::special_values;
    gen::append_class(tiles, generator, input_class, question.provenance.seed, tile++, 1, modifiers);
  }
  if (!sets.empty()) families.push_back({"modifiers", sets.size()});

  const TileView batch = tiles.view();
  device::RunOptions how;
  how.form = question.form;
  device::run(gpu, instruction, batch, how);
  corpus::Recording recording = corpus::recording_of(
      std::move(tiles), std::move(families), question.provenance, std::string(gen::kGeneratorVersion));
  if (question.form != device::kPlainForm) recording.form = question.form;
  return recording;
}

}  // namespace

std::size_t RecordReport::recorded() const {
  return static_cast<std::size_t>(
      std::count_if(instructions.begin(), instructions.end(),
                    [](const RecordedInstruction& one) { return !one.file.empty(); }));
}

RecordReport record_instructions(const device::DeviceInfo& gpu, const std::vector<Instruction>& instructions,
                                 const RecordQuestion& question, Progress& progress) {
  RecordReport out{question, {}};
  const Architecture& architecture = architecture_of(gpu);
  for (const Instruction& instruction : instructions) {
    RecordedInstruction& one = out.instructions.emplace_back(RecordedInstruction{name_of(instruction), {}});
    const DatapathEntry* entry = find_datapath(architecture, instruction);
    one.why_not = entry == nullptr ? "the model has no datapath for it"
                                   : device::why_not(gpu, instruction, 0, question.form);
    if (one.why_not.empty()) {
      const corpus::Recording recording = record_one(gpu, instruction, entry->datapath, question);
      one.file = one.name + (recording.form.empty() ? "" : "." + recording.form) + ".safetensors";
      one.dots = recording.d.elements();
      corpus::write_recording(std::filesystem::path(question.folder) / one.file, recording);
    }
    progress.advance(1, one.name);
  }
  return out;
}

report::Report report_of(const RecordReport& recorded) {
  using One = RecordedInstruction;
  const std::size_t written = recorded.recorded(), all = recorded.instructions.size();
  const Provenance& from = recorded.question.provenance;
  report::Report out{.title = fmt::format("Recordings of {}", from.gpu), .headline_last = true};
  out.headline = fmt::format("{} of {} instructions of {} (driver {}, CUDA {}) recorded in {}", written, all,
                             from.gpu, from.driver, from.cuda, recorded.question.folder);
  out.tone = written == 0 ? Tone::bad : written < all ? Tone::note : Tone::good;
  out.suite = "mmaudit record";
  out.provenance = from;
  out.sections.push_back(section_of(report::table_of<One>(
      "", recorded.instructions,
      {{{"instruction"}, &One::name},
       report::number<One>("dot products", &One::dots),
       {{"why not"}, [](const One& one) { return report::Cell(one.why_not, Tone::note); }},
       {{"file", false, true}, &One::file}})));
  return out;
}

}  // namespace mmaudit::checks
