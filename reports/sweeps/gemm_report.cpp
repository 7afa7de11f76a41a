#include "sweeps/gemm_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mmaudit/error.hpp"
#include "sweeps/published.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kPublishedSize = 2048;
constexpr double kGoal = 0.7;

double seconds_of(const Json& point, const char* which) { return point.at("seconds").at(which); }

/// Null when it was not measured.
const Json* measured(const Json& points, std::string_view kernel, int size) {
  for (const Json& point : points)
    if (point.at("kernel") == kernel && point.at("size") == size && !point.contains("skipped")) return &point;
  return nullptr;
}

std::string bits_of(const Json& bits) {
  const std::uint64_t compared = bits.at("compared"), differing = bits.at("differing");
  if (compared == 0) return "not compared";
  if (differing == 0) return fmt::format("{} equal", compared);
  return fmt::format("{} of {} differ{}", differing, compared,
                     bits.at("order_known").get<bool>() ? "" : " (order of k unknown)");
}

report::Table table_of(const Json& points) {
  report::Table table{.title = "Whole products, bfloat16 to binary32",
                      .columns = {{"size", true},
                                  "kernel",
                                  {"us", true},
                                  {"noise", true},
                                  {"cycles", true},
                                  {"MHz", true},
                                  {"TFLOPS", true},
                                  {"ceiling", true},
                                  "sampled bits",
                                  "published cycles",
                                  {"what", false, true}}};
  for (const Json& point : points) {
    const int size = point.at("size");
    const std::string kernel = point.at("kernel"), what = point.at("what");
    const std::string published = published_gemm_cycles(kernel, size);
    auto& row = table.rows.emplace_back();
    row = {std::to_string(size), kernel};
    if (point.contains("skipped")) {
      row.insert(row.end(),
                 {"-", "-", "-", "-", "-", "-", point.at("skipped").get<std::string>(), published, what});
      continue;
    }
    const auto number = [&](const char* key, double scale) {
      return point.contains(key) ? fmt::format("{:.0f}", scale * point.at(key).get<double>()) : "-";
    };
    const double flops = point.at("flops");
    const Json* ceiling = measured(points, kCublas, size);
    row.insert(
        row.end(),
        {fmt::format("{:.1f}", 1e6 * seconds_of(point, "median")),
         fmt::format("{:.2f}%", 100 * seconds_of(point, "noise")), number("cycles", 1), number("hz", 1e-6),
         fmt::format("{:.1f}", 1e-12 * flops),
         ceiling == nullptr ? "-" : fmt::format("{:.1f}%", 100 * flops / ceiling->at("flops").get<double>()),
         bits_of(point.at("bits")), published, what});
  }
  return table;
}

/// What the papers found, as yes or no.
std::vector<std::string> statements_of(const Json& points) {
  std::vector<std::string> lines;
  const Json* steps[] = {measured(points, "mma baseline", kPublishedSize),
                         measured(points, "mma pipeline", kPublishedSize),
                         measured(points, "mma permuted", kPublishedSize)};
  if (steps[0] != nullptr && steps[1] != nullptr && steps[2] != nullptr) {
    const double first = seconds_of(*steps[0], "median"), second = seconds_of(*steps[1], "median"),
                 third = seconds_of(*steps[2], "median");
    lines.push_back(fmt::format(
        "{}  the pipeline is faster than the baseline, the permuted layout faster still (Sun XVI, "
        "XVII): {:.1f}, {:.1f}, {:.1f} us",
        first > second && second > third ? "yes" : "no ", 1e6 * first, 1e6 * second, 1e6 * third));
  }
  for (const Json& point : points) {
    const int size = point.at("size");
    const Json* best = measured(points, "wgmma TMA", size);
    if (&point != measured(points, kCublas, size) || best == nullptr) continue;
    // Against the library's fastest run.
    const double share = seconds_of(point, "min") / seconds_of(*best, "median");
    lines.push_back(fmt::format("{}  wgmma TMA reaches {:.0f}% of the fastest run of {} at {}: {:.1f}%",
                                share >= kGoal ? "yes" : "no ", 100 * kGoal, kCublas, size, 100 * share));
  }
  return lines;
}

}  // namespace

std::string gemm_json(const GemmResult& result) {
  Json points = Json::array();
  for (const GemmPoint& point : result.points) {
    Json one = {{"kernel", point.kernel}, {"what", point.what}, {"size", point.size}};
    if (!point.skipped.empty()) {
      one["skipped"] = point.skipped;
    } else {
      one["seconds"] = {{"median", point.seconds.median},
                        {"noise", point.seconds.noise()},
                        {"min", point.seconds.least},
                        {"max", point.seconds.most},
                        {"runs", point.seconds.count}};
      if (point.cycles > 0) one["cycles"] = point.cycles;
      if (point.hz > 0) one["hz"] = point.hz;
      one["flops"] = point.flops();
      one["bits"] = {
          {"compared", point.compared}, {"differing", point.differing}, {"order_known", point.order_known}};
    }
    points.push_back(one);
  }
  const Provenance& from = result.provenance;
  const Json whole = {{"meta",
                       {{"schema", kGemmSchema},
                        {"version", from.version},
                        {"revision", from.revision},
                        {"date", from.date}}},
                      {"device",
                       {{"name", from.gpu},
                        {"compute_capability", from.compute_capability},
                        {"multiprocessors", from.multiprocessors},
                        {"nominal_hz", from.nominal_hz},
                        {"driver", from.driver},
                        {"cuda", from.cuda}}},
                      {"ceiling", result.ceiling},
                      {"points", points}};
  return whole.dump(2) + "\n";
}

report::Report gemm_report(const std::string& json, const std::string& label) {
  try {
    const Json whole = Json::parse(json);
    const Json &meta = whole.at("meta"), &device = whole.at("device");
    if (meta.at("schema") != kGemmSchema)
      throw InputError(fmt::format("{}: meta.schema: allowed: {}", label, kGemmSchema));
    report::Report report{.title = "Whole products"};
    report.meta = origin_of({.gpu = device.at("name"),
                             .driver = device.at("driver"),
                             .cuda = device.at("cuda"),
                             .compute_capability = device.at("compute_capability"),
                             .multiprocessors = device.at("multiprocessors"),
                             .nominal_hz = device.at("nominal_hz"),
                             .version = meta.at("version"),
                             .revision = meta.at("revision"),
                             .date = meta.at("date"),
                             .command = {}});
    report.sections = {section_of(table_of(whole.at("points")))};
    report.sections.front().remark =
        fmt::format("D = A * B^T, random operands. Ceiling: {}", whole.at("ceiling").get<std::string>());
    report.sections.front().lines = statements_of(whole.at("points"));
    return report;
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{}: not what sweep gemm --out writes", label));
  }
}

}  // namespace mmaudit::sweeps
