#pragma once
// Whole kernels that were measured, beside the model: what docs/experiments/whole printed.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/timing/kernel.hpp"

namespace mmaudit::timing {

/// A product of n x n x n. `cycles`: from the first start to the last end of a block on the multiprocessor
/// that took longest, by its own clock; the median of the runs, and their quartiles.
struct MeasuredKernel {
  std::string kernel, type;
  int n = 0;
  double cycles = 0, first_quartile = 0, third_quartile = 0;
};

/// What: the rows of a file that `whole` printed, those of cuBLAS left out. Errors: InputError
/// with the line where a row has no cycles, or results that differed.
std::vector<MeasuredKernel> read_measured(std::string_view csv);

/// A kernel by both.
struct ComparedKernel {
  MeasuredKernel measured;
  KernelTiming model;
  [[nodiscard]] double ratio() const { return model.cycles / measured.cycles; }
};

/// What: the model's time of a measured kernel. Errors: InputError where no product has its name
/// and type.
ComparedKernel compare(const Machine& machine, const MeasuredKernel& measured);

struct KernelScore {
  int kernels = 0;
  std::optional<double> pearson;  ///< of instructions per cycle; nothing where they are all the same
  double mean = 0;                ///< of the model's cycles over the measured ones
  double deviation = 0;           ///< of the same
  double error = 0;               ///< mean of their absolute difference from 1
};
KernelScore score_of(std::span<const ComparedKernel> compared);

/// Kernels that are alike, and their score.
struct KernelGroup {
  std::string name;
  KernelScore score;
};
/// What: the score of every family ("mma64_stages" and "mma128" are of "mma"), in the order in which the
/// families come; last that of the kernels that no number of the model is fitted to, where there are some.
std::vector<KernelGroup> groups_of(std::span<const ComparedKernel> compared);
/// What a kernel's name begins with, up to a digit or "_ahead".
std::string_view family_of(std::string_view kernel);

}  // namespace mmaudit::timing
