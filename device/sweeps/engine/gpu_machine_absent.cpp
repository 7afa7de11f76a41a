// Stands in when the build has no CUDA.
#include "mmaudit/error.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "mmaudit/sweeps/machine.hpp"
#include "sweeps/matrix/matrix_benchmark.hpp"

namespace mmaudit::sweeps {

namespace {
constexpr char kWithout[] = "built without CUDA (configure with MMAUDIT_CUDA=ON and an nvcc)";
}

std::unique_ptr<Rig> gpu_machine(const device::DeviceInfo&) { throw EnvironmentError(kWithout); }

Setup matrix_setup(const Instruction&, const Point&, Workbench*, bool) { throw EnvironmentError(kWithout); }

GemmResult run_gemms(const device::DeviceInfo&, const GemmOptions&) { throw EnvironmentError(kWithout); }

}  // namespace mmaudit::sweeps
