#include <algorithm>
#include <cmath>

#include "mmaudit/model/tensor_cores.hpp"
#include "mmaudit/timing/machine.hpp"

namespace mmaudit::timing {
namespace {

constexpr int kLanes = 32, kRegisterBits = 32, kGroupLanes = 128, kSubcoresOfSm = 4;

int registers_of(int elements, int bits, int lanes) {
  return std::max(1, elements * bits / (lanes * kRegisterBits));
}

/// Multiply-adds per cycle of a sub-core; nothing where no machine has a number.
std::optional<Parameter> rate_of(const Instruction& inst) {
  using enum Parameter;
  const std::optional<CoreType> type = core_type_of(inst);
  // Four threadgroups do a product of 8 x 8 x 4 each; only wmma, which is made of it, was ever timed.
  if (!type || inst.kind != MmaKind::none || (inst.m == 8 && inst.k == 4 && inst.a == Format::f16))
    return std::nullopt;
  const bool short_sums = inst.d == Format::f16;
  switch (*type) {
    case CoreType::f16:
      return short_sums ? rate_f16_f16 : rate_f16_f32;
    case CoreType::tf32:
      return rate_tf32;
    case CoreType::fp8:
      return short_sums ? rate_fp8_f16 : rate_fp8_f32;
    case CoreType::int8:
      return rate_int8;
    case CoreType::int4:
      return rate_int4;
    case CoreType::b1:
      return inst.multiply == Multiply::xor_popc ? rate_bits_xor : rate_bits;
    case CoreType::f64:
      return rate_f64;
    default:
      return std::nullopt;
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

std::string_view missing_number(const Machine& machine, const Instruction& inst) {
  using enum Parameter;
  const std::optional<Parameter> rate = is_wgmma(inst.op) ? wgmma_rate : rate_of(inst);
  if (!rate) return {};
  for (const Parameter needed : {*rate, inst.a == Format::f64 ? latency_f64 : *rate})
    if (machine[needed] == 0) return parameter_texts()[static_cast<std::size_t>(needed)].name;
  return {};
}

std::optional<MatrixCost> cost_of(const Machine& machine, const Instruction& inst, bool a_from_registers) {
  using enum Parameter;
  if (is_wgmma(inst.op)) return wgmma_cost(machine, inst, a_from_registers);
  const std::optional<Parameter> of_types = rate_of(inst);
  if (is_tcgen05(inst.op) || !of_types || !missing_number(machine, inst).empty()) return std::nullopt;
  const bool sparse = is_sparse(inst.op);
  const double rate = machine[*of_types] * (sparse ? 2 : 1);
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
  cost.interval = std::max(multiply, least);
  cost.interval2 = whole_half_cycles(cost.interval);
  cost.latency = machine.cycles(tiny ? latency_tiny : wide ? latency_wide : latency_narrow);
  cost.gap = machine.cycles(tiny ? gap_tiny : wide ? gap_wide : gap_narrow);
  if (sparse) cost.gap = std::max(cost.gap, machine.cycles(wide ? gap_sparse_wide : gap_sparse_narrow));
  return cost;
}

}  // namespace mmaudit::timing
