#include "sweeps/memory/shared_memory.hpp"

#include <set>

#include "mmaudit/fragment.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::size_t kSlotWords = std::size_t{kWarpLanes} * kResultWords;
/// Bytes per clock per multiprocessor: 32 banks of 4 bytes.
constexpr double kPeakBytes = 128;

}  // namespace

double distinct_multiprocessors(std::span<const Stamp> stamps) {
  std::set<std::uint32_t> places;
  for (const Stamp& stamp : stamps) places.insert(stamp.multiprocessor);
  return static_cast<double>(places.size());
}

void observe_places(std::span<const Stamp> stamps, Measurement& out) {
  out.others[tag::kDistinct] = distinct_multiprocessors(stamps);
  out.others[tag::kBlocks] = out.blocks;
}

Benchmark shared_access_benchmark(const SharedAccess& access) {
  Benchmark benchmark;
  benchmark.name = access.name;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kIlpAxis};
  benchmark.work = [words = access.words](const Point& point) {
    return Work{.bytes = 4.0 * words * kWarpLanes * point.number("warps") * point.number("ilp")};
  };
  benchmark.ceiling = [](int) { return kPeakBytes; };
  benchmark.setup = [access](const Point& point, Workbench*) {
    Setup setup;
    const int stride = access.stride(point);
    setup.args.parameter = stride;
    setup.shared_bytes = access.block_bytes + access.warp_bytes * point.number("warps");
    setup.slot_bytes = kSlotWords * sizeof(std::uint32_t);
    setup.check = [access, stride](const ReadResult& read, int, int, Measurement& out) {
      const auto words = results_in<std::uint32_t>(read());
      for (std::size_t slot = 0; slot < words.size() / kSlotWords; ++slot)
        for (int lane = 0; lane < kWarpLanes; ++lane)
          for (int w = 0; w < access.words; ++w)
            out.compare(words[slot * kSlotWords + static_cast<std::size_t>(lane * kResultWords + w)] ==
                        access.right(stride, lane, w));
    };
    return setup;
  };
  return benchmark;
}

}  // namespace mmaudit::sweeps
