// Stands in when the build has no CUDA.
#include "mmaudit/error.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "mmaudit/sweeps/machine.hpp"

namespace mmaudit::sweeps {

namespace {
constexpr char kWithout[] = "built without CUDA (configure with MMAUDIT_CUDA=ON and an nvcc)";
}

std::unique_ptr<Machine> gpu_machine(const device::DeviceInfo&) { throw EnvironmentError(kWithout); }

GemmResult run_gemms(const device::DeviceInfo&, const GemmOptions&) { throw EnvironmentError(kWithout); }

}  // namespace mmaudit::sweeps
