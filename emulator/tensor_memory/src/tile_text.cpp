#include "tile_text.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>
#include <vector>

namespace mmaudit::tmem {
namespace {

constexpr std::uint32_t kHeader = 1024;  // of shared memory: address of tensor memory, mbarrier
constexpr int kTogether = 8;             // columns of C or D per tcgen05.st or .ld

// $NAME stands for a number or for lines.
constexpr std::string_view kText = R"(.version 8.8
.target $TARGET
.address_size 64
.visible .entry $ENTRY(.param .u64 images, .param .u64 addends, .param .u64 results)
.reqntid $THREADS
$CLUSTER{
  .reg .b16 %h<2>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
  .reg .pred %p<7>;
  .shared .align 1024 .b8 smem[$SHARED];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, smem;
  shr.u32 %r4, %r1, 5;
  setp.eq.u32 %p1, %r4, 0;                 // warp 0
  setp.eq.u32 %p2, %r1, 0;                 // thread 0
  setp.$READ_C.u32 %p3, %r1, %r1;               // is C read?
  mov.u32 %r6, %cluster_ctarank;
  or.b32 %r6, %r1, %r6;
  setp.eq.u32 %p5, %r6, 0;                 // thread 0 of the first block
  ld.param.u64 %rd1, [images];
  ld.param.u64 %rd2, [addends];
  ld.param.u64 %rd3, [results];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  cvta.to.global.u64 %rd3, %rd3;
  mul.wide.u32 %rd4, %r2, $IMAGE;         // this block's image
  add.u64 %rd1, %rd1, %rd4;
  mul.wide.u32 %rd4, %r1, 16;              // this thread's 16 bytes of every $COPIED
  add.u64 %rd1, %rd1, %rd4;
  shl.b32 %r5, %r1, 4;
  add.u32 %r5, %r3, %r5;
  shr.u32 %r11, %r1, $PART_BITS;                 // which part of the columns of D this thread's lane holds
  and.b32 %r12, %r1, $PART_MASK;               // its lane in that part
  and.b32 %r13, %r12, $STRIDE_MASK;
  setp.lt.u32 %p6, %r13, $GROUP;              // does the lane hold a row of D?
  and.b32 %r13, %r13, $GROUP_MASK;              // if not, it goes along with one that does
  shr.u32 %r12, %r12, $STRIDE_BITS;
  mad.lo.u32 %r12, %r12, $GROUP, %r13;
  mad.lo.u32 %r6, %r2, $ROWS, %r12;          // the lane's row of C and D
  mul.wide.u32 %rd4, %r6, $ROW;
  add.u64 %rd2, %rd2, %rd4;
  add.u64 %rd3, %rd3, %rd4;
  mul.wide.u32 %rd4, %r11, $PART;
  add.u64 %rd2, %rd2, %rd4;
  add.u64 %rd3, %rd3, %rd4;
$COPY_IMAGE  @%p2 mbarrier.init.shared::cta.b64 [smem+8], 1;
  @%p1 tcgen05.alloc.cta_group::$CTAS.sync.aligned.shared::cta.b32 [smem], $COLUMNS;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
$SYNC  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r7, [smem];
  shl.b32 %r8, %r4, 21;                    // lane 32 * warp
  add.u32 %r8, %r7, %r8;
$STORE_C  tcgen05.fence::before_thread_sync;
$SYNC  tcgen05.fence::after_thread_sync;
  shr.u32 %r9, %r3, 4;
  cvt.u64.u32 %rd5, %r9;
$COPY_SCALES  add.u64 %rd6, %rd5, $A;
  add.u64 %rd7, %rd5, $B;
  mov.b32 %r10, $IDESC;
  mov.b16 %h1, 3;                          // a tile's blocks, where it has two
  @%p5 $MMA;
  @%p5 tcgen05.commit.cta_group::$CTAS.mbarrier::arrive::one.shared::cluster$EVERY.b64 [smem+8]$MASK;
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [smem+8], 0;
  @!%p4 bra wait;
  tcgen05.fence::after_thread_sync;
$LOAD_D  tcgen05.fence::before_thread_sync;
$SYNC  tcgen05.fence::after_thread_sync;
  @%p1 tcgen05.dealloc.cta_group::$CTAS.sync.aligned.b32 %r7, $COLUMNS;
  @%p1 tcgen05.relinquish_alloc_permit.cta_group::$CTAS.sync.aligned;
  ret;
}
)";

/// What the text says about the blocks of one tile.
struct BlocksText {
  int blocks;
  std::string_view cluster, sync, every, mask;
};
constexpr BlocksText kBlocksTexts[] = {
    {1, "", "  bar.sync 0;\n", "", ""},
    {2, ".explicitcluster\n.reqnctapercluster 2, 1, 1\n",
     "  barrier.cluster.arrive;\n  barrier.cluster.wait;\n", ".multicast::cluster", ", %h1"},
};

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
  @%p6 st.global.v4.b32 [%rd3+$BYTE], {%r16, %r17, %r18, %r19};
  @%p6 st.global.v4.b32 [%rd3+$NEXT], {%r20, %r21, %r22, %r23};
)";

