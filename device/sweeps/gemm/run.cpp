// Whole products on the GPU: runs, clocks, samples.
#include <cuda.h>
#include <cuda_runtime.h>

#include <optional>

#include "library/cublas_abi.hpp"
#include "mmaudit/sweeps/bench_target.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "run/cuda_check.hpp"
#include "run/cuda_event.hpp"
#include "run/tensor_map.hpp"
#include "sweeps/engine/readings.hpp"
#include "sweeps/gemm/kernel.hpp"
#include "sweeps/gemm/samples.hpp"

namespace mmaudit::sweeps {

#define MMAUDIT_FILE(NAME) std::vector<GemmKernel> gemm_with_##NAME();
#include "gemm_files.inc"
#undef MMAUDIT_FILE

namespace {

/// Of every file of gemm/kernels/.
std::vector<GemmKernel> gemm_kernels() {
  std::vector<GemmKernel> all;
#define MMAUDIT_FILE(NAME) \
  for (const GemmKernel& kernel : gemm_with_##NAME()) all.push_back(kernel);
#include "gemm_files.inc"
#undef MMAUDIT_FILE
  return all;
}

using device::Buffer;
using device::cuda_check;
using device::Event;

/// The vendor's matrix product.
class Cublas {
 public:
  Cublas() {
    if (api_.name.empty()) {
      why_not_ = "no cuBLAS (libcublas.so.13 or .12) where the loader looks (LD_LIBRARY_PATH)";
    } else if (!api_.why.empty()) {
      why_not_ = api_.why;
    } else if (const int error = api_.create(handle_.put()); error != 0) {
      why_not_ = "cuBLAS refuses to start (error " + std::to_string(error) + ")";
    } else {
      int version = 0;
      api_.version(handle_.get(), &version);
      name_ = "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
              std::to_string(version % 100) + " (" + api_.name + ")";
    }
  }
  /// Why there is none, in one clause; empty when there is.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// "cuBLAS 13.1.0 (libcublas.so.13)".
  [[nodiscard]] const std::string& name() const { return name_; }
  /// D = A * B^T as TimedGemmArgs has them, on the default stream; false when the library refuses.
  [[nodiscard]] bool multiply(const TimedGemmArgs& x) const {
    using namespace device::cublas;
    const float one = 1, zero = 0;
    // Its matrices are column-major: D^T = B * A^T.
    return api_.gemm_ex(handle_.get(), kTransposed, kNormal, x.size, x.size, x.size, &one, x.b, CUDA_R_16BF,
                        x.size, x.a, CUDA_R_16BF, x.size, &zero, x.d, CUDA_R_32F, x.size, kCompute32F,
                        kDefaultAlgorithm) == 0;
  }

 private:
  const device::cublas::Api& api_ = device::cublas::api();
  device::cublas::Owned handle_{api_.destroy};
  std::string why_not_, name_;
};

/// One size: operands, and every kernel that runs it.
class Products {
 public:
  Products(const device::DeviceInfo& device, int size, const Cublas& cublas)
      : device_(device),
        cublas_(cublas),
        size_(size),
        elements_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)),
        a_(elements_ * sizeof(std::uint16_t)),
        b_(elements_ * sizeof(std::uint16_t)),
        d_(elements_ * sizeof(float)) {
    launch_gemm_fill(a_.data<std::uint16_t>(), b_.data<std::uint16_t>(), size);
    cuda_check(cudaDeviceSynchronize(), "making operands");
    problem_.multiprocessors = device.multiprocessors;
    if (device.compute_capability == 90) {
      const auto side = static_cast<std::uint64_t>(size);
      problem_.map_a = device::chain_map(a_.data(), 2, 2 * side, side, side, 1, kWgmmaTileM);
      problem_.map_b = device::chain_map(b_.data(), 2, 2 * side, side, side, 1, kWgmmaTileN);
    }
  }

  std::vector<GemmPoint> run(const GemmOptions& options) {
    add_all();
    for (Entry& entry : entries_) check(entry);
    for (int round = 0; round < options.rule.most && options.keep_going(); ++round) {
      bool all = true;
      for (Entry& entry : entries_) {
        if (!entry.point.skipped.empty() || enough(entry.seconds, options.rule)) continue;
        all = false;
        run_once(entry);
        entry.seconds.push_back(entry.sample.event_seconds);
        entry.cycles.push_back(entry.sample.timer_seconds * entry.sample.hz);
        entry.clocks.push_back(entry.sample.hz);
      }
      if (all) break;
    }
    for (Entry& entry : entries_) time_longest_block(entry);
    for (Entry& entry : entries_) check(entry);
    std::vector<GemmPoint> points;
    for (Entry& entry : entries_) {
      entry.point.seconds = statistics_of(entry.seconds);
      entry.point.cycles = statistics_of(entry.cycles).median;
      entry.point.hz = statistics_of(entry.clocks).median;
      points.push_back(entry.point);
    }
    return points;
  }

 private:
  struct Entry {
    const GemmKernel* kernel = nullptr;  ///< null: cuBLAS
    GemmPoint point;
    std::vector<std::uint32_t> expected;
    std::vector<double> seconds, cycles, clocks;
    Sample sample;
  };

