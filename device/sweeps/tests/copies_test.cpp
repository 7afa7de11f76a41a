// What the benchmarks of the copy engine rest on, without a GPU.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "fake_target.hpp"
#include "sweeps/memory/boxes.hpp"
#include "sweeps/memory/copies.hpp"
#include "sweeps/memory/global_memory.hpp"

namespace mmaudit::sweeps::test {
namespace {

TEST(Boxes, AreReadAsTheyAreWritten) {
  const std::optional<Box> box = parse_box("16x256x1");
  ASSERT_TRUE(box);
  EXPECT_EQ(box->size[0], 16U);
  EXPECT_EQ(box->size[1], 256U);
  EXPECT_EQ(box->elements(), 4096U);
  EXPECT_EQ(rank_of("256"), 1);
  EXPECT_EQ(rank_of("16x256x1"), 3);
  for (const char* text : {"", "0", "257", "16x", "x16", "16x16x16x1", "16 x16", "-1"})
    EXPECT_FALSE(parse_box(text)) << text;
}

TEST(Boxes, TravelToAKernelAsOneNumber) {
  for (const Box& box : {Box{{256, 256, 256}}, Box{{1, 1, 1}}, Box{{4, 4, 256}}, Box{{16, 256, 1}}}) {
    const Box back = unpacked(packed(box));
    for (int axis = 0; axis < kBoxRanks; ++axis) EXPECT_EQ(back.size[axis], box.size[axis]);
  }
}

TEST(Boxes, AWordIsWhereTheTensorHasIt) {
  const Boxes tensor(3, kCopiedMemoryBytes, {{16, 8, 4}});
  EXPECT_EQ(tensor.word_of(0, 0), 0U);
  EXPECT_EQ(tensor.word_of(0, 17), 1024U + 1) << "the second row";
  EXPECT_EQ(tensor.word_of(0, 16 * 8), 1024U * 512) << "the second plane";
  EXPECT_EQ(tensor.word_of(1, 0), 16U);
  EXPECT_EQ(tensor.word_of(64, 0), 8U * 1024) << "64 boxes lie side by side";
  const Boxes line(1, kCopiedMemoryBytes, {{256, 1, 1}});
  EXPECT_EQ(line.word_of(3, 5), 3 * 512U + 5) << "elements of two words";
}

/// Every word of every whole box once, and none outside.
TEST(Boxes, ShareNoWord) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  for (const char* text : {"192", "96x32", "64x64", "16x16x12", "4x4x256", "256x16x1"}) {
    const Boxes tensor(rank_of(text), kBytes, *parse_box(text));
    std::vector<bool> seen(kBytes / 4);
    const std::uint32_t words = tensor.box.elements() * tensor.words;
    for (std::uint32_t number = 0; number < tensor.count(); ++number)
      for (std::uint32_t word = 0; word < words; ++word) {
        const std::uint32_t at = tensor.word_of(number, word);
        ASSERT_LT(at, seen.size()) << text;
        ASSERT_FALSE(seen[at]) << text << " box " << number << " word " << word;
        seen[at] = true;
      }
  }
}

/// As the lanes of a warp go through a box, four words at a time.
TEST(Boxes, AWarpFindsEveryWordOfABox) {
  constexpr std::uint32_t kLanes = 32, kFour = 4;
  for (const char* text :
       {"64", "192", "16x16", "96x32", "64x64", "8x8x4", "16x16x12", "4x4x256", "256x16x1"}) {
    const Boxes tensor(rank_of(text), kCopiedMemoryBytes, *parse_box(text));
    const std::uint32_t count = tensor.box.elements() * tensor.words / kFour;
    std::uint32_t found = 0;
    for (const std::uint32_t number : {0U, 12345U, tensor.count() - 1})
      for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
        BoxWords words(tensor, number, kFour * lane, kFour * kLanes);
        for (std::uint32_t four = lane; four < count; four += kLanes, words.advance())
          for (std::uint32_t i = 0; i < kFour; ++i, ++found)
            ASSERT_EQ(words.index() + i, tensor.word_of(number, kFour * four + i)) << text << " " << four;
      }
    EXPECT_EQ(found, 3 * kFour * count) << text;
  }
}

