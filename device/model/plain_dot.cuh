#pragma once
// One instruction of the chain of one element, by the plain core.
#include <cstdint>

#include "check/load.cuh"
#include "model/raw_product.hpp"

namespace mmaudit::device::plain {

// dot() is host and device code, so what it calls must be both.

/// Elements along K from one on; those beyond K are +0.
struct LoadTo {
  const void* base;
  std::int32_t bytes;
  std::uint64_t first, stride, count;
  MMAUDIT_HD std::uint64_t operator()(int k) const {
    const auto i = static_cast<unsigned>(k);
    return i < count ? load(base, bytes, first + i * stride) : 0;
  }
};

/// Scales of an element's row and column from one block on; those beyond K are 1.
struct LoadScales {
  const RawProduct& product;
  std::uint64_t matrix, row, column, first, one;
  MMAUDIT_HD std::uint64_t of(const ScaleSource& scales, std::uint64_t element, int block) const {
    const std::uint64_t i = first + static_cast<unsigned>(block);
    return scales.base == nullptr || i >= product.blocks ? one : scales.at(matrix, element, i);
  }
  MMAUDIT_HD std::uint64_t a(int block) const { return of(product.scale_a, row, block); }
  MMAUDIT_HD std::uint64_t b(int block) const { return of(product.scale_b, column, block); }
};

struct Element {
  std::uint64_t matrix, row, column;
};

/// Positions from `first` on, which the instruction's k divides. `c` and the result are raw bits.
__device__ inline std::uint64_t instruction(const DotSpec& spec, const RawProduct& product, const Element& at,
                                            std::uint64_t first, std::uint64_t c) {
  const std::uint64_t stored =
      first / static_cast<unsigned>(spec.sparsity.group) * static_cast<unsigned>(spec.sparsity.kept);
  const std::uint64_t row = (at.matrix * product.m + at.row) * product.stored_k + stored;
  const LoadTo a{product.a, spec.a.storage_bits / 8, row, 1, product.stored_k - stored};
  const LoadTo b{product.b, spec.b.storage_bits / 8, (at.matrix * product.k + first) * product.n + at.column,
                 product.n, product.k - first};
  const LoadScales scales{product,
                          at.matrix,
                          at.row,
                          at.column,
                          spec.block_scaled() ? stored / static_cast<unsigned>(spec.scale_block) : 0,
                          one_bits(spec.scale)};
  if (product.metadata != nullptr) {
    const Gathered<LoadTo> met{spec.sparsity, spec.datapath.metadata, spec.b, product.metadata + row, b};
    return spec.block_scaled() ? dot(spec, a, met, c, 0, scales) : dot(spec, a, met, c, 0);
  }
  return spec.block_scaled() ? dot(spec, a, b, c, 0, scales) : dot(spec, a, b, c, 0);
}

}  // namespace mmaudit::device::plain
