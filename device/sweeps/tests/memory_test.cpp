// What the benchmarks of memory and of DPX rest on, without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "mmaudit/sweeps/benchmark.hpp"
#include "mmaudit/sweeps/groups.hpp"
#include "sweeps/dpx/functions.hpp"
#include "sweeps/memory/global_memory.hpp"
#include "sweeps/memory/ring.hpp"

namespace mmaudit::sweeps::test {
namespace {

TEST(Ring, EveryLineIsAtOnePlace) {
  for (const std::uint32_t lines : {1U, 2U, 3U, 7U, 8U, 100U, 128U, 1000U, 4096U, 5000U, 65536U, 98304U}) {
    std::set<std::uint32_t> seen;
    for (std::uint32_t place = 0; place < lines; ++place) {
      const std::uint32_t line = line_at(place, lines);
      ASSERT_LT(line, lines);
      ASSERT_TRUE(seen.insert(line).second) << lines << " lines, place " << place;
    }
  }
}

TEST(Ring, NeighboursAreFarApart) {
  constexpr std::uint32_t kLines = 1 << 16;
  int near = 0;
  for (std::uint32_t place = 0; place + 1 < kLines; ++place) {
    const auto here = static_cast<std::int64_t>(line_at(place, kLines));
    const auto next = static_cast<std::int64_t>(line_at(place + 1, kLines));
    near += std::abs(here - next) < 32 ? 1 : 0;
  }
  EXPECT_LT(near, 1000) << "of 65,535 steps, where chance makes 64";
}

TEST(Chases, EndWhereTheirStepsLead) {
  const auto compared = [](std::vector<ChaseResult> found, std::uint32_t lines, int steps) {
    std::vector<std::byte> bytes(found.size() * sizeof(ChaseResult));
    std::memcpy(bytes.data(), found.data(), bytes.size());
    Measurement out;
    each_result<ChaseResult>([lines](const ChaseResult& one, std::size_t, int many) {
      return went_round(one, lines, many);
    })([&] { return bytes; }, 1, steps, out);
    EXPECT_EQ(out.compared, found.size());
    return out.differing;
  };
  EXPECT_EQ(compared({{5, 5 + 128}}, 1000, 128), 0U);
  EXPECT_EQ(compared({{990, 118}}, 1000, 128), 0U) << "round the ring";
  EXPECT_EQ(compared({{5, 5 + 127}, {5, 133}}, 1000, 128), 1U);
  EXPECT_EQ(compared({{1000, 128}}, 1000, 128), 1U) << "no such place";
}

TEST(Clusters, CutsAreWhereTheSquaresAreLeast) {
  EXPECT_EQ(cuts_of({1, 2, 3, 100, 101}, 2), std::vector<double>{3});
  EXPECT_EQ(cuts_of({10, 1, 11, 2, 30, 31, 10}, 3), (std::vector<double>{2, 11}));
  EXPECT_EQ(cuts_of({4, 4, 4}, 2), std::vector<double>{}) << "one number, one group";
  EXPECT_EQ(cuts_of({}, 2), std::vector<double>{});
  EXPECT_EQ(cuts_of({1, 2}, 1), std::vector<double>{});
}

/// Against every possible cut.
TEST(Clusters, AgreeWithTheSlowWay) {
  std::uint32_t state = 1;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> numbers(12);
    for (double& number : numbers) number = state = scrambled(state, 9);
    const auto cost = [&](double cut) {
      double total = 0;
      for (const bool low : {true, false}) {
        double sum = 0, squares = 0, count = 0;
        for (const double one : numbers)
          if ((one <= cut) == low) sum += one, squares += one * one, ++count;
        total += count > 0 ? squares - sum * sum / count : 0;
      }
      return total;
    };
    double least = cost(1e9);
    for (const double cut : numbers) least = std::min(least, cost(cut));
    const std::vector<double> cuts = cuts_of(numbers, 2);
    ASSERT_EQ(cuts.size(), 1U);
    EXPECT_NEAR(cost(cuts.front()), least, 1e-6);
  }
}

/// Counts of whole numbers say what the numbers say.
TEST(Clusters, OfCountsAreThoseOfNumbers) {
  std::vector<double> numbers;
  std::vector<std::uint64_t> counts(64);
  std::uint32_t random = 1;
  for (int i = 0; i < 1000; ++i) {
    random = random * 1664525U + 1013904223U;
    const std::uint32_t number = random >> 26;
    numbers.push_back(number);
    ++counts[number];
  }
  for (int groups = 1; groups <= 3; ++groups)
    EXPECT_EQ(cuts_of_counts(counts, groups), cuts_of(numbers, groups));
  EXPECT_TRUE(cuts_of_counts(std::vector<std::uint64_t>(4), 2).empty());
  for (const std::size_t first : {0U, 20U}) {
    std::vector<double> rest;
    for (const double number : numbers)
      if (number >= static_cast<double>(first)) rest.push_back(number);
    const Statistics found = statistics_of_counts(counts, first), wanted = statistics_of(rest);
    EXPECT_EQ(found.count, wanted.count);
    EXPECT_EQ(found.median, wanted.median);
    EXPECT_EQ(found.lower_quartile, wanted.lower_quartile);
    EXPECT_EQ(found.upper_quartile, wanted.upper_quartile);
    EXPECT_EQ(found.least, wanted.least);
    EXPECT_EQ(found.most, wanted.most);
  }
  EXPECT_EQ(statistics_of_counts(counts, counts.size()).count, 0);
}

TEST(Clusters, ANumberIsInTheGroupBelowItsCut) {
  EXPECT_EQ(group_of(3, std::vector<double>{3, 9}), 0);
  EXPECT_EQ(group_of(4, std::vector<double>{3, 9}), 1);
  EXPECT_EQ(group_of(10, std::vector<double>{3, 9}), 2);
}

/// Loads in bins of 16 cycles, recorded on an H200, driver 580.159.04: 40 MiB that the same multiprocessor
/// had read, and 256 MiB.
struct Bin {
  int cycles, loads;
};
constexpr Bin kFirst40[] = {{256, 136}, {272, 235}, {288, 135}, {304, 210}, {320, 21}, {416, 21},
                            {432, 4},   {448, 51},  {464, 21},  {480, 24},  {496, 36}, {512, 30},
                            {528, 23},  {544, 45},  {560, 12},  {576, 2},   {592, 1},  {608, 1},
                            {640, 1},   {656, 1},   {672, 1},   {720, 3},   {752, 2},  {784, 1},
                            {800, 2},   {864, 1},   {912, 1},   {992, 1},   {1040, 1}, {1072, 1}};
constexpr Bin kAgain40[] = {{256, 38}, {272, 453}, {288, 104}, {304, 327}, {320, 102}};
constexpr Bin kFirst256[] = {{480, 4},   {496, 56}, {512, 118}, {528, 64}, {544, 147}, {560, 56}, {576, 10},
                             {592, 4},   {608, 2},  {624, 5},   {640, 14}, {656, 22},  {672, 33}, {688, 50},
                             {704, 107}, {720, 81}, {736, 84},  {752, 42}, {768, 8},   {784, 12}, {800, 1},
                             {816, 3},   {832, 2},  {848, 4},   {864, 6},  {880, 3},   {896, 9},  {912, 7},
                             {928, 6},   {944, 5},  {960, 4},   {976, 1},  {992, 7},   {1008, 5}, {1024, 5},
                             {1040, 2},  {1056, 5}, {1072, 3},  {1088, 1}, {1104, 3},  {1120, 4}, {1136, 5},
                             {1152, 2},  {1200, 3}, {1216, 2},  {1232, 2}, {1248, 3},  {1264, 2}};
constexpr Bin kAgain256[] = {{256, 33}, {272, 426}, {288, 94}, {304, 362}, {320, 109}};

template <std::size_t Count>
std::vector<double> loads_of(const Bin (&bins)[Count]) {
  std::vector<double> cycles;
  for (const Bin& bin : bins)
    for (int i = 0; i < bin.loads; ++i) cycles.push_back(bin.cycles + 16.0 * i / bin.loads);
  return cycles;
}

TEST(Loads, GroupsOfRecordedLatencies) {
  Measurement hits, misses;
  group_loads(loads_of(kFirst40), loads_of(kAgain40), true, hits);
  group_loads(loads_of(kFirst256), loads_of(kAgain256), false, misses);
  const std::vector<double> found = {hits.others[tag::kNearHit], hits.others[tag::kFarHit],
                                     misses.others[tag::kNearMiss], misses.others[tag::kFarMiss]};
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end()));
  EXPECT_GT(found[1] - found[0], hits.others[tag::kHitSpread]);
  EXPECT_GT(found[3] - found[2], misses.others[tag::kMissSpread]);
  EXPECT_NEAR(found[0], 288, 8);
  EXPECT_NEAR(found[1], 459, 16);
  EXPECT_NEAR(found[2], 541, 16);
  EXPECT_NEAR(found[3], 721, 16);
}

