#pragma once
// mmaudit sweep gemm: whole products on the GPU of this machine.
#include <string>
#include <vector>

namespace mmaudit::cli {

struct SweepGemmOptions {
  std::vector<int> sizes;
  std::string out;  ///< a file for the JSON; empty: none
  bool quick = false, json = false;
};

/// Exit code. Errors: InputError for a size, EnvironmentError without a GPU.
int sweep_gemm(const SweepGemmOptions& options);

}  // namespace mmaudit::cli
