#pragma once
// From a cell to its timed kernel.
#include <optional>

#include "mmaudit/sweeps/subject.hpp"
#include "sweeps/kernels/timed_kernel.hpp"

namespace mmaudit::sweeps {

using RawLaunch = void (*)(const TimedArgs& args, unsigned blocks, unsigned threads, unsigned shared);

struct KernelHandle {
  RawLaunch launch = nullptr;
  const void* function = nullptr;
  bool matrix = false;  ///< takes operands and is compared with the model
};

/// Null when no kernel of this build runs the cell.
std::optional<KernelHandle> find_timed(const Cell& cell);

}  // namespace mmaudit::sweeps
