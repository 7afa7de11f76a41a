#include "mmaudit/tensor_memory/mma.hpp"

#include <algorithm>
#include <cmath>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "mmaudit/tensor_memory/shared_matrix.hpp"

namespace mmaudit::tmem {
namespace {

/// One CTA's part of the instruction while it is put together.
struct Part {
  const Mma& mma;
  const MmaOperands& operands;
  const Cta& cta;
  TileBatch& tile;
  std::string refusal = {};

  /// A word of tensor memory; refuses one that nothing wrote.
  std::uint32_t word(int lane, int column) {
    if (refusal.empty() && !cta.memory.written(lane, column))
      refusal = refuse(rule("written"), "lane " + std::to_string(lane) + " column " + std::to_string(column) +
                                            ", which nothing wrote");
    return cta.memory.at(lane, column);
  }
};

/// Elements of A or B out of shared memory: visit(row, k, bits).
template <typename Visit>
std::string read_shared(const Cta& cta, std::uint64_t descriptor, Format format, bool dense4, bool transposed,
                        int first_row, int rows, int depth, const Visit& visit) {
  MatrixDescriptor matrix;
  if (std::string reason = decode(descriptor, matrix); !reason.empty()) return reason;
  const Packing packing = packing_of(format, dense4);
  const std::uint32_t last = static_cast<std::uint32_t>((packing.width + 7) / 8 - 1);
  for (int row = first_row; row < first_row + rows; ++row) {
    for (int k = 0; k < depth; ++k) {
      const ElementPlace place = element_place(matrix, packing, transposed, row, k);
      const std::uint32_t end = place.byte + (place.bit + packing.width > 8 ? std::max(last, 1U) : 0U);
      if (end >= cta.shared.size()) return refuse(rule("shared_end"), std::to_string(end));
      if (!cta.written(place.byte, end - place.byte + 1))
        return refuse(rule("shared_written"), "row " + std::to_string(row) + " k " + std::to_string(k) +
                                                  " at byte " + std::to_string(place.byte) +
                                                  ", which nothing wrote");
      std::uint64_t bits = 0;
      for (std::uint32_t byte = place.byte; byte <= end; ++byte)
        bits |= std::uint64_t{cta.shared[byte]} << 8 * (byte - place.byte);
      visit(row, k, bits >> place.bit & ((std::uint64_t{1} << packing.width) - 1));
    }
  }
  return {};
}

void read_a(Part& part) {
  const Mma& mma = part.mma;
  const Instruction& inst = mma.instruction;
  const std::size_t bytes = spec_of(inst.a).storage_bytes();
  const int stored = inst.stored_k(), rows = mma.rows();
  const auto put = [&](int row, int k, std::uint64_t bits) {
    store_bits(part.tile.a, bytes, index_at(row, stored, k), bits);
  };
  if (!part.operands.a_in_tensor_memory) {
    part.refusal =
        read_shared(part.cta, part.operands.a, inst.a, mma.dense4(), mma.transpose_a, 0, rows, stored, put);
    return;
  }
  const Address base = Address::of(static_cast<std::uint32_t>(part.operands.a));
  const int width = mma.dense4() ? 4 : spec_of(inst.a).storage_bits, each = 32 / width;
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < stored; ++k) {
      const int column = base.column + k / each;
      const std::uint32_t word = part.word(base.lane + d_lane(mma.layout, row, 0), column);
      for (int block = 1; block < mma.layout.blocks && part.refusal.empty(); ++block)
        if (part.word(base.lane + d_lane(mma.layout, row, block), column) != word)
          part.refusal = not_modelled(gap("a_halves"));
      put(row, k, word >> (k % each * width) & ((std::uint64_t{1} << width) - 1));
    }
  }
}

/// .ashift: every row of A but the last becomes the row after it. The collector buffer holds A before that.
void shift_a(TileBatch& tile, int rows) {
  const std::size_t row = tile.a.size() / static_cast<std::size_t>(rows);
  std::copy(tile.a.begin() + static_cast<std::ptrdiff_t>(row), tile.a.end(), tile.a.begin());
}

