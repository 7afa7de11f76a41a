#include "sweeps/memory/copies.hpp"

#include <stdexcept>

#include "sweeps/memory/global_memory.hpp"

namespace mmaudit::sweeps {

std::size_t copied_bytes(const Point& point) {
  return level_of(point) == Level::second ? kCopiedSecondBytes : kCopiedMemoryBytes;
}

std::string needs_all_multiprocessors(const Point& point) {
  return point.axis("scope") == "sm" && point.number("ctas") > 1
             ? "several blocks per multiprocessor run on all of them"
             : "";
}

bool copies_exist(const Point& point) { return one_warp(point) && level_of(point) != Level::first; }

Setup copy_setup(std::size_t memory_bytes, int bytes, int in_flight) {
  return {.args = {.parameter = bytes},
          .shared_bytes = static_cast<int>(kStageAlignment) + in_flight * bytes,
          .slot_bytes = sizeof(CopyResult),
          .memory_bytes = memory_bytes,
          .trial_steps = kTrialSteps,
          .check = [=](const ReadResult& read, int, int steps, Measurement& out) {
            check_copies(read(), bytes / 4, in_flight, steps, out);
          }};
}

namespace {

/// The copies of a run that are looked at, the last ones.
int looked_at_of(int in_flight, int steps) { return steps <= kLookedAtSteps ? steps : in_flight; }

}  // namespace

void check_copies(const std::vector<std::byte>& seen, int words, int in_flight, int steps, Measurement& out) {
  const int looked_at = looked_at_of(in_flight, steps);
  for (const CopyResult& found : results_in<CopyResult>(seen)) {
    out.compared += found.copied;
    out.differing += found.differing;
    if (found.copied != static_cast<std::uint32_t>(looked_at * words)) ++out.differing;
  }
}

std::uint32_t ChunkOrder::trail(std::uint32_t first, std::uint32_t from, std::uint32_t to) const {
  std::uint32_t found = 0;
  for (std::uint32_t copy = from; copy < to && words > 0; ++copy) {
    const auto chunk = static_cast<std::uint32_t>((first + std::uint64_t{copy} * stride) % chunks);
    found = further(found, copied_word(chunk * words + words - 1));
  }
  return found;
}

ChunkOrder order_of_all(std::size_t memory_bytes, int bytes, std::size_t blocks) {
  if (bytes == 0) return {};
  const auto size = static_cast<std::size_t>(bytes);
  const auto chunks = static_cast<std::uint32_t>(memory_bytes / size);
  return {.chunks = chunks,
          .words = static_cast<std::uint32_t>(size / 4),
          .stride = static_cast<std::uint32_t>(blocks % chunks),
          .by_block = blocks > 1};
}

ChunkOrder order_of_one(std::size_t memory_bytes, int bytes) {
  ChunkOrder order = order_of_all(memory_bytes, bytes, 1);
  constexpr std::uint64_t kGoldenRatio = 2654435761;  // over 2^32
  order.stride = static_cast<std::uint32_t>(order.chunks * kGoldenRatio >> 32U) | 1U;
  return order;
}

void check_order(const std::vector<std::byte>& seen, const ChunkOrder& order, int in_flight, int steps,
                 Measurement& out) {
  const auto end = static_cast<std::uint32_t>(steps),
             begin = end - static_cast<std::uint32_t>(looked_at_of(in_flight, steps));
  std::size_t block = 0;
  for (const CopyResult& found : results_in<CopyResult>(seen)) {
    const auto first = static_cast<std::uint32_t>(block++ % order.chunks);
    const bool begins = order.by_block ? found.first == first : found.first < order.chunks;
    out.compare(begins && found.trail == order.trail(found.first, begin, end));
  }
}

void BulkStores::add(std::uint32_t launches_until_now, std::uint64_t stores, std::uint32_t chunks) {
  const auto rounds = static_cast<std::uint32_t>(stores / chunks),
             rest = static_cast<std::uint32_t>(stores % chunks);
  for (Kind& kind : kinds) {
    if (kind.launches > 0 && (kind.rounds != rounds || kind.rest != rest)) continue;
    kind.rounds = rounds;
    kind.rest = rest;
    kind.launches += launches_until_now - launches;
    for (std::uint32_t launch = launches + 1; launch <= launches_until_now; ++launch) kind.numbers += launch;
    launches = kind.last = launches_until_now;
    return;
  }
  throw std::logic_error("more kinds of launches than BulkStores keeps apart");
}

}  // namespace mmaudit::sweeps
