// mmaudit time gemm: cycles of a whole product, by the timing model.
#include "time_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "mmaudit/refusal.hpp"
#include "timing/timing_report.hpp"

namespace mmaudit::cli {
namespace {

struct TimeGemmOptions : MachineChoice {
  Outputs outputs;
  std::string kernel, type, compare;
  int m = 1024, n = 1024, k = 1024, most = 8192;
};

const timing::Product& product_of(const TimeGemmOptions& options) {
  const std::span<const timing::Product> all = timing::products();
  const auto named = [&](const timing::Product& one) { return one.name == options.kernel; };
  const auto found = std::find_if(all.begin(), all.end(), [&](const timing::Product& one) {
    return named(one) && (options.type.empty() || one.type == options.type);
  });
  if (found != all.end()) return *found;
  std::vector<std::string> types;
  for (const timing::Product& one : all)
    if (named(one)) types.emplace_back(one.type);
  if (!types.empty()) refuse("--type: found {} with {}, allowed: {}", options.type, options.kernel, types);
  refuse("--kernel: found {}, allowed: one that `mmaudit time gemm` lists{}",
         options.kernel.empty() ? "nothing" : options.kernel, did_you_mean(options.kernel, names_of(all)));
}

int compare(const TimeGemmOptions& options, const Context& context) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 24;
  const timing::Machine machine = machine_of(options);
  const std::string csv = text_of_file(options.compare, kMostBytes);
  const std::vector<timing::ComparedKernel> compared = in_file(options.compare, [&] {
    std::vector<timing::MeasuredKernel> measured = timing::read_measured(csv);
    std::erase_if(measured, [&](const timing::MeasuredKernel& one) {
      return one.n > options.most || (!options.kernel.empty() && one.kernel != options.kernel) ||
             (!options.type.empty() && one.type != options.type);
    });
    if (measured.empty())
      refuse(
          "found no kernel to compare, allowed: rows that `whole` printed, of the kernel, type and size that "
          "were asked for");
    Progress progress(context.quiet, "simulating", measured.size());
    progress.will_write(options.outputs.names());
    std::vector<timing::ComparedKernel> found;
    for (const timing::MeasuredKernel& one : measured) {
      found.push_back(timing::compare(machine, one));
      progress.advance(1, one.kernel);
    }
    return found;
  });
  return options.outputs.publish(report_of(compared, machine), context);
}

int time_gemm(const TimeGemmOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {{"--machine", options.file}, {"--compare", options.compare}});
  if (!options.compare.empty()) return compare(options, context);
  if (options.kernel.empty() && options.type.empty())
    return options.outputs.publish(timing::report_of(timing::products()), context);
  const timing::Product& product = product_of(options);
  const timing::Machine machine = machine_of(options);
  const timing::ProductSize size = {options.m, options.n, options.k};
  timing::KernelTiming time;
  try {
    time = timing::time_product(machine, timing::function_of(product), product, size);
  } catch (const InputError&) {
    throw;
  } catch (const std::runtime_error& error) {  // a warp that waits for what never comes
    throw InputError(fmt::format("{}: {}", product.name, error.what()));
  }
  return options.outputs.publish(report_of(timing::TimedProduct{product, machine, size, time}), context);
}

}  // namespace

void add_time_gemm(Command& time) {
  auto options = std::make_shared<TimeGemmOptions>();
  Command command =
      time.command("gemm", "Cycles of a whole product by one of our kernels; without --kernel, a list",
                   {"mmaudit time gemm --kernel mma128_stages --type f16_f32 --m 2048 --n 2048 --k 2048",
                    "mmaudit time gemm"});
  command.option("--kernel", options->kernel, "as the list prints it");
  command.option("--type", options->type, "of A and B, and of D").default_text("the first of the kernel");
  command.option("--m", options->m, "rows of A and D").range(1, 65536);
  command.option("--n", options->n, "columns of D").range(1, 65536);
  command.option("--k", options->k, "length of the sums").range(1, 65536);
  command.option("--compare", options->compare, "kernels.csv: measured kernels, each beside the model");
  command.option("--most", options->most, "largest size that is compared").range(1, 65536);
  add_machine_options(command, *options);
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return time_gemm(*options, context); });
}

}  // namespace mmaudit::cli
