// mmaudit baseline corpus: what this GPU answers to seeded inputs, with provenance.
#include <fmt/format.h>

#include <memory>

#include "common.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "mmaudit/tensor_memory/tile_kernel.hpp"

namespace mmaudit::cli {
namespace {

struct RecordOptions {
  std::string out = "recordings";
  std::vector<std::string> instructions;
  std::uint64_t seed = 1;
  std::size_t mma_tiles = 2, wgmma_tiles = 1;
  int wgmma_n = 8, tcgen05_m = 128;
  std::string form = std::string(device::kPlainForm);
  bool directed = true;
  bool json = false;
};

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
                             const Datapath& datapath, const RecordOptions& options) {
  TileBatch tiles(instruction);
  std::vector<corpus::FamilyRange> families;
  if (options.directed) families.push_back({"directed", gen::append_directed(tiles, datapath, 0)});
  const gen::GeneratorSpec generator = gen::make_generator_spec(instruction, datapath);
  const std::size_t per_class = is_wgmma(instruction.op) ? options.wgmma_tiles : options.mma_tiles;
  for (int f = 0; f < gen::kInputClasses && per_class > 0; ++f) {
    const auto input_class = static_cast<gen::InputClass>(f);
    gen::append_class(tiles, generator, input_class, options.seed, 0, per_class, 0);
    families.push_back({std::string(gen::name_of(input_class)), per_class});
  }
  const std::vector<std::uint8_t> sets =
      options.directed ? modifier_sets(instruction) : std::vector<std::uint8_t>{};
  std::uint64_t tile = per_class;  // beyond the tiles above, so that the numbers are fresh
  for (const std::uint8_t modifiers : sets) {
    const auto input_class = tile % 2 == 0 ? gen::InputClass::narrow_window : gen::InputClass::special_values;
    gen::append_class(tiles, generator, input_class, options.seed, tile++, 1, modifiers);
  }
  if (!sets.empty()) families.push_back({"modifiers", sets.size()});

  const TileView batch = tiles.view();
  device::RunOptions how;
  how.form = options.form;
  device::run(gpu, instruction, batch, how);
  Provenance provenance = device::provenance_of(gpu);
  name_program(provenance);
  provenance.seed = options.seed;
  corpus::Recording recording = corpus::recording_of(
      std::move(tiles), std::move(families), std::move(provenance), std::string(gen::kGeneratorVersion));
  if (options.form != device::kPlainForm) recording.form = options.form;
  return recording;
}

int record(const RecordOptions& options, const Context& context) {
  std::vector<Instruction> chosen;
  for (const std::string& name : options.instructions) {
    if (name == "all") {
      chosen = all_instructions(options.wgmma_n, options.tcgen05_m);
      break;
    }
    chosen.push_back(require_instruction(name));
  }
  const device::DeviceInfo gpu = require_device();
  const Architecture& architecture = architecture_of(gpu);
  make_folder(options.out);
  Progress progress(context.quiet, "recording", chosen.size());
  progress.will_write({options.out});
  std::size_t written = 0;
  for (const Instruction& instruction : chosen) {
    const std::string name = name_of(instruction);
    const std::string reason = device::why_not(gpu, instruction, 0, options.form);
    const DatapathEntry* entry = find_datapath(architecture, instruction);
    if (!reason.empty() || entry == nullptr) {
      emit("-", fmt::format("{}: not recorded: {}\n", name,
                            entry == nullptr ? "the model has no datapath for it" : reason));
    } else {
      const corpus::Recording recording = record_one(gpu, instruction, entry->datapath, options);
      const std::string file = recording.form.empty() ? name : name + "." + recording.form;
      corpus::write_recording(std::filesystem::path(options.out) / (file + ".safetensors"), recording);
      ++written;
    }
    progress.advance(1, name);
  }
  emit("-", fmt::format("{} recordings of {} (driver {}, CUDA {}) in {}\n", written, gpu.name, gpu.driver,
                        gpu.cuda, options.out));
  return written > 0 ? kAllGood : kEnvironment;
}

}  // namespace

void add_record(Command& baseline) {
  auto options = std::make_shared<RecordOptions>();
  Command command = baseline.command(
      "corpus", "Record this GPU for `verify --corpus`: one safetensors file per instruction",
      {"mmaudit baseline corpus --inst all --out recordings",
       "mmaudit baseline corpus --inst mma.m16n8k16.f32.f16.f16.f32 --tiles 100 --out recordings"});
  command.option("--inst INST", options->instructions, "instructions, or all").comma_separated().required();
  command.option("--out DIR", options->out, "folder for the recordings");
  command.section("What the generators make");
  command.option("--seed", options->seed, "seed of the generators");
  command.option("--tiles", options->mma_tiles, "tiles per input class of an mma or wmma instruction")
      .range(0, 100000);
  command.option("--wgmma-tiles", options->wgmma_tiles, "tiles per input class of a wgmma instruction")
      .range(0, 100000);
  command.option("--n", options->wgmma_n, "N of wgmma and tcgen05 with --inst all").range(8, 256);
  command.option("--m", options->tcgen05_m, "M of tcgen05 with --inst all: 32 with ws, 256 with pair")
      .one_of({"32", "64", "128", "256"});
  command
      .option("--form", options->form,
              "form of tcgen05: with ws and pair its D lies in other lanes, with tmem its A in tensor memory")
      .one_of(names_of(tmem::kTileForms));
  command.flag("--directed,!--no-directed", options->directed, "directed cases and modifier tiles too");
  command.runs([options](const Context& context) { return record(*options, context); });
}

}  // namespace mmaudit::cli
