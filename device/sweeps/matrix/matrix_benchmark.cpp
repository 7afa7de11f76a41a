#include "sweeps/matrix/matrix_benchmark.hpp"

#include <algorithm>

#include "mmaudit/fragment.hpp"
#include "mmaudit/model/tensor_cores.hpp"

namespace mmaudit::sweeps {
namespace {

/// The widest instruction of a warp has 16 x 8 elements of D: a larger one becomes several.
constexpr double kMostElements = 16 * 8;

SassRule sass_of(const Instruction& is) {
  return {opcodes_of(is), is_wgmma(is.op) ? 1 : std::max(1.0, is.m * is.n / kMostElements)};
}

std::string why_not(const Instruction& is, const device::DeviceInfo& device, const Point& point) {
  constexpr std::int16_t kAnyColumns = 8;
  Instruction asked = instruction_at(is, point);
  // Of sparse wgmma the recording kernels have fewer n than the timed ones: any that both have will do.
  if (asked.op == Op::wgmma_sp) asked.n = kAnyColumns;
  return device::why_not(device, asked, point.axis("a") == "registers" ? kAFromRegisters : std::uint8_t{0});
}

}  // namespace

double peak_fma(int compute_capability, const Instruction& instruction) {
  const auto type = core_type_of(instruction);
  const int dense = type ? core_ceiling(compute_capability, *type) : 0;
  return is_sparse(instruction.op) ? 2 * dense : dense;
}

Instruction instruction_at(Instruction instruction, const Point& point) {
  if (instruction.n == 0) instruction.n = static_cast<std::int16_t>(point.number("n"));
  return instruction;
}

Benchmark matrix_benchmark(const Instruction& instruction) {
  Benchmark benchmark;
  benchmark.name = name_of(instruction);
  benchmark.instruction = instruction;
  benchmark.whole_gpu = true;
  benchmark.sass = sass_of(instruction);
  benchmark.work = [instruction](const Point& point) {
    const Instruction is = instruction_at(instruction, point);
    const int slots = point.number("warps") / (lanes_of(is) / kWarpLanes);
    return Work{.fma = 1.0 * slots * std::max(1, point.number("ilp")) * is.m * is.n * is.k};
  };
  benchmark.ceiling = [instruction](int compute_capability) {
    return peak_fma(compute_capability, instruction);
  };
  benchmark.why_not = [instruction](const device::DeviceInfo& device, const Point& point) {
    return why_not(instruction, device, point);
  };
  benchmark.setup = [instruction](const Point& point, Workbench* bench) {
    return matrix_setup(instruction_at(instruction, point), point, bench);
  };
  return benchmark;
}

}  // namespace mmaudit::sweeps
