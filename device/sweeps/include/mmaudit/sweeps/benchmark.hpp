#pragma once
// A benchmark: something that is timed. Each file NAME.cu of device/sweeps/benchmarks/ makes some, says all
// there is to say about them, and defines std::vector<Benchmark> mmaudit::sweeps::benchmark_NAME(). Nothing
// else knows them by name.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/model/instruction.hpp"
#include "mmaudit/sweeps/bench_target.hpp"
#include "mmaudit/sweeps/point.hpp"
#include "mmaudit/sweeps/timed_kernel.hpp"

namespace mmaudit::sweeps {

/// What one step does: one instruction in each chain of each slot of a block.
struct Work {
  double fma = 0, bytes = 0, operations = 0;
};

/// What the loop of a timed kernel must hold: instructions of one of these opcodes ("HMMA" stands for every
/// HMMA), at least `per_step` for each step of a chain.
struct SassRule {
  std::vector<std::string_view> opcodes;
  double per_step = 1;
};

/// How the blocks of a launch are put on the GPU.
struct Placement {
  int cluster = 1;  ///< blocks of a cluster; scope sm: one cluster, gpu: as many as run at once
  int policy = 0;   ///< of clusters: 0 the default, 1 spread, 2 load balancing
  int blocks_per_multiprocessor = 0;  ///< of scope gpu; 0: one, with so much shared memory that no two meet
  int blocks = 0;                     ///< 0: as the scope says
  bool full = false;                  ///< of scope gpu: as many blocks as run at once
};

/// Copies the result of each slot from the GPU.
using ReadResult = std::function<std::vector<std::byte>()>;

/// What a launch needs beside its kernel.
struct Setup {
  TimedArgs args = {};         ///< operands and parameter; the target fills in the rest
  int warps_per_slot = 1;      ///< warps that share a stamp and a result
  int shared_bytes = 0;        ///< dynamic shared memory of a block
  std::size_t slot_bytes = 0;  ///< of a result
  Placement placement = {};
  /// Global memory, TimedArgs::memory: in all, and for each block.
  std::size_t memory_bytes = 0, block_memory_bytes = 0;
  std::function<void(const TimedArgs& args)> fill =
      {};  ///< writes it before the first run; null: not written
  /// Told the arguments of every launch, just before it; null: not told.
  std::function<void(const TimedArgs& args)> launched = {};
  /// Steps of a run that says how long a step takes, where shorter runs check more and take longer; 0: the
  /// short runs say it.
  int trial_steps = 0;
  /// Compares the results after so many steps with what they must be: adds to `compared` and `differing`.
  std::function<void(const ReadResult& read, int slots_per_block, int steps, Measurement& out)> check = {};
  /// What else the last run says: adds to `out.others`. Null: nothing.
  std::function<void(std::span<const Stamp> stamps, const ReadResult& read, int steps, Measurement& out)>
      observe = {};
};

class Workbench;  // what the GPU offers to a setup: matrix/operands.hpp

struct Benchmark {
  std::string name;         ///< unique; of an instruction as mmaudit::name_of() prints it, n left open
  std::string_view family;  ///< heading of the tables and figures that it shares with others
  int place = 1000;         ///< in listings, least first
  std::optional<Instruction> instruction = {};   ///< the matrix instruction that is timed, n left open
  std::vector<AxisSpec> axes;                    ///< the first varies slowest
  bool whole_gpu = false;                        ///< has points of all multiprocessors
  std::vector<std::string_view> published = {};  ///< tables of papers that stand beside it: "Luo VIII"
  SassRule sass = {};

  /// What must be between the readings of the clock beside that loop, `per_step` of it in all: other warps
  /// have loops of their own.
  SassRule between = {{}, 0};

  /// What else each step of a chain must hold; null: nothing.
  std::function<SassRule(const Point&)> besides = {};

  /// False for coordinates that no point can have; null: all exist.
  std::function<bool(const Point&)> exists = {};
  std::function<Work(const Point&)> work;
  /// FMA, bytes or operations per clock per multiprocessor that the GPU can do at most; 0 where no document
  /// says.
  std::function<double(int compute_capability)> ceiling = [](int) { return 0.0; };

  /// Why this GPU can't run a point; empty when it can. Null: it can.
  std::function<std::string(const device::DeviceInfo&, const Point&)> why_not = {};
  std::function<TimedKernel(const Point&)> kernel;
  /// The workbench is null where there is no GPU; only matrix operands need it.
  std::function<Setup(const Point&, Workbench*)> setup;
};

/// Every benchmark, in the order of their places.
const std::vector<Benchmark>& benchmarks();
/// Adds one to them, for tests.
void add_benchmark(Benchmark benchmark);
/// Null when there is none of that name.
const Benchmark* find_benchmark(std::string_view name);

/// The benchmarks whose name contains one of `parts` (all for none). Errors: InputError when there is none.
std::vector<Benchmark> select_benchmarks(const std::vector<std::string>& parts);

/// What: the points of one multiprocessor, the cross product of the benchmark's axes without those that
/// cannot exist.
std::vector<Point> points_of(const Benchmark& benchmark, const std::vector<Axis>& axes);

}  // namespace mmaudit::sweeps
