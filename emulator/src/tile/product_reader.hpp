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
        problem_(problem) {}

  const std::uint64_t stored_k, blocks;  ///< elements and scales of a row of A

  /// use(read): of A read(row, stored), of B read(matrix, k, column). A loop in `use` reads words of a known
  /// width.
  template <typename Use>
  auto with_a(const Use& use) const {
    return detail::with_width(spec_.a.storage_bytes(), [&](auto bytes) {
      return use([this, bytes](std::uint64_t row, std::uint64_t stored) {
        return stored < stored_k ? load_word(problem_.a, bytes, row * stored_k + stored) : 0;
      });
    });
  }
  template <typename Use>
  auto with_b(const Use& use) const {
    return detail::with_width(spec_.b.storage_bytes(), [&](auto bytes) {
      return use([this, bytes](std::uint64_t matrix, std::uint64_t k, std::uint64_t column) {
        return k < problem_.k ? load_word(problem_.b, bytes, (matrix * problem_.k + k) * problem_.n + column)
                              : 0;
      });
    });
  }
  [[nodiscard]] std::uint64_t a(std::uint64_t row, std::uint64_t stored) const {
    return with_a([&](const auto& read) { return read(row, stored); });
  }
  [[nodiscard]] std::uint64_t b(std::uint64_t matrix, std::uint64_t k, std::uint64_t column) const {
    return with_b([&](const auto& read) { return read(matrix, k, column); });
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
  [[nodiscard]] std::uint64_t scale(const std::uint8_t* scales, std::uint64_t block, std::uint64_t at) const {
    return scales != nullptr && block < blocks ? scales[at] : one_bits(spec_.scale);
  }

  const DotSpec& spec_;
  const Matmul& problem_;
};

}  // namespace mmaudit
