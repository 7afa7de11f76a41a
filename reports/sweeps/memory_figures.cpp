// Pictures of memory on a sweep's page.
#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/report/figures.hpp"
#include "mmaudit/sweeps/groups.hpp"
#include "sweeps/fields.hpp"
#include "sweeps/findings.hpp"
#include "sweeps/memory_levels.hpp"
#include "sweeps/memory_report.hpp"

namespace mmaudit::sweeps {
namespace {

/// The GPU of the papers that stands in the picture; the tables have all.
constexpr std::string_view kBeside = "H800";

/// "32.0" of "32.0 (H800, Luo III), 33.0 (A100, Luo III)".
std::string beside(std::string_view published) {
  const std::size_t gpu = published.find("(" + std::string(kBeside));
  if (gpu == std::string_view::npos || gpu == 0) return {};
  const std::size_t before = published.rfind("), ", gpu);
  const std::size_t from = before == std::string_view::npos ? 0 : before + 3;
  return std::string(published.substr(from, gpu - 1 - from));
}

report::LevelPicture::Box box_of(const MachineLevel& level) {
  report::LevelPicture::Box box{level.name, {}, {}};
  if (level.cycles)
    box.measured.push_back(fmt::format("{:.1f} cycles", *level.cycles));
  else if (!level.note.empty())
    box.measured.push_back(level.note);
  if (level.bytes_per_second) box.measured.push_back(bytes_text(*level.bytes_per_second));
  if (level.bytes_per_clock) box.measured.push_back(fmt::format("{:.1f} B/clk/SM", *level.bytes_per_clock));
  if (const std::string cycles = beside(level.published_cycles); !cycles.empty())
    box.published.push_back(fmt::format("{}: {} cycles", kBeside, cycles));
  if (const std::string bytes = beside(level.published_bytes); !bytes.empty())
    box.published.push_back(fmt::format("{}: {}", kBeside, bytes));
  return box;
}

std::vector<std::pair<std::size_t, std::string>> every(std::size_t count, std::size_t step) {
  std::vector<std::pair<std::size_t, std::string>> labels;
  for (std::size_t i = 0; i < count; i += step) labels.emplace_back(i, std::to_string(i));
  return labels;
}

std::string letters_of(std::string_view text) {
  std::string letters;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) letters += c;
  return letters;
}

}  // namespace

std::string machine_figure(const std::vector<MachineLevel>& levels) {
  // Two boxes per line, but for memory.
  report::LevelPicture picture{"machine", "The machine: latency and bandwidth of each level", {}};
  for (const MachineLevel& level : levels) {
    const bool alone = level.name == "memory";
    if (picture.rows.empty() || picture.rows.back().size() == 2 || alone) picture.rows.emplace_back();
    picture.rows.back().push_back(box_of(level));
  }
  return report::level_picture(picture);
}

std::string loads_figure(const SweepResult& result, bool resident) {
  const Point* point =
      find_point(result, {.subject = kEachLoad, .others = {{"level", resident ? "l2" : "memory"}}});
  if (point == nullptr) return {};
  const auto first = point->numbers(list::kFirst), again = point->numbers(list::kAgain);
  if (first.empty() || again.empty()) return {};
  std::vector<std::uint32_t> sorted(again.begin(), again.end());
  std::sort(sorted.begin(), sorted.end());
  const std::uint32_t longest_hit = sorted[sorted.size() * 99 / 100];
  std::vector<double> rest;
  for (const std::uint32_t cycles : first)
    if (cycles > longest_hit) rest.push_back(std::min(cycles, kMostCycles));
  const std::vector<double> cuts = cuts_of(rest, 3);
  report::Histogram plot{resident ? "loadsl2" : "loadsmemory",
                         resident ? "First loads of 40 MiB that were read before" : "First loads of 256 MiB",
                         "cycles",
                         16,
                         1400,
                         {{"near hits", Format::tf32, {}},
                          {resident ? "far hits" : "near misses", Format::bf16, {}},
                          {resident ? "near misses" : "far misses", Format::f16, {}},
                          {"the rest", Format::e4m3, {}}}};
  for (const std::uint32_t cycles : first) {
    const int group = cycles <= longest_hit ? 0 : 1 + group_of(std::min(cycles, kMostCycles), cuts);
    plot.groups[static_cast<std::size_t>(std::min(group, 3))].numbers.push_back(cycles);
  }
  std::erase_if(plot.groups, [](const report::Histogram::Group& group) { return group.numbers.empty(); });
  return report::histogram(plot);
}

std::vector<std::string> partition_figures(const std::vector<PartitionMap>& maps) {
  std::vector<std::string> figures;
  for (const PartitionMap& map : maps) {
    const std::string access = map.point->subject == kPartitionAtom ? "atomics" : "loads";
    const int spacing = map.point->number("spacing");
    report::CellMap cells{.id = letters_of(map.point->key()),
                          .title = fmt::format("Latency of {} in the second-level cache", access),
                          .x_title = fmt::format("line, one every {} bytes ({})", spacing, access),
                          .y_title = "SM, one side after the other",
                          .unit = "cycles",
                          .rows = map.cycles,
                          .row_labels = {},
                          .column_labels = every(map.cycles.front().size(), 64)};
    for (std::size_t row = 0; row < map.multiprocessors.size(); row += 12)
      cells.row_labels.emplace_back(row, std::to_string(map.multiprocessors[row]));
    figures.push_back(report::cell_map(cells));
  }
  return figures;
}

std::string placement_figure(const SweepResult& result) {
  const std::vector<const Point*> points = placed_points(result);
  if (points.empty()) return {};
  report::CellMap map{.id = "placement",
                      .title = "Clusters on multiprocessors",
                      .x_title = "SM; neighbours of one shade: one cluster or group",
                      .y_title = "blocks per cluster; last: groups",
                      .unit = "",
                      .rows = {},
                      .row_labels = {},
                      .column_labels = {},
                      .key = false};
  // Neighbouring numbers get shades far apart.
  const auto shade = [](std::size_t number) { return static_cast<std::uint32_t>(1 + 5 * number % 8); };
  std::size_t most = 0;
  const auto row_for = [&](const std::string& label) -> std::vector<std::uint32_t>& {
    map.row_labels.emplace_back(map.rows.size(), label);
    return map.rows.emplace_back();
  };
  const auto put = [&](std::vector<std::uint32_t>& row, std::uint32_t place, std::size_t number) {
    if (place >= 4096) return;  // no GPU has so many
    if (place >= row.size()) row.resize(place + 1);
    row[place] = shade(number);
    most = std::max(most, row.size());
  };
  for (const Point* point : points) {
    const auto width = static_cast<std::size_t>(point->number("width"));
    const auto places = point->numbers(list::kPlaces);
    std::vector<std::uint32_t>& row = row_for(std::to_string(width));
    for (std::size_t block = 0; block < places.size(); ++block) put(row, places[block], block / width);
  }
  std::vector<std::uint32_t>& last = row_for("all");
  const auto groups = multiprocessor_groups(result);
  for (std::size_t group = 0; group < groups.size(); ++group)
    for (const std::uint32_t place : groups[group]) put(last, place, group);
  map.column_labels = every(most, 16);
  return report::cell_map(map);
}

}  // namespace mmaudit::sweeps
