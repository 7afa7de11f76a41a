#pragma once
// Dense rows into the stored elements and metadata of a sparse A, and back. Host only.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/arithmetic/sparse.hpp"

namespace mmaudit {

/// What pack_sparse() made of a matrix.
struct PackedSparse {
  std::vector<std::byte> elements;     ///< (rows, k / 2) in the format's storage width
  std::vector<std::uint8_t> metadata;  ///< (rows, k / 2): positions inside the group
  std::uint64_t pruned = 0;            ///< elements other than +-0 that were left out
  /// Where the first of them stood; says nothing with pruned = 0.
  std::uint64_t row = 0, column = 0;
};

/// What: the elements of `dense`, (rows, k) raw bits, that a sparse A stores. Of every group the runs with
/// the largest magnitudes stay: of a run of two that is the sum of both, a NaN counts as infinite, and of
/// equals the earlier stays. Positions ascend. Range: any bits; k is a multiple of the group (the caller
/// checks).
PackedSparse pack_sparse(const Sparsity& sparsity, const FormatSpec& format, const void* dense,
                         std::uint64_t rows, std::uint64_t k);

/// The dense rows that elements and valid metadata stand for; +0 elsewhere.
std::vector<std::byte> expand_sparse(const Sparsity& sparsity, const FormatSpec& format, const void* elements,
                                     const std::uint8_t* metadata, std::uint64_t rows, std::uint64_t k);

}  // namespace mmaudit
