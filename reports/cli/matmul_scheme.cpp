// mmaudit matmul --scheme: binary32 or binary64 out of products of smaller formats.
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <utility>

#include "matmul_case.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/slices.hpp"

namespace mmaudit::cli {

int execute_scheme(const MatmulOptions& options, const Context& context) {
  std::optional<Slicing> slicing = find_slicing(options.scheme);
  if (!slicing) refuse("--scheme: found {}, allowed: {}", options.scheme, with_commas(slicing_names()));
  const std::pair<const char*, bool> others[] = {{"--c", !options.files.c.empty()},
                                                 {"--scale-a", !options.files.scale_a.empty()},
                                                 {"--scale-b", !options.files.scale_b.empty()},
                                                 {"--metadata", !options.files.metadata.empty()},
                                                 {"--factor-a", !options.factor_a.empty()},
                                                 {"--factor-b", !options.factor_b.empty()},
                                                 {"--alpha", options.has_alpha},
                                                 {"--beta", options.has_beta},
                                                 {"--d-format", !options.output.empty()},
                                                 {"--split-k", options.split_k != 1},
                                                 {"--simd", !options.simd.empty()},
                                                 {"--memory", options.memory != 0}};
  for (const auto& [option, given] : others)
    if (given) refuse("{}: found with --scheme, allowed: without it", option);
  const Architecture& architecture = require_architecture(context, options.architecture);
  SlicePath path = slice_path(*slicing->scheme, architecture);
  if (!options.instruction.empty()) {
    path.instruction = require_instruction(options.instruction);
    path.entry = &require_datapath(architecture, path.instruction);
  } else if (!path.why_not.empty()) {
    refuse("--arch: found {} ({}), allowed: one with an instruction of {}", architecture.name, path.why_not,
           slicing->scheme->dtype);
  }
  try_outputs(options.outputs.files({{"--out", options.out}}),
              {{"--a", options.files.a}, {"--b", options.files.b}, {"--model", context.model_file}});
  corpus::check_tensor_target(options.out);
  const std::optional<CastRounding> rounding = find_cast_rounding(options.rounding);
  const CastRule rule{rounding.value_or(CastRounding::nearest_even), options.saturate};
  const CastRule* cast = rounding ? &rule : nullptr;
  const FormatSpec number = spec_of(slicing->scheme->input);
  Matmul problem;
  const corpus::Operand a = corpus::load_operand("--a", options.files.a, number, {}, cast);
  problem.batch = a.count();
  problem.m = a.tensor.shape[1];
  problem.k = a.tensor.shape[2];
  const corpus::Operand b = load_b(options, number, problem, cast);
  problem.n = b.tensor.shape[2];
  problem.a = a.data(), problem.b = b.data();
  slicing->round = options.promote;
  const Datapath& datapath = path.entry->datapath;
  std::string why = why_no_slices(*slicing, path.instruction, datapath, problem);
  // Integers have no kernel of their own on a GPU: the plain core takes them.
  const auto on_device =
      options.plain || slicing->scheme->integer() ? device::DeviceModel::plain : device::DeviceModel::fast;
  if (why.empty() && options.gpu)
    why = device::why_no_matmul_on_device(path.instruction, datapath, problem, on_device);
  if (!why.empty()) throw InputError(why);
  if (slicing->parts == 0) slicing->parts = slices_for(*slicing->scheme, problem);
  if (slicing->scheme->integer() && slicing->parts > slicing->scheme->most)
    refuse("--scheme: found {}, for which the data needs {} slices, allowed: up to {}", options.scheme,
           slicing->parts, slicing->scheme->most);
  corpus::Tensor d = corpus::result_tensor(number, {problem.batch, problem.m, problem.n}, a, std::nullopt);
  if (!a.batched) d.shape.erase(d.shape.begin());
  problem.d = d.data.data();
  const std::uint64_t total =
      problem.batch * problem.m * problem.n * problem.k * static_cast<std::uint64_t>(products_of(*slicing));
  Timing timing{0, static_cast<double>(total)};
  mmaudit::MatmulOptions how = how_of(options);
  {
    Progress progress(context.quiet, "matmul", total);
    progress.will_write({options.out});
    how.progress = [&progress](std::uint64_t done) { progress.advance(done); };
    const auto start = std::chrono::steady_clock::now();
    sliced_matmul(*slicing, path.instruction, datapath, problem,
                  [&](const Instruction& inst, const Datapath& by, const Matmul& part) {
                    if (options.gpu)
                      device::matmul_on_device(require_device(), inst, by, part, on_device);
                    else
                      matmul(inst, by, part, how);
                  });
    timing.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  corpus::save_tensor(options.out, d);
  report::Report report =
      report_of(path.instruction, std::string(architecture.name), d, true, timing, options.out);
  report.headline =
      fmt::format("{} ({} products) by {}", name_of(*slicing), products_of(*slicing), report.headline);
  return options.outputs.publish(report, context);
}

}  // namespace mmaudit::cli
