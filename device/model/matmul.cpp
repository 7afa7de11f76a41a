#include "mmaudit/device/matmul.hpp"

#include "mmaudit/detail/slices.hpp"
#include "mmaudit/error.hpp"
#include "model/gemm.hpp"
#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"
#include "run/cuda_event.hpp"

namespace mmaudit::device {

double matmul_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                        const Matmul& problem) {
  const DotPlan plan = make_plan(instruction, datapath);
  const CoreRules rules = core_rules(plan).value();
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
  const std::uint64_t d_bytes = problem.batch * problem.m * problem.n * plan.d.storage_bytes();
  const std::uint64_t a_bytes = problem.batch * problem.m * problem.k * plan.a.storage_bytes();
  const std::uint64_t b_bytes = problem.batch * problem.k * problem.n * plan.b.storage_bytes();
  if (d_bytes == 0) return 0;
  const std::uint64_t words = sizeof(std::uint32_t) * problem.batch *
                              (padded(problem.m, kUnpackedPad) + padded(problem.n, kUnpackedPad)) *
                              padded(problem.k, kChunk);
  const std::uint64_t needed = a_bytes + b_bytes + words + d_bytes * (problem.c != nullptr ? 2 : 1);
  std::size_t free_bytes = 0, all_bytes = 0;
  cuda_check(cudaMemGetInfo(&free_bytes, &all_bytes), "asking for the free memory");
  if (needed > free_bytes)
    throw InputError("sizes: found " + std::to_string(needed) +
                     " bytes needed on the GPU, allowed: " + std::to_string(free_bytes) + ", what is free");
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
  if (problem.split_k > 1) args.slice = detail::slice_length(problem, k);
  Event begin, end;
  begin.record();
  launch_unpack(rules, rules.a, from_a, words_a.data<std::uint32_t>());
  launch_unpack(rules, rules.b, from_b, words_b.data<std::uint32_t>());
  launch_gemm(rules, args);
  end.record();
  cuda_check(cudaEventSynchronize(end.get()), "running the model");
  copy_out(problem.d, d.data(), d_bytes);
  return Event::seconds(begin, end);
}

}  // namespace mmaudit::device