/// The driver's rules for tensor maps, and room in shared memory for the most blocks.
TEST(Boxes, EveryOneThatIsSweptIsOneThatTheDriverTakes) {
  std::set<std::string> swept;
  for (const char* name : {"cp.async.bulk.tensor.1d+inflight", "cp.async.bulk.tensor.2d+inflight",
                           "cp.async.bulk.tensor.3d+inflight"}) {
    const Benchmark* benchmark = find_benchmark(name);
    ASSERT_NE(benchmark, nullptr) << name;
    for (const Point& point : points_of(*benchmark, resolve_axes({}, false))) {
      const std::string text(point.axis("box"));
      const std::optional<Box> box = parse_box(text);
      ASSERT_TRUE(box) << text;
      swept.insert(text);
      const int rank = rank_of(text), bytes = box_bytes(*box, rank);
      EXPECT_EQ(4 * words_per_element(rank) * box->size[0] % 16, 0U) << text << ": rows are whole 16 bytes";
      EXPECT_EQ(bytes % static_cast<int>(kStageAlignment), 0) << text;
      EXPECT_DOUBLE_EQ(benchmark->work(point).bytes, bytes);
      const sweeps::Setup setup = benchmark->setup(point, nullptr);
      EXPECT_LE(4 * (setup.shared_bytes + 1024), 228 << 10) << text;
      EXPECT_GT(Boxes(rank, setup.memory_bytes, *box).count(), 4U * 264) << text;
      EXPECT_EQ(setup.placement.blocks_per_multiprocessor, point.number("ctas"));
    }
  }
  EXPECT_EQ(swept.size(), 22U);
}

TEST(Copies, ABlockThatLookedAtLessIsWrong) {
  const auto differing = [](CopyResult found, int steps) {
    std::vector<std::byte> seen(sizeof(found));
    std::memcpy(seen.data(), &found, sizeof(found));
    Measurement out;
    check_copies(seen, 100, 3, steps, out);
    EXPECT_EQ(out.compared, found.copied);
    return out.differing;
  };
  EXPECT_EQ(differing({.copied = 100 * kLookedAtSteps}, kLookedAtSteps), 0U);
  EXPECT_EQ(differing({.copied = 300}, 1024), 0U) << "the last three of a long run";
  EXPECT_EQ(differing({.copied = 299}, 1024), 1U);
  EXPECT_EQ(differing({.copied = 300, .differing = 5}, 1024), 5U);
}

/// A run of few steps looks at every word, which takes longer than the copies.
TEST(Copies, AreTimedInRunsThatDoNotLook) {
  int asked = 0;
  for (const Benchmark& benchmark : benchmarks()) {
    if (!benchmark.name.starts_with("cp.async.bulk") || benchmark.name.starts_with("cp.async.bulk.global"))
      continue;
    const Point point = points_of(benchmark, resolve_axes({}, true)).front();
    EXPECT_GT(benchmark.setup(point, nullptr).trial_steps, kLookedAtSteps) << benchmark.name;
    ++asked;
  }
  EXPECT_EQ(asked, 8);
}

TEST(Copies, GpusWithoutTheEngineSayWhy) {
  device::DeviceInfo ampere;
  ampere.compute_capability = 80;
  device::DeviceInfo hopper;
  hopper.compute_capability = 90;
  int asked = 0;
  for (const Benchmark& benchmark : benchmarks()) {
    if (!benchmark.name.starts_with("cp.")) continue;
    Point point = points_of(benchmark, resolve_axes({}, true)).front();
    point.set("scope", "gpu");
    EXPECT_NE(benchmark.why_not(ampere, point), "") << benchmark.name;
    EXPECT_EQ(benchmark.why_not(hopper, point), "") << benchmark.name;
    ++asked;
  }
  EXPECT_EQ(asked, 10);
}

