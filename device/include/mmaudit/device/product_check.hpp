#pragma once
// The model against itself on a GPU: the kernels of products against the plain core, on operands drawn there.
#include <cstdint>
#include <memory>

#include "mmaudit/config.hpp"
#include "mmaudit/device/runner.hpp"
#include "mmaudit/generators/input_classes.hpp"

namespace mmaudit::device {

/// The tile of C at (row, column) of a tile product of `side` tiles each of A and B. Tiles with equal numbers
/// meet on the diagonal, as input classes whose A, B and C belong together need; elsewhere every tile of C
/// comes up once per row of tiles.
MMAUDIT_HD constexpr int tile_of_c(int row, int column, int side) {
  return (row + 3 * (column + side - row)) % side;
}

/// A tile product is a product of one step: `side` tiles of A, one above the other, times `side` tiles of B
/// side by side. Its tiles are those of the generator from `number` * `side` on.
class ProductCheck {
 public:
  /// Errors: EnvironmentError when CUDA reports an error, memory among them.
  ProductCheck(const DeviceInfo& device, const Instruction& instruction, int side, const Datapath& kernels,
               const Datapath& plain);
  ~ProductCheck();
  ProductCheck(const ProductCheck&) = delete;
  ProductCheck& operator=(const ProductCheck&) = delete;

  /// How many of its m * side * n * side elements the two compute differently. Errors: EnvironmentError.
  std::uint64_t differing(gen::InputClass input_class, std::uint64_t seed, std::uint64_t number);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

}  // namespace mmaudit::device
