#include "mmaudit/timing/measured.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mmaudit/csv.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/model/instruction.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::timing {
namespace {

constexpr std::size_t kFields = 17;

/// NaN where the text is no number.
double number(std::string_view text) { return whole_number<double>(text).value_or(std::nan("")); }

const Product* product_of(const MeasuredKernel& measured) {
  const auto all = products();
  const auto found = std::find_if(all.begin(), all.end(), [&measured](const Product& one) {
    return one.name == measured.kernel && one.type == measured.type;
  });
  return found == all.end() ? nullptr : &*found;
}

/// Neither NaN nor infinite, at least `least` and at most `most`.
bool within(double value, double least, double most) { return value >= least && value <= most; }

}  // namespace

std::vector<MeasuredKernel> read_measured(std::string_view csv) {
  constexpr std::size_t kN = 2, kCycles = 7, kCompared = 15, kDiffering = 16;
  constexpr double kMostN = 1 << 20, kMostCycles = 1e15;
  std::vector<MeasuredKernel> rows;
  std::size_t line_number = 0;
  while (!csv.empty()) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    const std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    ++line_number;
    if (line.empty() || line.starts_with('#') || line.starts_with("kernel,") || line.starts_with("cublas"))
      continue;
    const std::vector<std::string_view> fields = csv::fields_of(line);
    const auto at = [&fields](std::size_t field) { return number(fields[field]); };
    if (fields.size() != kFields || !within(at(kN), 1, kMostN) || !within(at(kCycles), 1, kMostCycles) ||
        !within(at(kCompared), 1, kMostCycles) || at(kDiffering) != 0)
      throw InputError("line " + std::to_string(line_number) +
                       ": found no cycles, nothing compared or a wrong result, allowed: a row that "
                       "`whole` printed");
    rows.push_back({std::string(fields[0]), std::string(fields[1]), static_cast<int>(at(kN)), at(kCycles),
                    at(kCycles + 1), at(kCycles + 2)});
  }
  return rows;
}

ComparedKernel compare(const Machine& machine, const MeasuredKernel& measured) {
  const Product* const found = product_of(measured);
  if (found == nullptr) refuse("found {} {}, allowed: one of our kernels", measured.kernel, measured.type);
  return {measured, time_product(machine, function_of(*found), *found, {measured.n, measured.n, measured.n})};
}

namespace {

/// Cycles of the whole GPU per million multiply-adds.
double per_multiply(const ComparedKernel& one, double cycles) {
  return 1e6 * cycles / std::pow(one.measured.n, 3);
}

using Groups = std::vector<std::pair<std::string, std::vector<ComparedKernel>>>;
void add(Groups& groups, std::string_view name, const ComparedKernel& one) {
  auto group =
      std::find_if(groups.begin(), groups.end(), [name](const auto& each) { return each.first == name; });
  if (group == groups.end()) group = groups.insert(groups.end(), {std::string(name), {}});
  group->second.push_back(one);
}

std::vector<KernelGroup> scores_of(const Groups& groups) {
  std::vector<KernelGroup> scores;
  scores.reserve(groups.size());
  for (const auto& [name, kernels] : groups) scores.push_back({name, score_of(kernels)});
  return scores;
}

}  // namespace

KernelScore score_of(std::span<const ComparedKernel> compared) {
  KernelScore score;
  score.kernels = static_cast<int>(compared.size());
  if (compared.empty()) return score;
  const auto count = static_cast<double>(compared.size());
  double mean_x = 0, mean_y = 0;
  for (const ComparedKernel& one : compared) {
    score.mean += one.ratio() / count;
    score.error += std::abs(one.ratio() - 1) / count;
    mean_x += per_multiply(one, one.measured.cycles) / count;
    mean_y += per_multiply(one, one.model.cycles) / count;
  }
  double xx = 0, yy = 0, xy = 0, spread = 0;
  for (const ComparedKernel& one : compared) {
    const double x = per_multiply(one, one.measured.cycles) - mean_x,
                 y = per_multiply(one, one.model.cycles) - mean_y;
    xx += x * x;
    yy += y * y;
    xy += x * y;
    spread += (one.ratio() - score.mean) * (one.ratio() - score.mean);
  }
  if (xx > 0 && yy > 0) score.pearson = xy / std::sqrt(xx * yy);
  score.deviation = std::sqrt(spread / count);
  return score;
}

