#pragma once
// The live check of `verify --live` and `verify campaign`: generator, instruction, model and comparison all
// run on one GPU, the model on the fastest engine that serves the datapath. Only mismatches come back.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/dot_case.hpp"
#include "mmaudit/generators/input_classes.hpp"

namespace mmaudit::device {

/// Goes up when the number of a batch comes to stand for other dot products. JSON files call it "squares".
inline constexpr int kBatchesVersion = 2;

inline constexpr std::size_t kMostMismatchesKept = 64;

/// Consecutive batches of one input class. Batch i of one instruction, input class and seed holds the same
/// dot products on every GPU and in every run.
struct CheckItem {
  gen::InputClass input_class = gen::InputClass::random_bits;
  std::uint64_t seed = 0, first_batch = 0, batches = 1;
  std::uint64_t blocks = 0;  ///< tile products of each batch to check, from its first on; 0: all
  /// Of every tile. nullopt, as in a campaign: none, but in every other batch wgmma takes A from registers.
  std::optional<std::uint8_t> modifiers = std::nullopt;
};

struct CheckResult {
  std::uint64_t dots = 0, mismatches = 0;
  std::vector<mmaudit::Mismatch> first;  ///< up to kMostMismatchesKept; the GPU's scheduling decides which
};

/// Why a TileProductCheck can't run `instruction`: what why_not() says, or that it has no compiled kernel.
inline std::string why_not_live(const DeviceInfo& device, const Instruction& instruction,
                                std::uint8_t modifiers = 0) {
  if (is_tcgen05(instruction.op)) return name_of(instruction) + " can be recorded, and not checked live";
  return why_not(device, instruction, modifiers);
}

/// In a block, each of `side` tiles of A meets each of `side` tiles of B; a batch is many blocks.
class TileProductCheck {
 public:
  /// Errors: EnvironmentError as run().
  TileProductCheck(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath);
  ~TileProductCheck();
  TileProductCheck(const TileProductCheck&) = delete;
  TileProductCheck& operator=(const TileProductCheck&) = delete;

  /// What computes the model: "fast", "integer", "binary64", "binary32" or "plain".
  [[nodiscard]] std::string_view engine() const;
  [[nodiscard]] std::uint64_t dots_of_batch() const;

  /// What: the smallest work of whole blocks with `dots` dot products, from batch 0 on.
  [[nodiscard]] CheckItem at_least(std::uint64_t dots) const;

  /// What: compares hardware and model on every dot product of `item`. Range: any; device memory stays under
  /// 2 GiB. Errors: EnvironmentError when why_not() has a reason against the modifiers, or CUDA reports an
  /// error.
  CheckResult run(const CheckItem& item);

 private:
  class Work;
  std::unique_ptr<Work> work_;
};

/// What TileProductCheck would say. Known without a GPU: engine and sizes follow from instruction and
/// datapath.
std::string_view engine_of(const Instruction& instruction, const Datapath& datapath);
std::uint64_t dots_of_batch(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::device