/// The footprints of the chases, so that the two can be compared point by point.
TEST(Copies, AloneHaveTheFootprintsOfAChase) {
  const auto footprints = [](const char* name, std::string_view bytes) {
    std::set<int> found;
    for (const Point& point : points_of(*find_benchmark(name), resolve_axes({}, false)))
      if (point.axis("bytes") == bytes) {
        EXPECT_TRUE(found.insert(point.number("kib")).second) << point.key();
      }
    return found;
  };
  const std::set<int> chased = footprints("ld.relaxed.cta.global.u64", "");
  EXPECT_EQ(chased.size(), 36U);
  EXPECT_EQ(footprints("cp.async.bulk+footprint", "128"), chased);
  EXPECT_EQ(footprints("cp.async.bulk+footprint", "4096").size(), 17U) << "16 KiB to 1 GiB, doubled";
}

TEST(Copies, FootprintsAreAllThatIsCopied) {
  const Benchmark& benchmark = *find_benchmark("cp.async.bulk+footprint");
  EXPECT_FALSE(benchmark.whole_gpu);
  for (const Point& point :
       points_of(benchmark, resolve_axes({"kib[pow2]=[0:21:1]", "bytes=[128,4096]"}, false))) {
    const sweeps::Setup setup = benchmark.setup(point, nullptr);
    EXPECT_EQ(setup.memory_bytes, std::size_t{1024} * static_cast<std::size_t>(point.number("kib")));
    EXPECT_LE(static_cast<std::size_t>(point.number("bytes")), setup.memory_bytes) << point.key();
    EXPECT_EQ(setup.args.parameter, point.number("bytes"));
  }
}

TEST(Copies, MulticastIsForTheTargetsThatItIsMeantFor) {
  device::DeviceInfo rtx;
  rtx.compute_capability = 120;
  for (const char* name : {"cp.async.bulk.tensor.2d.multicast::cluster", "cp.async.bulk.tensor.2d+cluster"}) {
    const Benchmark* benchmark = find_benchmark(name);
    ASSERT_NE(benchmark, nullptr) << name;
    const std::vector<Point> points = points_of(*benchmark, resolve_axes({}, false));
    const bool multicast = benchmark->name.find("multicast") != std::string::npos;
    EXPECT_EQ(points.size(), 2U * (multicast ? 4 : 5)) << "levels, clusters; one block needs no multicast";
    EXPECT_EQ(benchmark->why_not(rtx, points.front()).empty(), !multicast);
    EXPECT_LE(benchmark->setup(points.front(), nullptr).shared_bytes, 227 << 10);
  }
}

constexpr std::uint32_t kChunks = 100, kChunkWords = 8, kBlocks = 33;

/// Memory as launches leave it that store, or add, chunk by chunk; and what BulkStores says of it.
struct StoredMemory {
  explicit StoredMemory(bool adding) : adds(adding) {
    for (std::uint32_t index = 0; index < kChunks * kChunkWords; ++index) words.push_back(copied_word(index));
  }
  /// A launch; `marked`: the launch whose words it stores, `steps_made`: how far it goes.
  void launch(std::uint32_t marked, std::uint32_t steps_made) {
    for (std::uint32_t block = 0; block < kBlocks; ++block)
      for (std::uint32_t step = 0; step < steps_made; ++step)
        for (std::uint32_t word = 0; word < kChunkWords; ++word) {
          std::uint32_t& at = words[(block + step * kBlocks) % kChunks * kChunkWords + word];
          at = (adds ? at : 0) + stored_bulk_word(word, marked);
        }
  }
  /// As the target runs it: warm-ups, then a series, of which `last` is the end.
  [[nodiscard]] std::size_t wrong_after(
      const std::function<void(StoredMemory&, std::uint32_t launch)>& last) {
    constexpr std::uint32_t kSteps = 50;
    std::uint32_t launches = 0;
    const auto checked = [&](std::uint32_t steps) {
      stores.add(launches, std::uint64_t{kBlocks} * steps, kChunks);
      std::size_t wrong = 0;
      for (std::uint32_t index = 0; index < words.size(); ++index)
        wrong += words[index] != stores.word(index, kChunkWords, adds) ? 1 : 0;
      return wrong;
    };
    for (const std::uint32_t steps : {1U, 2U}) {
      ++launches;
      launch(launches, steps);
      EXPECT_EQ(checked(steps), 0U);
    }
    for (int repeat = 0; repeat < 6; ++repeat) {
      ++launches;
      launch(launches, kSteps);
    }
    last(*this, ++launches);
    return checked(kSteps);
  }

