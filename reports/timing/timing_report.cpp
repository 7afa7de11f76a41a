#include "timing/timing_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/timing/drawing.hpp"
#include "sweeps/findings.hpp"

namespace mmaudit::timing {
namespace {

using report::Report;
using report::section_of;
using report::Table;
using report::table_of;

std::string name_and_gpu(const Machine& machine) { return fmt::format("{} ({})", machine.name, machine.gpu); }

Report titled(std::string title, std::string headline = {}) {
  return {.title = title, .text_title = title, .headline = std::move(headline)};
}

Report listed(std::string title, Table table, std::string headline = {}) {
  Report out{.title = std::move(title), .headline = std::move(headline)};
  out.sections.push_back(section_of(std::move(table)));
  return out;
}

Table waits_table(const Timing& timing) {
  Table table{.title = "Why warps wait", .columns = {"wait", {"cycles per warp and trip", true}}};
  for (std::size_t i = 0; i < timing.waits.size(); ++i)
    if (timing.waits[i] >= 0.05)
      table.rows.push_back({name_of(static_cast<Wait>(i)), fmt::format("{:.1f}", timing.waits[i])});
  return table;
}

std::string share(int part, int whole) { return fmt::format("{} of {}", part, whole); }

/// One row per number of warps, one column per number of chains.
Table pivot(const TimedGrid& grid, std::string title, double TimedGrid::Cell::*value, int digits) {
  Table table{.title = std::move(title), .columns = {{"warps", true}}};
  int most = 0, warps = 0;
  for (const TimedGrid::Cell& cell : grid.cells) most = std::max(most, cell.ilp);
  for (int ilp = 1; ilp <= most; ++ilp) table.columns.emplace_back(fmt::format("ILP {}", ilp), true);
  for (const TimedGrid::Cell& cell : grid.cells) {
    if (cell.warps != warps) table.rows.push_back({std::to_string(warps = cell.warps)});
    table.rows.back().emplace_back(fmt::format("{:.{}f}", cell.*value, digits));
  }
  for (auto& row : table.rows) row.resize(table.columns.size(), report::Cell("-"));
  return table;
}

std::string number_or_dash(double value, int digits) {
  return value == 0 ? "-" : fmt::format("{:.{}f}", value, digits);
}

Table table_of_groups(const std::string& title, const std::string& first,
                      const std::vector<KernelGroup>& groups) {
  using Group = const KernelGroup&;
  return table_of<KernelGroup>(
      title, groups,
      {{first, &KernelGroup::name},
       {{"number", true}, [](Group one) { return std::to_string(one.score.kernels); }},
       {{"Pearson of cycles per FMA", true},
        [](Group one) { return one.score.pearson ? fmt::format("{:.4f}", *one.score.pearson) : "-"; }},
       {{"model / measured", true}, [](Group one) { return fmt::format("{:.3f}", one.score.mean); }},
       {{"standard deviation", true},
        [](Group one) { return fmt::format("{:.1f}%", 100 * one.score.deviation); }},
       {{"mean absolute error", true},
        [](Group one) { return fmt::format("{:.1f}%", 100 * one.score.error); }}});
}

/// Ours beside theirs.
Table table_of_cells(std::string title, const std::vector<PaperCell>& cells) {
  using Row = const PaperCell&;
  return table_of<PaperCell>(
      std::move(title), cells,
      {{"table", [](Row one) { return std::string(one.row->table); }},
       {"GPU", [](Row one) { return std::string(one.row->gpu); }},
       {"program", &PaperCell::program},
       {{"warps", true}, [](Row one) { return std::to_string(one.warps); }},
       {{"ILP", true}, [](Row one) { return std::to_string(one.ilp); }},
       {"loop", [](Row one) { return std::string(one.loop->name); }},
       {{"cycles", true}, [](Row one) { return fmt::format("{:.1f}", one.cycles); }},
       {{"printed", true}, [](Row one) { return number_or_dash(one.printed_cycles, 1); }},
       {{"rate", true},
        [](Row one) { return one.printed_rate == 0 ? "-" : fmt::format("{:.1f}", one.rate); }},
       {{"printed", true}, [](Row one) { return number_or_dash(one.printed_rate, 1); }},
       {"unit", [](Row one) { return std::string(one.row->unit); }}});
}

}  // namespace

Report report_of(const TimedProgram& timed) {
  const Timing& timing = timed.timing;
  const bool loop = timed.ilp == 0;
  std::string headline = fmt::format(
      "{:.1f} cycles per {}", loop ? timing.cycles_per_trip : timing.cycles_per_step, loop ? "trip" : "step");
  if (!loop || timed.program.work > 0)
    headline += fmt::format(", {:.1f} {}", timing.work_per_cycle, timed.unit);
  Report out =
      titled(fmt::format("{} on {}, {} warps", timed.program.name, name_and_gpu(timed.machine), timed.warps) +
                 (loop ? "" : fmt::format(", {} chains each", timed.ilp)),
             headline);
  out.lead = {"Bound by: " + timing.bound()};
  if (!timed.loop.empty()) out.lead.push_back("Loop: " + timed.loop);
  if (!timed.program.alone.empty()) out.lead.push_back("One alone: " + timed.program.alone);
  if (loop)
    out.lead.push_back(fmt::format("Loop of {} instructions, its counter moves by {}",
                                   timed.program.ops.size(), timed.program.steps));
  if (!timing.events.empty())
    out.sections.push_back({.title = "The pipeline", .block = drawing_text(timed.program, timing)});
  out.sections.push_back(section_of(waits_table(timing), loop ? report::kEverywhere : report::kInDocuments));
  out.sections.push_back({.title = "What the model leaves out", .lines = timed.program.notes});
  return out;
}

int converged_ilp(const TimedGrid& grid, int warps) {
  double best = 0;
  for (const TimedGrid::Cell& cell : grid.cells)
    if (cell.warps == warps) best = std::max(best, cell.rate);
  for (const TimedGrid::Cell& cell : grid.cells)
    if (cell.warps == warps && cell.rate >= sweeps::kConverged * best) return cell.ilp;
  return 0;
}

Report report_of(const TimedGrid& grid) {
  const auto best =
      std::max_element(grid.cells.begin(), grid.cells.end(),
                       [](const TimedGrid::Cell& x, const TimedGrid::Cell& y) { return x.rate < y.rate; });
  Report out = titled(fmt::format("{} on {}", grid.program, name_and_gpu(grid.machine)),
                      best == grid.cells.end() ? ""
                                               : fmt::format("{:.1f} {} at most, by {} warps with ILP {}",
                                                             best->rate, grid.unit, best->warps, best->ilp));
  if (!grid.loop.empty()) out.lead = {"Loop: " + grid.loop};
  if (grid.cells.size() > 1)
    out.lead.push_back(
        fmt::format("Converged, {:.0f}% of the best rate of as many warps: ({},{}) and ({},{})",
                    100 * sweeps::kConverged, 4, converged_ilp(grid, 4), 8, converged_ilp(grid, 8)));
  for (const Table& table : {pivot(grid, "Cycles per step", &TimedGrid::Cell::cycles, 1),
                             pivot(grid, grid.unit, &TimedGrid::Cell::rate, 0),
                             table_of_cells("Beside the papers, in the loop of each", grid.beside)})
    out.sections.push_back(section_of(table));
  return out;
}

Report report_of(std::span<const Machine> machines) {
  using Row = const Machine&;
  return listed(
      "Machines of the timing model",
      table_of<Machine>(
          "", {machines.begin(), machines.end()},
          {{"machine", &Machine::name},
           {"GPU", &Machine::gpu},
           {"target", [](Row one) { return fmt::format("sm_{}", one.architecture().compute_capability); }},
           {{"numbers", true}, [](Row one) { return std::to_string(one.numbers.size()); }}}));
}

Report report_of(const Machine& machine) {
  const auto about = [](const Number& one) -> const ParameterText& {
    return parameter_texts()[static_cast<std::size_t>(one.parameter)];
  };
  return listed(
      "The numbers of " + name_and_gpu(machine),
      table_of<Number>(
          "", {machine.numbers.begin(), machine.numbers.end()},
          {{"number", [=](const Number& one) { return about(one).name; }},
           {{"value", true}, [&](const Number& one) { return fmt::format("{}", machine[one.parameter]); }},
           {"unit", [=](const Number& one) { return about(one).unit; }},
           {"known", [](const Number& one) { return name_of(one.known); }},
           {"source", &Number::source}}));
}

namespace {

/// Sun et al. print points of convergence and no rule: of their points of four and more warps how many
/// converged_ilp() picks on the model's own grids.
std::pair<int, int> convergence_of(const std::vector<PaperCell>& cells) {
  constexpr int kMostIlp = 6;
  int picked = 0, points = 0;
  for (const PaperCell& cell : cells) {
    const auto inst = mmaudit::find_instruction(cell.row->subjects.front());
    if (!cell.row->table.starts_with("Sun") || cell.warps < 4 || !inst) continue;
    TimedGrid grid;
    for (int ilp = 1; ilp <= kMostIlp; ++ilp) {
      const auto program = chain_program(*cell.machine, *inst, ilp, *cell.loop);
      Launch launch;
      launch.warps = cell.warps;
      launch.trips = trips_of(program.value());
      grid.cells.push_back({cell.warps, ilp, 0, simulate(*cell.machine, *program, launch).work_per_cycle});
    }
    ++points;
    picked += converged_ilp(grid, cell.warps) == cell.ilp;
  }
  return {picked, points};
}

}  // namespace

Report report_of(const std::vector<PaperCell>& cells) {
  using Row = const PaperScore&;
  const std::vector<PaperScore> scores = scores_of(cells);
  PaperScore all;
  for (Row one : scores) {
    all.cycles += one.cycles, all.of_cycles += one.of_cycles;
    all.rates += one.rates, all.of_rates += one.of_rates;
    all.contradicting += one.contradicting;
  }
  Table table = table_of<PaperScore>(
      "By table and GPU", scores,
      {{"table", &PaperScore::table},
       {"GPU", &PaperScore::gpu},
       {"loop", &PaperScore::loop},
       {{"cycles within one", true}, [](Row one) { return share(one.cycles, one.of_cycles); }},
       {{"rates within 5%", true}, [](Row one) { return share(one.rates, one.of_rates); }},
       {{"not fitted to", true}, [](Row one) { return share(one.held_out, one.of_held_out); }}});
  Report out = listed("Printed tables beside the timing model", std::move(table),
                      fmt::format("Of the printed numbers {} cycles agree within one, {} rates within 5%",
                                  share(all.cycles, all.of_cycles), share(all.rates, all.of_rates)));
  if (all.contradicting > 0)
    out.lead.push_back(fmt::format(
        "Not counted: {} cells whose printed rate is not the work over their cycles", all.contradicting));
  if (const auto [picked, points] = convergence_of(cells); points > 0)
    out.lead.push_back(
        fmt::format("Points of convergence of Sun et al., the least chains for {:.0f}% of the best rate: {}",
                    100 * sweeps::kConverged, share(picked, points)));
  std::vector<PaperCell> off = cells;
  std::erase_if(off, [](const PaperCell& one) {
    return (one.printed_cycles == 0 || one.cycles_agree()) && (one.printed_rate == 0 || one.rate_agrees());
  });
  out.sections.push_back(section_of(table_of_cells("Cells that do not agree", off)));
  return out;
}

Report report_of(const ComparedLoops& compared) {
  struct Family {
    std::string name;
    int points = 0, within = 0, spelled_out = 0;
    double error = 0, worst = 0;
  };
  std::vector<Family> families{{"all"}};
  const auto count = [](Family& family, const ComparedLoop& one) {
    family.spelled_out += !one.cycles;
    if (!one.cycles) return;
    ++family.points;
    family.within += one.agrees();
    family.error += std::abs(one.off());
    if (std::abs(one.off()) > std::abs(family.worst)) family.worst = one.off();
  };
  for (const ComparedLoop& one : compared.loops) {
    const std::string_view name = one.measured.instruction;
    const std::string family(name.substr(0, name.starts_with("ld") ? name.find('.') : name.find(".m")));
    auto at =
        std::find_if(families.begin(), families.end(), [&](const Family& x) { return x.name == family; });
    if (at == families.end()) at = families.insert(families.end() - 1, {family});
    count(*at, one);
    count(families.back(), one);
  }
  using Row = const Family&;
  const Family& all = families.back();
  Report out = titled(fmt::format("Measured loops beside {}", name_and_gpu(compared.machine)),
                      fmt::format("{} points within 5%", share(all.within, all.points)));
  out.lead = {fmt::format("Loop: {}, {}", compared.loop.name, compared.loop.text)};
  if (all.spelled_out > 0)
    out.lead.push_back(fmt::format("{} points left out: the compiler spells them out in many instructions",
                                   all.spelled_out));
  out.sections.push_back(section_of(table_of<Family>(
      "By instruction", families,
      {{"instructions", &Family::name},
       {{"points", true}, [](Row one) { return std::to_string(one.points); }},
       {{"within 5%", true},
        [](Row one) {
          return one.points == 0 ? "-" : fmt::format("{:.1f}%", 100.0 * one.within / one.points);
        }},
       {{"mean error", true},
        [](Row one) { return one.points == 0 ? "-" : fmt::format("{:.1f}%", 100 * one.error / one.points); }},
       {{"worst", true}, [](Row one) { return fmt::format("{:+.1f}%", 100 * one.worst); }}})));
  std::vector<ComparedLoop> off = compared.loops;
  std::erase_if(off, [](const ComparedLoop& one) { return !one.cycles || one.agrees(); });
  using One = const ComparedLoop&;
  out.sections.push_back(section_of(
      table_of<ComparedLoop>(
          "More than 5% off", off,
          {{"instruction", [](One one) { return one.measured.instruction; }},
           {"point", [](One one) { return one.measured.point; }},
           {{"warps", true}, [](One one) { return std::to_string(one.measured.warps); }},
           {{"ILP", true}, [](One one) { return std::to_string(one.measured.ilp); }},
           {{"measured", true}, [](One one) { return fmt::format("{:.2f}", one.measured.cycles); }},
           {{"model", true}, [](One one) { return fmt::format("{:.2f}", *one.cycles); }},
           {{"off", true}, [](One one) { return fmt::format("{:+.1f}%", 100 * one.off()); }}}),
      report::kInDocuments));
  return out;
}

Report report_of(std::span<const Product> products) {
  using Row = const Product&;
  return listed(
      "Kernels of whole products",
      table_of<Product>("", {products.begin(), products.end()},
                        {{"kernel", &Product::name},
                         {"type", &Product::type},
                         {{"tile", true}, [](Row one) { return fmt::format("{0} x {0}", one.tile); }},
                         {{"threads", true}, [](Row one) { return std::to_string(one.threads); }},
                         {{"most blocks per multiprocessor", true},
                          [](Row one) { return std::to_string(one.resident); }}}));
}

Report report_of(const TimedProduct& timed) {
  const auto& [product, machine, size, time] = timed;
  const double work = static_cast<double>(size.m) * size.n * size.k;
  Report out = titled(
      fmt::format("{} {} on {}, {} x {} x {}", product.name, product.type, name_and_gpu(machine), size.m,
                  size.n, size.k),
      fmt::format(
          "{:.0f} cycles, {:.0f} FMA/clk on {} multiprocessors, {:.3f} instructions per cycle on the busiest",
          time.cycles, work / time.cycles, machine[Parameter::kernel_multiprocessors],
          time.instructions / time.cycles));
  out.lead = {"Bound by: " + time.detail.bound(),
              fmt::format("Per multiprocessor and cycle: {:.1f} bytes of L2, {:.1f} of memory; {:.0f}% of "
                          "its loads hit L1",
                          time.l2_bytes, time.dram_bytes, 100 * time.l1_hits)};
  return out;
}

Report report_of(const std::vector<ComparedKernel>& compared, const Machine& machine) {
  using Row = const ComparedKernel&;
  std::vector<KernelGroup> groups = groups_of(compared);
  if (groups.size() == 1) groups.clear();
  groups.push_back({"all", score_of(compared)});
  Report out = titled(fmt::format("Measured kernels beside {}", name_and_gpu(machine)));
  out.sections.push_back(section_of(table_of<ComparedKernel>(
      "Kernels", compared,
      {{"kernel", [](Row one) { return one.measured.kernel; }},
       {"type", [](Row one) { return one.measured.type; }},
       {{"n", true}, [](Row one) { return std::to_string(one.measured.n); }},
       {{"measured cycles", true}, [](Row one) { return fmt::format("{:.0f}", one.measured.cycles); }},
       {{"cycles of the model", true}, [](Row one) { return fmt::format("{:.0f}", one.model.cycles); }},
       {{"model / measured", true}, [](Row one) { return fmt::format("{:.3f}", one.ratio()); }}})));
  out.sections.push_back(section_of(table_of_groups("Scores", "kernels", groups)));
  out.sections.push_back(section_of(table_of_groups("By size", "n", sizes_of(compared))));
  return out;
}

}  // namespace mmaudit::timing
