#pragma once
// The kernels that a library starts, by CUPTI's callbacks.
#include <string>
#include <vector>

#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::device {

/// Why there are no names, in one line; empty where there are. Subscribes at the first call.
std::string why_no_kernel_log();

/// Notes every kernel that this thread starts while it lives; one at a time.
class KernelLog {
 public:
  KernelLog();
  ~KernelLog();
  KernelLog(const KernelLog&) = delete;
  KernelLog& operator=(const KernelLog&) = delete;
  [[nodiscard]] std::vector<KernelLaunch> take();
};

}  // namespace mmaudit::device
