#include "sweeps/memory/copies.hpp"

#include <cstring>
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

CopyResult result_at(const std::vector<std::byte>& seen, std::size_t slot) {
  CopyResult found;
  std::memcpy(&found, seen.data() + slot * sizeof(found), sizeof(found));
  return found;
}

void check_copies(const std::vector<std::byte>& seen, int words, int in_flight, int steps, Measurement& out) {
  const int looked_at = steps <= kLookedAtSteps ? steps : in_flight;
  for (std::size_t slot = 0; slot < seen.size() / sizeof(CopyResult); ++slot) {
    const CopyResult found = result_at(seen, slot);
    out.compared += found.copied;
    out.differing += found.differing;
    if (found.copied != static_cast<std::uint32_t>(looked_at * words)) ++out.differing;
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