/// The scales of `count` rows of A or columns of B: entry i in lane i % 32, column i / 32, in the lane
/// partitions from `partition` on; put(entry, scale, byte).
template <typename Put>
void read_scales(Part& part, std::uint32_t raw, int id, int count, int partition, int partitions,
                 const Put& put) {
  const Address base = Address::of(raw);
  const int vec = scales_of(part.mma.instruction);
  for (int i = 0; i < count; ++i) {
    const auto scales = [&](int p) {
      return part.word(p * kWarpLanes + i % kWarpLanes, base.column + i / kWarpLanes) >> 8 * id &
             static_cast<std::uint32_t>((std::uint64_t{1} << 8 * vec) - 1);
    };
    const std::uint32_t first = scales(partition);
    for (int p = partition + 1; p < partition + partitions; ++p)
      if (part.refusal.empty() && scales(p) != first)
        part.refusal = refuse(rule("scale_copies"), "other bytes for entry " + std::to_string(i));
    for (int s = 0; s < vec; ++s) put(i, s, static_cast<std::uint8_t>(first >> 8 * s));
  }
}

void read_all_scales(Part& part) {
  const Mma& mma = part.mma;
  const int n = mma.instruction.n, vec = scales_of(mma.instruction), blocks = mma.layout.blocks;
  read_scales(part, part.operands.scale_a, mma.scale_id_a, mma.rows(), 0, kQuarters,
              [&](int row, int s, std::uint8_t x) { part.tile.scale_a[index_at(row, vec, s)] = x; });
  // Where D's columns are cut into blocks of lanes, every block has the scales of its own columns.
  for (int block = 0; block < blocks; ++block) {
    const int partitions = kQuarters / blocks, width = n / blocks;
    read_scales(part, part.operands.scale_b, mma.scale_id_b, width, block * partitions, partitions,
                [&](int column, int s, std::uint8_t x) {
                  part.tile.scale_b[index_at(s, n, block * width + column)] = x;
                });
  }
}

void read_metadata(Part& part) {
  const Instruction& inst = part.mma.instruction;
  const Address base = Address::of(part.operands.metadata);
  const Sparsity sparsity = sparsity_of(inst);
  const int stored = inst.stored_k(), groups = stored / sparsity.kept;
  constexpr std::uint32_t kPairs[] = {0x4, 0x8, 0xC, 0x9, 0xD, 0x6, 0xE}, kSingle[] = {0x4, 0xE};
  const std::span<const std::uint32_t> valid =
      sparsity.kept == 1 ? std::span<const std::uint32_t>(kSingle) : std::span<const std::uint32_t>(kPairs);
  for (int row = 0; row < part.mma.rows(); ++row) {
    for (int group = 0; group < groups; ++group) {
      const MetadataPlace at = metadata_place(groups, row, group);
      const auto bits_of = [&](int block) {
        const int lane = at.lane + block * part.mma.layout.block_stride;
        return part.word(lane, base.column + at.column) >> at.shift & 0xFU;
      };
      const std::uint32_t bits = bits_of(0);
      for (int block = 1; block < part.mma.layout.blocks; ++block)
        if (bits_of(block) != bits && part.refusal.empty())
          part.refusal = not_modelled(gap("metadata_copies"));
      if (part.refusal.empty() && std::find(valid.begin(), valid.end(), bits) == valid.end())
        part.refusal =
            refuse(rule("metadata_index"), std::to_string(bits) + " in row " + std::to_string(row) +
                                               ", group " + std::to_string(group));
      std::uint8_t* const to = &part.tile.metadata[index_at(row, stored, group * sparsity.kept)];
      to[0] = static_cast<std::uint8_t>(sparsity.kept == 1 ? bits >> 3 : bits & 3U);
      if (sparsity.kept == 2) to[1] = static_cast<std::uint8_t>(bits >> 2);
    }
  }
}

