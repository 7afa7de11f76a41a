#include "mmaudit/tensor_memory/tile_kernel.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "mmaudit/arithmetic/block_scale.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/scale_layout.hpp"
#include "mmaudit/tensor_memory/machine.hpp"
#include "mmaudit/tensor_memory/rules.hpp"

namespace mmaudit::tmem {
namespace {

constexpr int kRows = 128;                 // of D: one lane each
constexpr std::uint32_t kCoreBytes = 128;  // 8 rows of 16 bytes
constexpr std::uint32_t kHeader = 1024;    // of shared memory: address of tensor memory, mbarrier
constexpr std::uint32_t kCopied = 16 * kThreads;
constexpr int kTogether = 8;  // columns of C or D per tcgen05.st or .ld

// $NAME stands for a number or for lines.
constexpr std::string_view kText = R"(.version 8.8
.target $TARGET
.address_size 64
.visible .entry $ENTRY(.param .u64 images, .param .u64 addends, .param .u64 results)
.reqntid $THREADS
{
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
  .reg .pred %p<5>;
  .shared .align 1024 .b8 smem[$SHARED];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, smem;
  shr.u32 %r4, %r1, 5;
  setp.eq.u32 %p1, %r4, 0;                 // warp 0
  setp.eq.u32 %p2, %r1, 0;                 // thread 0
  setp.$READ_C.u32 %p3, %r1, %r1;               // is C read?
  ld.param.u64 %rd1, [images];
  ld.param.u64 %rd2, [addends];
  ld.param.u64 %rd3, [results];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  cvta.to.global.u64 %rd3, %rd3;
  mul.wide.u32 %rd4, %r2, $IMAGE;         // this block's tile
  add.u64 %rd1, %rd1, %rd4;
  mul.wide.u32 %rd4, %r1, 16;              // this thread's 16 bytes of every $COPIED
  add.u64 %rd1, %rd1, %rd4;
  shl.b32 %r5, %r1, 4;
  add.u32 %r5, %r3, %r5;
  mad.lo.u32 %r6, %r2, $ROWS, %r1;          // this thread's row of C and D
  mul.wide.u32 %rd4, %r6, $ROW;
  add.u64 %rd2, %rd2, %rd4;
  add.u64 %rd3, %rd3, %rd4;
$COPY_IMAGE  @%p2 mbarrier.init.shared::cta.b64 [smem+8], 1;
  @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], $COLUMNS;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r7, [smem];
  shl.b32 %r8, %r4, 21;                    // lane 32 * warp
  add.u32 %r8, %r7, %r8;
$STORE_C  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  shr.u32 %r9, %r3, 4;
  cvt.u64.u32 %rd5, %r9;
$COPY_SCALES  add.u64 %rd6, %rd5, $A;
  add.u64 %rd7, %rd5, $B;
  mov.b32 %r10, $IDESC;
  @%p2 $MMA;
  @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [smem+8];
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [smem+8], 0;
  @!%p4 bra wait;
  tcgen05.fence::after_thread_sync;
$LOAD_D  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r7, $COLUMNS;
  @%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
  ret;
}
)";

using Values = std::vector<std::pair<std::string_view, std::string>>;

/// `text` with every $NAME replaced.
std::string filled(std::string_view text, const Values& values) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = std::min(text.find('$'), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    const std::size_t end = std::min(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", 1), text.size());
    for (const auto& [name, value] : values)
      if (name == text.substr(1, end - 1)) out += value;
    text.remove_prefix(end);
  }
  return out;
}

std::string hex(std::uint64_t value) {
  std::string digits;
  do digits.insert(digits.begin(), "0123456789ABCDEF"[value % 16]);
  while ((value /= 16) != 0);
  return "0x" + digits;
}

/// Columns [0, n) of C into tensor memory, or of D out of it.
std::string move_columns(int n, std::string_view lines) {
  std::string out;
  for (int column = 0; column < n; column += kTogether)
    out += filled(lines, {{"BYTE", std::to_string(4 * column)},
                          {"NEXT", std::to_string(4 * column + 16)},
                          {"COLUMN", std::to_string(column)}});
  return out;
}

