// What a sweep's report says of memory, on points whose answer is known.
#include "sweeps/memory_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "fake_target.hpp"
#include "mmaudit/error.hpp"
#include "sweeps/findings.hpp"
#include "sweeps/memory_levels.hpp"
#include "sweeps/published.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps::test {
namespace {

Point& add(SweepResult& result, std::string_view subject,
           std::vector<std::pair<std::string, std::string>> axes, std::map<std::string, double> summaries,
           const char* scope = "sm") {
  axes.insert(axes.begin(), {{"scope", scope}, {"warps", "1"}});
  summaries.emplace(tag::kCompared, 64);
  result.points.push_back(
      {.subject = std::string(subject), .axes = std::move(axes), .summaries = std::move(summaries)});
  return result.points.back();
}

/// Footprints in KiB and cycles of an H200, driver 580.159.04: docs/results/h200-memory.
struct Chased {
  int kib;
  double any, second;
};
constexpr Chased kChased[] = {
    {32, 34.0, 280.0},     {208, 34.0, 284.2},     {224, 45.5, 280.9},     {256, 87.4, 282.0},
    {512, 198.5, 281.3},   {1024, 243.3, 282.4},   {8192, 277.8, 282.6},   {28672, 281.4, 282.6},
    {32768, 300.8, 301.2}, {40960, 343.0, 343.6},  {49152, 370.3, 372.2},  {57344, 391.9, 392.9},
    {65536, 419.0, 419.1}, {131072, 593.3, 632.2}, {524288, 662.0, 660.8}, {1048576, 667.2, 666.1}};

SweepResult chased() {
  SweepResult result;
  result.provenance = FakeTarget().provenance();
  for (const Chased& one : kChased) {
    add(result, kChaseAnyCache, {{"kib", std::to_string(one.kib)}}, {{tag::kCycles, one.any}});
    add(result, kChaseSecondLevel, {{"kib", std::to_string(one.kib)}}, {{tag::kCycles, one.second}});
  }
  return result;
}

const Plateau* level(const std::vector<Plateau>& plateaus, std::string_view name) {
  const auto at =
      std::find_if(plateaus.begin(), plateaus.end(), [&](const Plateau& one) { return one.level == name; });
  return at == plateaus.end() ? nullptr : &*at;
}

TEST(Plateaus, OfTheH200AreNamed) {
  const std::vector<Plateau> found = plateaus_of(chased());
  ASSERT_EQ(found.size(), 4U);
  const Plateau *first = level(found, "L1"), *near = level(found, "near L2"), *far = level(found, "far L2"),
                *memory = level(found, "DRAM");
  ASSERT_TRUE(first && near && far && memory);
  EXPECT_EQ(first->to_kib, 208);
  EXPECT_DOUBLE_EQ(first->median, 34.0);
  EXPECT_EQ(near->from_kib, 32);
  EXPECT_EQ(near->to_kib, 28672);
  EXPECT_NEAR(near->median, 282.2, 0.5);
  EXPECT_FALSE(far->flat) << "the H200 has no plateau there";
  EXPECT_EQ(far->from_kib, 32768);
  EXPECT_TRUE(memory->flat);
  EXPECT_EQ(memory->from_kib, 524288);
  EXPECT_NEAR(memory->median, 663.5, 1);
}

TEST(Plateaus, AFarPlateauIsFound) {
  SweepResult result = chased();
  for (Point& point : result.points)
    if (const int kib = point.number("kib"); kib >= 32768 && kib <= 131072)
      point.summaries[tag::kCycles] = 500.0 + (kib >= 131072 ? 2 : kib >= 65536 ? 1 : 0);
  const std::vector<Plateau> found = plateaus_of(result);
  const Plateau* far = level(found, "far L2");
  ASSERT_NE(far, nullptr);
  EXPECT_TRUE(far->flat);
  EXPECT_EQ(far->to_kib, 131072);
}

TEST(Plateaus, TwoPointsSideBySideAreNone) {
  SweepResult result;
  for (const auto& [kib, cycles] : {std::pair(16384, 200.0), {20480, 201.0}, {40960, 400.0}, {81920, 800.0}})
    add(result, kChaseSecondLevel, {{"kib", std::to_string(kib)}}, {{tag::kCycles, cycles}});
  const std::vector<Plateau> found = plateaus_of(result);
  ASSERT_EQ(found.size(), 1U) << "only the largest footprint stands alone";
  EXPECT_EQ(found.front().from_kib, 81920);
  EXPECT_TRUE(plateaus_of({}).empty());
}

/// Loads around these centres, so many each.
std::vector<std::uint32_t> loads(std::initializer_list<std::pair<std::uint32_t, int>> centres) {
  std::vector<std::uint32_t> cycles;
  for (const auto& [centre, count] : centres)
    for (int i = 0; i < count; ++i) cycles.push_back(centre + static_cast<std::uint32_t>(i * 5 % 21) - 10);
  return cycles;
}

SweepResult each_load(std::uint32_t far_hit) {
  SweepResult result;
  Point& hits = add(result, kEachLoad, {{"level", "l2"}}, {{tag::kCycles, 500}, {tag::kNearHit, 1}});
  hits.lists[list::kFirst] = loads({{280, 700}, {far_hit, 200}, {560, 100}, {900, 24}});
  hits.lists[list::kAgain] = loads({{280, 1024}});
  Point& misses = add(result, kEachLoad, {{"level", "memory"}}, {{tag::kCycles, 900}});
  misses.lists[list::kFirst] = loads({{540, 460}, {720, 470}, {1100, 94}});
  misses.lists[list::kAgain] = loads({{280, 1024}});
  return result;
}

TEST(LoadGroups, ComeFromThePointsAndStandBesideThePaper) {
  const std::vector<LoadGroup> groups = load_groups(each_load(450));
  ASSERT_EQ(groups.size(), 4U);
  const double expected[] = {280, 450, 540, 720};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(groups[i].median, expected[i], 2) << groups[i].name;
  const std::string text = report::rendered(report_of(each_load(450)), "text");
  for (const char* part : {"near hit", "258.0 (H800 PCIe, Luo IV)", "743.7 (H800 PCIe, Luo IV)"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  EXPECT_NE(loads_figure(each_load(450), true).find("far hits"), std::string::npos);
  EXPECT_EQ(loads_figure({}, true), "");
}

/// A map of 20 multiprocessors and 64 lines; `mixed`: sides without order.
SweepResult mapped(bool mixed, bool one_class = false) {
  SweepResult result;
  Point& point = add(result, kPartitionAtom, {{"spacing", "4096"}}, {{tag::kCycles, 900}}, "gpu");
  std::uint32_t state = 7;
  for (std::uint32_t place = 0; place < 20; ++place) {
    point.lists[list::kMapPlaces].push_back(19 - place);
    for (std::uint32_t line = 0; line < 64; ++line) {
      state = state * 1664525U + 1013904223U;
      const bool far = mixed ? (state >> 20 & 1U) != 0 : (line * 5 / 3 % 2 == 1) != (place % 4 < 2);
      point.lists[list::kMap].push_back(280 + (far && !one_class ? 170 : 0) + (state >> 24) % 16);
    }
  }
  return result;
}

std::optional<bool> holds(const SweepResult& result, std::string_view part) {
  for (const Finding& finding : findings_of(result))
    if (finding.statement.find(part) != std::string::npos) return finding.holds;
  return std::nullopt;
}

TEST(Partitions, TwoSidesAreFoundAndNoiseIsNot) {
  const SweepResult result = mapped(false);
  const std::vector<PartitionMap> maps = partition_maps(result);
  ASSERT_EQ(maps.size(), 1U);
  EXPECT_TRUE(maps.front().two_classes());
  EXPECT_EQ(maps.front().first_side, 10U);
  EXPECT_EQ(maps.front().multiprocessors.front(), 0U) << "by side, then number";
  EXPECT_NEAR(maps.front().far - maps.front().near, 170, 5);
  EXPECT_EQ(maps.front().agreement, 1);
  EXPECT_EQ(holds(result, "So do atomic"), std::optional(true));
  EXPECT_EQ(holds(mapped(true), "So do atomic"), std::optional(false));
  EXPECT_EQ(holds(mapped(false, true), "So do atomic"), std::optional(false));
  EXPECT_EQ(holds({}, "So do atomic"), std::nullopt);
}

TEST(Partitions, AMapWhoseNumbersDoNotFitIsNone) {
  SweepResult result = mapped(false);
  result.points.front().lists[list::kMap].pop_back();
  EXPECT_TRUE(partition_maps(result).empty());
  EXPECT_TRUE(partition_figures(partition_maps(result)).empty());
}

/// Clusters of two on neighbours, clusters of four on every other pair.
SweepResult placed() {
  SweepResult result;
  add(result, kPlacedClusters, {{"width", "2"}}, {{tag::kCycles, 190}}, "gpu").lists[list::kPlaces] = {
      0, 1, 2, 3, 4, 5, 6, 7};
  add(result, kPlacedClusters, {{"width", "4"}}, {{tag::kCycles, 190}}, "gpu").lists[list::kPlaces] = {
      0, 1, 4, 5, 6, 2, 3, 7};
  return result;
}

TEST(Placement, GroupsAreWhatClustersHaveInCommon) {
  const auto groups = multiprocessor_groups(placed());
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0], (std::vector<std::uint32_t>{0, 1, 4, 5}));
  EXPECT_EQ(groups[1], (std::vector<std::uint32_t>{2, 3, 6, 7}));
  EXPECT_NE(report::rendered(report_of(placed()), "text").find("2 3 6 7"), std::string::npos);
  EXPECT_NE(placement_figure(placed()).find("Clusters on multiprocessors"), std::string::npos);
}

/// A chain of pairs, from its end: minutes where each search walks the whole chain.
TEST(Placement, LongChainsTakeNoTime) {
  constexpr std::uint32_t kLength = 200000;
  SweepResult result;
  std::vector<std::uint32_t>& places =
      add(result, kPlacedClusters, {{"width", "2"}}, {{tag::kCycles, 190}}, "gpu").lists[list::kPlaces];
  for (std::uint32_t place = kLength; place > 0; --place) {
    places.push_back(place - 1);
    places.push_back(place);
  }
  const auto groups = multiprocessor_groups(result);
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups.front().size(), kLength + 1U);
}

