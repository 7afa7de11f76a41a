#include "mmaudit/error.hpp"
#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {

std::vector<GpuResult> run_screen(const std::vector<device::DeviceInfo>&, const Options&, const Hooks&) {
  throw EnvironmentError("built without CUDA (configure with MMAUDIT_CUDA=ON and an nvcc)");
}

}  // namespace mmaudit::screen