constexpr std::string_view kStoreC = R"(  ld.global.v4.b32 {%r16, %r17, %r18, %r19}, [%rd2+$BYTE];
  ld.global.v4.b32 {%r20, %r21, %r22, %r23}, [%rd2+$NEXT];
  tcgen05.st.sync.aligned.32x32b.x8.b32 [%r8+$COLUMN], {%r16, %r17, %r18, %r19, %r20, %r21, %r22, %r23};
)";
constexpr std::string_view kLoadD =
    R"(  tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r16, %r17, %r18, %r19, %r20, %r21, %r22, %r23}, [%r8+$COLUMN];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.b32 [%rd3+$BYTE], {%r16, %r17, %r18, %r19};
  st.global.v4.b32 [%rd3+$NEXT], {%r20, %r21, %r22, %r23};
)";

/// One tcgen05.cp of `shape` from byte `from` of the image to `column`.
std::string copy_to_columns(std::string_view shape, std::uint32_t from, int column) {
  const MatrixDescriptor rows_of_16_bytes{kHeader + from, kCoreBytes, kCoreBytes, kSwizzles[0]};
  return filled("  add.u64 %rd8, %rd5, $FROM;\n  @%p2 tcgen05.cp.cta_group::1.$SHAPE [%r7+$COLUMN], %rd8;\n",
                {{"FROM", hex(encode(rows_of_16_bytes))},
                 {"SHAPE", std::string(shape)},
                 {"COLUMN", std::to_string(column)}});
}

std::string copy_scales(const TileKernel& kernel) {
  const Instruction& inst = kernel.mma.instruction;
  constexpr std::uint32_t kTile = kScaleTileRows * kScaleTileBlocks;  // bytes that one copy takes
  std::string out;
  if (inst.scale != Format::none) {
    out += copy_to_columns("32x128b.warpx4", kernel.scale_a, kernel.scale_a_column);
    for (int tile = 0; tile * kRows < inst.n; ++tile)
      out += copy_to_columns("32x128b.warpx4", kernel.scale_b + static_cast<std::uint32_t>(tile) * kTile,
                             kernel.scale_b_column + 4 * tile);
  }
  if (kernel.mma.form.sparse) out += copy_to_columns("128x128b", kernel.metadata, kernel.metadata_column);
  return out;
}

std::string mma_text(const TileKernel& kernel) {
  const MmaForm& form = kernel.mma.form;
  const auto column = [](int at) { return "[%r7+" + std::to_string(at) + "], "; };
  std::string out = form.sparse ? "tcgen05.mma.sp" : "tcgen05.mma";
  out.append(".cta_group::1.kind::").append(name_of(form.kind));
  if (form.block_scale) out += ".block_scale.scale_vec::" + std::to_string(form.scale_vec) + "X";
  out += " [%r7], %rd6, %rd7, ";
  if (form.sparse) out += column(kernel.metadata_column);
  out += "%r10, ";
  if (form.block_scale) out += column(kernel.scale_a_column) + column(kernel.scale_b_column);
  return out + "%p3";
}

