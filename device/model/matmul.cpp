#include "mmaudit/device/matmul.hpp"

#include "mmaudit/detail/slices.hpp"
#include "mmaudit/error.hpp"
#include "model/epilogue.hpp"
#include "model/gemm.hpp"
#include "model/groups.hpp"
#include "model/raw_product.hpp"
#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"
#include "run/cuda_event.hpp"

namespace mmaudit::device {
namespace {

void require_room(std::uint64_t needed) {
  std::size_t free_bytes = 0, all_bytes = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for the free memory");
  if (needed > free_bytes)
    throw InputError("sizes: found " + std::to_string(needed) +
                     " bytes needed on the GPU, allowed: " + std::to_string(free_bytes) + ", what is free");
}

/// The operands of a product in device memory.
class Operands {
 public:
  Operands(const Instruction& instruction, const DotPlan& plan, const Matmul& problem)
      : plan_(plan), problem_(problem) {
    raw.m = problem.m;
    raw.n = problem.n;
    raw.k = problem.k;
    raw.stored_k = stored_k(instruction, problem);
    raw.blocks = scale_blocks(instruction, problem);
    const std::uint64_t rows = problem.batch * problem.m, columns = problem.batch * problem.n;
    const std::uint64_t a_bytes = rows * raw.stored_k * plan.a.storage_bytes(),
                        b_bytes = columns * problem.k * plan.b.storage_bytes(),
                        metadata = problem.metadata != nullptr ? rows * raw.stored_k : 0,
                        a_scales = problem.scale_a != nullptr ? rows * raw.blocks : 0,
                        b_scales = problem.scale_b != nullptr ? columns * raw.blocks : 0;
    const std::uint64_t elements = rows * problem.n;
    const bool finishes = problem.epilogue.has_value();
    d_bytes_ = elements * (finishes ? spec_of(problem.epilogue->output) : plan.d).storage_bytes();
    const std::uint64_t c_bytes = problem.c != nullptr ? d_bytes_ : 0,
                        sum_bytes = finishes ? elements * plan.d.storage_bytes() : 0;
    constexpr std::uint64_t kOneMore = kMaxK;
    const std::uint64_t bytes[] = {a_bytes,  b_bytes,  metadata == 0 ? 0 : metadata + kOneMore,
                                   a_scales, b_scales, c_bytes,
                                   d_bytes_, sum_bytes};
    const void* from[] = {problem.a,       problem.b,       problem.metadata,
                          problem.scale_a, problem.scale_b, problem.c};
    const std::uint64_t used[] = {a_bytes, b_bytes, metadata, a_scales, b_scales, c_bytes};
    std::uint64_t all = 0;
    for (const std::uint64_t one : bytes) all += one;
    require_room(all);
    for (int i = 0; i < kCount; ++i) buffers_[i] = Buffer(bytes[i]);
    for (int i = 0; i < kGiven; ++i)
      if (used[i] != 0) copy_in(buffers_[i].data(), from[i], used[i]);
    raw.a = buffers_[0].data();
    raw.b = buffers_[1].data();
    raw.metadata = buffers_[2].data<std::uint8_t>();
    const std::int32_t block = plan.scale_block;
    raw.scale_a = {buffers_[3].data<std::uint8_t>(), plan.scale, block,
                   problem.m * raw.blocks,           raw.blocks, 1};
    raw.scale_b = {buffers_[4].data<std::uint8_t>(), plan.scale, block, problem.n * raw.blocks, 1, problem.n};
  }

  /// An epilogue has C, and what the product writes is its sums.
  [[nodiscard]] GemmArgs args() const {
    const bool finishes = problem_.epilogue.has_value();
    return {.c = finishes ? nullptr : buffers_[5].data(),
            .d = buffers_[finishes ? 7 : 6].data(),
            .batch = problem_.batch,
            .m = problem_.m,
            .n = problem_.n,
            .k = problem_.k,
            .stride = problem_.promote};
  }
  /// Starts the epilogue, where there is one.
  void finish() const {
    if (problem_.epilogue)
      launch_epilogue(*problem_.epilogue, plan_.d.id, buffers_[7].data(), buffers_[5].data(),
                      buffers_[6].data(), problem_.batch * problem_.m * problem_.n);
  }
  void take_out_d() const { copy_out(problem_.d, buffers_[6].data(), d_bytes_); }