/// C is D as it was, times 2^-scale_d where that is exact.
void read_c(Part& part) {
  const Mma& mma = part.mma;
  const FormatSpec format = spec_of(mma.instruction.d);
  const Address base = Address::of(part.operands.d);
  const int n = mma.instruction.n, width = mma.d_columns();
  for (int row = 0; row < mma.rows(); ++row) {
    for (int column = 0; column < n; ++column) {
      std::uint64_t bits =
          part.word(base.lane + d_lane(mma.layout, row, column / width), base.column + column % width);
      if (format.storage_bits == 16) bits &= 0xFFFFU;
      if (const double value = decode_value(bits, format);
          part.operands.scale_d != 0 && std::isfinite(value)) {
        const double scaled = std::ldexp(value, -part.operands.scale_d);
        bits = encode_nearest_even(scaled, format);
        if (part.refusal.empty() && decode_value(bits, format) != scaled)
          part.refusal = not_modelled(gap("scale_d_rounds"));
      }
      store_bits(part.tile.c, format.storage_bytes(), index_at(row, n, column), bits);
    }
  }
}

std::string why_bad_place(const Mma& mma, const MmaOperands& operands, std::span<Cta* const> ctas) {
  const Address d = Address::of(operands.d), a = Address::of(static_cast<std::uint32_t>(operands.a)),
                meta = Address::of(operands.metadata);
  const bool sparse = mma.form.sparse, in_tensor = operands.a_in_tensor_memory;
  if (d.lane != 0 && !(mma.layout.half && d.lane == 16))
    return refuse(rule("lane_alignment"), std::to_string(d.lane));
  if (in_tensor && a.lane != d.lane) return refuse(rule("lane_same"), std::to_string(a.lane) + " of A");
  if (sparse && meta.lane != d.lane)
    return refuse(rule("lane_same"), std::to_string(meta.lane) + " of the metadata");
  if (sparse && mma.layout.half) return not_modelled(gap("metadata_half"));
  if (mma.form.ashift && !in_tensor) return refuse(rule("ashift_a"), "A in shared memory");
  if (in_tensor && mma.layout.id == 'C') return not_modelled(gap("a_tmem_c"));
  if (in_tensor && mma.form.weight_stationary && mma.instruction.m < 128)
    return not_modelled(gap("a_tmem_ws"));
  if (in_tensor && !mma.dense4() && spec_of(mma.instruction.a).value_bits() < 8)
    return not_modelled(gap("narrow_a_tmem"));
  const auto wide = [](Format format) { return spec_of(format).storage_bits == 32; };
  for (const bool b : {false, true})
    if ((b ? mma.transpose_b && wide(mma.instruction.b)
           : mma.transpose_a && !in_tensor && wide(mma.instruction.a)) &&
        (b ? operands.b : operands.a) >> 61 != 1)
      return refuse(rule("transpose_swizzle"), "another mode for 32-bit elements");
  if (mma.form.block_scale)
    for (const std::uint32_t scale : {operands.scale_a, operands.scale_b})
      if (Address::of(scale).lane != 0) return not_modelled(gap("scale_lane"));
  const MmaRegions regions = regions_of(mma, operands);
  for (const Cta* const cta : ctas)
    for (const Region& region : {regions.d, regions.a, regions.scale_a, regions.scale_b, regions.metadata})
      if (std::string reason = region.columns == 0 ? "" : cta->memory.why_not(region); !reason.empty())
        return reason;
  return {};
}

}  // namespace