std::string text_of(const TileKernel& kernel, std::string_view target) {
  const int n = kernel.mma.instruction.n;
  std::string copies;
  for (std::uint32_t byte = 0; byte < kernel.image_bytes; byte += kCopied)
    copies += filled(
        "  ld.global.v4.b32 {%r16, %r17, %r18, %r19}, [%rd1+$FROM];\n"
        "  st.shared.v4.b32 [%r5+$TO], {%r16, %r17, %r18, %r19};\n",
        {{"FROM", std::to_string(byte)}, {"TO", std::to_string(kHeader + byte)}});
  const auto descriptor = [](MatrixDescriptor matrix) {
    matrix.start += kHeader;
    return hex(encode(matrix));
  };
  return filled(kText,
                {{"TARGET", std::string(target)},
                 {"ENTRY", kTileKernelName},
                 {"THREADS", std::to_string(kThreads)},
                 {"SHARED", std::to_string(kHeader + kernel.image_bytes)},
                 {"READ_C", kernel.read_c ? "eq" : "ne"},
                 {"IMAGE", std::to_string(kernel.image_bytes)},
                 {"COPIED", std::to_string(kCopied)},
                 {"ROWS", std::to_string(kRows)},
                 {"ROW", std::to_string(4 * n)},
                 {"COPY_IMAGE", copies},
                 {"COLUMNS", std::to_string(kernel.columns)},
                 {"STORE_C", kernel.read_c ? move_columns(n, kStoreC) + "  tcgen05.wait::st.sync.aligned;\n"
                                           : std::string()},
                 {"COPY_SCALES", copy_scales(kernel)},
                 {"A", descriptor(kernel.a)},
                 {"B", descriptor(kernel.b)},
                 {"IDESC", hex(instruction_descriptor(kernel.mma))},
                 {"MMA", mma_text(kernel)},
                 {"LOAD_D", move_columns(n, kLoadD)}});
}

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

/// Elements (row, k) of a matrix whose element lies at `index(row, k)` of `from`.
template <typename Index>
void write_matrix(const MatrixDescriptor& matrix, Format format, bool dense4, bool transposed, int rows,
                  int depth, const void* from, const Index& index, std::span<std::uint8_t> image) {
  const Packing packing = packing_of(format, dense4);
  const std::size_t bytes = spec_of(format).storage_bytes();
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < depth; ++k) {
      const ElementPlace place = element_place(matrix, packing, transposed, row, k);
      put_bits(image, place.byte, place.bit, packing.width, load_word(from, bytes, index(row, k)));
    }
  }
}

void write_scales(const Instruction& inst, const std::uint8_t* scales, ScaleOwner owner, std::size_t tile,
                  std::span<std::uint8_t> image) {
  const auto blocks = static_cast<std::uint64_t>(scales_of(inst)),
             rows = static_cast<std::uint64_t>(owner == ScaleOwner::a ? inst.m : inst.n);
  const std::vector<std::uint8_t> ones(scales == nullptr ? rows * blocks : 0,
                                       static_cast<std::uint8_t>(one_bits(spec_of(inst.scale))));
  const std::uint8_t* const from = scales == nullptr ? ones.data() : scales + tile * rows * blocks;
  const std::vector<std::uint8_t> blocked = blocked_scales(from, owner, 1, rows, blocks);
  std::copy(blocked.begin(), blocked.end(), image.begin());
}

void write_metadata(const Instruction& inst, const std::uint8_t* metadata, std::span<std::uint8_t> image) {
  const Sparsity sparsity = sparsity_of(inst);
  const int stored = inst.stored_k(), groups = stored / sparsity.kept;
  for (int row = 0; row < inst.m; ++row) {
    for (int group = 0; group < groups; ++group) {
      const MetadataPlace at = metadata_place(groups, row, group);
      put_bits(image, static_cast<std::uint32_t>(16 * at.lane + 4 * at.column), at.shift, 4,
               encode_group(sparsity, metadata + index_at(row, stored, group * sparsity.kept)));
    }
  }
}

}  // namespace

