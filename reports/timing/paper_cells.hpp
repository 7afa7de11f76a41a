#pragma once
// Printed tables of latency and throughput beside the timing model, cell by cell.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/timing/chain.hpp"
#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/simulate.hpp"
#include "sweeps/published.hpp"

namespace mmaudit::timing {

/// What the model says in place of one printed line.
struct PaperCell {
  const sweeps::PublishedRow* row = nullptr;
  const Machine* machine = nullptr;
  const Loop* loop = nullptr;
  std::string program;  ///< its name, of the row's first subject
  int warps = 1, ilp = 1, ways = 1;
  double cycles = 0, rate = 0;                  ///< of the model, in the row's unit
  double printed_cycles = 0, printed_rate = 0;  ///< 0: not printed
  bool fitted = false;  ///< a number of the machine was chosen so that this cell comes out

  /// A rate of one multiprocessor that is not the work over the printed cycles: one of the two is misprinted.
  bool contradicts = false;
  [[nodiscard]] bool cycles_agree() const;  ///< within a cycle
  [[nodiscard]] bool rate_agrees() const;   ///< within 5%
};

/// Every cell of Sun III to VII, IX, X and Luo VIII to XI and Raihan I that the model can compute, or only
/// those whose machine, program and place `wanted` wants.
std::vector<PaperCell> paper_cells(const std::function<bool(const PaperCell&)>& wanted = {});

/// How many cells of a table on a GPU agree; those that the numbers of the machine were fitted to by
/// themselves.
struct PaperScore {
  std::string table, gpu, loop;
  int cycles = 0, of_cycles = 0, rates = 0, of_rates = 0;
  int contradicting = 0;              ///< cells, not counted above
  int fitted = 0;                     ///< cells, counted above too
  int held_out = 0, of_held_out = 0;  ///< numbers that agree, of cells that nothing was fitted to
};
std::vector<PaperScore> scores_of(const std::vector<PaperCell>& cells);

/// The loop of the paper's program.
const Loop& loop_of(std::string_view table);

}  // namespace mmaudit::timing
