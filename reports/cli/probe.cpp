// mmaudit probe: an instruction that no model describes, asked until a datapath explains it.
#include <fmt/format.h>

#include <memory>

#include "common.hpp"
#include "foreign.hpp"
#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/device/backends.hpp"
#include "outputs.hpp"
#include "probe_report.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

struct ProbeOptions {
  std::string instruction, architecture, on, recording, out, name = "probed";
  Outputs outputs;
  ForeignOptions function;
  double dots = 1e7;
  std::uint64_t seed = 1;
  bool witnesses = false;
};

Backend foreign_backend(const ForeignOptions& options) {
  auto function = start(options, checks::Signature::tiles);
  const auto run = [function](const Instruction& inst, const TileView& batch) {
    const TileExtents extents(inst);
    const auto bytes = [&](Format format, std::size_t elements) {
      return batch.tiles * elements * spec_of(format).storage_bytes();
    };
    checks::ForeignCall call;
    call.sizes = {batch.tiles, 0, 0};
    call.inputs[0] = {batch.a, bytes(inst.a, extents.m * extents.stored)};
    call.inputs[1] = {batch.b, bytes(inst.b, extents.k * extents.n)};
    call.inputs[2] = {batch.c, bytes(inst.c, extents.m * extents.n)};
    if (batch.scale_a != nullptr) call.inputs[3] = {batch.scale_a, batch.tiles * extents.m * extents.blocks};
    if (batch.scale_b != nullptr) call.inputs[4] = {batch.scale_b, batch.tiles * extents.blocks * extents.n};
    if (batch.metadata != nullptr)
      call.inputs[5] = {batch.metadata, batch.tiles * extents.m * extents.stored};
    call.d = batch.d;
    call.d_size = bytes(inst.d, extents.m * extents.n);
    function->call(call);
  };
  return {"the function", [](const Instruction&, std::uint8_t) { return std::string(); }, run};
}

Backend probed_backend(const ProbeOptions& options, const Context& context) {
  if (options.function.given()) return foreign_backend(options.function);
  if (options.on == "hardware") return device::hardware_backend(require_device());
  return model_backend(require_architecture(context, options.architecture));
}

/// Elements of a recording, spread over its tiles.
std::vector<probe::Fact> facts_of(const std::string& file, const Instruction& inst) {
  const corpus::Recording recording = corpus::read_recording(file);
  const Instruction recorded = checks::instruction_of(recording, file);
  if (!(recorded == inst))
    refuse("{}: found {}, allowed: a recording of {}", file, name_of(recorded), name_of(inst));
  const TileView view = checks::view_of(recording);
  constexpr std::size_t kMost = 20'000, kPerTile = 8;
  const std::size_t each = std::max<std::size_t>(1, std::min(kPerTile, kMost / view.tiles));
  std::vector<probe::Fact> facts;
  for (std::size_t tile = 0; tile < view.tiles && facts.size() < kMost; ++tile)
    for (std::size_t i = 0; i < each; ++i) {
      const auto row = static_cast<int>((tile + i) % static_cast<std::size_t>(inst.m));
      const auto column = static_cast<int>((tile + 3 * i) % static_cast<std::size_t>(inst.n));
      facts.push_back({dot_at(inst, view, tile, row, column), d_at(inst, view, tile, row, column)});
    }
  return facts;
}

/// What can't be is said before minutes are spent.
void require_sense(const ProbeOptions& options, const Context& context) {
  const bool asks_model = !options.function.given() && options.recording.empty() && options.on != "hardware";
  if (!asks_model && (!options.architecture.empty() || context.own() != nullptr))
    refuse("{}: found it with another device, allowed: with --on model",
           options.architecture.empty() ? "--model" : "--arch");
  if (options.out.empty()) return;
  if (const std::string allowed = corpus::why_no_model_name(options.name); !allowed.empty())
    refuse("--name: found {}, allowed: {}", options.name, allowed);
}

int execute(const ProbeOptions& options, const Context& context) {
  require_sense(options, context);
  const Instruction inst = with_shape(require_instruction(options.instruction), kWgmmaMinN);
  try_outputs(options.outputs.files({{"--out", options.out}}), {{"--recording", options.recording}});
  probe::Options how{.seed = options.seed, .dots = static_cast<std::uint64_t>(options.dots)};
  Progress progress(context.quiet, "probe", 0);
  how.progress = [&](const std::string& what) { progress.advance(0, what); };
  Backend backend;
  if (!options.recording.empty()) {
    how.facts = facts_of(options.recording, inst);
  } else {
    backend = probed_backend(options, context);
    if (const std::string reason = backend.why_not(inst, 0); !reason.empty())
      refuse("--inst: found {}, allowed: one that the device has ({})", name_of(inst), reason);
  }
  const probe::Finding finding = probe::probe(inst, backend, how);
  const bool writes = !options.out.empty() && finding.explained();
  if (writes) emit(options.out, checks::model_json(finding, options.name));
  report::Report found = report_of(finding, options.witnesses);
  if (!writes && !options.out.empty()) found.lead.push_back(options.out + " was not written");
  return options.outputs.publish(found, context);
}

}  // namespace

void add_probe(Command& app) {
  auto options = std::make_shared<ProbeOptions>();
  Command command = app.command(
      "probe", "Find the datapath of an instruction that no model describes",
      {"mmaudit probe --inst mma.m16n8k16.f32.f16.f16.f32 --on hardware --out gpu.json",
       "mmaudit probe --inst mma.m16n8k16.f32.f16.f16.f32 --library ./libmine.so:my_mma --witnesses"});
  add_instruction_option(command, options->instruction).required();
  command.section("What is asked");
  const Option on = command
                        .option("--on", options->on,
                                "hardware: this GPU; model: a known datapath, played as unknown (default)")
                        .one_of({"model", "hardware"});
  command.option("--arch ARCH", options->architecture,
                 fmt::format("with --on model: its architecture (default: {})", kDefaultArchitectureText));
  command.option("--library", options->function.library, "LIBRARY:FUNCTION, called as docs/probe.md says")
      .excludes(on);
  add_foreign_options(command, options->function);
  command.option("--recording FILE", options->recording, "answers that were recorded: nothing is asked")
      .excludes(on);
  add_model_option(command);
  command.section("How much");
  command.option("--dots", options->dots, "random dot products to verify with, at least").range(0.0, 1e12);
  command.option("--seed", options->seed, "seed of the random inputs");
  command.section("Output");
  command.flag("--witnesses", options->witnesses, "print the dot product behind every claim");
  command.option("--out FILE", options->out, "the datapath as an architecture that --model reads");
  command.option("--name", options->name, "its name in that file");
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return execute(*options, context); });
}

}  // namespace mmaudit::cli