TEST(Machine, EachLevelWithOursAndThePapersNumbers) {
  SweepResult result = chased();
  add(result, "stream.ld.v4.u32", {{"level", "l2"}}, {{tag::kBytes, 36}, {tag::kBytesPerSecond, 8.9e12}},
      "gpu");
  add(result, "ld.shared::cluster.u32", {{"cluster", "2"}, {"peer", "1"}}, {{tag::kCycles, 189.2}});
  add(result, kMessage, {{"flag", "apart"}}, {{tag::kCycles, 1000}});
  const std::string svg = machine_figure(machine_levels(result));
  for (const char* part : {">L1 cache<", ">34.0 cycles<", ">H800: 32.0 cycles<", ">near L2<", ">8.90 TB/s<",
                           ">H800: 34.6 B/clk/SM<", ">H800: 181 cycles<", ">H800: 956 cycles<", ">memory<"})
    EXPECT_NE(svg.find(part), std::string::npos) << part << svg;
  EXPECT_EQ(machine_figure(machine_levels({})), "");
  EXPECT_EQ(holds(result, "through global memory takes"), std::optional(true));
  result.points.back().summaries[tag::kCycles] = 400;
  EXPECT_EQ(holds(result, "through global memory takes"), std::optional(false));
}

TEST(Device, StandsBesideThePapersThree) {
  SweepResult result = chased();
  EXPECT_EQ(report::rendered(report_of(result), "text").find("RTX4090  "), std::string::npos);
  result.provenance.gpu = "<b>GPU";
  result.properties = {{property::kMemory, 143.8e9},
                       {property::kMemoryClock, 3.201e9},
                       {property::kMemoryBus, 6144},
                       {property::kSecondLevel, 60 << 20},
                       {property::kShared, 228 << 10}};
  const std::string text = report::rendered(report_of(result), "text");
  for (const char* part : {"4917 GB/s (clock x 2 x bus)", "60 MiB", "2039 GB/s", "HBM2e"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  const std::string page = report::rendered(report_of(result), "html");
  EXPECT_EQ(page.find("<b>GPU"), std::string::npos) << "names from files stay text";
}

TEST(Partitions, ListsOfDifferentNumbersTakeNoTime) {
  SweepResult result = mapped(false);
  Point& point = result.points.front();
  for (std::uint32_t i = 0; i < 20 * 20000; ++i) point.lists[list::kMap].push_back(i);
  point.lists[list::kMap].resize(std::size_t{20} * 20000);
  EXPECT_EQ(partition_maps(result).size(), 1U);
  SweepResult loads = each_load(450);
  for (std::uint32_t i = 0; i < 400000; ++i) loads.points.front().lists[list::kFirst].push_back(i);
  EXPECT_EQ(load_groups(loads).size(), 4U);
  EXPECT_NE(loads_figure(loads, true), "");
}

TEST(Pictures, FitAPhoneAndLoadNothing) {
  SweepResult result = mapped(false);
  for (const SweepResult& more : {chased(), each_load(450), placed()})
    result.points.insert(result.points.end(), more.points.begin(), more.points.end());
  int pictures = 0;
  for (const report::Section& section : memory_sections(result))
    for (const std::string& figure : section.figures) {
      ++pictures;
      EXPECT_TRUE(figure.starts_with("<svg class=\"w4\" viewBox=\"0 0 400 ")) << figure.substr(0, 80);
      for (const char* part : {"font-size", "http", "<script", "style="})
        EXPECT_EQ(figure.find(part), std::string::npos) << part;
    }
  EXPECT_EQ(pictures, 1 + 2 + 1 + 1);
}

TEST(Json, KeepsListsAndProperties) {
  SweepResult before = each_load(450);
  before.properties = {{property::kSecondLevel, 62914560}};
  const std::string text = to_json(before);
  const SweepResult after = from_json(text, "x");
  EXPECT_EQ(after.properties, before.properties);
  ASSERT_EQ(after.points.size(), before.points.size());
  EXPECT_EQ(after.points.front().lists, before.points.front().lists);
  for (const char* wrong : {"-1 ", "x ", "4294967296 ", " "}) {
    std::string bad = text;
    bad.insert(bad.find("\"values\": \"27") + 11, wrong);
    EXPECT_THROW(from_json(bad, "x"), InputError) << wrong;
  }
  std::string bad = text;
  bad.replace(bad.find("loads/first"), 11, "loads/other");
  EXPECT_THROW(from_json(bad, "x"), InputError);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