std::string make_tile_kernel(const Instruction& instruction, std::uint8_t modifiers, std::string_view target,
                             TileKernel& kernel) {
  if (target != "sm_100a" && target != "sm_103a")
    return "target: found " + std::string(target) + ", allowed sm_100a and sm_103a";
  constexpr std::uint8_t kTaken = kScaleDZero | kNegateA | kNegateB | kTransposeA | kTransposeB;
  if ((modifiers & ~kTaken) != 0)
    return "modifiers: found " + std::to_string(modifiers) + ", allowed scale-d, negation and transposition";
  if (instruction.m != kRows) return "m: found " + std::to_string(instruction.m) + ", allowed 128";
  kernel = {};
  Mma& mma = kernel.mma;
  mma.form.kind = instruction.kind;
  mma.form.sparse = is_sparse(instruction.op);
  mma.form.block_scale = instruction.scale != Format::none;
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
  if (mma.instruction != instruction)
    return "instruction: found " + mmaudit::name_of(instruction) + ", allowed one of tcgen05";
  for (const bool b : {false, true})
    if ((b ? mma.transpose_b : mma.transpose_a) &&
        spec_of(b ? instruction.b : instruction.a).storage_bits == 32)
      return refuse(rule("transpose_swizzle"), "none");

  kernel.read_c = (modifiers & kScaleDZero) == 0;
  const int n = instruction.n;
  const auto blocks = static_cast<std::uint64_t>(scales_of(instruction));
  std::uint32_t end = 0;
  kernel.a = layout_of(instruction.a, mma.dense4(), mma.transpose_a, kRows, instruction.stored_k(), end);
  kernel.b = layout_of(instruction.b, mma.dense4(), mma.transpose_b, n, instruction.k, end);
  const auto next = [&](std::uint64_t bytes) {
    return std::exchange(end, end + static_cast<std::uint32_t>(bytes));
  };
  kernel.scale_a = next(blocks == 0 ? 0 : blocked_scale_bytes(kRows, blocks));
  kernel.scale_b = next(blocks == 0 ? 0 : blocked_scale_bytes(static_cast<std::uint64_t>(n), blocks));
  kernel.metadata = next(mma.form.sparse ? 16 * kRows : 0);
  kernel.image_bytes = (end + kCopied - 1) / kCopied * kCopied;
  kernel.scale_a_column = (n + 15) / 16 * 16;
  kernel.scale_b_column = kernel.scale_a_column + 4;
  kernel.metadata_column = kernel.scale_a_column;
  const int used = blocks != 0 ? kernel.scale_b_column + (n + kRows - 1) / kRows * 4
                               : kernel.metadata_column + (mma.form.sparse ? 4 : 0);
  kernel.columns = static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(used, 32))));
  kernel.text = text_of(kernel, target);
  return {};
}

void write_image(const TileKernel& kernel, const TileView& batch, std::size_t tile,
                 std::span<std::uint8_t> image) {
  const Mma& mma = kernel.mma;
  const Instruction& inst = mma.instruction;
  const TileExtents size(inst);
  const int stored = inst.stored_k();
  std::fill(image.begin(), image.end(), std::uint8_t{0});
  write_matrix(
      kernel.a, inst.a, mma.dense4(), mma.transpose_a, inst.m, stored, batch.a,
      [&](int row, int k) { return tile * size.m * size.stored + index_at(row, stored, k); }, image);
  write_matrix(
      kernel.b, inst.b, mma.dense4(), mma.transpose_b, inst.n, inst.k, batch.b,
      [&](int column, int k) { return tile * size.k * size.n + index_at(k, inst.n, column); }, image);
  if (mma.form.block_scale) {
    write_scales(inst, batch.scale_a, ScaleOwner::a, tile, image.subspan(kernel.scale_a));
    write_scales(inst, batch.scale_b, ScaleOwner::b, tile, image.subspan(kernel.scale_b));
  }
  if (mma.form.sparse)
    write_metadata(inst, batch.metadata + tile * size.m * size.stored, image.subspan(kernel.metadata));
}

void write_addends(const TileKernel& kernel, const TileView& batch, std::size_t tile,
                   std::span<std::uint32_t> words) {
  const std::size_t bytes = spec_of(kernel.mma.instruction.c).storage_bytes();
  for (std::size_t i = 0; i < kernel.words(); ++i)
    words[i] = batch.c == nullptr
                   ? 0
                   : static_cast<std::uint32_t>(load_word(batch.c, bytes, tile * kernel.words() + i));
}

void read_results(const TileKernel& kernel, std::span<const std::uint32_t> words, const TileView& batch,
                  std::size_t tile) {
  const std::size_t bytes = spec_of(kernel.mma.instruction.d).storage_bytes();
  for (std::size_t i = 0; i < kernel.words(); ++i)
    store_word(batch.d, bytes, tile * kernel.words() + i, words[i]);
}

}  // namespace mmaudit::tmem
