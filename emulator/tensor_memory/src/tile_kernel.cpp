#include "mmaudit/tensor_memory/tile_kernel.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "mmaudit/name_in.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/scale_layout.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "tile_text.hpp"

namespace mmaudit::tmem {
namespace {

/// The layout of `rows` x `depth` elements from byte `first` on: core matrices that are neighbours along K
/// lie side by side. `first` becomes the byte after them.
MatrixDescriptor layout_of(Format format, bool dense4, bool transposed, int rows, int depth,
                           std::uint32_t& first) {
  const int count = packing_of(format, dense4).count;
  const auto along_k = static_cast<std::uint32_t>(transposed ? depth / 8 : depth / count),
             along_rows = static_cast<std::uint32_t>(transposed ? rows / count : rows / 8);
  const MatrixDescriptor matrix{first, kCoreBytes, along_k * kCoreBytes, kSwizzles[0]};
  first += along_k * along_rows * kCoreBytes;
  return matrix;
}

}  // namespace

const TileForm* find_tile_form(std::string_view name) { return find_named(kTileForms, name); }

std::string make_tile_kernel(const Instruction& instruction, std::uint8_t modifiers, std::string_view target,
                             TileKernel& kernel, const TileForm& form) {
  if (target != "sm_100a" && target != "sm_103a")
    return refusal("target: found {}, allowed: sm_100a and sm_103a", target);
  constexpr std::uint8_t kTaken = kScaleDZero | kNegateA | kNegateB | kTransposeA | kTransposeB;
  if ((modifiers & ~kTaken) != 0)
    return refusal("modifiers: found {}, allowed: scale-d, negation and transposition", modifiers);
  std::string other =
      refusal("instruction: found {}, allowed: one of tcgen05", mmaudit::name_of(instruction));
  if (!is_tcgen05(instruction.op)) return other;
  kernel = {};
  Mma& mma = kernel.mma;
  mma.form.kind = instruction.kind;
  mma.form.sparse = is_sparse(instruction.op);
  mma.form.weight_stationary = form.weight_stationary;
  mma.form.block_scale = instruction.scale != Format::none;
  mma.form.cta_group = form.cta_group;
  mma.form.scale_vec = scales_of(instruction);
  mma.instruction = instruction;
  mma.negate_a = (modifiers & kNegateA) != 0;
  mma.negate_b = (modifiers & kNegateB) != 0;
  mma.transpose_a = (modifiers & kTransposeA) != 0;
  mma.transpose_b = (modifiers & kTransposeB) != 0;
  Mma understood;
  if (std::string reason = understand(mma.form, instruction_descriptor(mma), target == "sm_100a", understood);
      !reason.empty())
    return reason;
  mma = understood;
  if (mma.instruction != instruction) return other;
  if (mma.form.sparse && mma.layout.half) return not_modelled(gap("metadata_half"));
  kernel.a_in_tensor_memory = form.a_in_tensor_memory;
  if (form.a_in_tensor_memory) {
    if (mma.rows() != kLanes) return refusal("M: found {}, allowed: 128 with form tmem", instruction.m);
    if (mma.transpose_a) return refusal("modifiers: found a transposed A, allowed: none with form tmem");
    if (!mma.dense4() && spec_of(instruction.a).value_bits() < 8) return not_modelled(gap("narrow_a_tmem"));
  }
  for (const bool b : {false, true})
    if ((b ? mma.transpose_b : mma.transpose_a) &&
        spec_of(b ? instruction.b : instruction.a).storage_bits == 32)
      return refuse(rule("transpose_swizzle"), "none");

  kernel.read_c = (modifiers & kScaleDZero) == 0;
  const bool scaled = mma.form.block_scale;
  const auto tiles_of_b = static_cast<std::uint32_t>(scaled ? scale_tiles_of_b(kernel) : 0);
  std::uint32_t end = 0;
  kernel.a = layout_of(instruction.a, mma.dense4(), mma.transpose_a, mma.rows(), instruction.stored_k(), end);
  kernel.b = layout_of(instruction.b, mma.dense4(), mma.transpose_b, kernel.b_columns(), instruction.k, end);
  const auto next = [&](std::uint32_t bytes) { return std::exchange(end, end + bytes); };
  kernel.scale_a = next(scaled ? kScaleTile : 0);
  kernel.scale_b = next(tiles_of_b * static_cast<std::uint32_t>(mma.layout.blocks) * kScaleTile);
  kernel.metadata = next(mma.form.sparse ? 16 * kLanes : 0);
  kernel.image_bytes = (end + kCopied - 1) / kCopied * kCopied;
  kernel.scale_a_column = (mma.d_columns() + 15) / 16 * 16;
  kernel.scale_b_column = kernel.scale_a_column + 4;
  kernel.metadata_column = kernel.scale_a_column;
  int used = scaled ? kernel.scale_b_column + static_cast<int>(tiles_of_b) * 4
                    : kernel.metadata_column + (mma.form.sparse ? 4 : 0);
  if (form.a_in_tensor_memory) {
    kernel.a_column = (used + 7) / 8 * 8;
    used = kernel.a_column + 8;  // 32 bytes per row, whatever the kind
  }
  kernel.columns = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(used, 32))));
  kernel.text = text_of(kernel, target);
  return {};
}

}  // namespace mmaudit::tmem
