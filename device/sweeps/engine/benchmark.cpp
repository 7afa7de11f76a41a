#include "mmaudit/sweeps/benchmark.hpp"

#include <algorithm>

#include "mmaudit/error.hpp"

namespace mmaudit::sweeps {

#define MMAUDIT_FILE(NAME) std::vector<Benchmark> benchmark_##NAME();
#include "benchmark_files.inc"
#undef MMAUDIT_FILE

namespace {

#define MMAUDIT_FILE(NAME) benchmark_##NAME,
constexpr std::vector<Benchmark> (*kFiles[])() = {
#include "benchmark_files.inc"
};
#undef MMAUDIT_FILE

void add_in_place(std::vector<Benchmark>& all, Benchmark benchmark) {
  const auto after = std::upper_bound(all.begin(), all.end(), benchmark.place,
                                      [](int place, const Benchmark& one) { return place < one.place; });
  all.insert(after, std::move(benchmark));
}

std::vector<Benchmark>& every_benchmark() {
  static std::vector<Benchmark> all = [] {
    std::vector<Benchmark> found;
    for (const auto& file : kFiles)
      for (Benchmark& benchmark : file()) add_in_place(found, std::move(benchmark));
    return found;
  }();
  return all;
}

}  // namespace

const std::vector<Benchmark>& benchmarks() { return every_benchmark(); }

void add_benchmark(Benchmark benchmark) { add_in_place(every_benchmark(), std::move(benchmark)); }

const Benchmark* find_benchmark(std::string_view name) {
  for (const Benchmark& benchmark : benchmarks())
    if (benchmark.name == name) return &benchmark;
  return nullptr;
}

std::vector<Benchmark> select_benchmarks(const std::vector<std::string>& parts) {
  std::vector<Benchmark> chosen;
  for (const Benchmark& benchmark : benchmarks())
    if (parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
          return benchmark.name.find(part) != std::string::npos;
        }))
      chosen.push_back(benchmark);
  for (const std::string& part : parts)
    if (part.empty() || std::none_of(chosen.begin(), chosen.end(), [&](const Benchmark& one) {
          return one.name.find(part) != std::string::npos;
        }))
      refuse("--inst: found {}, allowed: part of a name that `mmaudit sweep --list` prints", in_quotes(part));
  return chosen;
}

std::vector<Point> points_of(const Benchmark& benchmark, const std::vector<Axis>& axes) {
  std::vector<Point> points = {{.subject = benchmark.name, .axes = {}}};
  for (const AxisSpec& spec : benchmark.axes) {
    const std::string name(spec.name);
    const std::vector<std::string> values =
        name == kScopeAxis.name ? std::vector<std::string>{"sm"} : axis_of(axes, name).values;
    std::vector<Point> longer;
    longer.reserve(points.size() * values.size());
    for (const Point& point : points)
      for (const std::string& value : values) {
        if (!allows(spec, value)) continue;
        longer.push_back(point);
        longer.back().axes.emplace_back(name, value);
      }
    points = std::move(longer);
  }
  if (benchmark.exists) std::erase_if(points, [&](const Point& point) { return !benchmark.exists(point); });
  return points;
}

}  // namespace mmaudit::sweeps
