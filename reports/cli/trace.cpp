// mmaudit trace: what two runs of a network differ in.
#include <list>
#include <memory>

#include "common.hpp"
#include "gemm_files.hpp"
#include "outputs.hpp"
#include "trace/trace.hpp"

namespace mmaudit::cli {
namespace {

struct Options {
  std::string a, b;
  TraceDiffOptions how;
  Outputs outputs;
};

int diff(const Options& options, const Context& context) {
  try_outputs(options.outputs.files(), {{"A", options.a}, {"B", options.b}});
  Trace a = read_trace(options.a), b = read_trace(options.b);
  std::list<corpus::DecisionFile> known;
  if (needs_decisions(a) || needs_decisions(b))
    for (const auto& [name, path] : recorded_decisions()) known.push_back(decisions_like(path.string()));
  for (const corpus::DecisionFile& file : known)
    for (Trace* trace : {&a, &b})
      if (decides(file, *trace)) trace->decisions = &file;
  const TraceDiff found = diff_traces(a, b, options.how);
  return options.outputs.publish(report_of(found), context);
}

}  // namespace

void add_trace(Command& app) {
  Command group = app.command(
      "trace", "Two runs of a network that differ: the first operation, and why",
      {"mmaudit trace diff batch1.trace batch8.trace", "mmaudit trace diff prefill.trace decode.trace"});
  group.requires_command();
  auto options = std::make_shared<Options>();
  Command command = group.command("diff",
                                  "The first operation with equal inputs and other results, and its cause; "
                                  "exit code 1 where there is one",
                                  {"mmaudit trace diff batch1.trace batch8.trace --html parted.html",
                                   "mmaudit trace diff plain.trace padded.trace --row 0:16=4:20",
                                   "mmaudit trace diff hf.trace engine.trace --map model.=net."});
  command.option("A FILE", options->a, "a file of mmaudit.torch.trace").required();
  command.option("B FILE", options->b, "another one").required();
  command
      .option("--row", options->how.rows,
              "tokens of A and the same ones of B: 4=0, 0:16=4:20, 0.0:16=3.0:16 with entries of a batch; "
              "without it "
              "tokens of the same place")
      .one_value_per_use();
  command
      .option("--map", options->how.maps,
              "FROM=TO: names of A's modules that begin with FROM begin with TO in B")
      .one_value_per_use();
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return diff(*options, context); });
}

}  // namespace mmaudit::cli
