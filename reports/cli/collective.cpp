// mmaudit collective: the bits of sums over the ranks of a group.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "collective/run.hpp"
#include "collective_plan.hpp"
#include "gemm_files.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::cli {
namespace {

/// The input of every rank, one behind the other.
struct Inputs {
  Format type = Format::none;
  std::uint64_t ranks = 0, count = 0;
  corpus::Tensor first;
  std::vector<std::byte> data;
};
Inputs load(const std::vector<std::string>& files) {
  Inputs out;
  const bool stacked = files.size() == 1;
  for (const std::string& file : files) {
    corpus::Tensor one = corpus::load_tensor(file);
    const Format type = corpus::format_of(one.dtype);
    if (out.ranks++ == 0)
      out.type = type;
    else if (one.shape != out.first.shape || type != out.type)
      refuse("--x: {}: found {} of {}, allowed: as the first, {} of {}", file, corpus::to_string(one.shape),
             name_of(type), corpus::to_string(out.first.shape), name_of(out.type));
    out.data.insert(out.data.end(), one.data.begin(), one.data.end());
    if (out.ranks == 1) out.first = std::move(one);
  }
  if (stacked && out.first.shape.empty()) refuse("--x: found no axes, allowed: the ranks as the first axis");
  if (stacked) {
    out.ranks = out.first.shape.front();
    out.first.shape.erase(out.first.shape.begin());
  }
  out.count = corpus::element_count(out.first.shape).value_or(0);
  return out;
}

int predict(const CollectiveOptions& options, const Context& context) {
  try_outputs(options.outputs.files({{"--out", options.out}}), input_files_of(options));
  Inputs inputs = load(options.x);
  const Planned one = planned(options, inputs.type, inputs.ranks, inputs.count);
  inputs.first.data = result_of(one, inputs.data);
  corpus::save_tensor(options.out, inputs.first);
  report::Report found{.title = "A sum over ranks by its plan"};
  found.headline =
      fmt::format("{} of {} ranks, {} {} each -> {}", name_in(names::kCollectiveKind, one.problem.kind),
                  inputs.ranks, inputs.count, name_of(inputs.type), options.out);
  found.lead = words_of(one);
  if (one.problem.kind == CollectiveKind::reduce_scatter)
    found.lead.emplace_back("The results of ranks 0, 1, ... stand one behind the other.");
  return options.outputs.publish(std::move(found), context);
}

/// --library, else by the backend.
std::string library_for(const CollectiveOptions& options) {
  return options.library.empty() && options.backend == "gloo" ? "gloo" : options.library;
}

void judge(report::Report& found, const checks::CollectiveDifference& sum, const std::string& where) {
  found.headline =
      fmt::format("{} of {} elements have other bits than predicted, {}", sum.wrong, sum.compared, where);
  found.tone = sum.wrong == 0 && sum.compared != 0 ? report::Tone::good : report::Tone::bad;
  if (sum.wrong != 0) found.lead.push_back("The first: " + sum.first);
}

int compare(const CollectiveOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), input_files_of(options));
  if (options.x.empty() != options.y.empty())
    refuse("--x, --y: found one of them, allowed: both, or neither to run torch.distributed");
  report::Report found{.title = "A sum over ranks compared with its plan"};
  checks::CollectiveDifference sum;
  if (!options.y.empty()) {
    const Inputs inputs = load(options.x);
    const corpus::Tensor y = corpus::load_tensor(options.y);
    const Planned one = planned(options, inputs.type, inputs.ranks, inputs.count);
    const Format type = corpus::format_of(y.dtype);
    if (type != inputs.type || y.elements() != inputs.count)
      refuse("--y: found {} elements of {}, allowed: {} of {}, as --x has", y.elements(), name_of(type),
             inputs.count, name_of(inputs.type));
    compare_collective(one.problem, one.plan, result_of(one, inputs.data), y.data, sum);
    found.lead = words_of(one);
    judge(found, sum, printable(options.y, 200));
    return options.outputs.publish(std::move(found), context);
  }
  // What torch is asked for; NCCL's choices are known behind the run.
  const Planned gloo = planned(options, type_of(options.type), options.ranks, options.count, "",
                               options.library.empty() ? "gloo" : options.library);
  checks::CollectiveRun run{options.backend, options.python, gloo.problem};
  const std::vector<std::byte> x = collective_inputs(run.problem, options.seed);
  const checks::CollectiveAnswer answer = run_torch(run, x);
  const Planned one = planned(options, run.problem.type, options.ranks, options.count,
                              options.backend == "nccl" ? answer.log : "", library_for(options));
  const std::vector<std::byte> expected = result_of(one, x);
  std::vector<std::byte> scattered;
  for (const std::vector<std::byte>& rank : answer.ranks) {
    if (one.problem.kind == CollectiveKind::all_reduce)
      compare_collective(one.problem, one.plan, expected, rank, sum);
    else
      scattered.insert(scattered.end(), rank.begin(), rank.end());
  }
  if (!scattered.empty()) compare_collective(one.problem, one.plan, expected, scattered, sum);
  found.lead = words_of(one);
  judge(found, sum,
        fmt::format("{} of torch {}, {} ranks, {} {}", options.backend, answer.version, options.ranks,
                    options.count, name_of(one.problem.type)));
  return options.outputs.publish(std::move(found), context);
}

