#include "check/engine.hpp"

#include <algorithm>

#include "mmaudit/detail/truncating_spec.hpp"
#include "mmaudit/device/check.hpp"
#include "model/core_rules.hpp"

namespace mmaudit::device {

namespace {

/// Every step an ordinary binary32 addition: of one product to the sum, C after the last, or of two products
/// to each other and then to the sum that C begins.
bool is_binary32(const DotSpec& spec) {
  const Datapath& datapath = spec.datapath;
  constexpr int kExact = 50;  // bits that reach below what decides the rounding of binary32
  const bool one_by_one =
      datapath.addend == AddendPlace::after_last_nearest && datapath.products_per_step == 1;
  const bool in_pairs = datapath.addend == AddendPlace::before_each_nearest &&
                        datapath.products_per_step == 2 && spec.k % 2 == 0;
  const bool half_operands = spec.a.id == Format::f16 && spec.b.id == Format::f16;
  return half_operands && datapath.arithmetic == Arithmetic::fused_dot_add && (one_by_one || in_pairs) &&
         spec.converts && spec.step.output.id == Format::f32 && datapath.fraction_bits >= kExact &&
         datapath.min_alignment_exponent <= -1000 && datapath.output.rounding == Rounding::nearest_even &&
         datapath.output.fraction_bits == spec.step.output.fraction_bits &&
         datapath.order == KOrder::ascending && datapath.subnormal_addend == SubnormalRule::kept &&
         datapath.output.overflow == Overflow::infinity && !datapath.output.flush_subnormals &&
         spec.wide.id == Format::none && detail::ends_in_binary16_or_sums(spec);
}

}  // namespace

Engine engine_for(const Instruction& instruction, const Datapath& datapath) {
  const DotSpec spec = make_dot_spec(instruction, datapath);
  const bool dense = !is_sparse(instruction.op);
  const bool selected = dense || datapath.metadata == MetadataRule::selected;
  const int depth_of_step = datapath.products_per_step / spec.sparsity.kept * spec.sparsity.group;
  const int of_word = spec.a.id == Format::b1 ? 32 : 4;
  const bool whole_words =
      datapath.products_per_step % spec.sparsity.kept == 0 && depth_of_step % of_word == 0;
  if (selected && spec.integer && datapath.order == KOrder::ascending &&
      (spec.integers.clamp != IntegerClamp::every_step || whole_words))
    return Engine::integer;
  if (dense && spec.binary64 && datapath.output.rounding == Rounding::nearest_even) return Engine::binary64;
  if (dense && is_binary32(spec)) return Engine::binary32;
  if (!spec.block_scaled() && core_rules(spec)) return Engine::fast;
  return Engine::plain;
}

std::string_view name_of(Engine engine) {
  constexpr std::string_view kNames[] = {"fast", "integer", "binary64", "binary32", "plain"};
  return kNames[static_cast<int>(engine)];
}

std::uint32_t side_of_block(const Instruction& instruction) {
  constexpr int kDots = 1 << 20;
  std::uint32_t side = 1;
  while (4 * side * side * static_cast<unsigned>(instruction.m * instruction.n) <= kDots) side *= 2;
  return side;
}

std::uint64_t dots_of_block(const Instruction& instruction) {
  const std::uint64_t side = side_of_block(instruction);
  return side * side * static_cast<std::uint64_t>(instruction.m) * static_cast<std::uint64_t>(instruction.n);
}

std::uint64_t blocks_of_batch(const Instruction& instruction, const Datapath& datapath) {
  constexpr std::uint64_t kDots = std::uint64_t{1} << 26, kPlainDots = std::uint64_t{1} << 22;
  const std::uint64_t dots = engine_for(instruction, datapath) == Engine::plain ? kPlainDots : kDots;
  return std::max<std::uint64_t>(1, dots / dots_of_block(instruction));
}

std::string_view engine_of(const Instruction& instruction, const Datapath& datapath) {
  return name_of(engine_for(instruction, datapath));
}

std::uint64_t dots_of_batch(const Instruction& instruction, const Datapath& datapath) {
  return blocks_of_batch(instruction, datapath) * dots_of_block(instruction);
}

}  // namespace mmaudit::device
