#pragma once
// The operands of a batch as numbers instead of bits.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::report {

/// One operand of every tile: rows x columns elements each.
class TileMatrix {
 public:
  TileMatrix(std::vector<std::byte>& buffer, Format format, std::int16_t rows, std::int16_t columns)
      : buffer_(&buffer),
        format_(spec_of(format)),
        rows_(static_cast<std::size_t>(rows)),
        columns_(static_cast<std::size_t>(columns)) {}

  void set(std::size_t tile, std::size_t row, std::size_t column, double value, CastRule rule = {}) {
    store_bits(*buffer_, format_.storage_bytes(), at(tile, row, column), encode_value(value, format_, rule));
  }
  [[nodiscard]] double get(std::size_t tile, std::size_t row, std::size_t column) const {
    return decode_value(load_bits(*buffer_, format_.storage_bytes(), at(tile, row, column)), format_);
  }

 private:
  [[nodiscard]] std::size_t at(std::size_t tile, std::size_t row, std::size_t column) const {
    return (tile * rows_ + row) * columns_ + column;
  }

  std::vector<std::byte>* buffer_;
  FormatSpec format_;
  std::size_t rows_, columns_;
};

inline TileMatrix a_of(TileBatch& x) { return {x.a, x.instruction.a, x.instruction.m, x.instruction.k}; }
inline TileMatrix b_of(TileBatch& x) { return {x.b, x.instruction.b, x.instruction.k, x.instruction.n}; }
inline TileMatrix c_of(TileBatch& x) { return {x.c, x.instruction.c, x.instruction.m, x.instruction.n}; }
inline TileMatrix d_of(TileBatch& x) { return {x.d, x.instruction.d, x.instruction.m, x.instruction.n}; }

}  // namespace mmaudit::report