MmaRegions regions_of(const Mma& mma, const MmaOperands& operands) {
  const auto column = [](std::uint64_t raw) { return Address::of(static_cast<std::uint32_t>(raw)).column; };
  const Instruction& inst = mma.instruction;
  MmaRegions regions;
  regions.d = {column(operands.d), mma.d_columns()};
  if (operands.a_in_tensor_memory)
    regions.a = {column(operands.a),
                 inst.stored_k() * (mma.dense4() ? 4 : spec_of(inst.a).storage_bits) / 32};
  if (mma.form.block_scale) {
    regions.scale_a = {column(operands.scale_a), (mma.rows() + kWarpLanes - 1) / kWarpLanes};
    regions.scale_b = {column(operands.scale_b), (mma.d_columns() + kWarpLanes - 1) / kWarpLanes};
  }
  if (mma.form.sparse)
    regions.metadata = {column(operands.metadata), inst.stored_k() / sparsity_of(inst).kept / 8};
  return regions;
}

MmaResult run_mma(const Mma& mma, const MmaOperands& operands, const Datapath& datapath,
                  std::span<Cta* const> ctas) {
  MmaResult result;
  result.refusal = why_bad_place(mma, operands, ctas);
  if (!result.refusal.empty()) return result;
  Instruction inst = mma.instruction;
  inst.m = static_cast<std::int16_t>(mma.rows());
  const int n = inst.n, depth = inst.k, held = n / static_cast<int>(ctas.size());
  std::vector<bool> zero(static_cast<std::size_t>(n), false);
  int shift = 0;
  if (operands.mask) result.refusal = column_mask(mma, *operands.mask, zero, shift);

  for (const Cta* const cta : ctas) {
    if (!result.refusal.empty()) return result;
    TileBatch tile(inst, 1,
                   static_cast<std::uint8_t>((operands.read_d ? 0 : kScaleDZero) |
                                             (mma.negate_a ? kNegateA : 0) | (mma.negate_b ? kNegateB : 0)));
    Part part{mma, operands, *cta, tile};
    read_a(part);
    if (part.refusal.empty() && mma.form.block_scale) read_all_scales(part);
    if (part.refusal.empty() && mma.form.sparse) read_metadata(part);
    if (part.refusal.empty() && operands.read_d) read_c(part);
    result.refusal = part.refusal;
    if (result.tiles.empty()) result.collected_a = tile.a;
    if (mma.form.ashift) shift_a(tile, mma.rows());
    result.tiles.push_back(std::move(tile));
  }
  // Every CTA holds a share of B's columns, and all of them read all of it.
  const std::size_t bytes = spec_of(inst.b).storage_bytes();
  for (std::size_t share = 0; share < ctas.size() && result.refusal.empty(); ++share)
    result.refusal = read_shared(*ctas[share], operands.b, inst.b, mma.dense4(), mma.transpose_b, shift, held,
                                 depth, [&](int row, int k, std::uint64_t bits) {
                                   const std::size_t column = share * static_cast<std::size_t>(held) +
                                                              static_cast<std::size_t>(row - shift);
                                   const std::size_t at =
                                       static_cast<std::size_t>(k) * static_cast<std::size_t>(n) + column;
                                   for (TileBatch& tile : result.tiles)
                                     store_bits(tile.b, bytes, at, zero[column] ? 0 : bits);
                                 });
  if (!result.refusal.empty()) return result;

  const FormatSpec format = spec_of(inst.d);
  const Address base = Address::of(operands.d);
  const int width = mma.d_columns();
  for (std::size_t c = 0; c < ctas.size(); ++c) {
    TileBatch& tile = result.tiles[c];
    emulate(inst, datapath, tile.view());
    for (int row = 0; row < inst.m; ++row) {
      for (int column = 0; column < n; ++column) {
        const int lane = base.lane + d_lane(mma.layout, row, column / width);
        const std::size_t mask = 4 * c + static_cast<std::size_t>(lane) / 32;
        if (mask < operands.disabled.size() && (operands.disabled[mask] >> lane % 32 & 1U) != 0) continue;
        ctas[c]->memory.set(
            lane, base.column + column % width,
            static_cast<std::uint32_t>(load_bits(tile.d, format.storage_bytes(), index_at(row, n, column))));
      }
    }
  }
  return result;
}

}  // namespace mmaudit::tmem