const DpxFunction& function(std::string_view name) {
  for (const DpxFunction& one : kDpxFunctions)
    if (one.name == name) return one;
  throw std::logic_error("no such function");
}

TEST(Dpx, EveryFunctionOfTheHeaderOnce) {
  std::set<std::string_view> names;
  for (const DpxFunction& one : kDpxFunctions) names.insert(one.name);
  EXPECT_EQ(names.size(), 36U) << "CUDA 13.0 declares 36 functions __vi*";
}

TEST(Dpx, ByHand) {
  const auto value = [](std::string_view name, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return dpx(function(name), a, b, c).value;
  };
  EXPECT_EQ(value("viaddmax_s32", 0x7FFFFFFF, 1, 0), 0U) << "the sum wraps to the least number";
  EXPECT_EQ(value("viaddmax_u32", 0xFFFFFFFF, 1, 7), 7U);
  EXPECT_EQ(value("viaddmin_s32_relu", 0x80000000, 0, 5), 0U);
  EXPECT_EQ(value("vimax3_s32", 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD), 0xFFFFFFFF);
  EXPECT_EQ(value("vimax3_s16x2", 0x7FFF8000, 0x80007FFF, 0), 0x7FFF7FFFU);
  EXPECT_EQ(value("viaddmax_s16x2", 0x7FFF0001, 0x0001FFFF, 0x80018000), 0x80010000U)
      << "no carry between halves";
  EXPECT_EQ(value("viaddmin_u16x2", 0xFFFF0001, 0x00010001, 0x00050005), 0x00000002U);
  EXPECT_EQ(value("vimin_s16x2_relu", 0x0003FFFF, 0x00040001, 0), 0x00030000U);
  EXPECT_EQ(dpx(function("vibmax_s32"), 3, 3, 0).first, 1U) << "a tie is a's";
  EXPECT_EQ(dpx(function("vibmin_s16x2"), 0x00020001, 0x00010002, 0).first, 1U) << "the low half alone";
}

