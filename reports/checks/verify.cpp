#include "verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "choice.hpp"
#include "every_part.hpp"
#include "mmaudit/device/check.hpp"
#include "mmaudit/emulate.hpp"

namespace mmaudit::checks {

Instruction instruction_of(const corpus::Recording& recording, const std::string& file) {
  const std::string& name = recording.instruction;
  const auto found = find_instruction(name);
  if (!found) throw InputError(file + ": instruction: " + why_no_instruction(name));
  for (const auto& [operand, rows, columns, format] :
       {std::tuple{&recording.a, int{found->m}, found->stored_k(), found->a},
        {&recording.b, found->k, found->n, found->b},
        {&recording.c, found->m, found->n, found->c},
        {&recording.d, found->m, found->n, found->d}}) {
    const std::vector<std::uint64_t>& shape = operand->shape;
    const std::size_t bytes = spec_of(format).storage_bytes(), stored = corpus::bytes_of(operand->dtype);
    if (shape.size() != 3 || shape[1] != static_cast<std::uint64_t>(rows) ||
        shape[2] != static_cast<std::uint64_t>(columns) || stored != bytes)
      refuse("{}: {}: found shape {} of {}-byte elements, allowed: [tiles, {}, {}] of {}-byte elements", file,
             operand->name, corpus::to_string(shape), stored, rows, columns, bytes);
  }
  return *found;
}

TileView view_of(const corpus::Recording& recording) {
  const auto bytes_of = [](const corpus::Tensor& scales) {
    return scales.data.empty() ? nullptr : reinterpret_cast<const std::uint8_t*>(scales.data.data());
  };
  return {.tiles = recording.tiles,
          .a = recording.a.data.data(),
          .b = recording.b.data.data(),
          .c = recording.c.data.data(),
          .d = const_cast<std::byte*>(recording.d.data.data()),
          .modifiers = recording.modifiers.data(),
          .scale_a = bytes_of(recording.scale_a),
          .scale_b = bytes_of(recording.scale_b),
          .metadata = recording.metadata.empty() ? nullptr : recording.metadata.data()};
}

Comparison replay(const corpus::Recording& recording, const Instruction& instruction,
                  const Datapath& datapath, std::size_t most_examples) {
  const TileView recorded = view_of(recording);
  std::vector<std::byte> modelled(recording.d.data.size());
  TileView batch = recorded;
  batch.d = modelled.data();
  emulate(instruction, datapath, batch);
  Comparison result{instruction, {}, {}};
  std::size_t first = 0;
  for (const corpus::FamilyRange& range : recording.families) {
    compare_tiles(recorded, modelled.data(), range.name, first, range.tiles, most_examples, result);
    first += range.tiles;
  }
  return result;
}

const Architecture& architecture_of_recording(const corpus::Recording& recording, const std::string& file) {
  const int capability = recording.provenance.compute_capability;
  if (const Architecture* found = find_architecture(capability)) return *found;
  refuse("{}: compute_capability: found \"{}\", allowed: one that `mmaudit list` has", file,
         capability == 0 ? "unknown" : capability_text(capability));
}

const DatapathEntry& datapath_of_recording(const corpus::Recording& recording, const Instruction& instruction,
                                           const std::string& file) {
  const Architecture& architecture = architecture_of_recording(recording, file);
  if (const DatapathEntry* entry = find_datapath(architecture, instruction)) return *entry;
  refuse("{}: instruction: found {} recorded on {}, allowed: one of `mmaudit list --arch {}`", file,
         name_of(instruction), recording.provenance.gpu, architecture.name);
}

namespace {

/// Adds what one check found about one input class; keeps examples until there are `most_examples`.
void add(Comparison& to, gen::InputClass input_class, const device::CheckResult& found,
         std::size_t most_examples) {
  const std::string_view name = gen::name_of(input_class);
  auto same = std::find_if(to.classes.begin(), to.classes.end(),
                           [&](const ClassCount& one) { return one.input_class == name; });
  if (same == to.classes.end()) same = to.classes.insert(same, {std::string(name), 0, 0});
  same->dots += found.dots;
  same->mismatches += found.mismatches;
  for (const Mismatch& one : found.first)
    if (to.examples.size() < most_examples) to.examples.push_back(one);
}

}  // namespace

std::string gpu_of(const corpus::Recording& recording) {
  return fmt::format("{} (driver {})", recording.provenance.gpu, recording.provenance.driver);
}

void for_each_recording(
    const std::filesystem::path& folder, const std::vector<std::string>& filters, Progress& progress,
    const std::function<void(const corpus::Recording&, const Instruction&, const std::string&)>& use) {
  const std::vector<std::filesystem::path> files = corpus::find_recordings(folder);
  progress.begin("replaying", files.size());
  for (const std::filesystem::path& file : files) {
    const corpus::Recording recording = corpus::read_recording(file);
    const Instruction instruction = instruction_of(recording, file.string());
    const std::string name = name_of(instruction);
    progress.advance(1, name);
    if (selected(instruction, filters)) use(recording, instruction, file.string());
  }
}

VerifyReport verify_corpus(const std::filesystem::path& folder, const std::vector<std::string>& filters,
                           Progress& progress, const Architecture* only, const Architecture* instead) {
  VerifyReport report;
  std::vector<std::string> gpus;
  for_each_recording(
      folder, filters, progress,
      [&](const corpus::Recording& recording, const Instruction& instruction, const std::string& file) {
        if (only != nullptr && &architecture_of_recording(recording, file) != only) return;
        if (instead != nullptr && find_datapath(*instead, instruction) == nullptr) return;
        const DatapathEntry& entry = instead != nullptr ? *find_datapath(*instead, instruction)
                                                        : datapath_of_recording(recording, instruction, file);
        report.instructions.push_back(
            {replay(recording, instruction, entry.datapath), file, std::string(name_of(entry.evidence))});
        if (std::find(gpus.begin(), gpus.end(), gpu_of(recording)) == gpus.end())
          gpus.push_back(gpu_of(recording));
      });
  // An architecture without recordings is no bad input: the report then says that nothing was checked.
  if (report.instructions.empty() && only != nullptr) return report;
  constexpr std::string_view kAllowed =
      "part of a recorded instruction's name, or special functions (`mmaudit list --functions`)";
  require_each("--inst", filters, report.instructions, kAllowed, &Comparison::instruction);
  report.against = fmt::format("recordings of {}", fmt::join(gpus, ", "));
  return report;
}

VerifyReport verify_live(const device::DeviceInfo& gpu, const std::vector<std::string>& filters,
                         std::uint64_t dots, std::uint64_t seed, bool every_n, Progress& progress) {
  const Architecture& architecture = architecture_of(gpu);
  std::vector<Instruction> chosen;
  for (const Instruction& inst : all_instructions(64)) {
    Instruction instruction = inst;
    const bool sweep = is_wgmma(inst.op) && every_n;
    for (int n = sweep ? kWgmmaMinN : inst.n; n <= (sweep ? kWgmmaMaxN : inst.n); n += kWgmmaStepN) {
      instruction.n = static_cast<std::int16_t>(n);
      if (is_wgmma(inst.op) && !wgmma_has_n(inst, n)) continue;
      if (selected(instruction, filters) && find_datapath(architecture, instruction) &&
          device::why_not_live(gpu, instruction).empty())
        chosen.push_back(instruction);
    }
  }
  require_each("--inst", filters, chosen, "part of a name of `mmaudit list` that this GPU has");
  VerifyReport report;
  report.against = fmt::format("{} (driver {}, CUDA {}), seed {}", gpu.name, gpu.driver, gpu.cuda, seed);
  progress.begin("checking", chosen.size());
  for (const Instruction& instruction : chosen) {
    const DatapathEntry& entry = *find_datapath(architecture, instruction);
    VerifiedInstruction one{{instruction, {}, {}}, gpu.name, std::string(name_of(entry.evidence))};
    std::vector<std::uint8_t> sets = {0};
    if (is_wgmma(instruction.op)) sets.insert(sets.end(), {kAFromRegisters, kScaleDZero});
    if (spec_of(instruction.a).integer() && is_wgmma(instruction.op))
      sets.push_back(kScaleDZero | kAFromRegisters);
    // Negation and transposes exist as kernels for some n only, layouts for some types; why_not says which.
    for (const std::uint8_t modifiers :
         {std::uint8_t{kNegateA}, std::uint8_t{kNegateB}, std::uint8_t{kNegateA | kNegateB},
          std::uint8_t{kTransposeA}, std::uint8_t{kTransposeB}, std::uint8_t{kTransposeC},
          std::uint8_t{kTransposeA | kTransposeB | kTransposeC}}) {
      if ((is_wgmma(instruction.op) || instruction.op == Op::wmma) &&
          device::why_not(gpu, instruction, modifiers).empty())
        sets.push_back(modifiers);
    }
    device::TileProductCheck check(gpu, instruction, entry.datapath);
    for (const std::uint8_t modifiers : sets) {
      device::CheckItem item =
          check.at_least((modifiers == 0 ? dots : dots / 8) / static_cast<std::uint64_t>(gen::kInputClasses));
      item.seed = seed;
      item.modifiers = modifiers;
      const std::size_t most_examples = one.examples.size() + kMostExamples;
      for (int i = 0; i < gen::kInputClasses; ++i) {
        item.input_class = static_cast<gen::InputClass>(i);
        add(one, item.input_class, check.run(item), most_examples);
      }
    }
    report.instructions.push_back(std::move(one));
    progress.advance(1, name_of(instruction));
  }
  return report;
}

}  // namespace mmaudit::checks
