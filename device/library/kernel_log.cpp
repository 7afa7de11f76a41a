#include "library/kernel_log.hpp"

#include <cuda.h>

#include <utility>

#include "run/shared_library.hpp"

namespace mmaudit::device {
namespace {

// As cupti_callbacks.h and cupti_driver_cbid.h have them; no header of CUPTI is needed.
struct CallbackData {
  int site;  ///< 0: before the call
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
};
constexpr int kDriverApi = 1;
constexpr std::uint32_t kLaunch = 307, kLaunchOnThread = 442, kLaunchEx = 652, kLaunchExOnThread = 653;

/// The parameters of cuLaunchKernel and cuLaunchKernelEx, as far as they are read.
struct LaunchParameters {
  CUfunction function;
  std::uint32_t grid[3], block[3];
};
struct LaunchExParameters {
  const CUlaunchConfig* config;
};

thread_local std::vector<KernelLaunch>* notes = nullptr;

void copy(std::uint32_t (&to)[3], unsigned x, unsigned y, unsigned z) {
  to[0] = x;
  to[1] = y;
  to[2] = z;
}

void on_launch(void* /*user*/, int /*domain*/, std::uint32_t id, const CallbackData* call) {
  if (notes == nullptr || call->site != 0) return;
  KernelLaunch launch;
  launch.name = call->symbol == nullptr ? "" : call->symbol;
  if (id == kLaunch || id == kLaunchOnThread) {
    const auto* const from = static_cast<const LaunchParameters*>(call->parameters);
    copy(launch.grid, from->grid[0], from->grid[1], from->grid[2]);
    copy(launch.block, from->block[0], from->block[1], from->block[2]);
  } else {
    const CUlaunchConfig& config = *static_cast<const LaunchExParameters*>(call->parameters)->config;
    copy(launch.grid, config.gridDimX, config.gridDimY, config.gridDimZ);
    copy(launch.block, config.blockDimX, config.blockDimY, config.blockDimZ);
    for (unsigned i = 0; i < config.numAttrs; ++i)
      if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        const auto& cluster = config.attrs[i].value.clusterDim;
        copy(launch.cluster, cluster.x, cluster.y, cluster.z);
      }
  }
  notes->push_back(std::move(launch));
}

std::string subscribed() {
  const SharedLibrary file{"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
                           "/usr/local/cuda/lib64/libcupti.so"};
  if (file.name() == nullptr) return "no libcupti.so on this machine";
  int (*subscribe)(void**, void (*)(void*, int, std::uint32_t, const CallbackData*), void*) = nullptr;
  int (*enable)(std::uint32_t, void*, int, std::uint32_t) = nullptr;
  if (!file.find("cuptiSubscribe", subscribe) || !file.find("cuptiEnableCallback", enable))
    return std::string(file.name()) + " has no callbacks";
  void* subscriber = nullptr;
  if (const int status = subscribe(&subscriber, on_launch, nullptr); status != 0)
    return "cuptiSubscribe: status " + std::to_string(status);
  for (const std::uint32_t id : {kLaunch, kLaunchOnThread, kLaunchEx, kLaunchExOnThread})
    if (const int status = enable(1, subscriber, kDriverApi, id); status != 0)
      return "cuptiEnableCallback: status " + std::to_string(status);
  return {};
}

thread_local std::vector<KernelLaunch> kept;

}  // namespace

std::string why_no_kernel_log() {
  static const std::string why = subscribed();
  return why;
}

KernelLog::KernelLog() {
  why_no_kernel_log();
  kept.clear();
  notes = &kept;
}
KernelLog::~KernelLog() { notes = nullptr; }
std::vector<KernelLaunch> KernelLog::take() { return std::exchange(kept, {}); }

}  // namespace mmaudit::device
