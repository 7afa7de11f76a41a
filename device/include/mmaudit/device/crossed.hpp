#pragma once
// A campaign's work on one GPU: generator, instruction, model and comparison, in squares of tiles, by the
// fastest engine that serves the row. Only differences come back.
#include <cstdint>
#include <memory>
#include <string_view>

#include "mmaudit/device/campaign.hpp"

namespace mmaudit::device {

/// Raised when a chunk's number comes to stand for other dot products.
inline constexpr int kSquaresVersion = 2;

/// Chunks are numbered: chunk i of one instruction, family and seed is the same on every GPU and in every
/// run.
struct Stretch {
  gen::Family family = gen::Family::random_bits;
  std::uint64_t seed = 0, first_chunk = 0, chunks = 1;
};

struct StretchResult {
  std::uint64_t dots = 0, mismatches = 0;
  std::vector<Mismatch> first;  ///< up to kMostMismatchesKept; which ones is up to the GPU
};

class CrossedCheck {
 public:
  /// Errors: EnvironmentError as run().
  CrossedCheck(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath);
  ~CrossedCheck();
  CrossedCheck(const CrossedCheck&) = delete;
  CrossedCheck& operator=(const CrossedCheck&) = delete;

  /// What computes the model: "fast", "integer", "binary64", "binary32" or "plain".
  [[nodiscard]] std::string_view engine() const;
  [[nodiscard]] std::uint64_t dots_of_chunk() const;

  /// What: the stretch on the GPU. In every other chunk wgmma takes A from registers. Range: any; device
  /// memory stays under 2 GiB. Errors: EnvironmentError when CUDA reports an error.
  StretchResult run(const Stretch& stretch);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// What CrossedCheck would say, without a GPU: engines and sizes are properties of the row.
std::string_view engine_of(const Instruction& instruction, const Datapath& datapath);
std::uint64_t dots_of_chunk(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::device
