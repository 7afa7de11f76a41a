#include <algorithm>
#include <cmath>

#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing {
namespace {

constexpr int kLanes = 32, kRegisterBits = 32, kGroupLanes = 128, kSubcoresOfSm = 4;

int registers_of(int elements, int bits, int lanes) {
  return std::max(1, elements * bits / (lanes * kRegisterBits));
}

/// Multiply-adds per cycle of a sub-core; 0 where it has no unit for the formats.
double rate_of(const Machine& machine, const Instruction& inst) {
  using enum Parameter;
  switch (inst.a) {
    case Format::f16:
    case Format::bf16:
      return machine[inst.d == Format::f16 ? rate_f16_f16 : rate_f16_f32];
    case Format::tf32:
      return machine[rate_tf32];
    case Format::s8:
    case Format::u8:
      return machine[rate_int8];
    case Format::s4:
    case Format::u4:
      return machine[rate_int4];
    case Format::b1:
      return machine[inst.multiply == Multiply::xor_popc ? rate_bits_xor : rate_bits];
    case Format::f64:
      return machine[rate_f64];
    default:
      return 0;
  }
}

int bits_of(Format format) {
  switch (format) {
    case Format::b1:
      return 1;
    case Format::s4:
    case Format::u4:
      return 4;
    case Format::tf32:
      return kRegisterBits;
    default:
      return spec_of(format).storage_bits;
  }
}

int whole_half_cycles(double cycles) { return static_cast<int>(std::ceil(2 * cycles - 1e-6)); }

std::optional<MatrixCost> wgmma_cost(const Machine& machine, const Instruction& inst, bool a_from_registers) {
  using enum Parameter;
  if (machine[wgmma_rate] == 0 || machine[shared_bytes] == 0 || inst.n == 0) return std::nullopt;
  const bool sparse = is_sparse(inst.op);
  const int bits = bits_of(inst.a), stored = inst.stored_k();
  // Every type moves 256 bits of k per row of A; a sparse A meets twice as many rows of B.
  const double multiply = inst.m * inst.n * (stored * bits / 16.0) / (kSubcoresOfSm * machine[wgmma_rate]);
  double moved = inst.n * inst.k * bits / 8.0;
  if (!a_from_registers) moved += inst.m * stored * bits / 8.0;
  double least = 0;
  const bool short_d = inst.n == 8 || bits_of(inst.d) == 16;
  if (a_from_registers)
    least = machine[!sparse ? wgmma_floor : short_d ? wgmma_floor_sparse_short : wgmma_floor_sparse];
  MatrixCost cost;
  cost.interval2 = whole_half_cycles(std::max({multiply, moved / machine[shared_bytes], least}));
  cost.latency = (cost.interval2 + 1) / 2;
  cost.gap = 1;
  cost.a_registers = a_from_registers ? registers_of(inst.m * stored, bits, kGroupLanes) : 0;
  cost.d_registers = registers_of(inst.m * inst.n, bits_of(inst.d), kGroupLanes);
  return cost;
}

}  // namespace

std::optional<MatrixCost> cost_of(const Machine& machine, const Instruction& inst, bool a_from_registers) {
  using enum Parameter;
  if (is_wgmma(inst.op)) return wgmma_cost(machine, inst, a_from_registers);
  if (is_tcgen05(inst.op) || inst.kind != MmaKind::none) return std::nullopt;
  const bool sparse = is_sparse(inst.op);
  const double rate = rate_of(machine, inst) * (sparse ? 2 : 1);
  if (rate == 0) return std::nullopt;
  const int bits_ab = bits_of(inst.a);
  MatrixCost cost;
  cost.a_registers = registers_of(inst.m * inst.stored_k(), bits_ab, kLanes);
  cost.b_registers = registers_of(inst.k * inst.n, bits_ab, kLanes);
  cost.d_registers = registers_of(inst.m * inst.n, bits_of(inst.d), kLanes);
  const double multiply = inst.m * inst.n * inst.k / rate;
  const bool wide = cost.a_registers > 2, tiny = inst.m == 8;
  if (inst.a == Format::f64) {
    cost.interval2 = whole_half_cycles(std::max(multiply, machine[interval_f64]));
    cost.latency = machine.cycles(latency_f64) + static_cast<int>(multiply);
    cost.gap = cost.interval2 / 2 + 1;
    return cost;
  }
  double least = 0;
  if (sparse)
    least = machine[wide ? interval_sparse_wide : interval_sparse_narrow];
  else
    least = machine[wide ? interval_wide : interval_narrow];
  cost.interval2 = whole_half_cycles(std::max(multiply, least));
  cost.latency = machine.cycles(tiny ? latency_tiny : wide ? latency_wide : latency_narrow);
  cost.gap = machine.cycles(tiny ? gap_tiny : wide ? gap_wide : gap_narrow);
  if (sparse) cost.gap = std::max(cost.gap, machine.cycles(wide ? gap_sparse_wide : gap_sparse_narrow));
  return cost;
}

}  // namespace mmaudit::timing