  bool adds;
  std::vector<std::uint32_t> words;
  BulkStores stores;
};

TEST(Stores, OfEveryLaunchAreExpectedWhereTheyAre) {
  for (const bool adds : {false, true})
    EXPECT_EQ(
        StoredMemory(adds).wrong_after([](auto& memory, std::uint32_t launch) { memory.launch(launch, 50); }),
        0U);
}

TEST(Stores, ALaunchThatStoredNothingIsSeen) {
  for (const bool adds : {false, true})
    EXPECT_EQ(StoredMemory(adds).wrong_after([](auto&, std::uint32_t) {}), kChunks * kChunkWords);
}

TEST(Stores, ALaunchThatStoredAnOlderOnesWordsIsSeen) {
  for (const bool adds : {false, true})
    EXPECT_EQ(StoredMemory(adds).wrong_after(
                  [](auto& memory, std::uint32_t launch) { memory.launch(launch - 1, 50); }),
              kChunks * kChunkWords);
}

TEST(Stores, ALaunchThatStoppedBeforeTheEndOfMemoryIsSeen) {
  for (const bool adds : {false, true})
    EXPECT_GT(
        StoredMemory(adds).wrong_after([](auto& memory, std::uint32_t launch) { memory.launch(launch, 3); }),
        0U);
}

TEST(Stores, AreOfFourKinds) {
  BulkStores stores;
  for (std::uint32_t kind = 1; kind <= 4; ++kind) stores.add(kind, kind, kChunks);
  EXPECT_THROW(stores.add(5, 5, kChunks), std::logic_error) << "a fifth kind";
}

TEST(Stores, NeighbouringWordsDifferSoThatNoneCanStandForAnother) {
  std::set<std::uint32_t> seen;
  constexpr std::uint32_t kLaunches = 64;
  for (std::uint32_t launch = 1; launch <= kLaunches; ++launch)
    for (std::uint32_t word = 0; word < 4096; ++word) seen.insert(stored_bulk_word(word, launch));
  EXPECT_EQ(seen.size(), 4096U * kLaunches);
  EXPECT_FALSE(seen.contains(0)) << "adding nothing would not be seen";
}

/// Sent words of each block; without a GPU memory is not looked at.
TEST(Stores, ABlockThatSentLessIsWrong) {
  for (const char* name : {"cp.async.bulk.global+inflight", "cp.reduce.async.bulk.add.u32+inflight"}) {
    const Benchmark& benchmark = *find_benchmark(name);
    Point point = points_of(benchmark, resolve_axes({}, true)).front();
    const auto differing = [&](std::uint32_t sent) {
      const CopyResult found{.copied = sent};
      std::vector<std::byte> seen(sizeof(found));
      std::memcpy(seen.data(), &found, sizeof(found));
      Measurement out;
      benchmark.setup(point, nullptr).check([&] { return seen; }, 1, 1024, out);
      return out.differing;
    };
    const auto right = static_cast<std::uint32_t>(1024 * point.number("bytes") / 4);
    EXPECT_EQ(differing(right), 0U);
    EXPECT_EQ(differing(right / 2), 1U);
    EXPECT_EQ(differing(1024), 1U) << "steps are no words";
  }
}

