#pragma once
// What one tensor core of each generation multiplies per clock, type by type; k comes from the rows of the
// architectures, the rest from model/tensor_cores.hpp.
#include <span>
#include <string>
#include <vector>

#include "mmaudit/model/tensor_cores.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::cli {

/// One generation, one pair of types.
struct CoreLine {
  const TensorCores* cores = nullptr;
  std::string types;  ///< as in the table of capabilities
  Instruction inst;   ///< one that reaches k
  int k = 0;
  int fma = 0;        ///< per clock per SM
  double to_f16 = 0;  ///< fma over the fma of f16
  double to_before =
      0;  ///< fma over the fma of the widest of the types in the generation before; 0: it lacks it
};

/// A line per generation with published sizes and per types. Of several instructions the one with the largest
/// k counts; where a generation has asynchronous ones, these alone, because Hopper's mma reaches less.
std::vector<CoreLine> core_lines(std::span<const Architecture* const> architectures);

/// The same as a table, or as JSON ("mmaudit.cores/1").
report::Report core_report(const std::vector<CoreLine>& lines);

}  // namespace mmaudit::cli
