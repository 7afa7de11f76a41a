#pragma once
// What a campaign consists of: instructions, input classes, and the work items that they are cut into.
// A batch is a number of tile products, a work item is several batches, a shard is every N-th work item.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/generators/input_classes.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::campaign {

struct ScheduledInstruction {
  Instruction instruction;
  const DatapathEntry* entry = nullptr;  ///< the model
  std::string engine;                    ///< computes the model on a GPU, the reference on a host
  std::uint64_t batch_dots = 0;          ///< dot products per batch
  std::uint64_t item_dots = 0;           ///< about the most dot products per work item
  /// What the reference computes by on a host; null: the hardware is the reference.
  const DatapathEntry* reference = nullptr;
};

/// Everything that decides which dot products a campaign consists of.
struct Schedule {
  std::uint64_t seed = 0;
  std::uint64_t dots = 0;  ///< at least as many per instruction, the same share per input class
  std::string architecture;
  std::vector<ScheduledInstruction> instructions;
  std::vector<gen::InputClass> input_classes;
  int batches_version = 0;  ///< of what makes the batches of a GPU; not used where the model is the reference

  /// The reference: "hardware", or "model" for the fast path of the model.
  [[nodiscard]] std::string_view on() const;
  /// XXH3-128 over all of it, the datapaths and the version of the generators included.
  [[nodiscard]] std::string identity() const;
};

/// Consecutive batches of one instruction and input class: they run at once, and a crash loses at most these.
struct WorkItem {
  std::size_t instruction = 0, input_class = 0;  ///< indices into the schedule
  std::uint64_t first_batch = 0, batches = 0;

  bool operator==(const WorkItem&) const = default;
};

/// All work items of a schedule, every instruction and input class in turn, so that an unfinished campaign
/// has some of each. InputError when there are more than 2^24.
std::vector<WorkItem> items_of(const Schedule& schedule);
std::uint64_t dots_of(const Schedule& schedule, const WorkItem& item);
/// Whether `item` is one of items_of(schedule).
bool has_item(const Schedule& schedule, const WorkItem& item);

/// Work items index, index + of, index + 2 * of ... of a schedule.
struct Shard {
  std::size_t index = 0, of = 1;

  bool operator==(const Shard&) const = default;
};
/// "I/N", as --part has it; empty: everything. InputError.
Shard parse_shard(const std::string& text);

}  // namespace mmaudit::campaign
