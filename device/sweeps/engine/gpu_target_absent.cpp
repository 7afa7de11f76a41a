// Stands in when the build has no CUDA.
#include "mmaudit/error.hpp"
#include "mmaudit/sweeps/bench_target.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "sweeps/matrix/matrix_benchmark.hpp"

namespace mmaudit::sweeps {

namespace {
constexpr char kWithout[] = "built without CUDA (configure with MMAUDIT_CUDA=ON and an nvcc)";
}

std::unique_ptr<BenchTarget> gpu_target(const device::DeviceInfo&) { throw EnvironmentError(kWithout); }

Setup matrix_setup(const Instruction&, const Point&, Workbench*, bool) { throw EnvironmentError(kWithout); }

GemmResult run_gemms(const device::DeviceInfo&, const GemmOptions&) { throw EnvironmentError(kWithout); }

}  // namespace mmaudit::sweeps
