// mmaudit time gemm: cycles of a whole product, by the timing model.
#include "time_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "mmaudit/names.hpp"
#include "mmaudit/timing/measured.hpp"

namespace mmaudit::cli {
namespace {

struct TimeGemmOptions : MachineChoice {
  std::string kernel, type, compare;
  int m = 1024, n = 1024, k = 1024, most = 8192;
};

std::string kernel_list() {
  std::string text;
  for (const timing::Product& one : timing::products())
    text +=
        fmt::format("{:<16} {:<9} tiles of {:>3} x {:>3}, {} threads, at most {} blocks per multiprocessor\n",
                    one.name, one.type, one.tile, one.tile, one.threads, one.resident);
  return text;
}

const timing::Product& product_of(const TimeGemmOptions& options) {
  const timing::Product* found = nullptr;
  std::string types;
  std::vector<std::string> names;
  for (const timing::Product& one : timing::products()) {
    names.emplace_back(one.name);
    if (one.name != options.kernel) continue;
    types += fmt::format("{}{}", types.empty() ? "" : ", ", one.type);
    if (found == nullptr && (options.type.empty() || one.type == options.type)) found = &one;
  }
  if (found != nullptr) return *found;
  if (!types.empty()) refuse("--type: found {} with {}, allowed: {}", options.type, options.kernel, types);
  const std::string nearest = nearest_word(options.kernel, names);
  refuse("--kernel: found {}, allowed: one that `mmaudit time gemm` lists{}",
         options.kernel.empty() ? "nothing" : options.kernel,
         nearest.empty() ? "" : fmt::format(" (the nearest is {})", nearest));
}

std::string score_line(const std::string& name, const timing::KernelScore& score) {
  return fmt::format("{:<22} {:>7}  {:>14}  {:>16.3f}  {:>17.1f}%  {:>18.1f}%\n", name, score.kernels,
                     score.pearson ? fmt::format("{:.4f}", *score.pearson) : "-", score.mean,
                     100 * score.deviation, 100 * score.error);
}

int compare(const TimeGemmOptions& options) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 24;
  const timing::Machine machine = machine_of(options);
  const std::string csv = text_of_file(options.compare, kMostBytes);
  return in_file(options.compare, [&] {
    std::vector<timing::ComparedKernel> compared;
    for (const timing::MeasuredKernel& one : timing::read_measured(csv)) {
      if (one.n > options.most || (!options.kernel.empty() && one.kernel != options.kernel) ||
          (!options.type.empty() && one.type != options.type))
        continue;
      compared.push_back(timing::compare(machine, one));
      print(fmt::format("{:<17} {:<8} {:>5}  measured {:>9.0f}  model {:>9.0f}  {:.3f}\n", one.kernel,
                        one.type, one.n, one.cycles, compared.back().model.cycles, compared.back().ratio()));
    }
    if (compared.empty())
      refuse(
          "found no kernel to compare, allowed: rows that `whole` printed, of the kernel, type and size that "
          "were asked for");
    print(fmt::format(
        "\n{:<22} kernels  Pearson of IPC  model / measured  standard deviation  mean absolute error\n", ""));
    const std::vector<timing::KernelGroup> groups = timing::groups_of(compared);
    if (groups.size() > 1)
      for (const timing::KernelGroup& one : groups) print(score_line(one.name, one.score));
    print(score_line("all", timing::score_of(compared)));
    return kAllGood;
  });
}

int time_gemm(const TimeGemmOptions& options) {
  if (!options.compare.empty()) return compare(options);
  if (options.kernel.empty() && options.type.empty()) {
    print(kernel_list());
    return kAllGood;
  }
  const timing::Product& product = product_of(options);
  const timing::Machine machine = machine_of(options);
  try {
    const timing::KernelTiming time = timing::time_product(machine, timing::function_of(product), product,
                                                           {options.m, options.n, options.k});
    const double work = static_cast<double>(options.m) * options.n * options.k;
    print(fmt::format(
        "{} {} on {} ({}), {} x {} x {}\n{:.0f} cycles, {:.0f} FMA/clk on {} multiprocessors, IPC {:.3f} on "
        "the busiest\n"
        "bound by: {}\nper multiprocessor and cycle: {:.1f} bytes of L2, {:.1f} of memory; {:.0f}% of its "
        "loads hit "
        "L1\n",
        product.name, product.type, machine.name, machine.gpu, options.m, options.n, options.k, time.cycles,
        work / time.cycles, machine[timing::Parameter::kernel_multiprocessors],
        time.instructions / time.cycles, time.detail.bound(), time.l2_bytes, time.dram_bytes,
        100 * time.l1_hits));
  } catch (const InputError&) {
    throw;
  } catch (const std::runtime_error& error) {  // a warp that waits for what never comes
    throw InputError(fmt::format("{}: {}", product.name, error.what()));
  }
  return kAllGood;
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
  command.runs([options](const Context&) { return time_gemm(*options); });
}

}  // namespace mmaudit::cli