/// Two implementations, over every triple of edges.
TEST(Dpx, TheReferenceIsThePlainFunction) {
  for (const DpxFunction& one : kDpxFunctions)
    for (int triple = 0; triple < kDpxTriples; ++triple) {
      const std::uint32_t a = dpx_edge(triple / (kDpxEdges * kDpxEdges)),
                          b = dpx_edge(triple / kDpxEdges % kDpxEdges), c = dpx_edge(triple % kDpxEdges);
      const DpxResult exact = dpx(one, a, b, c);
      const DpxResult plain = dpx_plain(one.operands, one.type, one.greatest, one.relu, a, b, c);
      ASSERT_EQ(exact.value, plain.value) << one.name << " " << a << " " << b << " " << c;
      ASSERT_EQ(exact.first, plain.first) << one.name << " " << a << " " << b << " " << c;
    }
}

TEST(Dpx, TheFoldSeesEveryResult) {
  const DpxResult right = {5, 1};
  EXPECT_NE(dpx_fold(7, right), dpx_fold(7, {5, 0}));
  EXPECT_NE(dpx_fold(7, right), dpx_fold(7, {4, 1}));
}

/// A result that is wrong in one word is found by every benchmark of memory and of DPX that copies results.
TEST(Checks, RefuseResultsOfPoison) {
  int checked = 0;
  for (const char* name : {"ld.relaxed.gpu.global.u64",
                           "ld.relaxed.gpu.global.u64+each",
                           "stream.ld.v4.u32",
                           "ld.shared::cluster.u32",
                           "stream.ld.shared::cluster.u32",
                           "cp.async.bulk",
                           "cp.async.bulk+footprint",
                           "cp.async.bulk+inflight",
                           "cp.async.bulk.tensor.1d+inflight",
                           "cp.async.bulk.tensor.2d+inflight",
                           "cp.async.bulk.tensor.3d+inflight",
                           "cp.async.bulk.tensor.2d.multicast::cluster",
                           "cp.async.bulk.tensor.2d+cluster",
                           "cp.async.bulk.global+inflight",
                           "cp.reduce.async.bulk.add.u32+inflight",
                           "vimax3_s32",
                           "viaddmax_s16x2+plain",
                           "ld.shared.u32+index",
                           "ld.relaxed.gpu.global.u64+map",
                           "atom.relaxed.gpu.global.or.b64+map",
                           "message.global",
                           "message.shared::cluster",
                           "ld.shared::cluster.u32+placed"}) {
    const Benchmark* benchmark = find_benchmark(name);
    ASSERT_NE(benchmark, nullptr) << name;
    const Point point = points_of(*benchmark, resolve_axes({}, true)).front();
    const sweeps::Setup setup = benchmark->setup(point, nullptr);
    ASSERT_GT(setup.slot_bytes, 0U) << name;
    Measurement out;
    const auto poison = [&] { return std::vector<std::byte>(setup.slot_bytes, std::byte{0xA5}); };
    setup.check(poison, 1, kLookedAtSteps, out);
    EXPECT_GT(out.differing, 0U) << name;
    ++checked;
  }
  EXPECT_EQ(checked, 23);
}

