#include "campaign/crossed_engine.hpp"

#include <algorithm>

#include "campaign/crossed.hpp"
#include "mmaudit/device/crossed.hpp"

namespace mmaudit::device {

CrossedEngine crossed_engine(const Instruction& instruction, const AccumulatorModel& row) {
  const DotPlan plan = make_plan(instruction, row);
  const bool dense = !is_sparse(instruction.op);
  const bool selected = dense || row.metadata == MetadataRule::selected;
  if (selected && plan.integer && row.order == KOrder::ascending &&
      (plan.integers.clamp != IntegerClamp::every_step ||
       (row.block % plan.sparsity.kept == 0 &&
        row.block / plan.sparsity.kept * plan.sparsity.group % 4 == 0)))
    return CrossedEngine::integer;
  if (dense && plan.binary64 && row.output.rounding == Rounding::nearest_even) return CrossedEngine::binary64;
  if (core_rules(plan)) return CrossedEngine::fast;
  return CrossedEngine::plain;
}

std::string_view name_of(CrossedEngine engine) {
  constexpr std::string_view kNames[] = {"fast", "integer", "binary64", "plain"};
  return kNames[static_cast<int>(engine)];
}

std::uint64_t squares_of_chunk(const Instruction& instruction, const AccumulatorModel& row) {
  constexpr std::uint64_t kDots = std::uint64_t{1} << 26, kPlainDots = std::uint64_t{1} << 22;
  const std::uint64_t square = std::uint64_t{kSide} * kSide * static_cast<std::uint64_t>(instruction.m) *
                               static_cast<std::uint64_t>(instruction.n);
  const std::uint64_t dots = crossed_engine(instruction, row) == CrossedEngine::plain ? kPlainDots : kDots;
  return std::max<std::uint64_t>(1, dots / square);
}

std::string_view engine_of(const Instruction& instruction, const AccumulatorModel& row) {
  return name_of(crossed_engine(instruction, row));
}

std::uint64_t dots_of_chunk(const Instruction& instruction, const AccumulatorModel& row) {
  return squares_of_chunk(instruction, row) * kSide * kSide * static_cast<std::uint64_t>(instruction.m) *
         static_cast<std::uint64_t>(instruction.n);
}

}  // namespace mmaudit::device
