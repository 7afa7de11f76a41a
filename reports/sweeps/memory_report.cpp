#include "sweeps/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sweeps/fields.hpp"
#include "sweeps/findings.hpp"
#include "sweeps/memory_levels.hpp"
#include "sweeps/point_groups.hpp"
#include "sweeps/published.hpp"

namespace mmaudit::sweeps {
namespace {

using report::Section;
using report::Table;
using report::table_of;

constexpr double kMebi = 1 << 20;

std::string footprint(int kib) {
  return kib % 1024 == 0 ? fmt::format("{} MiB", kib / 1024) : fmt::format("{} KiB", kib);
}

/// The fastest of the points of two subjects, with lanes of 4 and of 16 bytes, of the whole GPU.
const Point* fastest(const SweepResult& result, std::string_view narrow, std::string_view wide,
                     const Coordinates& axes) {
  const auto wanted = [&](const Point& point) {
    return (point.subject == narrow || point.subject == wide) && point.axis("scope") == "gpu" &&
           is_at(point, axes);
  };
  return highest(points_with(result, wanted), [](const Point& point) {
    const auto rate = point.get(tag::kBytesPerSecond);
    return rate ? rate : point.get(tag::kBytes);
  });
}

const Point* fastest_stream(const SweepResult& result, std::string_view level) {
  return fastest(result, "stream.ld.u32", "stream.ld.v4.u32", {{"level", level}});
}

const Point* fastest_in_cluster(const SweepResult& result, std::string_view reads) {
  return fastest(result, "stream.ld.shared::cluster.u32", "stream.ld.shared::cluster.v4.u32",
                 {{"reads", reads}});
}

void add_rate(MachineLevel& level, const Point* point) {
  if (point == nullptr) return;
  level.bytes_per_clock = point->get(tag::kBytes);
  level.bytes_per_second = point->get(tag::kBytesPerSecond);
  level.published_bytes = published_bytes(*point);
}

void add_latency(MachineLevel& level, const Point* point) {
  if (point == nullptr) return;
  level.cycles = point->get(tag::kCycles);
  level.published_cycles = published_cycles(*point);
}

/// What a chase over this footprint printed in papers, whatever footprint was measured here.
std::string published_chase(std::string_view subject, std::string_view kib) {
  const Point point{.subject = std::string(subject),
                    .axes = {{"scope", "sm"}, {"warps", "1"}, {"kib", std::string(kib)}}};
  return published_cycles(point);
}

std::string published_level(std::string_view level) {
  return level == "L1"        ? published_chase(kChaseAnyCache, "32")
         : level == "near L2" ? published_chase(kChaseSecondLevel, "8192")
         : level == "DRAM"    ? published_chase(kChaseSecondLevel, "524288")
                              : published_fact("far L2");
}

Table levels_table(const std::vector<MachineLevel>& levels) {
  return table_of<MachineLevel>("", levels,
                                {{"level", &MachineLevel::name},
                                 {{"cycles", true},
                                  [](const MachineLevel& level) {
                                    return level.cycles || level.note.empty() ? number_text(level.cycles, 1)
                                                                              : level.note;
                                  }},
                                 number_column("GB/s", &MachineLevel::bytes_per_second, 0, 1e-9),
                                 number_column("B/clk/SM", &MachineLevel::bytes_per_clock, 1),
                                 {"published cycles", &MachineLevel::published_cycles},
                                 {{"published bytes", false, true}, &MachineLevel::published_bytes}});
}

Table plateaus_table(const SweepResult& result) {
  return table_of<Plateau>(
      "", plateaus_of(result),
      {{"level", &Plateau::level},
       {"footprints",
        [](const Plateau& one) { return footprint(one.from_kib) + " to " + footprint(one.to_kib); }},
       number_column("points", &Plateau::points),
       {{"cycles", true},
        [](const Plateau& one) { return one.flat ? number_text(one.median, 1) : std::string("climbs"); }},
       number_column("least", &Plateau::least, 1),
       number_column("most", &Plateau::most, 1),
       {{"published cycles", false, true}, [](const Plateau& one) { return published_level(one.level); }}});
}

Table groups_table(const SweepResult& result) {
  return table_of<LoadGroup>(
      "", load_groups(result),
      {{"group", &LoadGroup::name},
       number_column("cycles", &LoadGroup::median, 1),
       number_column("spread", &LoadGroup::spread, 1),
       {{"share of the pair", true},
        [](const LoadGroup& one) { return fmt::format("{:.0f}%", 100 * one.share); }},
       {"published cycles", [](const LoadGroup& one) { return published_fact(one.name); }}});
}

Table partitions_table(const std::vector<PartitionMap>& maps) {
  return table_of<PartitionMap>(
      "", maps,
      {{"access",
        [](const PartitionMap& one) {
          return one.point->subject == kPartitionAtom ? "atomic operations" : "loads";
        }},
       {{"spacing", true}, [](const PartitionMap& one) { return one.point->axis("spacing"); }},
       number_column("lines", [](const PartitionMap& one) { return one.cycles.front().size(); }),
       {"SMs of the sides",
        [](const PartitionMap& one) {
          return fmt::format("{} and {}", one.first_side, one.cycles.size() - one.first_side);
        }},
       number_column("near", &PartitionMap::near, 1),
       number_column("far", &PartitionMap::far, 1),
       number_column("spread", &PartitionMap::spread, 1),
       share_column("agree with their side", &PartitionMap::agreement)});
}

Table placement_table(const SweepResult& result) {
  Table table{.columns = {{"group", true}, {"SMs", true}, "their numbers"}};
  for (const std::vector<std::uint32_t>& places : multiprocessor_groups(result))
    table.rows.push_back({std::to_string(table.rows.size() + 1), std::to_string(places.size()),
                          fmt::format("{}", fmt::join(places, " "))});
  return table;
}

/// What the driver of this GPU says, in the words of the paper's table; "-" where it says nothing.
std::string device_says(const SweepResult& result, std::string_view what) {
  const auto property = [&](const char* key) {
    const auto at = result.properties.find(key);
    return at == result.properties.end() ? 0 : at->second;
  };
  const Provenance& gpu = result.provenance;
  const double memory = property(property::kMemory), clock = property(property::kMemoryClock),
               bus = property(property::kMemoryBus), second = property(property::kSecondLevel),
               shared = property(property::kShared);
  if (what == "compute capability") return capability_text(gpu.compute_capability);
  if (what == "multiprocessors") return std::to_string(gpu.multiprocessors);
  if (what == "highest clock") return fmt::format("{:.0f} MHz", 1e-6 * gpu.nominal_hz);
  if (what == "memory" && memory > 0) return fmt::format("{:.1f} GB", 1e-9 * memory);
  if (what == "memory clock" && clock > 0) return fmt::format("{:.0f} MHz", 1e-6 * clock);
  if (what == "memory bus" && bus > 0) return fmt::format("{:.0f} bit", bus);
  if (what == "memory bandwidth" && clock * bus > 0)
    return fmt::format("{:.0f} GB/s (clock x 2 x bus)", 1e-9 * 2 * clock * bus / 8);
  if (what == "second-level cache" && second > 0) return fmt::format("{:.0f} MiB", second / kMebi);
  if (what == "first-level cache and shared memory" && shared > 0)
    return fmt::format("{:.0f} KiB shared per multiprocessor", shared / 1024);
  return "-";
}

Table device_table(const SweepResult& result) {
  Table table{.title = "", .columns = {"property", result.provenance.gpu}};
  if (result.properties.empty()) return table;
  std::vector<std::string_view> gpus, properties;
  for (const PublishedFact& fact : published_facts()) {
    if (fact.table != "Luo II") continue;
    if (std::find(gpus.begin(), gpus.end(), fact.gpu) == gpus.end()) gpus.push_back(fact.gpu);
    if (std::find(properties.begin(), properties.end(), fact.what) == properties.end())
      properties.push_back(fact.what);
  }
  for (const std::string_view gpu : gpus) table.columns.emplace_back(gpu);
  for (const std::string_view what : properties) {
    auto& row = table.rows.emplace_back();
    row.emplace_back(what);
    row.emplace_back(device_says(result, what));
    for (const std::string_view gpu : gpus) {
      std::string text;
      for (const PublishedFact& fact : published_facts())
        if (fact.table == "Luo II" && fact.what == what && fact.gpu == gpu)
          text = std::string(fact.value) + (fact.unit.empty() ? "" : " ") + std::string(fact.unit);
      row.emplace_back(text);
    }
  }
  return table;
}

}  // namespace

std::vector<MachineLevel> machine_levels(const SweepResult& result) {
  const std::vector<Plateau> plateaus = plateaus_of(result);
  const auto plateau = [&](std::string_view level) -> const Plateau* {
    const auto at = std::find_if(plateaus.begin(), plateaus.end(),
                                 [&](const Plateau& one) { return one.level == level; });
    return at == plateaus.end() ? nullptr : &*at;
  };
  const auto chased = [&](std::string name, std::string_view level, std::string_view stream) {
    MachineLevel out{.name = std::move(name)};
    if (const Plateau* found = plateau(level)) {
      if (found->flat)
        out.cycles = found->median;
      else
        out.note = fmt::format("{:.0f} to {:.0f}, climbing", found->least, found->most);
      out.published_cycles = published_level(level);
    }
    if (!stream.empty()) add_rate(out, fastest_stream(result, stream));
    return out;
  };
  MachineLevel shared{.name = "shared memory"};
  add_latency(shared, find_point(result, {.subject = "ld.shared.u32+index"}));
  add_rate(shared, fastest_in_cluster(result, "own"));
  MachineLevel other{.name = "shared, another SM"};
  add_latency(other, find_point(result, {.subject = "ld.shared::cluster.u32",
                                         .others = {{"cluster", "2"}, {"peer", "1"}}}));
  add_rate(other, fastest_in_cluster(result, "ring"));
  MachineLevel message{.name = "word through memory"};
  add_latency(message, find_point(result, {.subject = kMessage, .others = {{"flag", "apart"}}}));
  MachineLevel far = chased("far L2", "far L2", "");
  for (const LoadGroup& group : load_groups(result))
    if (group.name == "far hit") {
      far.cycles = group.median;
      far.published_cycles = published_fact("far hit");
    }
  std::vector<MachineLevel> levels = {
      chased("L1 cache", "L1", "l1"),    shared, other, message, chased("near L2", "near L2", "l2"), far,
      chased("memory", "DRAM", "memory")};
  std::erase_if(levels, [](const MachineLevel& level) {
    return !level.cycles && level.note.empty() && !level.bytes_per_clock && !level.bytes_per_second;
  });
  return levels;
}

std::vector<Section> memory_sections(const SweepResult& result) {
  std::vector<Section> sections;
  const std::vector<MachineLevel> levels = machine_levels(result);
  const std::vector<PartitionMap> maps = partition_maps(result);
  sections.push_back({.title = "The machine, level by level",
                      .remark = "Latency of one access and the best rate of all multiprocessors.",
                      .figures = {machine_figure(levels)},
                      .tables = {levels_table(levels)}});
  sections.push_back({.title = "Plateaus of latency against footprint",
                      .remark = "Runs of points within 4% over at least twice the footprint.",
                      .tables = {plateaus_table(result)}});
  sections.push_back({.title = "Near and far, hit and missed",
                      .remark = "Groups that k-means finds among loads timed one by one. Spread: the larger "
                                "distance of the quartiles of the pair.",
                      .figures = {loads_figure(result, true), loads_figure(result, false)},
                      .tables = {groups_table(result)}});
  sections.push_back({.title = "Partitions of the second-level cache",
                      .remark = "One access per multiprocessor and line; 2-means of all of them.",
                      .figures = partition_figures(maps),
                      .tables = {partitions_table(maps)}});
  sections.push_back({.title = "Where clusters run",
                      .remark = "Multiprocessors that shared a cluster, directly or through others: parts of "
                                "one GPC, as a cluster never spans two.",
                      .figures = {placement_figure(result)},
                      .tables = {placement_table(result)}});
  sections.push_back(
      {.title = "The device beside the papers'", .tables = {device_table(result)}, .folded = true});
  for (Section& section : sections) std::erase(section.figures, "");
  std::erase_if(sections, [](const Section& section) { return section.tables.front().rows.empty(); });
  return sections;
}

}  // namespace mmaudit::sweeps
