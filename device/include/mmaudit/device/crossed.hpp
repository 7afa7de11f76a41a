#pragma once
// The former names of check.hpp, for callers that have yet to move.
#include "mmaudit/device/check.hpp"

namespace mmaudit::device {

inline constexpr int kSquaresVersion = kBatchesVersion;

struct Stretch {
  gen::Family family = gen::Family::random_bits;
  std::uint64_t seed = 0, first_chunk = 0, chunks = 1;
};

struct Mismatch {
  gen::Family family = gen::Family::random_bits;
  std::uint64_t tile = 0;
  int row = 0, col = 0;
  std::uint8_t modifiers = 0;
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0, d_hardware = 0, d_model = 0;
  std::vector<std::uint8_t> metadata;
};

struct StretchResult {
  std::uint64_t dots = 0, mismatches = 0;
  std::vector<Mismatch> first;
};

class CrossedCheck : public TileProductCheck {
 public:
  using TileProductCheck::TileProductCheck;
  StretchResult run(const Stretch& stretch) {
    WorkResult found = TileProductCheck::run({.input_class = stretch.family,
                                              .seed = stretch.seed,
                                              .first_batch = stretch.first_chunk,
                                              .batches = stretch.chunks});
    StretchResult result{found.dots, found.mismatches, {}};
    for (mmaudit::Mismatch& one : found.first)
      result.first.push_back({stretch.family, one.dot.tile, one.dot.row, one.dot.column, one.dot.modifiers,
                              std::move(one.dot.a), std::move(one.dot.b), one.dot.c, one.expected, one.found,
                              std::move(one.dot.metadata)});
    return result;
  }
};

inline std::uint64_t dots_of_chunk(const Instruction& instruction, const Datapath& datapath) {
  return dots_of_batch(instruction, datapath);
}

}  // namespace mmaudit::device
