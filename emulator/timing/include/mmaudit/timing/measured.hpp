#pragma once
// What was measured, beside the model: whole kernels, as docs/experiments/whole printed them, and loops.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/timing/chain.hpp"
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
  std::optional<double> pearson;  ///< of cycles per multiply-add; nothing where they are all the same
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
/// families come; then that of all of WMMA, and that of the kernels that no number of the model is fitted to,
/// where there are some.
std::vector<KernelGroup> groups_of(std::span<const ComparedKernel> compared);
/// The score of each n.
std::vector<KernelGroup> sizes_of(std::span<const ComparedKernel> compared);
/// A loop that a sweep timed: cycles per step.
struct MeasuredLoop {
  std::string instruction, point;  ///< "n=64 a=registers", "ways=8", or nothing
  int warps = 1, ilp = 1;
  double cycles = 0;
};
/// What: every number of a grid: instruction, point, warps, cycles with one to six chains; an empty field is
/// none. Errors: InputError with the line where a row is another.
std::vector<MeasuredLoop> read_measured_loops(std::string_view csv);

/// A loop by both; nothing of the model where the instruction is none of the machine's own: only a
/// disassembly says what the compiler makes of it.
struct ComparedLoop {
  MeasuredLoop measured;
  std::optional<double> cycles;
  [[nodiscard]] double off() const { return cycles.value_or(0) / measured.cycles - 1; }
  [[nodiscard]] bool agrees() const { return off() <= 0.05 && off() >= -0.05; }
};
/// Errors: InputError where the instruction or its point is unknown.
ComparedLoop compare(const Machine& machine, const MeasuredLoop& measured, const Loop& loop);

/// What a kernel's name begins with, up to a digit or "_ahead".
std::string_view family_of(std::string_view kernel);

}  // namespace mmaudit::timing
