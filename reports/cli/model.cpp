// mmaudit model: a checkpoint from a folder to an answer.
#include <filesystem>
#include <memory>

#include "common.hpp"
#include "mmaudit/corpus/checkpoint.hpp"
#include "mmaudit/recipe.hpp"
#include "mmaudit/report/model_audit.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct Options {
  report::ModelRequest request;
  std::string recipes_file;
  bool list = false;
};

/// The files of a checkpoint, which no output may replace: PATH, what lies in its folder, configs beside it.
void add_files(const char* name, const std::string& path, std::vector<NamedFile>& out) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  out.push_back({name, path});
  std::error_code none;
  const bool whole = fs::is_directory(path, none) || path.ends_with(".json");
  const fs::path folder =
      fs::is_directory(path, none) ? fs::path(path) : fs::absolute(path, none).parent_path();
  for (fs::directory_iterator each(folder, none), end; !none && each != end; each.increment(none)) {
    const std::string file = each->path().filename().string();
    const bool weights = file.ends_with(".safetensors") || file.ends_with(".gguf"),
               config = file.ends_with("config.json") || file.ends_with(".index.json");
    if (config || (weights && whole)) out.push_back({name, each->path().string()});
  }
}

int model(const Options& options, const Outputs& outputs, const Context& context) {
  const report::ModelRequest& request = options.request;
  if (request.limit >= 1)
    refuse("--max-rel-fro: found {}, allowed: below 1, the error of a D of zeros; 5% is 0.05", request.limit);
  if (options.list && (!request.original.empty() || request.limit > 0 || !options.recipes_file.empty()))
    refuse("--list: found with --original, --max-rel-fro or --plan, allowed: without them");
  std::vector<NamedFile> written = outputs.files();
  written.push_back({"--plan", options.recipes_file});
  std::vector<NamedFile> read;
  add_files("PATH", request.path, read);
  add_files("--original", request.original, read);
  try_outputs(written, read);
  Progress progress(context.quiet);
  progress.will_write(outputs.names());
  report::ModelAudit audit = report::audit_model(
      request, options.list,
      {[&](std::string_view what, std::uint64_t total) { progress.begin(std::string(what), total); },
       [&](std::uint64_t steps) { progress.advance(steps); }});
  name_program(audit.audit.provenance);
  audit.audit.provenance.command = context.command;
  std::vector<corpus::TextFile> more;
  if (!options.recipes_file.empty()) more.push_back({options.recipes_file, report::layer_recipes_of(audit)});
  return outputs.publish(report::report_of(audit), context, std::move(more));
}

}  // namespace

void add_model(Command& app) {
  auto options = std::make_shared<Options>();
  auto outputs = std::make_shared<Outputs>();
  report::ModelRequest& request = options->request;
  Command command =
      app.command("model",
                  "A checkpoint: its layers, how they are quantized and by whom, and the errors of their "
                  "products on a GPU",
                  {"mmaudit model Llama-3.1-8B --list",
                   "mmaudit model Llama-3.1-8B --max-rel-fro 5% --plan net.json --html net.html",
                   "mmaudit model Llama-3.1-8B-NVFP4 --original Llama-3.1-8B"});
  command.option("PATH FILE", request.path, "a folder of a hub, an index, a .safetensors or a .gguf")
      .required();
  command.flag("--list", options->list, "only say what is there");
  command.option(
      "--original PATH", request.original,
      "the checkpoint that this one was quantized from: errors of the weights, and what is wrong with them");
  command
      .option("--convention NAME", request.convention,
              "how codes and scales are kept, where the files leave a choice: " +
                  with_commas(corpus::convention_names()))
      .default_text("");
  command.option("--activations WHAT", request.activations,
                 "A of every product: normal, outliers:CHANNELS:FACTOR, or a file of mmaudit.torch.capture");
  command.option("--layers GLOB", request.layers, "only layers whose names match");
  command
      .option("--recipe RECIPE", request.recipes,
              "for layers without scales: names of mmaudit list --recipes, all on the GPU of the first")
      .comma_separated()
      .default_text("nvfp4,mxfp8-ceil,fp8-tensor");
  command.option("--max-rel-fro", request.limit, "largest relative Frobenius error that passes; 5% is 0.05")
      .default_text("")
      .positive()
      .or_percent();
  command.flag("--strict", request.strict, "a suspicion (\"perhaps stale\") fails like a fault");
  command.option("--sample N", request.sample, "rows of every weight").range(1, 65536);
  command.option("--plan FILE", options->recipes_file,
                 "write which recipe each layer takes, for mmaudit.torch.emulate; - prints it");
  command.option("--seed", request.seed, "of the sample and of drawn activations");
  command.option("--threads", request.threads, "threads; 0: one per core; the result does not depend on it")
      .range(0, 4096);
  outputs->add_to(command);
  command.runs([options, outputs](const Context& context) { return model(*options, *outputs, context); });
}

}  // namespace mmaudit::cli
