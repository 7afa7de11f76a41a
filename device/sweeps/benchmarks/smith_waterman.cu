// Smith-Waterman: local alignments of two queries with one database sequence after the other, in four kinds
// of numbers, with the functions of DPX or in plain C++. Lanes of a group hold a tile of the queries each and
// are a row behind their left neighbour; a step is a row of every tile, so a warp never waits for the start
// or the end of a sequence.
#include "mmaudit/fragment.hpp"
#include "sweeps/dpx/alignment_cell.hpp"
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/rows.hpp"
#ifdef __CUDACC__
#include "ptx/line.cuh"
#include "run/cuda_check.hpp"
#endif

namespace mmaudit::sweeps {

#ifndef __CUDACC__
struct AlignmentHalf2;
struct AlignmentFloat;
#endif

/// kGroup lanes hold a query.
template <typename Numbers, int kGroup>
struct Alignment;

namespace {

constexpr int kCopies = 2;
constexpr int kSubjectBytes = kSubjects * kSubjectLetters;

/// Bytes of the profile of a query that kGroup lanes hold.
MMAUDIT_HD constexpr int profile_bytes(int group) { return kLetters * kTile * group * 4; }

}  // namespace

#ifdef __CUDACC__

extern __shared__ __align__(16) unsigned char alignment_bytes[];

template <typename Numbers, int kGroup>
struct Alignment : WarpBody<true, Numbers::kMostThreads> {
  template <int>
  struct Chains {
    using Word = typename Numbers::Word;
    Numbers numbers;
    Word h[kTile], f[kTile], edge, diagonal, best, total;
    const std::uint8_t* subjects;
    int lane, first, step = 0;
    std::uint32_t letter, folded = 0;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      numbers.one = static_cast<std::uint32_t>(args.parameter);
      subjects = static_cast<const std::uint8_t*>(args.memory);
      const auto* scores = reinterpret_cast<const std::uint32_t*>(subjects + kSubjectBytes);
      auto* profile = reinterpret_cast<std::uint32_t*>(alignment_bytes);
      for (int i = static_cast<int>(threadIdx.x); i < profile_bytes(kGroup) / 4;
           i += static_cast<int>(blockDim.x))
        profile[i] = Numbers::bits(Numbers::score(static_cast<std::int16_t>(scores[i] & 0xFFFF),
                                                  static_cast<std::int16_t>(scores[i] >> 16)));
      lane = at.lane % kGroup;
      first = (at.slot * (32 / kGroup) + at.lane / kGroup) % kSubjects * kSubjectLetters;
      total = Numbers::zero();
      clear();
      letter = letter_of(-lane);
    }
    /// Before the first row of a subject.
    __device__ __forceinline__ void clear() {
#pragma unroll
      for (int j = 0; j < kTile; ++j) h[j] = f[j] = Numbers::zero();
      edge = diagonal = best = Numbers::zero();
    }
    __device__ __forceinline__ std::uint32_t letter_of(int row) const {
      return __ldg(subjects + ((first + row) & (kSubjectBytes - 1)));
    }
    __device__ __forceinline__ Word from_left(Word word) const {
      const Word left = __shfl_up_sync(~0U, word, 1, kGroup);
      return lane == 0 ? Numbers::zero() : left;
    }
    /// The best of a finished subject goes from lane to lane, as its rows do.
    __device__ __forceinline__ void pass_on() {
      const Word left = from_left(total);
      if (((step - lane) & (kSubjectLetters - 1)) != 0) return;
      total = numbers.greatest(best, left, left);
      if (lane == kGroup - 1 && step > lane)
        folded = fold_scores(folded, Numbers::low(total), Numbers::high(total));
      clear();
    }
    __device__ __forceinline__ void row() {
      const Word left_h = from_left(h[kTile - 1]), left_e = from_left(edge);
      if ((step & (kSubjectLetters - 1)) < kGroup) pass_on();
      const auto* scores = reinterpret_cast<const uint4*>(alignment_bytes) +
                           static_cast<int>(letter) * (kTile / 4 * kGroup) + lane;
      letter = letter_of(step + 1 - lane);
      Word up = diagonal, e = left_e;
      diagonal = left_h;
#pragma unroll
      for (int four = 0; four < kTile / 4; ++four) {
        const uint4 of = scores[four * kGroup];
        const std::uint32_t bits[] = {of.x, of.y, of.z, of.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int j = 4 * four + i;
          const Word next = numbers.cell(up, Numbers::of_bits(bits[i]), e, f[j]);
          up = h[j];
          h[j] = next;
          if (i % 2 == 1) best = numbers.greatest(best, h[j - 1], h[j]);
        }
      }
      edge = e;
      ++step;
    }
    template <int kTurn>
    __device__ __forceinline__ void run(int steps) {
      repeat<1, kTurn>(steps, [this](int, int) { row(); });
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      const AlignedLane out = {folded, {Numbers::low(best), Numbers::high(best)}};
      static_cast<AlignedLane*>(args.d)[at.slot * 32 + at.lane] = out;
      return false;
    }
  };
};

