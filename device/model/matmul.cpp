#include "mmaudit/device/matmul.hpp"

#include "model/gemm.hpp"
#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

/// A pair of events around what the GPU does.
class Stopwatch {
 public:
  Stopwatch() {
    for (cudaEvent_t& event : events_) cuda_check(cudaEventCreate(&event), "creating an event");
    cuda_check(cudaEventRecord(events_[0]), "recording an event");
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  /// Waits for everything started so far.
  double seconds() {
    constexpr double kMilli = 1e-3;
    float milliseconds = 0;
    cuda_check(cudaEventRecord(events_[1]), "recording an event");
    cuda_check(cudaEventSynchronize(events_[1]), "running the model");
    cuda_check(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "reading an event");
    return kMilli * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t events_[2] = {};
};

}  // namespace

double matmul_on_device(const DeviceInfo& device, const Instruction& instruction, const AccumulatorModel& row,
                        const Matmul& problem) {
  const DotPlan plan = make_plan(instruction, row);
  const CoreRules rules = core_rules(plan).value();
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
  const std::uint64_t d_bytes = problem.batch * problem.m * problem.n * plan.d.storage_bytes();
  const std::uint64_t a_bytes = problem.batch * problem.m * problem.k * plan.a.storage_bytes();
  const std::uint64_t b_bytes = problem.batch * problem.k * problem.n * plan.b.storage_bytes();
  if (d_bytes == 0) return 0;
  const Buffer a(a_bytes), b(b_bytes), c(problem.c != nullptr ? d_bytes : 0), d(d_bytes);
  copy_in(a.data(), problem.a, a_bytes);
  copy_in(b.data(), problem.b, b_bytes);
  if (problem.c != nullptr) copy_in(c.data(), problem.c, d_bytes);
  const UnpackSource from_a{.base = a.data(),
                            .bytes = static_cast<std::int32_t>(plan.a.storage_bytes()),
                            .elements = static_cast<std::uint32_t>(problem.m),
                            .depth = static_cast<std::uint32_t>(problem.k),
                            .matrices = problem.batch,
                            .element_stride = problem.k,
                            .matrix_stride = problem.m * problem.k};
  const UnpackSource from_b{.base = b.data(),
                            .bytes = static_cast<std::int32_t>(plan.b.storage_bytes()),
                            .elements = static_cast<std::uint32_t>(problem.n),
                            .depth = static_cast<std::uint32_t>(problem.k),
                            .matrices = problem.batch,
                            .k_stride = problem.n,
                            .matrix_stride = problem.k * problem.n};
  const Buffer words_a(unpacked_words(from_a) * sizeof(std::uint32_t)),
      words_b(unpacked_words(from_b) * sizeof(std::uint32_t));
  GemmArgs args{.a = words_a.data<std::uint32_t>(),
                .b = words_b.data<std::uint32_t>(),
                .c = c.data(),
                .d = d.data(),
                .batch = problem.batch,
                .m = static_cast<std::uint32_t>(problem.m),
                .n = static_cast<std::uint32_t>(problem.n),
                .k = static_cast<std::uint32_t>(problem.k),
                .stride = problem.promote};
  const auto k = static_cast<std::uint64_t>(instruction.k);
  if (problem.split_k > 1) {
    const std::uint64_t steps = (problem.k + k - 1) / k;
    args.slice = (steps + problem.split_k - 1) / problem.split_k * k;
  }
  Stopwatch stopwatch;
  launch_unpack(rules, rules.a, from_a, words_a.data<std::uint32_t>());
  launch_unpack(rules, rules.b, from_b, words_b.data<std::uint32_t>());
  launch_gemm(rules, args);
  const double seconds = stopwatch.seconds();
  copy_out(problem.d, d.data(), d_bytes);
  return seconds;
}

}  // namespace mmaudit::device