  void add(const GemmKernel* kernel, std::string why_not) {
    Entry entry;
    entry.kernel = kernel;
    entry.point.kernel = kernel != nullptr ? std::string(kernel->name) : kCublas;
    entry.point.what = kernel != nullptr ? std::string(kernel->what) : cublas_.name();
    entry.point.size = size_;
    entry.point.skipped = std::move(why_not);
    entry.point.order_known = kernel != nullptr;
    if (entry.point.skipped.empty()) {
      // cuBLAS is compared with the chain of the fastest kernel, out of curiosity.
      const Instruction& chain = (kernel != nullptr ? *kernel : kernels_.back()).instruction;
      entry.expected = model_samples(device_.compute_capability, chain, size_);
    }
    entries_.push_back(std::move(entry));
  }

  void add_all() {
    for (const GemmKernel& kernel : kernels_)
      if (size_ <= kernel.most_size) add(&kernel, prepare(kernel));
    add(nullptr, cublas_.why_not());
  }

  /// Why the kernel can't run here; empty when it can.
  [[nodiscard]] std::string prepare(const GemmKernel& kernel) const {
    const int capability = device_.compute_capability;
    if (capability < kernel.least_capability || capability > kernel.most_capability)
      return "needs compute capability " + capability_text(kernel.least_capability);
    if (cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kernel.shared_bytes) == cudaSuccess)
      return {};
    cudaGetLastError();
    return "this build has no code for the GPU, or the GPU too little shared memory";
  }

  void run_once(Entry& entry) {
    const std::size_t blocks =
        entry.kernel == nullptr ? 0 : entry.kernel->blocks(size_, device_.multiprocessors);
    if (blocks * sizeof(Stamp) > stamp_bytes_) {
      stamp_bytes_ = blocks * sizeof(Stamp);
      stamps_.emplace(stamp_bytes_);
    }
    problem_.args = {a_.data<std::uint16_t>(), b_.data<std::uint16_t>(), d_.data<float>(),
                     stamps_ ? stamps_->data<Stamp>() : nullptr, size_};
    bool accepted = true;
    begin_.record();
    if (entry.kernel != nullptr)
      entry.kernel->launch(problem_);
    else
      accepted = cublas_.multiply(problem_.args);
    end_.record();
    cuda_check(cudaGetLastError(), "launching a product");
    cuda_check(cudaEventSynchronize(end_.get()), "running a product");
    if (!accepted) {
      entry.point.skipped = "cuBLAS refuses the product";
      return;
    }
    entry.sample = {.event_seconds = Event::seconds(begin_, end_)};
    if (blocks == 0) return;
    found_.resize(blocks);
    device::copy_out(found_.data(), stamps_->data(), blocks * sizeof(Stamp));
    entry.sample = sample_of(found_, 1, 1, entry.sample.event_seconds);
  }

  void time_longest_block(Entry& entry) {
    const int launches = entry.kernel == nullptr ? 0 : entry.kernel->launches;
    if (launches == 0 || !entry.point.skipped.empty()) return;
    double cycles = 0;
    for (int i = 0; i < launches; ++i) {
      run_once(entry);
      cycles += static_cast<double>(longest_block(found_));
    }
    entry.point.longest_block = cycles / launches;
    entry.point.launches = launches;
  }

  void check(Entry& entry) {
    if (!entry.point.skipped.empty()) return;
    device::poison(d_.data(), elements_ * sizeof(float));
    run_once(entry);
    if (entry.expected.empty() || !entry.point.skipped.empty()) return;
    const std::vector<int> rows = sampled_rows(size_);
    std::vector<std::uint32_t> line(static_cast<std::size_t>(size_));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      device::copy_out(line.data(),
                       d_.data<std::uint32_t>() + static_cast<std::size_t>(rows[i]) * line.size(),
                       line.size() * sizeof(std::uint32_t));
      for (std::size_t j = 0; j < rows.size(); ++j) {
        ++entry.point.compared;
        entry.point.differing +=
            line[static_cast<std::size_t>(rows[j])] != entry.expected[i * rows.size() + j] ? 1 : 0;
      }
    }
  }

  const device::DeviceInfo& device_;
  const Cublas& cublas_;
  int size_;
  std::size_t elements_;
  Buffer a_, b_, d_;
  std::optional<Buffer> stamps_;
  std::size_t stamp_bytes_ = 0;
  std::vector<Stamp> found_;
  const std::vector<GemmKernel> kernels_ = gemm_kernels();
  TimedGemm problem_;
  std::vector<Entry> entries_;
  Event begin_, end_;
};

}  // namespace

GemmResult run_gemms(const device::DeviceInfo& device, const GemmOptions& options) {
  GemmResult result;
  result.provenance = gpu_target(device)->provenance();
  const Cublas cublas;
  result.ceiling = cublas.why_not().empty() ? cublas.name() : cublas.why_not();
  for (const int size : options.sizes) {
    if (!options.keep_going()) break;
    const std::vector<GemmPoint> points = Products(device, size, cublas).run(options);
    result.points.insert(result.points.end(), points.begin(), points.end());
  }
  return result;
}

}  // namespace mmaudit::sweeps
