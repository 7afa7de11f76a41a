// mmaudit baseline corpus: what this GPU answers to seeded inputs, with provenance.
#include <memory>

#include "common.hpp"
#include "functions.hpp"
#include "mmaudit/tensor_memory/tile_kernel.hpp"
#include "outputs.hpp"
#include "record.hpp"

namespace mmaudit::cli {
namespace {

struct RecordOptions {
  RecordQuestion question;
  Outputs outputs;
  std::vector<std::string> instructions;
  std::uint64_t seed = 1;
  int wgmma_n = 8, tcgen05_m = 128;
};

int record(const RecordOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {});
  if (const auto functions = checks::functions_of(options.instructions); !functions.empty()) {
    const std::string& folder = options.question.folder;
    const device::DeviceInfo gpu = require_device();
    make_folder(folder);
    Progress progress(context.quiet);
    checks::record_functions(gpu, functions, options.seed, folder);
    auto verified = checks::replay_functions(folder, functions);
    for (checks::VerifiedFunction& one : checks::check_functions(gpu, functions, progress))
      verified.push_back(std::move(one));  // on all operands, too: seconds
    return options.outputs.publish(checks::report_of(verified), context);
  }
  std::vector<Instruction> chosen;
  for (const std::string& name : options.instructions)
    if (name != "all") chosen.push_back(require_instruction(name));
  if (chosen.size() != options.instructions.size())
    chosen = all_instructions(options.wgmma_n, options.tcgen05_m);
  const device::DeviceInfo gpu = require_device();
  RecordQuestion question = options.question;
  question.provenance = device::provenance_of(gpu);
  question.provenance.seed = options.seed;
  name_program(question.provenance);
  make_folder(question.folder);
  Progress progress(context.quiet, "recording", chosen.size());
  progress.will_write(options.outputs.names());
  progress.will_write({question.folder});
  const RecordReport recorded = record_instructions(gpu, chosen, question, progress);
  const int code = options.outputs.publish(report_of(recorded), context);
  return recorded.recorded() > 0 ? code : kEnvironment;
}

}  // namespace

void add_record(Command& baseline) {
  auto options = std::make_shared<RecordOptions>();
  Command command = baseline.command(
      "corpus", "Record this GPU for `verify --corpus`: one safetensors file per instruction",
      {"mmaudit baseline corpus --inst all --out recordings",
       "mmaudit baseline corpus --inst mma.m16n8k16.f32.f16.f16.f32 --tiles 100 --out recordings",
       "mmaudit baseline corpus --inst expf,log1pf --out recordings"});
  command
      .option("--inst INST", options->instructions,
              "instructions, or all; or special functions: expf, ex2 (its forms), functions (all)")
      .comma_separated()
      .required();
  command.option("--out DIR", options->question.folder, "folder for the recordings");
  command.section("What the generators make");
  command.option("--seed", options->seed, "seed of the generators");
  command
      .option("--tiles", options->question.mma_tiles, "tiles per input class of an mma or wmma instruction")
      .range(0, 100000);
  command
      .option("--wgmma-tiles", options->question.wgmma_tiles, "tiles per input class of a wgmma instruction")
      .range(0, 100000);
  command.option("--n", options->wgmma_n, "N of wgmma and tcgen05 with --inst all").range(8, 256);
  command.option("--m", options->tcgen05_m, "M of tcgen05 with --inst all: 32 with ws, 256 with pair")
      .one_of({"32", "64", "128", "256"});
  command
      .option("--form", options->question.form,
              "form of tcgen05: with ws and pair its D lies in other lanes, with tmem its A in tensor memory")
      .one_of(names_of(tmem::kTileForms));
  command.flag("--directed,!--no-directed", options->question.directed,
               "directed cases and modifier tiles too");
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return record(*options, context); });
}

}  // namespace mmaudit::cli
