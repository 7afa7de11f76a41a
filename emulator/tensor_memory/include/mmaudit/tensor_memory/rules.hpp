#pragma once
// What the PTX ISA allows, one row per rule; a refusal names the field, what was found and the section.
#include <string>
#include <string_view>

namespace mmaudit::tmem {

/// One rule of the PTX ISA 9.0.
struct Rule {
  std::string_view name;     ///< of the rule, in tests and listings
  std::string_view field;    ///< what it is about
  std::string_view allowed;  ///< in words
  std::string_view section;  ///< of the PTX ISA
};

/// "FIELD: found FOUND, allowed: ALLOWED (PTX ISA 9.0, SECTION)".
std::string refuse(const Rule& rule, std::string_view found);

/// What the model leaves out on purpose, because no source says how it behaves.
struct Gap {
  std::string_view name, what, why;
};

/// "not modelled: WHAT (WHY)".
std::string not_modelled(const Gap& gap);

// clang-format off
inline constexpr Rule kRules[] = {
    // allocation
    {"alloc_columns", "nCols", "32, 64, 128, 256 or 512", "9.7.16.7.1"},
    {"alloc_growth", "nCols", "no more columns than the allocation before it", "9.7.16.7.1"},
    {"alloc_permit", "tcgen05.alloc", "no allocation after relinquish_alloc_permit", "9.7.16.7.1"},
    {"alloc_blocks", "tcgen05.alloc", "free columns: nothing in this program frees any, so it blocks forever", "9.7.16.7.1"},
    {"dealloc_match", "tcgen05.dealloc", "the address and the number of columns of an allocation that still stands", "9.7.16.7.1"},
    {"dealloc_exit", "end of the program", "every allocation deallocated", "9.7.16.7.1"},
    {"cta_group_same", ".cta_group", "one value in all tcgen05 instructions of a program", "9.7.16.7.1"},
    // who may issue, and what a warp reaches
    {"single_thread", "issuing threads", "one thread", "9.7.16.5, Table 46"},
    {"whole_warp", "threads of the warp", "all 32", "9.7.16.5, Table 46"},
    {"uniform_operand", "operand of alloc and dealloc", "one value in all threads of a warp", "9.7.16.7.1"},
    {"uniform_address", "taddr", "one value in all threads of a warp", "9.7.16.8.3"},
    {"warp_lanes", "lane", "the 32 lanes of the warp: 32 * (warp of its warpgroup) and the 31 after it", "9.7.16.8.1"},
    {"columns_end", "columns", "up to 511", "9.7.16.1"},
    {"columns_allocated", "columns", "allocated ones", "9.7.16.1.2"},
    {"ld_shape", "shape and .num", "a pair of Table 49", "9.7.16.8.3, Table 49"},
    {"ld_registers", "registers", "the number of Table 49", "9.7.16.8.3, Table 49"},
    {"ld_split", "immHalfSplitoff", "an immediate with .16x32bx2, and none with other shapes", "9.7.16.8.3"},
    {"shift_lane", "lane of taddr", "a multiple of 32", "9.7.16.9.3"},
    {"cp_shape", "shape", "128x256b, 4x256b, 128x128b, 64x128b or 32x128b", "9.7.16.9.2"},
    {"cp_multicast", ".multicast", "warpx2::02_13 or warpx2::01_23 with 64x128b, warpx4 with 32x128b, none with others", "9.7.16.9.2"},
    // descriptors of shared memory
    {"descriptor_version", "bits 46-48 of a matrix descriptor", "1", "9.7.16.4.1, Table 40"},
    {"descriptor_zero", "bits 14-15, 30-31 and 53-60 of a matrix descriptor", "0", "9.7.16.4.1, Table 40"},
    {"descriptor_swizzle", "bits 61-63 of a matrix descriptor", "0, 1, 2, 4 or 6", "9.7.16.4.1, Table 40"},
    {"ld_alignment", "address of ld and st", "a multiple of the bytes that a thread moves", "6.4.1"},
    {"shared_end", "address in shared memory", "below the end of the CTA's shared memory", "9.7.16.4.1"},
    // instruction descriptor
    {"kind_target", ".kind::i8", "the target sm_100a", "9.7.16.10.9.1"},
    {"shape_m", "M", "a value of Table 39 for the kind, .cta_group, .ws and sparsity", "9.7.16.2.1, Table 39"},
    {"shape_n", "N", "a value of Table 39 for the kind, .cta_group, .ws and sparsity", "9.7.16.2.1, Table 39"},
    {"shape_ws", ".ws", "kind f16, tf32, f8f6f4 or i8, and .cta_group::1", "9.7.16.2.1, Table 39"},
    {"idesc_reserved", "reserved bits of idesc", "0", "9.7.16.4.2, Tables 42 to 44"},
    {"idesc_sparse", "bit 2 of idesc", "1 with .sp, 0 without", "9.7.16.4.2"},
    {"idesc_d", "format of D in idesc", "a value of Table 42 for the kind", "9.7.16.4.2, Table 42"},
    {"idesc_a", "format of A in idesc", "a value of the table for the kind", "9.7.16.4.2, Tables 42 to 44"},
    {"idesc_b", "format of B in idesc", "a value of the table for the kind; kind f16 has one format for both", "9.7.16.4.2, Tables 42 to 44"},
    {"idesc_saturate", "bit 3 of idesc", "0 but for kind i8", "9.7.16.4.2, Table 42"},
    {"idesc_negate", "bits 13-14 of idesc", "0 for kind i8", "9.7.16.10.1, Table 51"},
    {"idesc_transpose", "bits 15-16 of idesc", "0 for kinds mxf4 and mxf4nvf4", "9.7.16.10.1, Table 51"},
    {"transpose_width", "a transposed matrix", "elements of 8, 16 or 32 bits", "9.7.16.10.3, Table 54"},
    {"transpose_n", "N with a transposed B of 8 bits", "a multiple of 16, with .cta_group::2 of 32", "9.7.16.10.1, Table 52"},
    {"transpose_swizzle", "swizzle of a transposed matrix", "128 bytes with 32-byte atoms for 32-bit elements, any other mode for the rest", "9.7.16.10.3, Table 54"},
    {"idesc_shift", "bits 30-31 of idesc", "0 without .ws", "9.7.16.4.2, Table 42"},
    {"idesc_scale", "scale format in idesc", "ue8m0 for mxf8f6f4 and mxf4; with scale_vec::2X too", "9.7.16.10.7.1, Table 57"},
    {"scale_vec", ".scale_vec", "a pair of Table 57; mxf4nvf4 has no default", "9.7.16.10.7.1, Table 57"},
    {"scale_id", "scale factor ID in idesc", "0 to 3 with 1X, 0 or 2 with 2X, 0 with 4X", "9.7.16.10.7.2"},
    {"scale_copies", "scales in the four lane partitions", "the same bytes in each", "9.7.16.10.7"},
    {"sparse_selector", "sparsity selector in idesc", "0 for kinds i8 and f8f6f4", "9.7.16.10.8.4.5"},
    {"metadata_index", "metadata", "1110 or 0100 for tf32; 0100, 1000, 1100, 1001, 1101, 0110 or 1110 for the rest", "9.7.16.10.8"},
    // placement and forms of an MMA
    {"place_a", "A", "a matrix descriptor (shared memory) or [address] (tensor memory)", "9.7.16.10, Matrix Type and Memory"},
    {"place_b", "B", "a matrix descriptor: B is in shared memory", "9.7.16.10, Matrix Type and Memory"},
    {"place_d", "D", "[address]: D is in tensor memory", "9.7.16.10, Matrix Type and Memory"},
    {"place_metadata", "sparsity metadata", "[address]: metadata is in tensor memory", "9.7.16.10, Matrix Type and Memory"},
    {"place_scales", "scale_A and scale_B", "[address]: scales are in tensor memory", "9.7.16.10, Matrix Type and Memory"},
    {"mma_operands", "operands", "the form of the instruction", "9.7.16.10.9"},
    {"block_scale", ".block_scale", "with kinds mxf8f6f4, mxf4 and mxf4nvf4, and only with them", "9.7.16.10.9.1"},
    {"lane_alignment", "lane of d-tmem", "0; 0 or 16 for the layouts that use half of the lanes", "9.7.16.10.5"},
    {"lane_same", "lane of a-tmem and of the metadata", "the lane of d-tmem", "9.7.16.10.5"},
    {"ashift_a", ".ashift", "A in tensor memory", "9.7.16.10.9.1"},
    {"ashift_m", ".ashift", "M = 128 or 256", "9.7.16.10.9.1"},
    {"ashift_collector", ".ashift", "no .collector::a::fill and no .collector::a::use", "9.7.16.10.9.1"},
    {"collector_op", ".collector", "::a::OP, with .ws ::b0 to ::b3::OP; OP is fill, use, lastuse or discard", "9.7.16.10.9"},
    {"collector_filled", ".collector use", "a buffer that an earlier fill left valid, with the same matrix", "9.7.16.10.9.1"},
    {"disable_size", "disable-output-lane", "4 registers, 8 with .cta_group::2; none with .block_scale or .ws", "9.7.16.10.9.1"},
    {"scale_d_kind", "scale-input-d", "kind f16 or tf32, without .ws", "9.7.16.10.9.1"},
    {"scale_d_range", "scale-input-d", "an immediate from 0 to 15", "9.7.16.10.9.1"},
    {"mask_reserved", "zero-column-mask-desc", "bits 36-38 and 62-63 zero", "9.7.16.4.3, Table 45"},
    {"mask_shift", "column shift of zero-column-mask-desc", "at most 16 with M = 32, else 32, and at most what idesc bits 30-31 say", "9.7.16.4.3, Table 45"},
    {"written", "tensor memory", "words that something wrote before", "9.7.16.1"},
    {"shared_written", "matrix in shared memory", "bytes that something wrote before", "9.7.16.4.1"},
    {"qualifier", "qualifier", "qualifiers of the instruction's syntax", "9.7.16"},
    // order
    {"order_st", "order", "tcgen05.wait::st between a store and what uses its columns", "9.7.16.6.4.2"},
    {"order_ld", "order", "tcgen05.wait::ld between a load and what overwrites its columns or reads its registers", "9.7.16.6.4"},
    {"order_async", "order", "tcgen05.commit and a wait on its mbarrier between mma, cp or shift and what is not pipelined with it", "9.7.16.6.2"},
    {"order_fence", "order", "tcgen05.fence::after_thread_sync after the wait", "9.7.16.6.4.2"},
    {"mbarrier_init", "mbarrier", "one that mbarrier.init initialised", "9.7.16.12.1"},
    {"mbarrier_parity", "phaseParity", "0 or 1", "mbarrier.test_wait"},
    {"elect_mask", "membermask", "a mask with every thread that runs elect.sync", "elect.sync"},
    {"wait_forever", "program", "an end within 10000 steps more than it has instructions: a wait is never satisfied", "9.7.16.12.1"},
};

inline constexpr Gap kGaps[] = {
    {"base_offset", "a matrix base offset other than 0", "no source says which address bits it changes"},
    {"absolute_leading", "leading dimension as an absolute address (bit 52)", "sm_103a, K = 96 only"},
    {"k96", "K = 96", "its scale layouts are figures alone; the model has no datapath for it"},
    {"atom32", "128-byte swizzle with 32-byte atoms", "the PTX ISA gives its strides in a figure alone"},
    {"decompress", "tcgen05.cp with .b8x16", "the bits of a container are in Figures 195 to 198 alone"},
    {"cp4", "tcgen05.cp.4x256b", "the PTX ISA does not say which lanes its four rows go to"},
    {"cp_lane", "tcgen05.cp to a lane other than 0", "the PTX ISA draws no other"},
    {"narrow_a_tmem", "A of 4 or 6 bits in tensor memory with kinds f8f6f4 and mxf8f6f4", "the bits of a container are in Figures 199 to 201 alone"},
    {"a_tmem_ws", "A in tensor memory with .ws and M = 32 or 64", "no source gives its lanes"},
    {"a_halves", "A in tensor memory, M = 128 with .cta_group::2, whose two halves of lanes differ", "CUTLASS 4 stores A twice, and no source says what else happens"},
    {"scale_lane", "scales at a lane other than 0", "the PTX ISA draws no other"},
    {"a_tmem_c", "A in tensor memory, sparse, M = 128 with .cta_group::2", "no source gives its lanes"},
    {"metadata_half", "metadata of the layouts that use half of the lanes", "Figures 262, 264 and 266 alone; CUTLASS 4 has 128 rows per CTA alone"},
    {"metadata_copies", "metadata with .ws and M = 32 or 64 that differs between the blocks of lanes", "CUTLASS 4 stores copies, and no source says which of them is read"},
    {"metadata_selector", "a sparsity selector other than 0", "Figures 262 to 265 alone"},
    {"sparse_scaled", ".sp with .block_scale", "no model of its arithmetic is published"},
    {"ashift_256", ".ashift with M = 256", "the PTX ISA does not say whether rows cross the CTAs"},
    {"ld_half_lane", "a base lane other than 0 or 16 of the warp's 32", "the PTX ISA draws no other"},
    {"ld_red", "tcgen05.ld.red", "not built"},
    {"scale_d_rounds", "scale-input-d of a D that 2^-s does not scale exactly", "no source says how it is rounded, or whether"},
    {"branch", "a branch or ret that threads of the program take differently", "not built: use a predicate"},
    {"loop", "a loop of more than 10000 steps", "not built: a program is to wait, not to count"},
};
// clang-format on

/// The rule or gap of that name, which must exist: a name that does not is a mistake of this library.
const Rule& rule(std::string_view name);
const Gap& gap(std::string_view name);

}  // namespace mmaudit::tmem
