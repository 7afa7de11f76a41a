// Stands in when the build has no CUDA.
#include "mmaudit/error.hpp"
#include "mmaudit/sweeps/machine.hpp"

namespace mmaudit::sweeps {

std::unique_ptr<Machine> gpu_machine(const device::DeviceInfo&) {
  throw EnvironmentError("built without CUDA (configure with MMAUDIT_CUDA=ON and an nvcc)");
}

}  // namespace mmaudit::sweeps
