// Launches, counts, and looks again where something was wrong.
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "mmaudit/error.hpp"
#include "mmaudit/fragment.hpp"
#include "run/cuda_event.hpp"
#include "screen/kernel.hpp"
#include "screen/pace.hpp"
#include "screen/prepare.hpp"
#include "screen/stream.hpp"
#include "sweeps/engine/energy_meter.hpp"
#include "sweeps/engine/readings.hpp"

namespace mmaudit::screen {
namespace {

using Clock = std::chrono::steady_clock;
using device::Buffer;
using device::cuda_check;
using device::Event;

constexpr int kChainsPerRound = 16, kReruns = 3;
constexpr std::size_t kMostFindings = 1000;
constexpr double kLongestLaunch = 0.5, kStepSeconds = 1;  ///< the latter: any other step, generously
/// 100 kHz to 1 Hz.
constexpr std::uint64_t kBurstPeriods[] = {10'000,     100'000,     1'000'000,
                                           10'000'000, 100'000'000, 1'000'000'000};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <typename Element>
Buffer upload(const std::vector<Element>& elements) {
  Buffer buffer(elements.size() * sizeof(Element));
  device::copy_in(buffer.data(), elements.data(), elements.size() * sizeof(Element));
  return buffer;
}

/// What one launch gave.
struct Slice {
  double seconds = 0, hz = 0;
  std::uint32_t wrong = 0;
  std::vector<Caught> caught;
  std::set<std::uint32_t> multiprocessors;
  double celsius = 0, watts = 0;
};

class Screener {
 public:
  Screener(const device::DeviceInfo& gpu, const std::vector<Prepared>& works, const Options& options,
           const Hooks& hooks, GpuResult& out, Steps& steps)
      : works_(works), options_(options), hooks_(hooks), meter_(gpu.ordinal), out_(out), steps_(steps) {}

  /// In the step of setting up, and at the end in that of cleaning up.
  void run() {
    for (const Prepared& work : works_)
      uploads_.push_back({upload(work.images.a), upload(work.images.b), upload(work.images.metadata),
                          upload(work.expected), 0});
    constexpr std::size_t kBytes = sizeof(std::uint32_t) * kMostWords * kWarpgroupLanes;
    zeros_ = Buffer(kBytes);
    cuda_check(cudaMemset(zeros_.data(), 0, kBytes), "clearing C");
    caught_ = Buffer(kMostCaught * sizeof(Caught));
    count_ = Buffer(sizeof(std::uint32_t));
    if (std::any_of(works_.begin(), works_.end(),
                    [](const Prepared& work) { return is_streamed(work.kernel.feed); }))
      stream_.emplace();
    const double limit = meter_.limit();
    steps_.end();
    out_.power_limit = limit;
    for (const Prepared& work : works_) out_.works.push_back(work.result);
    begin_ = Clock::now();
    for (int pass = 0; going_on(); ++pass) one_pass(pass);
    out_.interrupted = !hooks_.keep_going();
    steps_.begin("freeing its memory", kStepSeconds);
  }

 private:
  struct Uploaded {
    Buffer a, b, metadata, expected;
    double seconds_per_round = 0;  ///< 0: not yet known
  };

  bool going_on() const { return hooks_.keep_going() && seconds_since(begin_) < options_.seconds; }

  /// Every work once; the first pass to its end. Odd passes switch all multiprocessors on and off.
  void one_pass(int pass) {
    const auto which = static_cast<std::size_t>(pass / 2) % std::size(kBurstPeriods);
    const std::uint64_t period = options_.bursts && pass % 2 != 0 ? kBurstPeriods[which] : 0;
    std::optional<InputSet> metered;
    double joules = 0;
    Clock::time_point since;
    const auto settle = [&] {
      steps_.begin("reading its energy meter", kStepSeconds);
      const bool has = meter_.why_not().empty();
      const double now = has ? meter_.joules() : 0;
      steps_.end();
      if (metered && has) {
        auto& [sum, seconds] = out_.energy[*metered];
        sum += now - joules;
        seconds += seconds_since(since);
      }
      joules = now;
      since = Clock::now();
    };
    for (std::size_t i = 0; i < works_.size() && (pass == 0 ? hooks_.keep_going() : going_on()); ++i) {
      const InputSet set = works_[i].result.work.inputs;
      if (metered != set) settle();
      metered = set;
      const double left = options_.seconds - seconds_since(begin_);
      screen(i, std::clamp(left / static_cast<double>(works_.size() - i), 0.01, kLongestLaunch), period);
    }
    if (period == 0) settle();
  }

  void screen(std::size_t index, double seconds, std::uint64_t period) {
    WorkResult& result = out_.works[index];
    const Slice slice = launch(index, seconds, period, &result);
    out_.hottest = std::max(out_.hottest, slice.celsius);
    hooks_.progress(seconds_since(begin_), label(result, slice));
    if (slice.wrong == 0) return;
    const std::set<std::pair<int, int>> places = note(index, slice);
    for (int again = 0; again < kReruns && hooks_.keep_going(); ++again) {
      const Slice rerun = launch(index, seconds, 0, &result);
      note(index, rerun);
      for (const auto& place : places) {
        Suspect& suspect = out_.suspects[place];
        ++suspect.reruns;
        for (const Caught& one : rerun.caught)
          ++(place_of(one) == place ? suspect.again_here : suspect.again_elsewhere);
      }
    }
  }

  static std::pair<int, int> place_of(const Caught& one) {
    return {static_cast<int>(one.multiprocessor), static_cast<int>(one.warp) % kSubcores};
  }

  /// Counts what was caught; the places.
  std::set<std::pair<int, int>> note(std::size_t index, const Slice& slice) {
    std::set<std::pair<int, int>> places;
    const Prepared& work = works_[index];
    for (const Caught& one : slice.caught) {
      places.insert(place_of(one));
      ++out_.suspects[place_of(one)].wrong;
      if (out_.findings.size() >= kMostFindings) continue;
      for (Finding finding :
           compare_words(work.result.work, work.kernel.copies, work.images.d, static_cast<int>(one.tile),
                         static_cast<int>(one.lane), one.words)) {
        std::tie(finding.multiprocessor, finding.subcore) = place_of(one);
        finding.hz = slice.hz;
        finding.celsius = slice.celsius;
        finding.watts = slice.watts;
        // The GPU's timer counts from 1970, as far as its host knows the time.
        finding.unix_seconds = 1e-9 * static_cast<double>(one.nanoseconds);
        for (std::uint64_t bits = finding.expected ^ finding.found; bits != 0; bits &= bits - 1)
          ++out_.flipped[std::countr_zero(bits)];
        out_.findings.push_back(finding);
      }
    }
    return places;
  }

  static std::string label(const WorkResult& result, const Slice& slice) {
    char text[200];
    std::snprintf(text, sizeof(text), "%s %s  %.0f TFLOPS  %.0f W  %.0f C", result.work.name().c_str(),
                  std::string(name_of(result.work.inputs)).c_str(), 1e-12 * result.flops(), slice.watts,
                  slice.celsius);
    return text;
  }

  Slice launch(std::size_t index, double seconds, std::uint64_t period, WorkResult* result) {
    const std::string step = "a launch of " + std::to_string(std::lround(1e3 * seconds)) + " ms";
    steps_.begin(step, seconds);
    const Prepared& work = works_[index];
    Uploaded& uploaded = uploads_[index];
    const ScreenKernel& kernel = work.kernel;
    const auto blocks = static_cast<unsigned>(out_.device.multiprocessors);
    const auto slots = static_cast<std::size_t>(kernel.slots) * blocks;
    if (stamps_bytes_ < slots * sizeof(sweeps::Stamp))
      stamps_ = Buffer(stamps_bytes_ = slots * sizeof(sweeps::Stamp));
    ScreenArgs args;
    args.operands = {.a = uploaded.a.data(),
                     .b = uploaded.b.data(),
                     .c = zeros_.data(),
                     .metadata = uploaded.metadata.data(),
                     .stamps = stamps_.data<sweeps::Stamp>(),
                     .tiles = kTiles,
                     .steps = kSteps};
    if (is_streamed(kernel.feed))
      args.stream = stream_->fill(spec_of(kernel.feed), uploaded.a.data(), work.a_bytes * kTiles,
                                  work.images.a.size(), index);
    args.a_bytes = static_cast<std::uint32_t>(work.a_bytes);
    args.b_bytes = static_cast<std::uint32_t>(work.b_bytes);
    args.slot_bytes = static_cast<std::uint32_t>(kernel.slot_bytes);
    args.expected = uploaded.expected.data<std::uint64_t>();
    args.caught = caught_.data<Caught>();
    args.count = count_.data<std::uint32_t>();
    args.chains = kChainsPerRound;
    args.burst_nanoseconds = period;
    args.injection = options_.injection;
    const unsigned shared = shared_bytes(kernel);
    if (uploaded.seconds_per_round == 0)
      cuda_check(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(shared)),
                 "asking for shared memory");
    Slice slice;
    const Paced pace = paced(
        uploaded.seconds_per_round, seconds, period != 0 ? 0.5 : 1,
        [&] {
          cuda_check(cudaMemset(count_.data(), 0, sizeof(std::uint32_t)), "clearing the counter");
          cuda_check(cudaMemset(stamps_.data(), kUnwritten, slots * sizeof(sweeps::Stamp)),
                     "clearing the stamps");
        },
        [&](int rounds, int first_round, bool last) {
          steps_.begin(step, seconds);
          args.rounds = rounds;
          args.first_chain = chains_ + static_cast<std::uint64_t>(first_round) * kChainsPerRound;
          return launch_once(kernel, args, shared, last ? &slice : nullptr);
        });
    slice.seconds = pace.seconds;
    chains_ += static_cast<std::uint64_t>(pace.calibrated_rounds + pace.rounds) * kChainsPerRound;
    device::copy_out(&slice.wrong, count_.data(), sizeof(slice.wrong));
    slice.caught.resize(std::min(slice.wrong, kMostCaught));
    if (!slice.caught.empty())
      device::copy_out(slice.caught.data(), caught_.data(), slice.caught.size() * sizeof(Caught));
    std::vector<sweeps::Stamp> stamps(slots);
    device::copy_out(stamps.data(), stamps_.data(), slots * sizeof(sweeps::Stamp));
    if (const std::size_t missing = unwritten(stamps); missing != 0)
      throw EnvironmentError(result->work.name() + ": found " + std::to_string(missing) + " of " +
                             std::to_string(slots) + " warps or warpgroups that did not end, allowed: none");
    for (const sweeps::Stamp& stamp : stamps) slice.multiprocessors.insert(stamp.multiprocessor);
    slice.hz = sweeps::sample_of(stamps, kernel.slots, args.rounds, slice.seconds).hz;
    steps_.end();
    count(kernel, args, pace, slots, slice, *result);
    out_.seconds = seconds_since(begin_);
    return slice;
  }

  static void count(const ScreenKernel& kernel, const ScreenArgs& args, const Paced& pace, std::size_t slots,
                    const Slice& slice, WorkResult& result) {
    const Instruction& is = kernel.instruction;
    const double accumulators =
        1.0 * args.chains * static_cast<double>(slots) * kernel.copies * is.m * is.n;  // per round
    const int rounds = pace.calibrated_rounds + pace.rounds;
    ++result.launches;
    result.accumulators += static_cast<std::uint64_t>(accumulators * rounds);
    const double fma = accumulators * kSteps * is.k * pace.rounds;
    result.fma += accumulators * kSteps * is.k * rounds;
    result.wrong += slice.wrong;
    result.multiprocessors = std::max(result.multiprocessors, static_cast<int>(slice.multiprocessors.size()));
    if (args.burst_nanoseconds != 0) return;
    result.steady_fma += fma;
    if (is_streamed(kernel.feed))
      result.steady_bytes += 1.0 * args.chains * static_cast<double>(slots) * kSteps / kernel.steps_per_copy *
                             kernel.copied_bytes * pace.rounds;
    result.seconds += slice.seconds;
    result.cycles += slice.hz * slice.seconds;
  }

  /// More than half of the shared memory: no two blocks meet on a multiprocessor.
  unsigned shared_bytes(const ScreenKernel& kernel) const {
    int whole = 0;
    cuda_check(
        cudaDeviceGetAttribute(&whole, cudaDevAttrMaxSharedMemoryPerMultiprocessor, out_.device.ordinal),
        "reading a device attribute");
    return static_cast<unsigned>(std::max(kernel.slot_bytes * kernel.slots, whole / 2 + 1024));
  }

  /// Seconds. With `slice`: asks NVML meanwhile.
  double launch_once(const ScreenKernel& kernel, const ScreenArgs& args, unsigned shared,
                     Slice* slice = nullptr) {
    started_.record();
    kernel.launch(args, static_cast<unsigned>(out_.device.multiprocessors),
                  static_cast<unsigned>(kernel.threads), shared);
    ended_.record();
    cuda_check(cudaGetLastError(), "launching a screening kernel");
    if (slice != nullptr) {
      slice->celsius = meter_.celsius();
      slice->watts = meter_.watts();
    }
    cuda_check(cudaEventSynchronize(ended_.get()), "running a screening kernel");
    return Event::seconds(started_, ended_);
  }

  const std::vector<Prepared>& works_;
  const Options& options_;
  const Hooks& hooks_;
  sweeps::EnergyMeter meter_;
  GpuResult& out_;  ///< of the launches that ended, whatever happens next; written between steps
  Steps& steps_;
  std::vector<Uploaded> uploads_;
  std::optional<StreamMemory> stream_;  ///< of the works with a streaming feed
  Buffer zeros_, caught_, count_, stamps_;
  std::size_t stamps_bytes_ = 0;
  std::uint64_t chains_ = 0;  ///< of a slot
  Event started_, ended_;
  Clock::time_point begin_;
};

void screen_gpu(const device::DeviceInfo& gpu, const std::vector<Prepared>& works, const Options& options,
                const Hooks& hooks, GpuResult& out, Steps& steps) {
  steps.begin("setting it up", kStepSeconds);
  if (const auto others = sweeps::EnergyMeter(gpu.ordinal).other_processes();
      !others.empty() && !options.beside_others) {
    steps.end();
    out.refused = "found process " + std::to_string(others.front()) +
                  (others.size() > 1 ? " and " + std::to_string(others.size() - 1) + " more" : "") +
                  " on it, allowed: none, or --beside-others";
    return;
  }
  cuda_check(cudaSetDevice(gpu.ordinal), "selecting the device");
  Screener(gpu, works, options, hooks, out, steps).run();
}

/// What the threads of all GPUs use: the last of them keeps it.
struct Shared {
  std::vector<Prepared> works;
  Options options;
  Hooks hooks;
  std::mutex one_at_a_time;
};

}  // namespace

std::vector<GpuResult> run_screen(const std::vector<device::DeviceInfo>& gpus, const Options& options,
                                  const Hooks& hooks) {
  if (gpus.empty()) return {};
  const auto shared = std::make_shared<Shared>();
  shared->works = prepare_all(gpus.front(), options);
  shared->options = options;
  shared->hooks.keep_going = hooks.keep_going;
  shared->hooks.progress = [&mutex = shared->one_at_a_time, progress = hooks.progress](
                               double seconds, const std::string& label) {
    const std::lock_guard lock(mutex);
    progress(seconds, label);
  };
  return screen_beside(gpus, [shared](const device::DeviceInfo& gpu, GpuResult& result, Steps& steps) {
    screen_gpu(gpu, shared->works, shared->options, shared->hooks, result, steps);
  });
}

}  // namespace mmaudit::screen