/// Results that are right, by other arithmetic than the benchmark's; then with one bit changed.
TEST(Checks, AcceptWhatIsRightAndNothingElse) {
  constexpr int kSteps = 128;
  const auto differing = [](const char* name, const std::vector<std::uint32_t>& words) {
    const Benchmark* benchmark = find_benchmark(name);
    const sweeps::Setup setup =
        benchmark->setup(points_of(*benchmark, resolve_axes({}, true)).front(), nullptr);
    std::vector<std::byte> bytes(std::max(words.size() * sizeof(std::uint32_t), setup.slot_bytes));
    std::memcpy(bytes.data(), words.data(), words.size() * sizeof(std::uint32_t));
    Measurement out;
    setup.check([&] { return bytes; }, 1, kSteps, out);
    EXPECT_GT(out.compared, 0U) << name;
    return out.differing;
  };
  std::uint32_t word = 1;
  for (int step = 0; step < kSteps; ++step) word = 739982445U * word + 695872825U;
  for (const char* name : {"message.global", "message.shared::cluster"}) {
    EXPECT_EQ(differing(name, {word, 0, word, 0}), 0U) << name;
    EXPECT_EQ(differing(name, {word, 0, word ^ 1, 0}), 1U) << name;
    EXPECT_EQ(differing(name, {word, 1, word, 0}), 1U) << "a block that gave up";
  }
  // The lines 0 to 127 of block 0: 1 + 2 + ... + 128 times the word of the first line.
  const std::uint64_t sum = 0x9E3779B97F4A7C15U * (128 * 129 / 2);
  for (const char* name : {"ld.relaxed.gpu.global.u64+map", "atom.relaxed.gpu.global.or.b64+map"}) {
    const auto low = static_cast<std::uint32_t>(sum), high = static_cast<std::uint32_t>(sum >> 32);
    EXPECT_EQ(differing(name, {low, high}), 0U) << name;
    EXPECT_EQ(differing(name, {low, high ^ 1}), 1U) << name;
  }
  const char* placed = "ld.shared::cluster.u32+placed";  // two blocks per cluster, 128 steps through 7 words
  EXPECT_EQ(differing(placed, {256, 0, 1, 256, 1, 0}), 0U);
  EXPECT_EQ(differing(placed, {256, 0, 1, 128, 1, 0}), 1U);
  EXPECT_EQ(differing(placed, {256, 0, 0, 256, 1, 0}), 1U) << "it read its own block";
}

TEST(Maps, TheMedianOfTheVisitsOfEachLine) {
  const Benchmark* benchmark = find_benchmark("atom.relaxed.gpu.global.or.b64+map");
  const sweeps::Setup setup =
      benchmark->setup(points_of(*benchmark, resolve_axes({}, true)).front(), nullptr);
  const std::size_t kept = (setup.slot_bytes - sizeof(std::uint64_t)) / sizeof(std::uint32_t);
  // Block 1 starts at line 2. Visits of a line: its number plus 300, but for one odd visit.
  std::vector<std::byte> bytes(2 * setup.slot_bytes);
  for (std::size_t block = 0; block < 2; ++block)
    for (std::size_t i = 0; i < kept; ++i) {
      const std::uint32_t cycles = i == 5 ? 9999 : 300 + static_cast<std::uint32_t>((i + 2 * block) % 256);
      std::memcpy(bytes.data() + block * setup.slot_bytes + sizeof(std::uint64_t) + 4 * i, &cycles, 4);
    }
  Stamp stamps[2];
  stamps[0].multiprocessor = 7;
  stamps[1].multiprocessor = 3;
  Measurement out;
  setup.observe(
      stamps, [&] { return bytes; }, 1024, out);
  EXPECT_EQ(out.lists[list::kMapPlaces], (std::vector<std::uint32_t>{7, 3}));
  const std::vector<std::uint32_t>& map = out.lists[list::kMap];
  ASSERT_EQ(map.size(), 512U);
  for (std::uint32_t i = 0; i < 512; ++i) EXPECT_EQ(map[i], 300 + i % 256) << i;
}

}  // namespace
}  // namespace mmaudit::sweeps::test