/// The whole GPU would take other warps and chains for each policy where it can choose.
TEST(Policies, AreComparedAtTheSameWarpsAndChains) {
  FakeTarget target;
  constexpr char kPolicies[] = "stream.ld.shared::cluster.v4.u32+policies";
  const SweepResult result = sweep_of(target, {kPolicies});
  std::set<std::string> keys;
  for (const Point& point : result.points) {
    if (point.axis("scope") != "gpu") continue;
    EXPECT_EQ(point.number("warps"), 32) << point.key();
    EXPECT_TRUE(keys.insert(point.key()).second);
  }
  EXPECT_EQ(keys.size(), 3U * (4 + 3 + 4)) << "policies; rings, pairs and broadcasts in clusters of 2 to 16";
  EXPECT_EQ(result.points.size(), 2 * keys.size());
  const Benchmark &benchmark = *find_benchmark(kPolicies),
                  &stream = *find_benchmark("stream.ld.shared::cluster.v4.u32");
  const Point spread = points_of(benchmark, resolve_axes({"policy=spread"}, false)).front();
  Point like = points_of(stream, resolve_axes({"warps=32", "ilp=4", "policy=spread"}, false)).front();
  EXPECT_EQ(benchmark.setup(spread, nullptr).placement.policy, 1);
  EXPECT_EQ(benchmark.work(spread).bytes, stream.work(like).bytes);
  EXPECT_EQ(benchmark.kernel(spread).symbol, stream.kernel(like).symbol);
}

/// Several blocks per multiprocessor are for the whole GPU alone.
TEST(Copies, OneMultiprocessorRunsOneBlock) {
  FakeTarget target;
  const SweepResult result = sweep_of(target, {"cp.async.bulk.tensor.3d"}, true);
  int gpu = 0;
  for (const Point& point : result.points) gpu += point.axis("scope") == "gpu" ? 1 : 0;
  EXPECT_EQ(gpu, 2 * 2) << "two boxes, one and four blocks";
}

constexpr char kFed[] = "wgmma.m64n256k16.f32.f16.f16+feed";

TEST(FedWgmma, FewPointsAndTheFirstWithoutAFeed) {
  const Benchmark& fed = *find_benchmark(kFed);
  const std::vector<Point> points = points_of(fed, resolve_axes({}, false));
  EXPECT_EQ(points.size(), 28U);
  EXPECT_EQ(points.front().number("fed"), 0) << "its table is one of multiply-adds";
  for (const Point& point : points) {
    EXPECT_DOUBLE_EQ(fed.work(point).fma, 64 * 256 * 16);
    EXPECT_DOUBLE_EQ(fed.work(point).bytes, point.number("fed") / 4.0);
    EXPECT_TRUE(point.number("fed") > 0 || point.axis("level") == "l2") << point.key();
  }
  EXPECT_EQ(points_of(fed, resolve_axes({}, true)).size(), 2U * (3 + 1)) << "--quick";
}

/// Beside the tiles of A that ldmatrix reads, the same feeds as with A in registers, in the same buffers.
TEST(FedWgmma, ThatLoadsHasTheFeedsOfRegisters) {
  const Benchmark &fed = *find_benchmark(kFed), &loads = *find_benchmark(std::string(kFed) + "+loads");
  const std::vector<Point> points = points_of(loads, resolve_axes({}, false)),
                           registers = points_of(fed, resolve_axes({"a=registers"}, false));
  ASSERT_EQ(points.size(), 14U);
  ASSERT_EQ(registers.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(points[i].axes, registers[i].axes);
    EXPECT_DOUBLE_EQ(loads.work(points[i]).bytes, fed.work(points[i]).bytes);
    EXPECT_NE(loads.kernel(points[i]).symbol, fed.kernel(registers[i]).symbol);
  }
}

TEST(FedWgmma, HasBothRatesInOnePoint) {
  FakeTarget target;
  const SweepResult result = sweep_of(target, {kFed});
  const Point* point = nullptr;
  for (const Point& one : result.points)
    if (one.axis("scope") == "gpu" && one.axis("a") == "shared" && one.axis("level") == "l2" &&
        one.number("fed") == 32768)
      point = &one;
  ASSERT_NE(point, nullptr);
  EXPECT_NEAR(*point->get(tag::kBytes), 40, 0.1);
  EXPECT_NEAR(*point->get(tag::kShareHeld), 128 / 204.8, 0.01);
  EXPECT_TRUE(point->get(tag::kBytesPerSecond) && point->get(tag::kFlops));
}

}  // namespace
}  // namespace mmaudit::sweeps::test
