#include "mmaudit/convolution/schedule.hpp"

#include <algorithm>

namespace mmaudit::conv {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// The pixels that pass through a tile in one run. Slot i + j * lanes_per_shift is in lane i at place j; it
/// holds the first pixel that any lane reads through it, and padding where none does.
std::vector<Pixel> slots_of(const Shape& shape, const Run& run, int first, int lanes) {
  const int places = static_cast<int>(run.s.size());
  std::vector<Pixel> slots(at(lanes + run.lanes_per_shift * (places - 1)));
  for (int j = 0; j < places; ++j) {
    for (int lane = 0; lane < lanes; ++lane) {
      Pixel& slot = slots[at(lane + j * run.lanes_per_shift)];
      if (slot.padding()) slot = pixel_at(shape, first + lane, run.r, run.s[at(j)]);
    }
  }
  return slots;
}

void apply(const Place& place, bool down, std::vector<Pixel>& held) {
  for (int i = 0; i < place.shifts; ++i) shift_lanes(held, down);
  for (const Load& load : place.loads) held[at(load.lane)] = load.pixel;
}

}  // namespace

void shift_lanes(std::vector<Pixel>& lanes, bool down) {
  if (down)
    std::move(lanes.begin() + 1, lanes.end(), lanes.begin());
  else
    std::move_backward(lanes.begin(), lanes.end() - 1, lanes.end());
}

std::vector<Place> schedule_of(const Shape& shape, const Run& run, const Algorithm& algorithm, int first,
                               int lanes) {
  const bool reuses = algorithm.loading != Loading::each_place;
  const std::vector<Pixel> slots = slots_of(shape, run, first, lanes);
  std::vector<Pixel> held(algorithm.loading == Loading::ahead ? slots.size() : at(lanes));
  std::vector<Place> places;
  for (int j = 0; j < static_cast<int>(run.s.size()); ++j) {
    Place place{run.s[at(j)], reuses && j > 0 ? run.lanes_per_shift : 0, {}, 0, std::vector<bool>(at(lanes))};
    if (algorithm.loading == Loading::first_lanes) {
      for (int lane = 0; lane < (j == 0 ? lanes : std::min(lanes, run.lanes_per_shift)); ++lane)
        place.loads.push_back({lane, pixel_at(shape, first + lane, run.r, place.s)});
      places.push_back(std::move(place));
      continue;
    }
    const int arrives = j == 0 ? 0 : std::max(0, lanes - run.lanes_per_shift);
    if (algorithm.loading == Loading::last_lanes || (reuses && j == 0))
      for (int lane = arrives; lane < static_cast<int>(held.size()); ++lane)
        place.loads.push_back({lane, slots[at(lane + j * run.lanes_per_shift)]});
    apply(place, true, held);
    for (int lane = 0; lane < lanes; ++lane) {
      const Pixel wanted = pixel_at(shape, first + lane, run.r, place.s);
      if (!reuses) {
        place.loads.push_back({lane, wanted});
      } else if (wanted.padding()) {
        place.masked[at(lane)] = algorithm.masks && !held[at(lane)].padding();
      } else if (held[at(lane)] != wanted) {
        held[at(lane)] = wanted;
        place.loads.push_back({lane, wanted});
        ++place.reloads;
      }
    }
    places.push_back(std::move(place));
  }
  return places;
}

int lanes_with_halo(const std::vector<Run>& runs, const Algorithm& algorithm, int lanes) {
  int most = lanes;
  if (algorithm.loading == Loading::ahead)
    for (const Run& run : runs)
      most = std::max(most, lanes + run.lanes_per_shift * (static_cast<int>(run.s.size()) - 1));
  return most;
}

Counts counts_of(const Shape& shape, const Algorithm& algorithm, int lanes, int k) {
  Counts counts;
  for (const Run& run : runs_of(shape)) {
    for (int first = 0; first < shape.positions(); first += lanes) {
      const int used = std::min(lanes, shape.positions() - first);
      for (const Place& place : schedule_of(shape, run, algorithm, first, used)) {
        counts.loads += place.loads.size();
        counts.reloads += static_cast<std::uint64_t>(place.reloads);
        counts.shifts += static_cast<std::uint64_t>(place.shifts);
        counts.masked +=
            static_cast<std::uint64_t>(std::count(place.masked.begin(), place.masked.end(), true));
        ++counts.instructions;
      }
    }
  }
  const auto blocks = static_cast<std::uint64_t>(blocks_of(shape, k));
  for (std::uint64_t* const count :
       {&counts.loads, &counts.reloads, &counts.shifts, &counts.masked, &counts.instructions})
    *count *= blocks;
  return counts;
}

std::vector<std::vector<Pixel>> lanes_at(const std::vector<Place>& places, bool down, int lanes) {
  std::vector<Pixel> held(at(lanes));
  std::vector<std::vector<Pixel>> all;
  for (const Place& place : places) {
    apply(place, down, held);
    all.push_back(held);
  }
  return all;
}

}  // namespace mmaudit::conv
