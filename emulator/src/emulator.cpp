#include "mmaudit/emulator.hpp"

#include <cstring>
#include <vector>

#include "mmaudit/dot.hpp"

namespace mmaudit {
namespace {

/// Element `index` of a little-endian array of `bytes`-wide words.
std::uint64_t load(const void* base, std::size_t bytes, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(base) + index * bytes, bytes);
  return bits;
}

void store(void* base, std::size_t bytes, std::size_t index, std::uint64_t bits) {
  std::memcpy(static_cast<char*>(base) + index * bytes, &bits, bytes);
}

struct Shape {
  std::size_t m, n, k;
};

/// Operands of one tile in evaluation order: every row of A and column of B is unpacked once, not once an
/// output.
struct UnpackedTile {
  std::vector<Operand> a;  // (m, k)
  std::vector<Operand> b;  // (n, k)
};

void unpack_tile(const DotPlan& plan, const Shape& shape, const TileBatch& batch, std::size_t tile,
                 unsigned modifiers, UnpackedTile& out) {
  const std::size_t a_bytes = plan.a.storage_bytes();
  const std::size_t b_bytes = plan.b.storage_bytes();
  for (std::size_t position = 0; position < shape.k; ++position) {
    const auto k = static_cast<std::size_t>(
        evaluation_k(plan.row.order, static_cast<int>(shape.k), static_cast<int>(position)));
    for (std::size_t i = 0; i < shape.m; ++i) {
      const std::uint64_t bits = load(batch.a, a_bytes, (tile * shape.m + i) * shape.k + k);
      out.a[i * shape.k + position] = unpack_factor(plan.a, plan, bits, (modifiers & kNegateA) != 0);
    }
    for (std::size_t j = 0; j < shape.n; ++j) {
      const std::uint64_t bits = load(batch.b, b_bytes, (tile * shape.k + k) * shape.n + j);
      out.b[j * shape.k + position] = unpack_factor(plan.b, plan, bits, (modifiers & kNegateB) != 0);
    }
  }
}

/// D of every element of one tile of integers, whose A and B are bytes. No unpacking: a byte is its own
/// operand.
void emulate_integer_tile(const DotPlan& plan, const Shape& shape, const TileBatch& batch, std::size_t tile,
                          bool read_c) {
  const auto* a = static_cast<const std::uint8_t*>(batch.a) + tile * shape.m * shape.k;
  const auto* b = static_cast<const std::uint8_t*>(batch.b) + tile * shape.k * shape.n;
  const auto n = static_cast<std::int64_t>(shape.n);
  for (std::size_t i = 0; i < shape.m; ++i) {
    for (std::size_t j = 0; j < shape.n; ++j) {
      const std::size_t element = (tile * shape.m + i) * shape.n + j;
      const std::uint64_t c = read_c ? load(batch.c, 4, element) : 0;
      store(batch.d, 4, element,
            integer_dot(plan, Strided<std::uint8_t>{a + i * shape.k}, Strided<std::uint8_t>{b + j, n}, c));
    }
  }
}

}  // namespace

void emulate(const Instruction& instruction, const AccumulatorModel& row, const TileBatch& batch) {
  const DotPlan plan = make_plan(instruction, row);
  const Shape shape{static_cast<std::size_t>(instruction.m), static_cast<std::size_t>(instruction.n),
                    static_cast<std::size_t>(instruction.k)};
  const std::size_t c_bytes = plan.step.addend.storage_bytes();
  const std::size_t d_bytes = plan.d.storage_bytes();
  UnpackedTile unpacked;
  if (plan.unpacks()) {
    unpacked.a.resize(shape.m * shape.k);
    unpacked.b.resize(shape.n * shape.k);
  }
  for (std::size_t tile = 0; tile < batch.tiles; ++tile) {
    const unsigned modifiers = batch.modifiers != nullptr ? batch.modifiers[tile] : 0U;
    const bool read_c = batch.c != nullptr && (modifiers & kScaleDZero) == 0;
    if (plan.integer) {
      emulate_integer_tile(plan, shape, batch, tile, read_c);
      continue;
    }
    if (plan.unpacks()) unpack_tile(plan, shape, batch, tile, modifiers, unpacked);
    for (std::size_t i = 0; i < shape.m; ++i) {
      for (std::size_t j = 0; j < shape.n; ++j) {
        const std::size_t element = (tile * shape.m + i) * shape.n + j;
        const std::uint64_t c = read_c ? load(batch.c, c_bytes, element) : 0;
        std::uint64_t d = 0;
        if (plan.binary64) {
          const auto load_a = [&](int k) {
            return load(batch.a, 8, (tile * shape.m + i) * shape.k + static_cast<std::size_t>(k));
          };
          const auto load_b = [&](int k) {
            return load(batch.b, 8, (tile * shape.k + static_cast<std::size_t>(k)) * shape.n + j);
          };
          d = dot(plan, load_a, load_b, c, 0);
        } else {
          d = chain(plan, &unpacked.a[i * shape.k], &unpacked.b[j * shape.k], c);
        }
        store(batch.d, d_bytes, element, d);
      }
    }
  }
}

}  // namespace mmaudit
