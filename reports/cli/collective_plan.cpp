#include "collective_plan.hpp"

#include <fmt/format.h>

#include "mmaudit/datapath_text.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::cli {

Planned planned(const CollectiveOptions& options, Format type, std::uint64_t ranks, std::uint64_t count,
                const std::string& log, const std::string& library) {
  Planned out;
  out.problem.type = type, out.problem.ranks = ranks, out.problem.count = count;
  out.choice.channels = options.channels, out.choice.threads = options.threads,
  out.choice.buffer = options.buffer;
  const CollectiveWords words{options.kind,     options.operation, library, options.algorithm,
                              options.protocol, options.rings,     log};
  if (const std::string why = take_words(words, out.problem, out.choice); !why.empty())
    throw InputError("--" + why);
  out.plan = collective_plan(out.problem, out.choice);
  out.by_log = !log.empty();
  return out;
}
Planned planned(const CollectiveOptions& options, Format type, std::uint64_t ranks, std::uint64_t count) {
  const std::string log = options.log.empty() ? "" : text_of_file(options.log);
  if (log.empty() && !options.log.empty())
    refuse("--log: found nothing in {}, allowed: what NCCL printed", options.log);
  return planned(options, type, ranks, count, log, options.library);
}

std::vector<std::string> words_of(const Planned& one) {
  std::vector<std::string> out = {"Plan: " + mmaudit::text_of(one.plan)};
  if (one.plan.library->first_version != 0)
    out.push_back(
        fmt::format("Choice: {} {}, {}", name_in(names::kCollectiveAlgorithm, one.choice.algorithm),
                    name_in(names::kCollectiveProtocol, one.choice.protocol),
                    one.by_log ? "as the log says" : "as the options say; NCCL may choose otherwise"));
  out.push_back(fmt::format("Evidence: {}", name_of(one.plan.library->evidence)));
  return out;
}

Format type_of(const std::string& name) {
  const auto found = read_format(name);
  if (!found) refuse("--type: found {}, allowed: f32, f16, bf16", name);
  return *found;
}

std::vector<NamedFile> input_files_of(const CollectiveOptions& options) {
  std::vector<NamedFile> out{
      {"--log", options.log}, {"--y", options.y}, {"--a", options.a}, {"--b", options.b}};
  for (const std::string& file : options.x) out.push_back({"--x", file});
  return out;
}

std::vector<std::byte> result_of(const Planned& one, const std::vector<std::byte>& x) {
  std::vector<std::byte> y(one.problem.count * spec_of(one.problem.type).storage_bytes());
  run_collective(one.problem, one.plan, x.data(), y.data());
  return y;
}

void add_plan_options(Command& command, CollectiveOptions& options) {
  command.section("How it is summed");
  command.option("--kind NAME", options.kind, "all-reduce or reduce-scatter");
  command.option("--operation NAME", options.operation, "sum or average");
  command.option("--library NAME", options.library, "nccl-2.29 (2.29, 2.30), nccl-2.27 (2.27, 2.28) or gloo");
  command.option("--log FILE", options.log,
                 "NCCL's choices, from the lines of all ranks: NCCL_DEBUG=INFO, "
                 "NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING");
  command.option("--algorithm NAME", options.algorithm, "without a log: ring or tree");
  command.option("--protocol NAME", options.protocol, "without a log: simple, ll or ll128");
  command.option("--channels COUNT", options.channels, "without a log: of the communicator").range(1, 64);
  command.option("--rings TEXT", options.rings,
                 "without a log: '0 1 2 3; 0 3 2 1', a ring per channel, then again; of a tree chains, the "
                 "root first");
  command.option("--threads COUNT", options.threads, "NCCL_NTHREADS where it is set; 0: it is not")
      .range(0, 1024);
  command.option("--buffer BYTES", options.buffer,
                 "NCCL_BUFFSIZE and the like where it is set; 0: it is not");
}

}  // namespace mmaudit::cli