  [[nodiscard]] UnpackSource from_a(const CoreRules& rules) const {
    return {.base = raw.a,
            .bytes = static_cast<std::int32_t>(plan_.a.storage_bytes()),
            .elements = static_cast<std::uint32_t>(raw.m),
            .depth = static_cast<std::uint32_t>(raw.k),
            .matrices = problem_.batch,
            .metadata = raw.metadata,
            .kept = plan_.sparsity.kept,
            .group = plan_.sparsity.group,
            .element_stride = raw.stored_k,
            .matrix_stride = raw.m * raw.stored_k,
            .chunk = static_cast<std::uint32_t>(chunk_of(rules)),
            .scales = raw.scale_a};
  }
  [[nodiscard]] UnpackSource from_b(const CoreRules& rules) const {
    return {.base = raw.b,
            .bytes = static_cast<std::int32_t>(plan_.b.storage_bytes()),
            .elements = static_cast<std::uint32_t>(raw.n),
            .depth = static_cast<std::uint32_t>(raw.k),
            .matrices = problem_.batch,
            .k_stride = raw.n,
            .matrix_stride = raw.k * raw.n,
            .chunk = static_cast<std::uint32_t>(chunk_of(rules)),
            .scales = raw.scale_b};
  }

  RawProduct raw;

 private:
  static constexpr int kGiven = 6, kCount = 8;  // A, B, metadata, scales of A and of B, C; D, sums
  const DotPlan& plan_;
  const Matmul& problem_;
  Buffer buffers_[kCount];
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

double run_core(const CoreRules& rules, const Operands& operands, GemmArgs args) {
  const UnpackSource from_a = operands.from_a(rules), from_b = operands.from_b(rules);
  const std::uint64_t a_bytes = unpacked_words(from_a) * sizeof(std::uint32_t),
                      b_bytes = unpacked_words(from_b) * sizeof(std::uint32_t);
  require_room(a_bytes + b_bytes);
  const Buffer a(a_bytes), b(b_bytes);
  args.a = a.data<std::uint32_t>();
  args.b = b.data<std::uint32_t>();
  return timed([&] {
    launch_unpack(rules, rules.a, from_a, a.data<std::uint32_t>());
    launch_unpack(rules, rules.b, from_b, b.data<std::uint32_t>());
    launch_gemm(rules, args);
    operands.finish();
  });
}

double run_groups(const GroupCore& core, const Operands& operands, const GemmArgs& args) {
  const std::uint64_t sides_a = packed_sides(args.batch, args.m, args.k),
                      sides_b = packed_sides(args.batch, args.n, args.k);
  require_room((sides_a + sides_b) * (sizeof(GroupSide) + kGroupDepth));
  const Buffer bytes_a(sides_a * kGroupDepth), bytes_b(sides_b * kGroupDepth);
  const Buffer of_a(sides_a * sizeof(GroupSide)), of_b(sides_b * sizeof(GroupSide));
  const PackedGroups a{bytes_a.data<std::uint8_t>(), of_a.data<GroupSide>()},
      b{bytes_b.data<std::uint8_t>(), of_b.data<GroupSide>()};
  return timed([&] {
    launch_group_packing(core, operands.raw, args.batch, a, b);
    launch_grouped_gemm(core, operands.raw, a, b, args);
    operands.finish();
  });
}

}  // namespace

double matmul_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                        const Matmul& problem, DeviceModel model) {
  if (problem.batch * problem.m * problem.n == 0) return 0;
  const DotPlan plan = make_plan(instruction, datapath);
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
  const Operands operands(instruction, plan, problem);
  GemmArgs args = operands.args();
  if (problem.split_k > 1)
    args.slice = detail::slice_length(problem, static_cast<std::uint64_t>(instruction.k));
  double seconds = 0;
  if (model == DeviceModel::plain || problem.k == 0)  // without a single step D is C as it is
    seconds = timed([&] {
      launch_plain_gemm(plan, operands.raw, args);
      operands.finish();
    });
  else if (const auto core = group_core(plan))
    seconds = run_groups(*core, operands, args);
  else
    seconds = run_core(core_rules(plan).value(), operands, args);
  operands.take_out_d();
  return seconds;
}

}  // namespace mmaudit::device
