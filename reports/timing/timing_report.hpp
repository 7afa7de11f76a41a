#pragma once
// What the timing model says, as reports.
#include <span>
#include <string>
#include <vector>

#include "mmaudit/report/report.hpp"
#include "mmaudit/timing/measured.hpp"
#include "timing/paper_cells.hpp"

namespace mmaudit::timing {

/// A program on one multiprocessor of a machine.
struct TimedProgram {
  Machine machine;
  Program program;
  Timing timing;
  int warps = 1;          ///< of the multiprocessor
  int ilp = 0;            ///< chains in each warp; 0: a loop of a kernel, counted in trips
  std::string unit = {};  ///< of timing.work_per_cycle
  std::string loop = {};  ///< around the chains, as text
};
/// With the drawing of the instructions that `timed` recorded.
report::Report report_of(const TimedProgram& timed);

/// A program with many numbers of warps and chains.
struct TimedGrid {
  struct Cell {
    int warps = 1, ilp = 1;
    double cycles = 0, rate = 0;  ///< cycles per step
  };
  Machine machine;
  std::string program, unit, loop;
  std::vector<Cell> cells;  ///< by warps, then chains
  std::vector<PaperCell> beside;
};
/// The least ILP that reaches sweeps::kConverged of the best rate of as many warps; 0 without such warps.
int converged_ilp(const TimedGrid& grid, int warps);
report::Report report_of(const TimedGrid& grid);

report::Report report_of(std::span<const Machine> machines);
/// Each number of one machine.
report::Report report_of(const Machine& machine);
/// Scores by table, and each cell that does not agree.
report::Report report_of(const std::vector<PaperCell>& cells);

/// Measured loops beside the model.
struct ComparedLoops {
  const Machine& machine;
  const Loop& loop;
  std::vector<ComparedLoop> loops;
};
report::Report report_of(const ComparedLoops& compared);

/// A whole product on a machine.
struct TimedProduct {
  const Product& product;
  const Machine& machine;
  ProductSize size;
  KernelTiming time;
};
report::Report report_of(const TimedProduct& timed);
report::Report report_of(std::span<const Product> products);
report::Report report_of(const std::vector<ComparedKernel>& compared, const Machine& machine);

}  // namespace mmaudit::timing
