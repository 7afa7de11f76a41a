#include "run/hardware_product.hpp"

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/refusal.hpp"
#include "model/arena.hpp"
#include "model/epilogue.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr std::uint64_t kRowAlign = 16;  ///< bytes, of what the copy engine reads

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  cuda_check(cudaGetDevice(&device), "asking for the device");
  cuda_check(cudaDeviceGetAttribute(&value, which, device), "asking for the compute capability");
  return value;
}

bool has_code(const void* kernel, int capability) {
  cudaFuncAttributes attributes = {};
  const bool loads = cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess;
  if (!loads) cudaGetLastError();  // the reason is reported here, not by the next call
  return loads && attributes.ptxVersion >= capability;
}

}  // namespace

std::string why_no_hardware(const Instruction& instruction, const Datapath& datapath, const Matmul& problem) {
  constexpr int kCapability = 90;  // of wgmma
  const void* kernel = instruction.op == Op::wgmma && instruction.d == Format::f32 ? chain_kernel(instruction)
                                                                                   : nullptr;
  if (kernel == nullptr)
    return refusal("inst: found {} with hardware, allowed: dense wgmma of floats with f32 sums",
                   name_of(instruction));
  const std::uint64_t depth = chain_depth(instruction);
  if (problem.promote % depth != 0)
    return refusal("promote: found {} with hardware, allowed: multiples of {}", problem.promote, depth);
  if (problem.split_k > 1) return refusal("split_k: found {} with hardware, allowed: 1", problem.split_k);
  if (problem.k == 0) return refusal("k: found 0 with hardware, allowed: 1 or more");
  constexpr std::uint64_t kMost = std::uint64_t{1} << 31;  // coordinates are 32-bit integers
  for (const std::uint64_t one : {problem.batch, problem.m, problem.n, problem.k})
    if (one >= kMost) return refusal("sizes: found {} with hardware, allowed: below {}", one, kMost);
  const int capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor) +
                         attribute(cudaDevAttrComputeCapabilityMinor);
  const Architecture* here = find_architecture(capability);
  const DatapathEntry* own = here != nullptr ? find_datapath(*here, instruction) : nullptr;
  if (capability != kCapability || own == nullptr || !(own->datapath == datapath))
    return refusal("arch: found another one than this GPU's, of compute capability {}.{}, with hardware, "
                   "allowed: its own, of 9.0",
                   capability / 10, capability % 10);
  if (!has_code(kernel, kCapability))
    return refusal("library: found without code of wgmma with hardware, allowed: one built for 90a-real");
  return {};
}

HardwareProduct::HardwareProduct(const Instruction& instruction, const Matmul& problem,
                                 const ProductFactors& factors)
    : instruction_(instruction),
      problem_(problem),
      factors_(factors),
      element_bytes_(static_cast<int>(spec_of(instruction.a).storage_bytes())),
      pitch_(padded(problem.k, kRowAlign / spec_of(instruction.a).storage_bytes())) {}

HardwareProduct::Layout HardwareProduct::layout(void* base) const {
  Arena arena(base);
  Layout out;
  const auto pitched = [&](std::uint64_t lanes) {
    return problem_.batch * lanes * pitch_ * static_cast<std::uint64_t>(element_bytes_);
  };
  if (pitch_ != problem_.k) out.a = arena.take<void>(pitched(problem_.m));
  out.b = arena.take<void>(pitched(problem_.n));
  if (problem_.epilogue) out.sums = arena.take<float>(problem_.batch * problem_.m * problem_.n * sizeof(float));
  out.bytes = arena.used();
  return out;
}

void HardwareProduct::launch(void* workspace, Stream stream) const {
  const Matmul& x = problem_;
  if (x.batch * x.m * x.n == 0) return;
  const Layout spaces = layout(workspace);
  void* a = const_cast<void*>(x.a);  // the copy engine's maps take no const
  if (pitch_ != x.k) {
    a = spaces.a;
    launch_pitched_copy(x.a, a, x.batch, x.m, x.k, pitch_, element_bytes_, false, stream);
  } else if (reinterpret_cast<std::uintptr_t>(a) % kRowAlign != 0) {
    refuse("a: found an address that is no multiple of {} with hardware, allowed: one that is", kRowAlign);
  }
  launch_pitched_copy(x.b, spaces.b, x.batch, x.k, x.n, pitch_, element_bytes_, true, stream);
  const bool finishes = x.epilogue.has_value();
  launch_chains(instruction_,
                {.a = a,
                 .b = spaces.b,
                 .c = finishes ? nullptr : static_cast<const float*>(x.c),
                 .d = finishes ? spaces.sums : static_cast<float*>(x.d),
                 .batch = x.batch,
                 .m = x.m,
                 .n = x.n,
                 .k = x.k,
                 .pitch = pitch_,
                 .promote = x.promote,
                 .factors = factors_.block != 0 ? factors_ : ProductFactors{}},
                stream);
  if (finishes) launch_epilogue(EpilogueArgs::of(x, factors_, Format::f32, spaces.sums), stream);
}

}  // namespace mmaudit::device
