// The machine that is a GPU.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "energy_meter.hpp"
#include "kernel_table.hpp"
#include "kernels/variants.hpp"
#include "mmaudit/sweeps/machine.hpp"
#include "operands.hpp"
#include "readings.hpp"
#include "run/cuda_event.hpp"
#include "sweeps/kernels/load_pattern.hpp"
#include "sweeps/kernels/wgmma_images.hpp"

namespace mmaudit::sweeps {
namespace {

using device::Buffer;
using device::cuda_check;
using device::Event;

constexpr std::int16_t kAnyColumns = 8;
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
  RawLaunch launch = nullptr;
  TimedArgs args;
  unsigned blocks = 1, threads = 0, shared = 0;
  int slots_per_block = 1;
};

class GpuMachine final : public Machine {
 public:
  explicit GpuMachine(device::DeviceInfo device) : device_(std::move(device)) {
    cuda_check(cudaSetDevice(device_.ordinal), "selecting the device");
    shared_optin_ = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device_.ordinal);
    shared_multiprocessor_ = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device_.ordinal);
    nominal_hz_ = 1e3 * attribute(cudaDevAttrClockRate, device_.ordinal);
  }

  DeviceFacts facts() override {
    return {device_.name, device_.driver, device_.cuda, device_.compute_capability, device_.multiprocessors,
            nominal_hz_};
  }

  Measurement measure(const Cell& cell, const RunRule& rule) override {
    Measurement out;
    const std::optional<KernelHandle> kernel = find_timed(cell);
    if (!kernel) {
      out.skipped = "no timed kernel in this build";
      return out;
    }
    if (out.skipped = why_not(cell, *kernel); !out.skipped.empty()) return out;
    cudaFuncAttributes attributes = {};
    if (cudaFuncGetAttributes(&attributes, kernel->function) != cudaSuccess) {
      cudaGetLastError();
      out.skipped = "this build has no code for the GPU";
      return out;
    }
    out.registers = attributes.numRegs;
    if (cell.warps * kWarpLanes > attributes.maxThreadsPerBlock) {
      out.skipped = std::to_string(attributes.numRegs) + " registers a thread allow " +
                    std::to_string(attributes.maxThreadsPerBlock / kWarpLanes) + " warps";
      return out;
    }
    Launch launch = prepare(cell, *kernel);
    if (cell.scope == Scope::energy)
      run_for_energy(cell, rule, launch, out);
    else
      run_all(cell, rule, launch, out);
    return out;
  }

 private:
  [[nodiscard]] std::string why_not(const Cell& cell, const KernelHandle& kernel) const {
    if (!kernel.matrix) {
      if (cell.subject.kind == Kind::store_matrix && device_.compute_capability < 90)
        return "stmatrix needs compute capability 9.0";
      return {};
    }
    // Of sparse wgmma the recording kernels have fewer n than the timed ones: any that both have will do.
    Instruction asked = cell.instruction;
    if (asked.op == Op::wgmma_sp) asked.n = kAnyColumns;
    return device::why_not(device_, asked, cell.a_from_registers ? kAFromRegisters : std::uint8_t{0});
  }

  Launch prepare(const Cell& cell, const KernelHandle& kernel) {
    Launch launch;
    const int warps_per_slot = cell.subject.kind == Kind::wgmma ? kWarpgroupWarps : 1;
    launch.launch = kernel.launch;
    launch.slots_per_block = cell.warps / warps_per_slot;
    launch.threads = static_cast<unsigned>(cell.warps * kWarpLanes);
    launch.blocks = cell.whole_gpu() ? static_cast<unsigned>(device_.multiprocessors) : 1;
    int shared = shared_bytes(cell, launch.slots_per_block);
    // More than half of the shared memory: no two blocks meet on a multiprocessor.
    if (cell.whole_gpu())
      shared = std::max(shared, std::min(shared_optin_, shared_multiprocessor_ / 2 + 1024));
    cuda_check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
               "asking for shared memory");
    launch.shared = static_cast<unsigned>(shared);

    std::size_t d_bytes = std::size_t{kWarpLanes} * kLoadWords * sizeof(std::uint32_t);
    if (kernel.matrix) {
      if (cell.subject.name != subject_) every_operands_.clear();
      subject_ = cell.subject.name;
      auto& kept = every_operands_[{cell.instruction.n, cell.init, cell.promote}];
      if (!kept) kept = std::make_unique<Operands>(device_, cell.instruction, cell.init, cell.promote);
      operands_ = kept.get();
      d_bytes = operands_->d_bytes();
      launch.args.a = operands_->a(cell.a_from_registers || cell.subject.kind == Kind::mma);
      launch.args.b = operands_->b();
      launch.args.c = operands_->c();
      launch.args.metadata = operands_->metadata();
    }
    const std::size_t slots = launch.blocks * static_cast<std::size_t>(launch.slots_per_block);
    grow(d_, slots * d_bytes);
    grow(stamps_, slots * sizeof(Stamp));
    launch.args.d = d_.buffer->data();
    launch.args.stamps = stamps_.buffer->data<Stamp>();
    launch.args.tiles = kTiles;
    launch.args.stride = cell.stride();
    return launch;
  }

  static int shared_bytes(const Cell& cell, int slots) {
    switch (cell.subject.kind) {
      case Kind::mma:
        return 0;
      case Kind::wgmma:
        return slots * (kBytesA + cell.instruction.n * bytes_per_column(is_sparse(cell.instruction.op)));
      case Kind::store_matrix:
        return slots * kStoreBytesPerWarp;
      case Kind::store_fragment:
        return slots * kFragmentBytes;
      default:
        return kPatternBytes;
    }
  }

  void run_all(const Cell& cell, const RunRule& rule, Launch& launch, Measurement& out) {
    launch.args.iterations = kFewSteps;
    Sample sample;
    for (int i = 0; i < std::max(1, rule.warm_ups); ++i) {
      poison(cell, launch);
      sample = run_once(launch);
      compare(cell, launch, out);
      if (out.differing > 0) break;
    }
    const double cycles = std::max(sample.cycles, 1.0);
    if (cell.whole_gpu()) {
      launch.args.iterations = steps_of(1e-3 * rule.gpu_milliseconds, cycles);
    } else if (cycles * kManySteps < kLongRun) {
      launch.args.iterations = kManySteps;
    }
    out.steps = launch.args.iterations;
    std::vector<double> seen;
    poison(cell, launch);
    while (!enough(seen, rule)) {
      out.samples.push_back(run_once(launch));
      seen.push_back(cell.whole_gpu() ? out.samples.back().event_seconds : out.samples.back().cycles);
    }
    compare(cell, launch, out);
  }

  /// The first part of the time is there for power and temperature to settle.
  void run_for_energy(const Cell& cell, const RunRule& rule, Launch& launch, Measurement& out) {
    constexpr double kSettling = 0.4;
    EnergyMeter meter(device_.ordinal);
    if (out.skipped = meter.why_not(); !out.skipped.empty()) return;
    launch.args.iterations = kFewSteps;
    poison(cell, launch);
    const double cycles = std::max(run_once(launch).cycles, 1.0);
    compare(cell, launch, out);
    launch.args.iterations = steps_of(kEnergyLaunchSeconds, cycles);
    const auto run_for = [&](double seconds) {
      const auto begin = std::chrono::steady_clock::now();
      double steps = 0, elapsed = 0;
      do {
        out.samples.push_back(run_once(launch));
        steps += launch.args.iterations;
        elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      } while (elapsed < seconds && steps < rule.energy_steps);
      return std::pair(steps, elapsed);
    };
    run_for(kSettling * rule.energy_seconds);
    out.samples.clear();
    const double before = meter.joules();
    const auto [steps, seconds] = run_for((1 - kSettling) * rule.energy_seconds);
    out.joules = meter.joules() - before;
    out.seconds = seconds;
    out.steps = launch.args.iterations;
    if (out.joules <= 0) out.skipped = "the energy counter of NVML does not move";
  }

  [[nodiscard]] int steps_of(double seconds, double cycles) const {
    const double most = 1 << 30;
    const double steps = std::min(seconds * nominal_hz_ / cycles, most);
    return kWholeGpuStepMultiple * std::max(1, static_cast<int>(steps / kWholeGpuStepMultiple));
  }

  Sample run_once(const Launch& launch) {
    begin_.record();
    launch.launch(launch.args, launch.blocks, launch.threads, launch.shared);
    end_.record();
    cuda_check(cudaGetLastError(), "launching a timed kernel");
    cuda_check(cudaEventSynchronize(end_.get()), "running a timed kernel");
    found_.resize(launch.blocks * static_cast<std::size_t>(launch.slots_per_block));
    device::copy_out(found_.data(), launch.args.stamps, found_.size() * sizeof(Stamp));
    return sample_of(found_, launch.slots_per_block, launch.args.iterations, Event::seconds(begin_, end_));
  }

  void poison(const Cell& cell, const Launch& launch) {
    const std::size_t bytes =
        launch.blocks * static_cast<std::size_t>(launch.slots_per_block) * slot_bytes(cell);
    cuda_check(cudaMemset(launch.args.d, 0xA5, bytes), "clearing the output");
  }

  [[nodiscard]] std::size_t slot_bytes(const Cell& cell) const {
    return is_matrix(cell) ? operands_->d_bytes()
                           : std::size_t{kWarpLanes} * kLoadWords * sizeof(std::uint32_t);
  }

  static bool is_matrix(const Cell& cell) { return cell.subject.words == 0; }

  /// D of every warp of every block against the model; chains of one warp against one another.
  void compare(const Cell& cell, const Launch& launch, Measurement& out) {
    for (const Stamp& stamp : found_) out.differing += stamp.chains_differ;
    const bool matrix = is_matrix(cell);
    if (matrix && operands_->expected(launch.args.iterations).empty()) return;
    std::vector<std::byte> seen(found_.size() * slot_bytes(cell));
    device::copy_out(seen.data(), launch.args.d, seen.size());
    if (matrix)
      compare_tiles(seen, launch.slots_per_block, operands_->expected(launch.args.iterations),
                    operands_->d_bytes(), spec_of(cell.instruction.d).storage_bytes(), out);
    else
      compare_words(cell, seen, out);
  }

  struct Growing {
    std::unique_ptr<Buffer> buffer;
    std::size_t bytes = 0;
  };
  static void grow(Growing& it, std::size_t bytes) {
    if (bytes <= it.bytes) return;
    it.buffer.reset();
    it.buffer = std::make_unique<Buffer>(bytes);
    it.bytes = bytes;
  }

  device::DeviceInfo device_;
  int shared_optin_ = 0, shared_multiprocessor_ = 0;
  double nominal_hz_ = 0;
  std::string subject_;
  std::map<std::tuple<int, Init, int>, std::unique_ptr<Operands>> every_operands_;  ///< of subject_
  const Operands* operands_ = nullptr;                                              ///< of the cell at hand
  Growing d_, stamps_;
  std::vector<Stamp> found_;
  Event begin_, end_;
};

}  // namespace

std::unique_ptr<Machine> gpu_machine(const device::DeviceInfo& device) {
  return std::make_unique<GpuMachine>(device);
}

}  // namespace mmaudit::sweeps