int reveal(const CollectiveOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {});
  constexpr std::uint64_t kMost = 16;
  if (options.ranks > kMost) refuse("--ranks: found {}, allowed: 2 to {}", options.ranks, kMost);
  checks::CollectiveRun run{options.backend, options.python, {}};
  const Planned gloo = planned(options, type_of(options.type), options.ranks, options.count, "", "gloo");
  run.problem = gloo.problem;
  run.calls = checks::pairs_of(options.ranks);
  const checks::CollectiveAnswer answer = run_torch(run, mask_inputs(run.problem));
  const bool scatters = run.problem.kind == CollectiveKind::reduce_scatter;
  const std::uint64_t per_rank = options.count / (scatters ? options.ranks : 1);
  const FastDecode decode(spec_of(run.problem.type));
  report::Report found{.title = "The order of a sum over ranks, from masks"};
  report::Table table{.title = "Orders", .columns = {{"from element", true}, {"elements", true}, "order"}};
  std::uint64_t first = 0, unclear = 0;
  std::string order;
  for (std::uint64_t i = 0; i <= options.count; ++i) {
    std::string now;
    if (i < options.count) {
      std::vector<std::uint64_t> left;
      for (std::uint64_t call = 0; call < run.calls; ++call)
        left.push_back(static_cast<std::uint64_t>(
            decode.at(answer.ranks[scatters ? i / per_rank : 0].data(), call * per_rank + i % per_rank)));
      now = checks::order_of_masks(options.ranks, left);
      unclear += now.empty() ? 1 : 0;
      if (now.empty()) now = "no order";
    }
    if (i != 0 && now != order) {
      table.rows.push_back({std::to_string(first), std::to_string(i - first), order});
      first = i;
    }
    order = now;
  }
  found.headline =
      fmt::format("{} ranges of elements with an order of their own; {} of {} elements without one",
                  table.rows.size(), unclear, options.count);
  found.tone = unclear == 0 ? report::Tone::good : report::Tone::bad;
  found.lead = {fmt::format("{} of torch {}. Which of two comes first does not show.", options.backend,
                            answer.version)};
  found.sections.push_back(section_of(std::move(table)));
  return options.outputs.publish(std::move(found), context);
}

void add_run_options(Command& command, CollectiveOptions& options) {
  command.section("What torch.distributed runs");
  command.option("--backend NAME", options.backend, "gloo, on the CPU, or nccl, a GPU per rank")
      .one_of({"gloo", "nccl"});
  command.option("--ranks COUNT", options.ranks, "processes").range(2, 64);
  command.option("--count COUNT", options.count, "elements of a rank's input").range(1, 1e9);
  command.option("--type FORMAT", options.type, "f32, f16 or bf16");
  command.option("--python PROGRAM", options.python, "a Python that has torch");
}

}  // namespace

void add_collective(Command& app) {
  Command group = app.command("collective", "Which bits sums over the ranks of a group have: NCCL, gloo",
                              {"mmaudit collective predict --x x.npy --log nccl.log --out y.npy",
                               "mmaudit collective compare --ranks 4 --count 1000000"});
  group.requires_command();

  const auto add = [&](const char* name, const char* text, std::initializer_list<std::string_view> examples,
                       int (*run)(const CollectiveOptions&, const Context&),
                       const std::function<void(Command&, CollectiveOptions&)>& define) {
    auto options = std::make_shared<CollectiveOptions>();
    Command command = group.command(name, text, examples);
    define(command, *options);
    command.section("Output");
    options->outputs.add_to(command);
    command.runs([options, run](const Context& context) { return run(*options, context); });
  };
  const auto add_x = [](Command& command, CollectiveOptions& options) {
    return command.option("--x FILES", options.x, "a file per rank, or one whose first axis is the ranks")
        .comma_separated();
  };
  add("predict", "The result from the inputs of all ranks, without a GPU",
      {"mmaudit collective predict --x r0.npy,r1.npy,r2.npy,r3.npy --channels 16 --protocol ll128 --out "
       "y.npy",
       "mmaudit collective predict --x x.npy --log nccl.log --out y.npy"},
      predict, [&](Command& command, CollectiveOptions& options) {
        add_x(command, options).required();
        command.option("--out FILE", options.out, "the result; of a reduce-scatter the results of all ranks")
            .required();
        add_plan_options(command, options);
      });
  add("compare", "Run torch.distributed here, or take files of a run, and compare every bit",
      {"mmaudit collective compare --ranks 4 --count 1000000 --type bf16",
       "mmaudit collective compare --backend nccl --ranks 4 --count 1000000",
       "mmaudit collective compare --x x.npy --y y.npy --log nccl.log"},
      compare, [&](Command& command, CollectiveOptions& options) {
        add_x(command, options);
        command.option("--y FILE", options.y, "what the run with --x gave");
        add_plan_options(command, options);
        add_run_options(command, options);
        command.option("--seed", options.seed, "of the inputs");
      });
  add("reveal", "Find the order of every element of torch.distributed's sum by masks",
      {"mmaudit collective reveal --ranks 4 --count 24",
       "mmaudit collective reveal --backend nccl --ranks 4"},
      reveal, [&](Command& command, CollectiveOptions& options) {
        command.option("--kind NAME", options.kind, "all-reduce or reduce-scatter");
        add_run_options(command, options);
      });
  add("layer", "A layer whose K is split over GPUs: which of them have the bits of which plan of one GPU",
      {"mmaudit collective layer --a x.npy --b w.npy --type bf16 --tp 1,2,4 --like h200-cublas-13.1",
       "mmaudit collective layer --a x.npy --b w.npy --type f16 --tp 8 --rings \"0 1 2 3 4 5 6 7\" --html "
       "tp.html"},
      split_layer, [&](Command& command, CollectiveOptions& options) {
        command.option("--a FILE", options.a, "x, (M, K)").required();
        command.option("--b FILE", options.b, "the transposed weight, (K, N)").required();
        command.option("--type FORMAT", options.type, "f16 or bf16");
        command.option("--tp COUNTS", options.split, "GPUs").comma_separated();
        add_like(command, options.like);
        add_plan_options(command, options);
      });
}

}  // namespace mmaudit::cli
