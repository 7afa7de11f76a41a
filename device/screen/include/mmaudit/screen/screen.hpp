#pragma once
// Screening: chains of every type on every multiprocessor at full rate, every accumulator compared with the
// model's. No CUDA header here: without CUDA run_screen() says so.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/model/instruction.hpp"
#include "mmaudit/screen/feed.hpp"
#include "mmaudit/screen/injection.hpp"
#include "mmaudit/screen/inputs.hpp"
#include "mmaudit/screen/watch.hpp"

namespace mmaudit::screen {

inline constexpr int kSubcores = 4;

/// What one launch runs.
struct Work {
  Instruction instruction;
  bool registers = false;  ///< where A of a wgmma comes from; false: shared memory
  InputSet inputs = InputSet::normal;
  Feed feed = Feed::loads;

  [[nodiscard]] std::string name() const;  ///< "wgmma.m64n256k16.f32.f16.f16 SS bulk_hbm"
};

struct Options {
  std::vector<Instruction> instructions;  ///< the wanted part of screened()
  std::vector<InputSet> inputs;
  std::vector<Feed> feeds;
  double seconds = 600;        ///< of screening, per GPU
  bool bursts = true;          ///< every other pass switches all multiprocessors on and off
  bool beside_others = false;  ///< also where other processes use the GPU
  Injection injection;
};

/// Bits of one accumulator that are not the model's.
struct Finding {
  Work work;
  int multiprocessor = 0, subcore = 0, lane = 0;  ///< lane: of the warp
  int tile = 0, row = 0, column = 0;
  std::uint64_t expected = 0, found = 0;
  double hz = 0, celsius = 0, watts = 0;  ///< of the launch; 0: not known
  double unix_seconds = 0;
};

/// The errors of one sub-core, and what came of running the same work again.
struct Suspect {
  std::uint64_t wrong = 0;                            ///< checksums of threads
  std::uint64_t again_here = 0, again_elsewhere = 0;  ///< in the reruns
  int reruns = 0;
};

struct WorkResult {
  Work work;
  std::uint64_t launches = 0, accumulators = 0, wrong = 0;
  double fma = 0;
  double steady_fma = 0, seconds = 0, cycles = 0;  ///< without bursts; cycles: clock held times seconds
  double steady_bytes = 0;                         ///< that a streaming feed copied, without bursts
  int multiprocessors = 0;                         ///< that have run it

  [[nodiscard]] double flops() const { return seconds > 0 ? 2 * steady_fma / seconds : 0; }
  [[nodiscard]] double bytes_per_second() const { return seconds > 0 ? steady_bytes / seconds : 0; }
};

struct GpuResult {
  device::DeviceInfo device;
  std::string refused;  ///< why nothing ran
  std::string error;    ///< what the GPU or its driver reported, which ended the screen; empty: nothing
  bool hangs = false;   ///< it did not answer, which is the error: its thread still waits
  std::vector<WorkResult> works;
  std::vector<Finding> findings;                         ///< the first of them
  std::map<std::pair<int, int>, Suspect> suspects;       ///< by multiprocessor and sub-core
  std::map<int, std::uint64_t> flipped;                  ///< by bit of the accumulator, of the findings kept
  std::map<InputSet, std::pair<double, double>> energy;  ///< joules and seconds; empty without NVML
  double seconds = 0, power_limit = 0, hottest = 0;
  bool interrupted = false;

  [[nodiscard]] std::uint64_t wrong() const;
  [[nodiscard]] double fma() const;
  /// (multiprocessor, sub-core, type) triples that ran, and how many there are.
  [[nodiscard]] std::pair<int, int> covered() const;
};

struct Hooks {
  std::function<bool()> keep_going = [] { return true; };
  /// Called from one thread at a time, with what is done of Options::seconds.
  std::function<void(double seconds, const std::string& label)> progress = [](auto&&...) {};
};

/// Kernels of this build, as works without inputs; known without a GPU.
std::vector<Work> screened();
/// Whether this build injects faults.
bool injects();

/// What: the elements of a thread's accumulators that differ from D. `words`: what it held; `image`:
/// register_image() of D; `copies`: equal chains beside each other; `lane`: of the slot. Fills in row,
/// column, expected and found.
std::vector<Finding> compare_words(const Work& work, int copies, const std::vector<std::byte>& image,
                                   int tile, int lane, const std::uint32_t* words);

/// Checksums (tiles, lanes) of `copies` chains whose D has this register_image().
std::vector<std::uint64_t> expected_checksums(const Instruction& instruction, int copies,
                                              const std::vector<std::byte>& image);

/// Screens one GPU. All that may hang is a step of `steps`, and it writes to `result` between steps alone.
using ScreenOne = std::function<void(const device::DeviceInfo& gpu, GpuResult& result, Steps& steps)>;

/// What: calls a copy of `screen_one` for each GPU, one host thread each. Errors: none; what `screen_one`
/// throws ends its own GPU alone and becomes the result's `error`, beside all that it had filled in by then.
/// So does a step that is overdue; that GPU's thread is left behind, with its copy.
std::vector<GpuResult> screen_beside(const std::vector<device::DeviceInfo>& gpus, const ScreenOne& screen_one,
                                     const Watch& watch = host_watch());

/// What: screens the GPUs beside each other. Errors: EnvironmentError without CUDA. An error that CUDA
/// reports for a GPU (ECC, a lost GPU) is the GPU's result, and so is that it does not answer. Where one
/// hangs, end the program by std::_Exit(): a clean-up of CUDA would wait for that GPU.
std::vector<GpuResult> run_screen(const std::vector<device::DeviceInfo>& gpus, const Options& options,
                                  const Hooks& hooks);

}  // namespace mmaudit::screen
