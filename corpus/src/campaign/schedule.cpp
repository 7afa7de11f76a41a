#include "mmaudit/campaign/schedule.hpp"

#include <algorithm>

#include "campaign/json.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::campaign {
namespace {

constexpr std::size_t kMostItems = std::size_t{1} << 24, kMostShards = 4096;

/// Raised when batches fall into other work items: a journal holds only for one way to cut.
constexpr int kCutVersion = 2;

/// How the batches of one instruction and input class are cut.
struct Cut {
  std::uint64_t batches, per_item;
};
Cut cut_of(const Schedule& schedule, const ScheduledInstruction& one) {
  const std::uint64_t share = detail::quotient_up(schedule.dots, schedule.input_classes.size());
  return {detail::quotient_up(share, one.batch_dots),
          std::max<std::uint64_t>(1, one.item_dots / one.batch_dots)};
}

/// The first round is one batch of everything, so a wrong datapath shows within seconds wherever it stands.
std::uint64_t rounds_of(std::uint64_t batches, std::uint64_t per_item) {
  return batches == 0 ? 0 : 1 + detail::quotient_up(batches - 1, per_item);
}

}  // namespace

std::string_view Schedule::on() const {
  return !instructions.empty() && instructions.front().reference != nullptr ? "model" : "hardware";
}

std::string Schedule::identity() const {
  Json all = {{"seed", seed},
              {"dots", dots},
              {"architecture", architecture},
              {"generator", gen::kGeneratorVersion},
              {"cut", kCutVersion}};
  if (on() == "hardware")
    all["squares"] = batches_version;
  else
    all["on"] = on();
  for (const ScheduledInstruction& one : instructions) {
    Json entry = {{"name", name_of(one.instruction)},
                  {"engine", one.engine},
                  {"chunk", one.batch_dots},
                  {"row", corpus::to_json(one.instruction, *one.entry)}};
    if (one.reference != nullptr) entry["plays"] = corpus::to_json(one.instruction, *one.reference);
    all["instructions"].push_back(std::move(entry));
  }
  for (const gen::InputClass one : input_classes) all["families"].push_back(gen::name_of(one));
  return checksum_of(all);
}

std::vector<WorkItem> items_of(const Schedule& schedule) {
  std::vector<Cut> needs;
  std::uint64_t count = 0, most = 0;
  for (const ScheduledInstruction& one : schedule.instructions) {
    needs.push_back(cut_of(schedule, one));
    const std::uint64_t rounds = rounds_of(needs.back().batches, needs.back().per_item);
    most = std::max(most, rounds);
    count += rounds * schedule.input_classes.size();
  }
  if (count > kMostItems) refuse("--dots: found {} work items, allowed: up to {}", count, kMostItems);
  std::vector<WorkItem> items;
  items.reserve(count);
  for (std::uint64_t round = 0; round < most; ++round) {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const auto& [batches, per_item] = needs[i];
      if (round >= rounds_of(batches, per_item)) continue;
      const std::uint64_t first = round == 0 ? 0 : 1 + (round - 1) * per_item;
      for (std::size_t c = 0; c < schedule.input_classes.size(); ++c)
        items.push_back({i, c, first, std::min(round == 0 ? 1 : per_item, batches - first)});
    }
  }
  return items;
}

bool has_item(const Schedule& schedule, const WorkItem& item) {
  if (item.instruction >= schedule.instructions.size() || item.input_class >= schedule.input_classes.size())
    return false;
  const auto [batches, per_item] = cut_of(schedule, schedule.instructions[item.instruction]);
  if (item.first_batch >= batches) return false;
  if (item.first_batch == 0) return item.batches == 1;
  return (item.first_batch - 1) % per_item == 0 &&
         item.batches == std::min(per_item, batches - item.first_batch);
}

std::uint64_t dots_of(const Schedule& schedule, const WorkItem& item) {
  return item.batches * schedule.instructions[item.instruction].batch_dots;
}

Shard parse_shard(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t slash = std::min(text.find('/'), text.size());
  const auto index = whole_number<std::size_t>(text.substr(0, slash)),
             of = whole_number<std::size_t>(text.substr(std::min(slash + 1, text.size())));
  if (index && of && *index < *of && *of <= kMostShards) return {*index, *of};
  refuse("--part: found {}, allowed: I/N with 0 <= I < N <= {}", text, kMostShards);
}

}  // namespace mmaudit::campaign