static void copy_alignments(const TimedArgs& args, const Alignments& alignments) {
  const std::vector<std::uint32_t> profile = query_profile(alignments);
  device::copy_in(args.memory, alignments.subjects.data(), kSubjectBytes);
  device::copy_in(static_cast<char*>(args.memory) + kSubjectBytes, profile.data(),
                  profile.size() * sizeof(std::uint32_t));
}

#endif

namespace {

constexpr AxisSpec kQueryAxis =
    number_axis("query", 256, 1024, "[256,512,1024]", "[512]",
                "letters of each of the two queries that are aligned", "256,512,1024");

template <typename Numbers>
TimedKernel alignment_kernel(const Point& point) {
  return kernel_for<8, 16, 32>(point.number("query") / kTile, [&]<int kGroup>() {
    return timed_kernel<Alignment<Numbers, kGroup>, 1, kCopies>();
  });
}

void check_alignments(const std::vector<std::byte>& seen, int query_letters, int steps, int queries,
                      Measurement& out) {
  const Alignments& alignments = alignments_of(query_letters);
  const int lanes = alignments.lanes;
  std::vector<AlignedLane> right;
  for (int first = 0; first < kSubjects; ++first)
    for (int lane = 0; lane < lanes; ++lane)
      right.push_back(right_lane(alignments, first, lane, steps, queries));
  // A group per subject, round and round.
  std::size_t i = 0;
  for (const AlignedLane& found : results_in<AlignedLane>(seen))
    out.compare(found == right[i++ % right.size()]);
}

template <typename Numbers>
Benchmark alignment_benchmark(const char* name, int alignments, bool dpx,
                              std::vector<std::string_view> opcodes) {
  Benchmark benchmark;
  benchmark.name = name;
  benchmark.family = "Smith-Waterman";
  benchmark.place = 330;
  benchmark.axes = {kScopeAxis, kWarpsAxis, kIlpAxis, kQueryAxis};
  benchmark.whole_gpu = true;
  // Of each cell the greatest of three, of two, of two.
  benchmark.sass = {std::move(opcodes), dpx ? 3.0 * kTile : 2.0 * kTile};
  benchmark.exists = [](const Point& point) {
    const int warps = point.number("warps");
    return point.number("ilp") == 1 && (warps == 4 || warps == 8 || warps == 12 || warps == 16);
  };
  benchmark.work = [=](const Point& point) {
    return Work{.operations = 1.0 * alignments * kTile * kWarpLanes * point.number("warps")};
  };
  // An instruction of DPX of half a warp each clock.
  benchmark.ceiling = [=](int compute_capability) {
    constexpr double kLanesPerClock = 64;
    return dpx && compute_capability == 90 ? kLanesPerClock * alignments / kDpxPerCell : 0.0;
  };
  benchmark.why_not = [](const device::DeviceInfo& device, const Point& point) {
    return std::string(device.compute_capability < 80 && point.number("query") == 1024
                           ? "the profile of the query needs compute capability 8.0"
                           : "");
  };
  benchmark.kernel = alignment_kernel<Numbers>;
  benchmark.setup = [=](const Point& point, Workbench*) {
    Setup setup;
    const int letters = point.number("query");
    setup.args.parameter = 1;  // AlignmentS16x2::one
    setup.shared_bytes = profile_bytes(letters / kTile);
    setup.slot_bytes = kWarpLanes * sizeof(AlignedLane);
    setup.memory_bytes = static_cast<std::size_t>(kSubjectBytes) + profile_bytes(letters / kTile);
#ifdef __CUDACC__
    setup.fill = [=](const TimedArgs& args) { copy_alignments(args, alignments_of(letters)); };
#endif
    setup.check = [=](const ReadResult& read, int, int steps, Measurement& out) {
      check_alignments(read(), letters, steps, alignments, out);
    };
    return setup;
  };
  return benchmark;
}

}  // namespace

std::vector<Benchmark> benchmark_smith_waterman() {
  // Before Hopper a greatest of two is a comparison and a selection.
  const std::vector<std::string_view> integers = {"VIMNMX", "VIADDMNMX", "VIMNMX3", "IMNMX", "SEL"};
  std::vector<Benchmark> all = {
      alignment_benchmark<AlignmentS16x2<false>>("align.s16x2", 2, true, integers),
      alignment_benchmark<AlignmentS32<false>>("align.s32", 1, true, integers),
      alignment_benchmark<AlignmentHalf2>("align.half2", 2, false, {"HMNMX2", "VHMNMX", "SEL"}),
      alignment_benchmark<AlignmentFloat>("align.float", 1, false, {"FMNMX", "FMNMX3"}),
      alignment_benchmark<AlignmentS16x2<true>>("align.s16x2+plain", 2, false, integers),
      alignment_benchmark<AlignmentS32<true>>("align.s32+plain", 1, false, integers)};
  all[2].published = {"Luo 8"};
  return all;
}

}  // namespace mmaudit::sweeps
