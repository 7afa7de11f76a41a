#include "run/launch.hpp"

#include <algorithm>
#include <string_view>

#include "kernels/families.hpp"
#include "kernels/variants.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/device/check.hpp"
#include "run/cuda_check.hpp"
#include "run/tcgen05.hpp"

namespace mmaudit::device {
namespace {

/// Blocks per multiprocessor: enough to fill it. The kernels stride over the rest.
constexpr unsigned kBlocksPerMultiprocessor = 16;

std::string why_no_modifiers(const Instruction& instruction, std::uint8_t modifiers) {
  if (has_modifiers(instruction, modifiers)) return {};
  if (instruction.op == Op::wmma)
    return name_of(instruction) + (wmma_any_layout(instruction)
                                       ? " has layouts and no other modifier"
                                       : " reads A by rows and B by columns only, and has no other modifier");
  if (!is_wgmma(instruction.op)) return name_of(instruction) + " has no operand modifiers";
  if (!has_n(instruction))
    return refusal("{}: n: found {}, allowed: 8, 64, 128 and 256: no other sparse wgmma is compiled",
                   name_of(instruction), instruction.n);
  if (spec_of(instruction.a).integer() && (modifiers & (kNegateA | kNegateB)) != 0)
    return name_of(instruction) + " can't negate A or B: no integer wgmma can";
  const bool transposed = (modifiers & (kTransposeA | kTransposeB)) != 0;
  if (transposed && !can_transpose(instruction.a))
    return name_of(instruction) + " reads A and B K-major only; f16 and bf16 can be transposed";
  if ((modifiers & kTransposeA) != 0 && (modifiers & kAFromRegisters) != 0)
    return "A can't be transposed when it comes from registers";
  if (instruction.op == Op::wgmma_sp)
    return "negated or transposed sparse wgmma are compiled for n = 8 and 64 only, and not both at once, not "
           "for " +
           name_of(instruction);
  return "negated and transposed wgmma are compiled for n = 8, 64 and 256 only, not for " +
         name_of(instruction);
}

}  // namespace

TileBytes::TileBytes(const Instruction& instruction) {
  const auto m = static_cast<std::size_t>(instruction.m), n = static_cast<std::size_t>(instruction.n),
             k = static_cast<std::size_t>(instruction.k);
  const std::size_t stored = m * static_cast<std::size_t>(instruction.stored_k());
  a = stored * spec_of(instruction.a).storage_bytes();
  b = k * n * spec_of(instruction.b).storage_bytes();
  c = m * n * spec_of(instruction.c).storage_bytes();
  d = m * n * spec_of(instruction.d).storage_bytes();
  metadata = is_sparse(instruction.op) ? stored : 0;
  const auto blocks = static_cast<std::size_t>(scales_of(instruction));
  scale_a = m * blocks;
  scale_b = blocks * n;
}

const KernelEntry* find_kernel(const Instruction& instruction) {
  Instruction inst = instruction;
  if (is_wgmma(inst.op)) inst.n = 0;
  for (const auto& family : kKernelFamilies)
    for (const KernelEntry& kernel : family())
      if (kernel.instruction == inst) return &kernel;
  return nullptr;
}

std::string why_not(const DeviceInfo& device, const Instruction& instruction, std::uint8_t modifiers,
                    std::string_view form) {
  if (is_tcgen05(instruction.op)) return why_not_tcgen05(device, instruction, modifiers, form);
  if (form != kPlainForm) return name_of(instruction) + " has no form but plain, found " + std::string(form);
  const KernelEntry* kernel = find_kernel(instruction);
  const bool of_wgmma = is_wgmma(instruction.op);
  const bool of_kinds = instruction.op == Op::mma && instruction.kind != MmaKind::none;
  if (kernel == nullptr && !of_kinds && !of_wgmma) return "no kernel for " + name_of(instruction);
  if (of_wgmma && !wgmma_has_n(instruction, instruction.n))
    return name_of(instruction) + " does not exist: " + why_no_instruction(name_of(instruction));
  const std::string on = device.name + " has " + capability_text(device.compute_capability);
  if (device.compute_capability < instruction.min_compute_capability)
    return name_of(instruction) + " needs compute capability " +
           capability_text(instruction.min_compute_capability) + ", " + on;
  if (of_wgmma && device.compute_capability != 90)
    return "wgmma exists on compute capability 9.0 only, " + on;
  if (of_kinds && device.compute_capability / 10 != 12)
    return name_of(instruction) + " exists on compute capability 12.x only, " + on;
  if (std::string reason = why_no_modifiers(instruction, modifiers); !reason.empty()) return reason;
  cudaFuncAttributes attributes = {};
  const bool loads = kernel != nullptr && cudaSetDevice(device.ordinal) == cudaSuccess &&
                     cudaFuncGetAttributes(&attributes, kernel->function) == cudaSuccess;
  if (!loads) cudaGetLastError();  // the reason is reported here, not by the next call
  if (!loads || attributes.ptxVersion < instruction.min_compute_capability)
    return "this build has no code of " + name_of(instruction) + " for compute capability " +
           capability_text(device.compute_capability) + " (built for " MMAUDIT_RECORD_ARCHITECTURES ")" +
           (of_kinds || of_wgmma ? ": configure with -D MMAUDIT_CUDA_ARCHITECTURES=" +
                                       std::to_string(device.compute_capability) + "a-real"
                                 : "");
  return {};
}

const KernelEntry& require_kernel(const DeviceInfo& device, const Instruction& instruction,
                                  std::uint8_t modifiers) {
  if (is_tcgen05(instruction.op)) throw EnvironmentError(why_not_live(device, instruction, modifiers));
  if (const std::string reason = why_not(device, instruction, modifiers); !reason.empty())
    throw EnvironmentError(reason);
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
  return *find_kernel(instruction);
}

void require_metadata(const Instruction& instruction, const TileView& batch) {
  const std::size_t bytes = batch.metadata != nullptr
                                ? batch.tiles * static_cast<std::size_t>(instruction.m) *
                                      static_cast<std::size_t>(instruction.stored_k())
                                : 0;
  const std::string reason = why_bad_metadata(instruction, {batch.metadata, bytes}, batch.tiles);
  if (!reason.empty()) throw InputError("metadata: " + reason);
}

void launch(const DeviceInfo& device, const KernelEntry& kernel, const KernelArgs& args) {
  if (args.tiles == 0) return;
  const unsigned per_block = static_cast<unsigned>(kernel.tiles_per_block);
  const unsigned needed = (args.tiles - 1) / per_block + 1;
  const unsigned most = static_cast<unsigned>(device.multiprocessors) * kBlocksPerMultiprocessor;
  kernel.launch(args, std::min(needed, most));
  cuda_check(cudaGetLastError(), "launching a kernel");
}

}  // namespace mmaudit::device
