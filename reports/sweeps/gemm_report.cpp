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

const GemmPoint* measured(const GemmResult& result, std::string_view kernel, int size) {
  const GemmPoint* point = result.find(kernel, size);
  return point != nullptr && point->skipped.empty() ? point : nullptr;
}

std::string bits_of(const GemmPoint& point) {
  if (!point.skipped.empty()) return point.skipped;
  if (point.compared == 0) return "not compared";
  if (point.differing == 0) return fmt::format("{} equal", point.compared);
  return fmt::format("{} of {} differ{}", point.differing, point.compared,
                     point.order_known ? "" : " (order of k unknown)");
}

/// What the papers found, as yes or no.
std::vector<std::string> statements_of(const GemmResult& result) {
  std::vector<std::string> lines;
  const GemmPoint* baseline = measured(result, "mma baseline", kPublishedSize);
  const GemmPoint* pipeline = measured(result, "mma pipeline", kPublishedSize);
  const GemmPoint* permuted = measured(result, "mma permuted", kPublishedSize);
  if (baseline != nullptr && pipeline != nullptr && permuted != nullptr) {
    const double first = baseline->seconds.median, second = pipeline->seconds.median,
                 third = permuted->seconds.median;
    lines.push_back(fmt::format(
        "{}  the pipeline is faster than the baseline, the permuted layout faster still (Sun XVI, "
        "XVII): {:.1f}, {:.1f}, {:.1f} us",
        first > second && second > third ? "yes" : "no ", 1e6 * first, 1e6 * second, 1e6 * third));
  }
  for (const GemmPoint& point : result.points) {
    const GemmPoint* best = measured(result, "wgmma TMA", point.size);
    if (point.kernel != kCublas || !point.skipped.empty() || best == nullptr) continue;
    const double share = point.seconds.least / best->seconds.median;  // against the library's fastest run
    lines.push_back(fmt::format("{}  wgmma TMA reaches {:.0f}% of the fastest run of {} at {}: {:.1f}%",
                                share >= kGoal ? "yes" : "no ", 100 * kGoal, kCublas, point.size,
                                100 * share));
  }
  return lines;
}

GemmPoint point_in(const Json& from) {
  GemmPoint point{.kernel = from.at("kernel"), .what = from.at("what"), .size = from.at("size")};
  if (from.contains("skipped")) {
    point.skipped = from.at("skipped");
    return point;
  }
  const Json &seconds = from.at("seconds"), &bits = from.at("bits");
  const double median = seconds.at("median"), half = seconds.at("noise").get<double>() / 2;
  point.seconds = {seconds.at("runs"), median,           median * (1 - half), median * (1 + half),
                   seconds.at("min"),  seconds.at("max")};
  point.cycles = from.value("cycles", 0.0);
  point.hz = from.value("hz", 0.0);
  point.compared = bits.at("compared");
  point.differing = bits.at("differing");
  point.order_known = bits.at("order_known");
  return point;
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

GemmResult gemm_from_json(const std::string& text, const std::string& label) {
  try {
    const Json whole = Json::parse(text);
    if (whole.at("meta").at("schema") != kGemmSchema)
      throw InputError(fmt::format("{}: meta.schema: allowed: {}", label, kGemmSchema));
    GemmResult result;
    result.ceiling = whole.at("ceiling");
    for (const Json& point : whole.at("points")) result.points.push_back(point_in(point));
    return result;
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{}: not what sweep gemm --out writes", label));
  }
}

report::Table gemm_table(const GemmResult& result) {
  using Point = const GemmPoint&;
  const auto number = [](double GemmPoint::*value, double scale) {
    return [=](Point point) {
      return point.*value > 0 ? fmt::format("{:.0f}", scale * point.*value) : std::string("-");
    };
  };
  const auto of_run = [](double (*value)(Point), const char* format) {
    return [=](Point point) {
      return point.skipped.empty() ? fmt::format(fmt::runtime(format), value(point)) : std::string("-");
    };
  };
  const auto share = [&result](Point point) {
    const GemmPoint* ceiling = measured(result, kCublas, point.size);
    return ceiling == nullptr || !point.skipped.empty()
               ? "-"
               : fmt::format("{:.1f}%", 100 * point.flops() / ceiling->flops());
  };
  return report::table_of<GemmPoint>(
      "Whole products, bfloat16 to binary32", result.points,
      {{{"size", true}, [](Point point) { return std::to_string(point.size); }},
       {"kernel", [](Point point) { return point.kernel; }},
       {{"us", true}, of_run([](Point point) { return 1e6 * point.seconds.median; }, "{:.1f}")},
       {{"noise", true}, of_run([](Point point) { return 100 * point.seconds.noise(); }, "{:.2f}%")},
       {{"cycles", true}, number(&GemmPoint::cycles, 1)},
       {{"MHz", true}, number(&GemmPoint::hz, 1e-6)},
       {{"TFLOPS", true}, of_run([](Point point) { return 1e-12 * point.flops(); }, "{:.1f}")},
       {{"ceiling", true}, share},
       {"sampled bits", bits_of},
       {"published cycles", [](Point point) { return published_gemm_cycles(point.kernel, point.size); }},
       {{"what", false, true}, [](Point point) { return point.what; }}});
}

report::Report report_of(const GemmResult& result) {
  report::Report report{.title = "Whole products"};
  report.meta = origin_of(result.provenance);
  report.meta.push_back("D = A * B^T, bfloat16 to binary32, random operands; ceiling: " + result.ceiling);
  report.sections = {section_of(gemm_table(result))};
  report.sections.front().lines = statements_of(result);
  return report;
}

}  // namespace mmaudit::sweeps
