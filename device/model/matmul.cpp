#include "mmaudit/device/matmul.hpp"

#include "mmaudit/error.hpp"
#include "model/product.hpp"
#include "run/cuda_check.hpp"
#include "run/cuda_event.hpp"

namespace mmaudit::device {
namespace {

void require_room(std::uint64_t needed) {
  std::size_t free_bytes = 0, all_bytes = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for the free memory");
  if (needed > free_bytes)
    refuse("sizes: found {} bytes needed on the GPU, allowed: {}, what is free", needed, free_bytes);
}

/// The operands of a product, copied to device memory, and room for its result.
class Operands {
 public:
  Operands(const Instruction& instruction, const DotSpec& spec, const Matmul& problem) : problem_(problem) {
    const std::uint64_t rows = problem.batch * problem.m, columns = problem.batch * problem.n;
    const std::uint64_t stored = stored_k(instruction, problem), blocks = scale_blocks(instruction, problem);
    const std::uint64_t metadata = problem.metadata != nullptr ? rows * stored : 0;
    d_bytes_ =
        rows * problem.n * (problem.epilogue ? spec_of(problem.epilogue->output) : spec.d).storage_bytes();
    constexpr std::uint64_t kOneMore = kMaxK;
    const void* from[] = {problem.a,       problem.b,       problem.metadata,
                          problem.scale_a, problem.scale_b, problem.c};
    const std::uint64_t used[] = {rows * stored * spec.a.storage_bytes(),
                                  columns * problem.k * spec.b.storage_bytes(),
                                  metadata,
                                  problem.scale_a != nullptr ? rows * blocks : 0,
                                  problem.scale_b != nullptr ? columns * blocks : 0,
                                  problem.c != nullptr ? d_bytes_ : 0};
    std::uint64_t all = d_bytes_;
    for (const std::uint64_t one : used) all += one;
    require_room(all);
    for (int i = 0; i < kGiven; ++i) {
      buffers_[i] = Buffer(used[i] == 0 || i != 2 ? used[i] : used[i] + kOneMore);
      if (used[i] != 0) copy_in(buffers_[i].data(), from[i], used[i]);
    }
    d_ = Buffer(d_bytes_);
  }

  /// The problem with device pointers; scales and C are null where they were.
  [[nodiscard]] Matmul on_device() const {
    Matmul out = problem_;
    out.a = buffers_[0].data();
    out.b = buffers_[1].data();
    out.metadata = buffers_[2].data<std::uint8_t>();
    out.scale_a = buffers_[3].data<std::uint8_t>();
    out.scale_b = buffers_[4].data<std::uint8_t>();
    out.c = buffers_[5].data();
    out.d = d_.data();
    return out;
  }
  void take_out_d() const { copy_out(problem_.d, d_.data(), d_bytes_); }

 private:
  static constexpr int kGiven = 6;  // A, B, metadata, scales of A and of B, C
  const Matmul& problem_;
  Buffer buffers_[kGiven], d_;
  std::uint64_t d_bytes_ = 0;
};

/// The seconds that what `work` starts takes.
template <typename Work>
double timed(const Work& work) {
  Event begin, end;
  begin.record();
  work();
  end.record();
  cuda_check(cudaEventSynchronize(end.get()), "running the model");
  return Event::seconds(begin, end);
}

}  // namespace

double matmul_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                        const Matmul& problem, DeviceModel model) {
  if (problem.batch * problem.m * problem.n == 0) return 0;
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
  const Operands operands(instruction, make_dot_spec(instruction, datapath), problem);
  const DeviceProduct product(instruction, datapath, operands.on_device(), {}, model);
  require_room(product.workspace());
  const Buffer space(product.workspace());
  const double seconds = timed([&] { product.launch(space.data(), nullptr); });
  operands.take_out_d();
  return seconds;
}

}  // namespace mmaudit::device
