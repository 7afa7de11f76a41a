// The machine that is a GPU.
#include <cuda_runtime.h>

#include <algorithm>
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
  int slots_per_block = 1;
  bool whole_gpu = false;
  [[nodiscard]] std::size_t slots() const { return blocks * static_cast<std::size_t>(slots_per_block); }
  [[nodiscard]] std::size_t result_bytes() const { return slots() * setup.slot_bytes; }
};

class GpuMachine final : public Machine {
 public:
  explicit GpuMachine(device::DeviceInfo device) : bench_(std::move(device)), meter_(ordinal()) {
    cuda_check(cudaSetDevice(ordinal()), "selecting the device");
    shared_optin_ = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, ordinal());
    shared_multiprocessor_ = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, ordinal());
    nominal_hz_ = 1e3 * attribute(cudaDevAttrClockRate, ordinal());
  }

  Provenance provenance() override {
    Provenance gpu = device::provenance_of(bench_.device());
    gpu.nominal_hz = nominal_hz_;
    return gpu;
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
    launch.blocks = launch.whole_gpu ? static_cast<unsigned>(bench_.device().multiprocessors) : 1;
    int shared = launch.setup.shared_bytes;
    // More than half of the shared memory: no two blocks meet on a multiprocessor.
    if (launch.whole_gpu)
      shared = std::max(shared, std::min(shared_optin_, shared_multiprocessor_ / 2 + 1024));
    cuda_check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
               "asking for shared memory");
    launch.shared = static_cast<unsigned>(shared);
    results_ = Buffer(launch.result_bytes());
    stamps_ = Buffer(launch.slots() * sizeof(Stamp));
    launch.setup.args.d = results_.data();
    launch.setup.args.stamps = stamps_.data<Stamp>();
    return launch;
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
  Sample run_once(const Launch& launch, Measurement* out = nullptr) {
    const TimedArgs& args = launch.setup.args;
    begin_.record();
    launch.kernel.launch(args, launch.blocks, launch.threads, launch.shared);
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

  static void poison(const Launch& launch) {
    cuda_check(cudaMemset(launch.setup.args.d, 0xA5, launch.result_bytes()), "clearing the output");
  }

  /// The result of each slot against what it must be; chains of one warp against one another.
  void compare(const Launch& launch, Measurement& out) {
    for (const Stamp& stamp : found_) out.differing += stamp.chains_differ;
    const TimedArgs& args = launch.setup.args;
    const auto read = [&] {
      std::vector<std::byte> seen(launch.result_bytes());
      device::copy_out(seen.data(), args.d, seen.size());
      return seen;
    };
    launch.setup.check(read, launch.slots_per_block, args.steps, out);
  }

  Workbench bench_;
  EnergyMeter meter_;
  int shared_optin_ = 0, shared_multiprocessor_ = 0;
  double nominal_hz_ = 0;
  Buffer results_, stamps_;
  std::vector<Stamp> found_;
  Event begin_, end_;
};

}  // namespace

std::unique_ptr<Machine> gpu_machine(const device::DeviceInfo& device) {
  return std::make_unique<GpuMachine>(device);
}

}  // namespace mmaudit::sweeps
