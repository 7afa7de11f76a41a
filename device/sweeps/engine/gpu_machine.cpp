// The machine that is a GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

#include "mmaudit/sweeps/benchmark.hpp"
#include "run/cuda_event.hpp"
#include "sweeps/engine/energy_meter.hpp"
#include "sweeps/engine/readings.hpp"
#include "sweeps/matrix/operands.hpp"

namespace mmaudit::sweeps {
namespace {

using device::Buffer;
using device::cuda_check;
using device::Event;

/// Cycles above which a run on one multiprocessor takes the smaller number of steps.
constexpr double kLongRun = 1 << 21;
constexpr int kWholeGpuStepMultiple = 1024;
constexpr double kEnergyLaunchSeconds = 0.05;

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  cuda_check(cudaDeviceGetAttribute(&value, which, ordinal), "reading a device attribute");
  return value;
}

/// One launch that can be repeated, and its buffers.
struct Launch {
  TimedKernel kernel;
  Setup setup;
  unsigned blocks = 1, threads = 0, shared = 0;
  int blocks_per_multiprocessor = 1;
  int slots_per_block = 1;
  bool whole_gpu = false;
  [[nodiscard]] std::size_t slots() const { return blocks * static_cast<std::size_t>(slots_per_block); }
  [[nodiscard]] std::size_t result_bytes() const { return slots() * setup.slot_bytes; }
};

class GpuMachine final : public Rig {
 public:
  explicit GpuMachine(device::DeviceInfo device) : bench_(std::move(device)), meter_(ordinal()) {
    cuda_check(cudaSetDevice(ordinal()), "selecting the device");
    shared_optin_ = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal());
    shared_multiprocessor_ = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, ordinal());
    memory_peak_ = 2e3 * attribute(cudaDevAttrMemoryClockRate, ordinal()) *
                   attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal()) / 8;
    nominal_hz_ = 1e3 * attribute(cudaDevAttrClockRate, ordinal());
  }

  Provenance provenance() override {
    Provenance gpu = device::provenance_of(bench_.device());
    gpu.nominal_hz = nominal_hz_;
    return gpu;
  }

  std::map<std::string, double> properties() override {
    return {{property::kMemory, static_cast<double>(bench_.device().memory_bytes)},
            {property::kMemoryClock, 1e3 * attribute(cudaDevAttrMemoryClockRate, ordinal())},
            {property::kMemoryBus, attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal())},
            {property::kSecondLevel, attribute(cudaDevAttrL2CacheSize, ordinal())},
            {property::kShared, shared_multiprocessor_}};
  }

  Measurement measure(const Benchmark& benchmark, const Point& point, const RunRule& rule) override {
    Measurement out;
    const TimedKernel kernel = benchmark.kernel(point);
    out.skipped = kernel.launch == nullptr ? "no timed kernel in this build"
                  : benchmark.why_not      ? benchmark.why_not(bench_.device(), point)
                                           : "";
    if (!out.skipped.empty()) return out;
    cudaFuncAttributes attributes = {};
    if (cudaFuncGetAttributes(&attributes, kernel.function) != cudaSuccess) {
      cudaGetLastError();
      out.skipped = "this build has no code for the GPU";
      return out;
    }
    out.registers = attributes.numRegs;
    if (point.number("warps") * kWarpLanes > attributes.maxThreadsPerBlock) {
      out.skipped = std::to_string(attributes.numRegs) + " registers per thread allow " +
                    std::to_string(attributes.maxThreadsPerBlock / kWarpLanes) + " warps";
      return out;
    }
    Launch launch = prepare(kernel, benchmark.setup(point, &bench_), point);
    if (launch.blocks == 0) {
      out.skipped = "the GPU can't hold such a cluster";
      return out;
    }
    out.blocks = static_cast<int>(launch.blocks);
    out.blocks_per_multiprocessor = launch.blocks_per_multiprocessor;
    if (launch.whole_gpu && memory_bytes_ > 0 && memory_peak_ > 0)
      out.others[tag::kMemoryPeak] = memory_peak_;
    if (point.axis("scope") == "energy")
      run_for_energy(rule, launch, out);
    else
      run_all(rule, launch, out);
    return out;
  }

 private:
  [[nodiscard]] int ordinal() const { return bench_.device().ordinal; }

  Launch prepare(const TimedKernel& kernel, Setup setup, const Point& point) {
    Launch launch{.kernel = kernel, .setup = std::move(setup)};
    const int warps = point.number("warps");
    launch.whole_gpu = point.axis("scope") != "sm";
    launch.slots_per_block = warps / launch.setup.warps_per_slot;
    launch.threads = static_cast<unsigned>(warps * kWarpLanes);
    const Placement& placement = launch.setup.placement;
    if (launch.whole_gpu && placement.blocks_per_multiprocessor > 0)
      launch.blocks_per_multiprocessor = placement.blocks_per_multiprocessor;
    launch.blocks =
        launch.whole_gpu
            ? static_cast<unsigned>(bench_.device().multiprocessors * launch.blocks_per_multiprocessor)
            : 1;
    if (placement.blocks > 0) launch.blocks = static_cast<unsigned>(placement.blocks);
    int shared = launch.setup.shared_bytes;
    // More than half of the shared memory: no two blocks meet on a multiprocessor.
    const bool full = launch.whole_gpu && placement.full;
    const bool alone = launch.whole_gpu && placement.blocks_per_multiprocessor == 0;
    if ((alone || placement.cluster > 1) && !full)
      shared = std::max(shared, std::min(shared_optin_, shared_multiprocessor_ / 2 + 1024));
    cuda_check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
               "asking for shared memory");
    launch.shared = static_cast<unsigned>(shared);
    if (full) {
      cuda_check(
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&launch.blocks_per_multiprocessor, kernel.function,
                                                        static_cast<int>(launch.threads), launch.shared),
          "asking how many blocks run at once");
      launch.blocks =
          static_cast<unsigned>(bench_.device().multiprocessors * launch.blocks_per_multiprocessor);
    }
    if (placement.cluster > 1)
      launch.blocks = static_cast<unsigned>(placement.cluster * clusters_of(kernel, launch));
    if (launch.blocks == 0) return launch;
    if (const std::size_t bytes = launch.setup.memory_bytes + launch.blocks * launch.setup.block_memory_bytes;
        memory_bytes_ != bytes) {
      memory_ = Buffer();  // first free, then allocate: either may be most of the GPU's memory
      memory_ = Buffer(bytes);
      memory_bytes_ = bytes;
    }
    launch.setup.args.memory = memory_.data();
    launch.setup.args.memory_bytes = memory_bytes_;
    results_ = Buffer(launch.result_bytes());
    stamps_ = Buffer(launch.slots() * sizeof(Stamp));
    launch.setup.args.d = results_.data();
    launch.setup.args.stamps = stamps_.data<Stamp>();
    if (launch.setup.fill) {
      launch.setup.fill(launch.setup.args);
      cuda_check(cudaDeviceSynchronize(), "filling memory for a timed kernel");
    }
    return launch;
  }

  /// A launch of clusters, which needs attributes beside the grid; `attributes` must live as long.
  static cudaLaunchConfig_t config_of(const Launch& launch, std::array<cudaLaunchAttribute, 2>& attributes) {
    const Placement& placement = launch.setup.placement;
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {static_cast<unsigned>(placement.cluster), 1, 1};
    attributes[1].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    attributes[1].val.clusterSchedulingPolicyPreference =
        static_cast<cudaClusterSchedulingPolicy>(placement.policy);
    cudaLaunchConfig_t config = {};
    config.gridDim = {launch.blocks, 1, 1};
    config.blockDim = {launch.threads, 1, 1};
    config.dynamicSmemBytes = launch.shared;
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    return config;
  }

  /// How many clusters run at once: one on one multiprocessor's behalf, or as many as the GPU holds.
  static int clusters_of(const TimedKernel& kernel, Launch launch) {
    cuda_check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
               "asking for large clusters");
    launch.blocks = static_cast<unsigned>(launch.setup.placement.cluster);
    std::array<cudaLaunchAttribute, 2> attributes = {};
    const cudaLaunchConfig_t config = config_of(launch, attributes);
    int most = 0;
    if (cudaOccupancyMaxActiveClusters(&most, kernel.function, &config) != cudaSuccess) {
      cudaGetLastError();
      most = 0;
    }
    return launch.whole_gpu ? most : std::min(most, 1);
  }

  static void start(Launch& launch) {
    ++launch.setup.args.launch;
    if (launch.setup.launched) launch.setup.launched(launch.setup.args);
    if (launch.setup.placement.cluster == 1) {
      launch.kernel.launch(launch.setup.args, launch.blocks, launch.threads, launch.shared);
      return;
    }
    std::array<cudaLaunchAttribute, 2> attributes = {};
    const cudaLaunchConfig_t config = config_of(launch, attributes);
    TimedArgs args = launch.setup.args;
    void* parameters[] = {&args};
    cuda_check(cudaLaunchKernelExC(&config, launch.kernel.function, parameters), "launching clusters");
  }

  void run_all(const RunRule& rule, Launch& launch, Measurement& out) {
    int& steps = launch.setup.args.steps;
    steps = kFewSteps;
    Sample sample;
    for (int i = 0; i < std::max(1, rule.warm_ups); ++i) {
      poison(launch);
      sample = run_once(launch);
      compare(launch, out);
      if (out.differing > 0) break;
    }
    if (launch.setup.trial_steps > 0) {
      steps = launch.setup.trial_steps;
      poison(launch);
      sample = run_once(launch);
      compare(launch, out);
    }
    const double cycles = std::max(sample.cycles, 1.0);
    if (launch.whole_gpu) {
      steps = steps_of(1e-3 * rule.gpu_milliseconds, cycles);
    } else if (cycles * kManySteps < kLongRun) {
      steps = kManySteps;
    }
    out.steps = steps;
    std::vector<double> seen;
    poison(launch);
    while (!enough(seen, rule)) {
      out.samples.push_back(run_once(launch, &out));
      seen.push_back(launch.whole_gpu ? out.samples.back().event_seconds : out.samples.back().cycles);
    }
    compare(launch, out);
    if (launch.setup.observe) launch.setup.observe(found_, reader_of(launch), steps, out);
  }

  /// The first part of the time is there for power and temperature to settle.
  void run_for_energy(const RunRule& rule, Launch& launch, Measurement& out) {
    constexpr double kSettling = 0.4;
    if (out.skipped = meter_.why_not(); !out.skipped.empty()) return;
    int& steps_per_run = launch.setup.args.steps;
    steps_per_run = kFewSteps;
    poison(launch);
    const double cycles = std::max(run_once(launch).cycles, 1.0);
    compare(launch, out);
    steps_per_run = steps_of(kEnergyLaunchSeconds, cycles);
    const auto run_for = [&](double seconds) {
      const auto begin = std::chrono::steady_clock::now();
      double steps = 0, elapsed = 0;
      do {
        out.samples.push_back(run_once(launch, &out));
        steps += steps_per_run;
        elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      } while (elapsed < seconds && steps < rule.energy_steps);
      return elapsed;
    };
    run_for(kSettling * rule.energy_seconds);
    out.samples.clear();
    out.reasons_read = out.power_capped = out.thermal = 0;
    const double before = meter_.joules();
    out.seconds = run_for((1 - kSettling) * rule.energy_seconds);
    out.joules = meter_.joules() - before;
    out.steps = steps_per_run;
    if (out.joules <= 0) out.skipped = "the energy counter of NVML does not move";
  }

  [[nodiscard]] int steps_of(double seconds, double cycles) const {
    const double most = 1 << 30;
    const double steps = std::min(seconds * nominal_hz_ / cycles, most);
    return kWholeGpuStepMultiple * std::max(1, static_cast<int>(steps / kWholeGpuStepMultiple));
  }

  /// With `out`, and where all multiprocessors run: asks NVML meanwhile why the clock is what it is.
  Sample run_once(Launch& launch, Measurement* out = nullptr) {
    const TimedArgs& args = launch.setup.args;
    begin_.record();
    start(launch);
    end_.record();
    cuda_check(cudaGetLastError(), "launching a timed kernel");
    if (out != nullptr && launch.whole_gpu) read_reasons(*out);
    cuda_check(cudaEventSynchronize(end_.get()), "running a timed kernel");
    found_.resize(launch.slots());
    device::copy_out(found_.data(), args.stamps, found_.size() * sizeof(Stamp));
    return sample_of(found_, launch.slots_per_block, args.steps, Event::seconds(begin_, end_));
  }

  void read_reasons(Measurement& out) {
    out.power_limit = meter_.limit();
    if (const std::optional<EnergyMeter::Reasons> reasons = meter_.reasons()) {
      ++out.reasons_read;
      out.power_capped += reasons->power_cap ? 1 : 0;
      out.thermal += reasons->thermal ? 1 : 0;
    }
  }

  static void poison(const Launch& launch) { device::poison(launch.setup.args.d, launch.result_bytes()); }

  /// The result of each slot against what it must be; chains of one warp against one another.
  void compare(const Launch& launch, Measurement& out) {
    for (const Stamp& stamp : found_) out.differing += stamp.chains_differ;
    launch.setup.check(reader_of(launch), launch.slots_per_block, launch.setup.args.steps, out);
  }

  static ReadResult reader_of(const Launch& launch) {
    return [&launch] {
      std::vector<std::byte> seen(launch.result_bytes());
      device::copy_out(seen.data(), launch.setup.args.d, seen.size());
      return seen;
    };
  }

  Workbench bench_;
  EnergyMeter meter_;
  int shared_optin_ = 0, shared_multiprocessor_ = 0;
  double nominal_hz_ = 0;
  Buffer results_, stamps_, memory_;
  std::size_t memory_bytes_ = 0;
  double memory_peak_ = 0;  ///< bytes per second: two transfers per clock of the memory, its bus wide
  std::vector<Stamp> found_;
  Event begin_, end_;
};

}  // namespace

std::unique_ptr<Rig> gpu_machine(const device::DeviceInfo& device) {
  return std::make_unique<GpuMachine>(device);
}

}  // namespace mmaudit::sweeps
