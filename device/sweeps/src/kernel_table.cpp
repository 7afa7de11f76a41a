#include "kernel_table.hpp"

namespace mmaudit::sweeps {
namespace {

// One name a family.
constexpr std::span<const TimedKernel> (*kTables[])() = {
    timed_mma_f16,      timed_mma_tf32,        timed_mma_fp8,   timed_mma_f64,       timed_mma_i8,
    timed_mma_i4,       timed_mma_b1,          timed_wgmma_f16, timed_wgmma_half,    timed_wgmma_bf16,
    timed_wgmma_tf32,   timed_wgmma_fp8,       timed_wgmma_int, timed_mma_sp_f16,    timed_mma_sp_narrow,
    timed_wgmma_sp_f16, timed_wgmma_sp_narrow, timed_wmma,      timed_wgmma_promoted};

}  // namespace

std::optional<KernelHandle> find_timed(const Cell& cell) {
  if (cell.subject.words > 0) {
    for (const auto& table : {timed_loads(), timed_wmma_loads()})
      for (const TimedLoad& row : table)
        if (row.name == cell.subject.name && row.ilp == cell.ilp)
          return KernelHandle{row.launch, row.function, false};
    return std::nullopt;
  }
  const bool wgmma = cell.subject.kind == Kind::wgmma;
  for (const auto& table : kTables)
    for (const TimedKernel& row : table()) {
      if (row.instruction != cell.instruction || row.ilp != cell.ilp || row.promote != cell.promote) continue;
      if (wgmma && (row.a_from_registers != cell.a_from_registers || row.group != cell.group)) continue;
      return KernelHandle{row.launch, row.function, true};
    }
  return std::nullopt;
}

}  // namespace mmaudit::sweeps