std::vector<MeasuredLoop> read_measured_loops(std::string_view csv) {
  constexpr std::size_t kWarps = 2, kChains = 6;
  constexpr double kMostCycles = 1e9;
  constexpr std::string_view kHead = "instruction,point,warps,ilp1,ilp2,ilp3,ilp4,ilp5,ilp6";
  std::vector<MeasuredLoop> loops;
  for (const std::vector<std::string_view>& cells : csv::rows_of(csv, kHead)) {
    const double warps = cells.size() > kWarps ? number(cells[kWarps]) : 0;
    bool good = cells.size() > kWarps + 1 && cells.size() <= kWarps + 1 + kChains && within(warps, 1, 64);
    for (std::size_t i = kWarps + 1; good && i < cells.size(); ++i) {
      if (cells[i].empty()) continue;
      const double cycles = number(cells[i]);
      good = within(cycles, 0.1, kMostCycles);
      loops.push_back({std::string(cells[0]), std::string(cells[1]), static_cast<int>(warps),
                       static_cast<int>(i - kWarps), cycles});
    }
    if (!good)
      refuse("found {}, allowed: instruction, point, warps and cycles with one to six chains",
             csv::line_of(cells, ""));
  }
  return loops;
}

ComparedLoop compare(const Machine& machine, const MeasuredLoop& measured, const Loop& loop) {
  std::string name = measured.instruction;
  bool registers = false;
  int ways = 1;
  for (std::string_view rest = measured.point; !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(field.size() + 1, rest.size()));
    const std::size_t at = name.find("nN");
    if (field.starts_with("n=") && at != std::string::npos) {
      name.replace(at + 1, 1, field.substr(2));
    } else if (field == "a=registers" || field == "a=shared") {
      registers = field == "a=registers";
    } else if (const auto number = whole_number<int>(field.substr(std::min<std::size_t>(5, field.size())));
               field.starts_with("ways=") && number) {
      ways = *number;
    } else {
      refuse("point: found {}, allowed: n=, a=shared, a=registers, ways=", field);
    }
  }
  std::optional<Program> program;
  if (const auto access = shared_access(name, ways)) {
    program = load_program(machine, *access, measured.ilp, loop);
  } else if (const auto inst = find_instruction(name)) {
    program = chain_program(machine, *inst, measured.ilp, loop, registers);
  } else {
    refuse("instruction: found {}, allowed: one that `mmaudit list` prints, or a load", name);
  }
  if (!program) return {measured, std::nullopt};
  Launch launch;
  launch.warps = measured.warps;
  launch.trips = trips_of(*program);
  return {measured, simulate(machine, *program, launch).cycles_per_step};
}

std::string_view family_of(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find_first_of("0123456789"));
  return kernel.substr(0, kernel.find("_ahead"));
}

std::vector<KernelGroup> groups_of(std::span<const ComparedKernel> compared) {
  Groups groups, wmma, not_fitted;
  for (const ComparedKernel& one : compared) {
    const std::string_view family = family_of(one.measured.kernel);
    add(groups, family, one);
    if (family.starts_with("wmma")) add(wmma, "all of WMMA", one);
    if (const Product* const product = product_of(one.measured); product != nullptr && !product->fitted)
      add(not_fitted, "kernels not fitted to", one);
  }
  for (const Groups* more : {&wmma, &not_fitted}) groups.insert(groups.end(), more->begin(), more->end());
  return scores_of(groups);
}

std::vector<KernelGroup> sizes_of(std::span<const ComparedKernel> compared) {
  std::vector<ComparedKernel> sorted(compared.begin(), compared.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const ComparedKernel& x, const ComparedKernel& y) {
    return x.measured.n < y.measured.n;
  });
  Groups groups;
  for (const ComparedKernel& one : sorted) add(groups, std::to_string(one.measured.n), one);
  return scores_of(groups);
}

}  // namespace mmaudit::timing
