#include "model/plain_dot.cuh"
#include "model/totals.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    plain_gemm_kernel(const DotSpec spec, const RawProduct product, const GemmArgs args) {
  const int bytes = spec.d.storage_bits / 8;
  const std::uint64_t elements = args.batch * args.m * args.n;
  const auto k = static_cast<unsigned>(spec.k / spec.sparsity.kept * spec.sparsity.group);
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < elements;
       i += std::uint64_t{gridDim.x} * kThreads) {
    const plain::Element at{i / args.n / args.m, i / args.n % args.m, i % args.n};
    const std::uint64_t c = args.c != nullptr ? load(args.c, bytes, i) : 0;
    std::uint64_t sum = args.stride == 0 ? c : 0, total[2] = {args.stride != 0 ? c : 0, 0};
    const auto fold = [&](std::uint64_t& from, std::uint64_t& into) {
      into = add_rounded(into, from, spec.step.output, Rounding::nearest_even,
                         rule_of_totals(spec.datapath.output));
      from = 0;
    };
    const auto fold_scaled = [&](std::uint64_t& from, std::uint64_t& into, std::uint64_t block) {
      const float factor = __fmul_rn(args.factors.a.at(at.matrix, at.row, block),
                                     args.factors.b.at(at.matrix, at.column, block));
      into = __float_as_uint(__fmaf_rn(factor, __uint_as_float(static_cast<std::uint32_t>(from)),
                                       __uint_as_float(static_cast<std::uint32_t>(into))));
      from = 0;
    };
    Cuts cuts(args);
    for (std::uint64_t first = 0; first < args.k; first += k) {
      sum = plain::instruction(spec, product, at, first, sum);
      cuts.advance(
          k, first + k >= args.k,
          [&](int into) {
            if (args.factors.block != 0)
              fold_scaled(sum, total[into], first / args.factors.block);
            else
              fold(sum, total[into]);
          },
          [&] { fold(total[0], total[1]); });
    }
    store(args.d, bytes, i, cuts.any() ? total[args.slice != 0 ? 1 : 0] : sum);
  }
}

}  // namespace

void launch_plain_gemm(const DotSpec& spec, const RawProduct& product, const GemmArgs& args) {
  plain_gemm_kernel<<<blocks_for(args.batch * args.m * args.n, kThreads), kThreads, 0, args.stream>>>(
      spec, product, args);
  cuda_check(cudaGetLastError(), "launching the plain core");
}

}  // namespace mmaudit::device
