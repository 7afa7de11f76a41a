#pragma once
// Elements, scales and metadata of the products of a batch, out of memory.
#include <cstdint>

#include "mmaudit/dot.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {

/// Shapes as Matmul. Rows of A count through the batch: matrix * m + i. Beyond K elements are +0 and
/// scales 1. Both arguments of the constructor are read as long as this lives.
class ProductReader {
 public:
  ProductReader(const DotSpec& spec, const Matmul& problem)
      : stored_k(problem.k / static_cast<std::uint64_t>(spec.sparsity.group) *
                 static_cast<std::uint64_t>(spec.sparsity.kept)),
        blocks(spec.block_scaled()
                   ? detail::quotient_up(stored_k, static_cast<std::uint64_t>(spec.scale_block))
                   : 0),
        spec_(spec),
        problem_(problem),
        a_bytes_(spec.a.storage_bytes()),
        b_bytes_(spec.b.storage_bytes()) {}

  const std::uint64_t stored_k, blocks;  ///< elements and scales of a row of A

  [[nodiscard]] std::uint64_t a(std::uint64_t row, std::uint64_t stored) const {
    return stored < stored_k ? element(problem_.a, a_bytes_, row * stored_k + stored) : 0;
  }
  [[nodiscard]] std::uint64_t b(std::uint64_t matrix, std::uint64_t k, std::uint64_t column) const {
    if (k >= problem_.k) return 0;
    return element(problem_.b, b_bytes_, (matrix * problem_.k + k) * problem_.n + column);
  }
  [[nodiscard]] std::uint64_t scale_a(std::uint64_t row, std::uint64_t block) const {
    return scale(problem_.scale_a, block, row * blocks + block);
  }
  [[nodiscard]] std::uint64_t scale_b(std::uint64_t matrix, std::uint64_t block, std::uint64_t column) const {
    return scale(problem_.scale_b, block, (matrix * blocks + block) * problem_.n + column);
  }
  /// Where in its group a stored element of a sparse A stands; beyond K groups keep their first elements.
  [[nodiscard]] std::uint8_t position(std::uint64_t row, std::uint64_t stored) const {
    if (stored < stored_k) return problem_.metadata[row * stored_k + stored];
    return static_cast<std::uint8_t>(stored % static_cast<std::uint64_t>(spec_.sparsity.kept));
  }
  /// The k of B that a stored element of A meets, where the datapath reads metadata as PTX says.
  [[nodiscard]] std::uint64_t met(std::uint64_t row, std::uint64_t stored) const {
    if (problem_.metadata == nullptr) return stored;
    return stored / static_cast<std::uint64_t>(spec_.sparsity.kept) *
               static_cast<std::uint64_t>(spec_.sparsity.group) +
           position(row, stored);
  }

 private:
  /// A copy of a known width is one instruction, where others are a call.
  static std::uint64_t element(const void* base, std::size_t bytes, std::uint64_t at) {
    switch (bytes) {
      case 1:
        return load_word(base, 1, at);
      case 2:
        return load_word(base, 2, at);
      case 4:
        return load_word(base, 4, at);
      default:
        return load_word(base, bytes, at);
    }
  }
  [[nodiscard]] std::uint64_t scale(const std::uint8_t* scales, std::uint64_t block, std::uint64_t at) const {
    return scales != nullptr && block < blocks ? scales[at] : one_bits(spec_.scale);
  }

  const DotSpec& spec_;
  const Matmul& problem_;
  std::size_t a_bytes_, b_bytes_;
};

}  // namespace mmaudit
