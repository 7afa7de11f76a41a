#pragma once
// What turns (instruction, A, B, C) into D: the model, an oracle, the model on a GPU, the hardware, a
// recording, a user's callable.
#include <cstdint>
#include <functional>
#include <string>

#include "mmaudit/matmul.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit {

/// Every check compares two backends.
struct Backend {
  std::string name;
  /// Why it can't run `instruction` with these modifiers; empty: it can.
  std::function<std::string(const Instruction& instruction, std::uint8_t modifiers)> why_not;
  /// Writes D of every tile of the batch. Several threads may call it at once.
  std::function<void(const Instruction& instruction, const TileView& batch)> run;
};

/// A backend that knows the instructions of `architecture`, which must outlive it, and hands `run` the
/// datapath of each.
Backend backend_by_datapath(
    const Architecture& architecture, std::string name,
    std::function<void(const Instruction& instruction, const Datapath& datapath, const TileView& batch)> run);

/// The tiles of a batch as a batch of products of one instruction each; modifiers are left out.
Matmul product_of(const Instruction& instruction, const TileView& batch);

/// The model on this machine.
Backend model_backend(const Architecture& architecture);

/// The same bits in two other ways: by matmul() wherever vector instructions serve the datapath, and by dot()
/// for one element after another.
Backend fast_backend(const Architecture& architecture);
Backend plain_backend(const Architecture& architecture);

}  // namespace mmaudit