/// Which part of D a thread has. Thread i is lane i; every number is a power of two.
Values lanes_of(const TileKernel& kernel) {
  const DLayout& layout = kernel.mma.layout;
  const auto part = static_cast<unsigned>(layout.block_stride == 0 ? kLanes : layout.block_stride),
             group = static_cast<unsigned>(layout.group),
             stride = layout.group_stride == 0 ? group : static_cast<unsigned>(layout.group_stride);
  const auto bits = [](unsigned power) { return std::to_string(std::countr_zero(power)); };
  return {{"PART_BITS", bits(part)},
          {"PART_MASK", std::to_string(part - 1)},
          {"STRIDE_BITS", bits(stride)},
          {"STRIDE_MASK", std::to_string(stride - 1)},
          {"GROUP", std::to_string(group)},
          {"GROUP_MASK", std::to_string(group - 1)},
          {"ROWS", std::to_string(layout.rows)},
          {"ROW", std::to_string(4 * kernel.mma.instruction.n)},
          {"PART", std::to_string(4 * kernel.mma.d_columns())}};
}

/// One tcgen05.cp of `shape` from `matrix` of the image to `column`.
std::string copy_to_columns(int blocks, std::string_view shape, MatrixDescriptor matrix, int column) {
  matrix.start += kHeader;
  return filled(
      "  add.u64 %rd8, %rd5, $FROM;\n  @%p5 tcgen05.cp.cta_group::$CTAS.$SHAPE [%r7+$COLUMN], %rd8;\n",
      {{"CTAS", std::to_string(blocks)},
       {"FROM", hex(encode(matrix))},
       {"SHAPE", std::string(shape)},
       {"COLUMN", std::to_string(column)}});
}
std::string copy_to_columns(int blocks, std::string_view shape, std::uint32_t from, int column) {
  const MatrixDescriptor rows_of_16_bytes{from, kCoreBytes, kCoreBytes, kSwizzles[0]};
  return copy_to_columns(blocks, shape, rows_of_16_bytes, column);
}

std::string copy_scales(const TileKernel& kernel) {
  const int parts = kernel.mma.layout.blocks;
  std::string out;
  if (kernel.mma.form.block_scale) {
    out += copy_to_columns(kernel.blocks(), kScaleCopies[0].shape, kernel.scale_a, kernel.scale_a_column);
    const ScaleCopy& copy = *std::find_if(std::begin(kScaleCopies), std::end(kScaleCopies),
                                          [&](const ScaleCopy& x) { return x.parts == parts; });
    for (int tile = 0; tile < scale_tiles_of_b(kernel); ++tile)
      out += copy_to_columns(kernel.blocks(), copy.shape,
                             kernel.scale_b + static_cast<std::uint32_t>(tile * parts) * kScaleTile,
                             kernel.scale_b_column + 4 * tile);
  }
  if (kernel.mma.form.sparse)
    out += copy_to_columns(kernel.blocks(), "128x128b", kernel.metadata, kernel.metadata_column);
  if (kernel.a_in_tensor_memory)
    out += copy_to_columns(kernel.blocks(), "128x256b", kernel.a, kernel.a_column);
  return out;
}

std::string mma_text(const TileKernel& kernel) {
  const MmaForm& form = kernel.mma.form;
  const auto column = [](int at) { return "[%r7+" + std::to_string(at) + "], "; };
  std::string out = std::string("tcgen05.mma") + (form.weight_stationary ? ".ws" : "") +
                    (form.sparse ? ".sp" : "") + ".cta_group::" + std::to_string(form.cta_group);
  out.append(".kind::").append(name_of(form.kind));
  if (form.block_scale) out += ".block_scale.scale_vec::" + std::to_string(form.scale_vec) + "X";
  out += " [%r7], " + (kernel.a_in_tensor_memory ? column(kernel.a_column) : "%rd6, ") + "%rd7, ";
  if (form.sparse) out += column(kernel.metadata_column);
  out += "%r10, ";
  if (form.block_scale) out += column(kernel.scale_a_column) + column(kernel.scale_b_column);
  return out + "%p3";
}

}  // namespace

int scale_tiles_of_b(const TileKernel& kernel) {
  constexpr int kRows = static_cast<int>(kScaleTileRows);
  return (kernel.mma.d_columns() + kRows - 1) / kRows;
}

std::string text_of(const TileKernel& kernel, std::string_view target) {
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
  const BlocksText& blocks = *std::find_if(std::begin(kBlocksTexts), std::end(kBlocksTexts),
                                           [&](const BlocksText& x) { return x.blocks == kernel.blocks(); });
  const int columns = kernel.mma.d_columns();
  Values values = lanes_of(kernel);
  const auto add = [&](std::string_view name, std::string value) {
    values.emplace_back(name, std::move(value));
  };
  add("TARGET", std::string(target));
  add("ENTRY", kTileKernelName);
  add("THREADS", std::to_string(kThreads));
  add("CLUSTER", std::string(blocks.cluster));
  add("SYNC", std::string(blocks.sync));
  add("EVERY", std::string(blocks.every));
  add("MASK", std::string(blocks.mask));
  add("CTAS", std::to_string(kernel.blocks()));
  add("SHARED", std::to_string(kHeader + kernel.image_bytes));
  add("READ_C", kernel.read_c ? "eq" : "ne");
  add("IMAGE", std::to_string(kernel.image_bytes));
  add("COPIED", std::to_string(kCopied));
  add("COPY_IMAGE", copies);
  add("COLUMNS", std::to_string(kernel.columns));
  add("STORE_C",
      kernel.read_c ? move_columns(columns, kStoreC) + "  tcgen05.wait::st.sync.aligned;\n" : std::string());
  add("COPY_SCALES", copy_scales(kernel));
  add("A", descriptor(kernel.a));
  add("B", descriptor(kernel.b));
  add("IDESC", hex(instruction_descriptor(kernel.mma)));
  add("MMA", mma_text(kernel));
  add("LOAD_D", move_columns(columns, kLoadD));
  return filled(kText, values);
}

}  // namespace mmaudit::tmem
