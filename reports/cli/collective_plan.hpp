#pragma once
// What the commands of mmaudit collective share: how a sum is asked for, and its plan.
#include <string>
#include <vector>

#include "common.hpp"
#include "mmaudit/collective.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {

struct CollectiveOptions {
  std::vector<std::string> x, split = {"1", "2", "4"};
  std::string y, out, kind = "all-reduce", operation = "sum", library, algorithm, protocol, rings, log,
                      type = "f32", backend = "gloo", python = "python3", a, b, like;
  std::uint64_t channels = 1, threads = 0, buffer = 0, ranks = 4, count = 1000, seed = 1;
  Outputs outputs;
};

/// What is summed, and NCCL's choices or the row of gloo.
struct Planned {
  CollectiveProblem problem;
  CollectiveChoice choice;
  CollectivePlan plan;
  bool by_log = false;
};
/// `log`: its text. Errors: InputError.
Planned planned(const CollectiveOptions& options, Format type, std::uint64_t ranks, std::uint64_t count,
                const std::string& log, const std::string& library);
/// By the options alone.
Planned planned(const CollectiveOptions& options, Format type, std::uint64_t ranks, std::uint64_t count);
/// The plan, the choice and the evidence, a line each.
std::vector<std::string> words_of(const Planned& one);
Format type_of(const std::string& name);
std::vector<NamedFile> input_files_of(const CollectiveOptions& options);
std::vector<std::byte> result_of(const Planned& one, const std::vector<std::byte>& x);
void add_plan_options(Command& command, CollectiveOptions& options);

/// mmaudit collective layer.
int split_layer(const CollectiveOptions& options, const Context& context);

}  // namespace mmaudit::cli
