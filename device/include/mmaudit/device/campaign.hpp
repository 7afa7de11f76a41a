#pragma once
// The live check: generator, instruction, model and comparison all on the GPU; only mismatches come back.
#include <cstdint>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/generators/families.hpp"

namespace mmaudit::device {

inline constexpr int kEveryFamily = -1;
inline constexpr std::size_t kMostMismatchesKept = 64;

struct CheckOptions {
  std::uint64_t seed = 0;
  std::uint64_t dots = 0;  ///< at least so many dot products; each family gets the same share, in whole tiles
  int family = kEveryFamily;   ///< a gen::Family, or all of them
  std::uint8_t modifiers = 0;  ///< of every tile
};

/// One dot product whose bits differ. Raw bits throughout.
struct Mismatch {
  gen::Family family = gen::Family::random_bits;
  std::uint64_t tile = 0;  ///< the generator's tile number
  int row = 0, col = 0;
  std::uint8_t modifiers = 0;       ///< of the tile
  std::vector<std::uint64_t> a, b;  ///< k elements each, of a sparse A the stored ones
  std::uint64_t c = 0, d_hardware = 0, d_model = 0;
  std::vector<std::uint8_t> metadata;  ///< of the row of A; empty: dense
};

struct FamilyResult {
  gen::Family family = gen::Family::random_bits;
  std::uint64_t dots = 0, mismatches = 0;
};

struct CheckResult {
  std::uint64_t dots = 0, mismatches = 0;
  std::vector<FamilyResult> families;
  std::vector<Mismatch>
      first;  ///< up to kMostMismatchesKept, by family and tile; which ones is up to the GPU
};

/// What: `instruction` on `device` against `row` evaluated by the same code as on the host, on generated
/// tiles. Range: any options.dots; device memory stays under 1 GiB. Errors: EnvironmentError as run().
CheckResult check(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                  const CheckOptions& options);

/// What: emulate(), computed on the GPU. Shapes and modifiers: as TileView, host pointers.
/// Errors: EnvironmentError when CUDA reports an error.
void emulate_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                       const TileView& batch);

}  // namespace mmaudit::device
