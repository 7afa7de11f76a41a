#pragma once
// The operands of a batch of tiles as raw bits, zero until set.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/emulate.hpp"

namespace mmaudit::report {

static_assert(std::endian::native == std::endian::little, "elements are copied from the low end of a word");

class Tiles {
 public:
  Tiles(const Instruction& instruction, std::size_t tiles)
      : count_(tiles),
        a_(spec_of(instruction.a), size(instruction.m), size(instruction.k), tiles),
        b_(spec_of(instruction.b), size(instruction.k), size(instruction.n), tiles),
        c_(spec_of(instruction.c), size(instruction.m), size(instruction.n), tiles),
        d_(spec_of(instruction.d), size(instruction.m), size(instruction.n), tiles) {}

  struct Matrix {
    Matrix(const FormatSpec& spec, std::size_t m, std::size_t n, std::size_t tiles)
        : format(spec), rows(m), columns(n), bytes(tiles * m * n * spec.storage_bytes()) {}

    void set(std::size_t tile, std::size_t row, std::size_t column, double value, CastRule rule = {}) {
      const std::uint64_t bits = encode_value(value, format, rule);
      std::memcpy(at(tile, row, column), &bits, format.storage_bytes());
    }
    [[nodiscard]] double get(std::size_t tile, std::size_t row, std::size_t column) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, at(tile, row, column), format.storage_bytes());
      return decode_value(bits, format);
    }
    [[nodiscard]] std::byte* at(std::size_t tile, std::size_t row, std::size_t column) {
      return bytes.data() + ((tile * rows + row) * columns + column) * format.storage_bytes();
    }

    FormatSpec format;
    std::size_t rows, columns;
    std::vector<std::byte> bytes;
  };

  Matrix& a() { return a_; }
  Matrix& b() { return b_; }
  Matrix& c() { return c_; }
  Matrix& d() { return d_; }

  TileView view() {
    TileView batch;
    batch.tiles = count_;
    batch.a = a_.bytes.data();
    batch.b = b_.bytes.data();
    batch.c = c_.bytes.data();
    batch.d = d_.bytes.data();
    return batch;
  }

 private:
  static std::size_t size(std::int16_t extent) { return static_cast<std::size_t>(extent); }

  std::size_t count_;
  Matrix a_, b_, c_, d_;
};

}  // namespace mmaudit::report
