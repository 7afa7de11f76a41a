#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sweeps/gemm_report.hpp"
#include "sweeps/published.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr int kPublishedSize = 2048;
constexpr double kGoal = 0.7;

std::string line_of(const GemmResult& result, const GemmPoint& point) {
  if (!point.skipped.empty())
    return fmt::format("{:>6}  {:24} {}\n", point.size, point.kernel, point.skipped);
  const GemmPoint* ceiling = result.find(kCublas, point.size);
  const bool has_ceiling = ceiling != nullptr && ceiling->skipped.empty();
  const std::string share =
      has_ceiling ? fmt::format("{:.1f}%", 100 * point.flops() / ceiling->flops()) : std::string("-");
  const std::string bits = point.compared == 0 ? std::string("not compared")
                           : point.differing == 0
                               ? fmt::format("{} equal", point.compared)
                               : fmt::format("{} of {} differ{}", point.differing, point.compared,
                                             point.order_known ? "" : " (order of k unknown)");
  return fmt::format("{:>6}  {:24} {:>10.1f} {:>6.2f}% {:>10} {:>6} {:>8.1f} {:>8}  {:28} {}\n", point.size,
                     point.kernel, 1e6 * point.seconds.median, 100 * point.seconds.noise(),
                     point.cycles > 0 ? fmt::format("{:.0f}", point.cycles) : "-",
                     point.hz > 0 ? fmt::format("{:.0f}", 1e-6 * point.hz) : "-", 1e-12 * point.flops(),
                     share, bits, published_gemm_cycles(point.kernel, point.size));
}

const GemmPoint* measured(const GemmResult& result, std::string_view kernel, int size) {
  const GemmPoint* point = result.find(kernel, size);
  return point != nullptr && point->skipped.empty() ? point : nullptr;
}

/// What the papers found, as yes or no.
std::string statements_of(const GemmResult& result) {
  std::string text;
  const GemmPoint* baseline = measured(result, "mma baseline", kPublishedSize);
  const GemmPoint* pipeline = measured(result, "mma pipeline", kPublishedSize);
  const GemmPoint* permuted = measured(result, "mma permuted", kPublishedSize);
  if (baseline != nullptr && pipeline != nullptr && permuted != nullptr) {
    const bool holds = baseline->seconds.median > pipeline->seconds.median &&
                       pipeline->seconds.median > permuted->seconds.median;
    text += fmt::format(
        "{}  the pipeline is faster than the baseline, the permuted layout faster still (Sun XVI, "
        "XVII): {:.1f}, {:.1f}, {:.1f} us\n",
        holds ? "yes" : "no ", 1e6 * baseline->seconds.median, 1e6 * pipeline->seconds.median,
        1e6 * permuted->seconds.median);
  }
  for (const GemmPoint& point : result.points) {
    if (point.kernel != kCublas || !point.skipped.empty()) continue;
    const GemmPoint* best = measured(result, "wgmma TMA", point.size);
    if (best == nullptr) continue;
    const double share = point.seconds.least / best->seconds.median;  // against the library's fastest run
    text += fmt::format("{}  wgmma TMA reaches {:.0f}% of the fastest run of {} at {}: {:.1f}%\n",
                        share >= kGoal ? "yes" : "no ", 100 * kGoal, kCublas, point.size, 100 * share);
  }
  return text;
}

}  // namespace

std::string gemm_text(const GemmResult& result) {
  std::string text = fmt::format(
      "{}, compute capability {}.{}, {} multiprocessors, up to {:.0f} MHz, driver {}, CUDA {}\n"
      "mmaudit {} ({}), {}; D = A * B^T, bfloat16 to binary32, random operands\nceiling: {}\n\n"
      "{:>6}  {:24} {:>10} {:>7} {:>10} {:>6} {:>8} {:>8}  {:28} {}\n",
      result.device.name, result.device.compute_capability / 10, result.device.compute_capability % 10,
      result.device.multiprocessors, 1e-6 * result.device.nominal_hz, result.device.driver,
      result.device.cuda, result.version, result.revision, result.date, result.ceiling, "size", "kernel",
      "us", "noise", "cycles", "MHz", "TFLOPS", "ceiling", "sampled bits", "published cycles");
  for (const GemmPoint& point : result.points) text += line_of(result, point);
  return text + "\n" + statements_of(result);
}

std::string gemm_json(const GemmResult& result) {
  using Json = nlohmann::ordered_json;
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
  const Json whole = {{"meta",
                       {{"schema", kGemmSchema},
                        {"version", result.version},
                        {"revision", result.revision},
                        {"date", result.date}}},
                      {"device",
                       {{"name", result.device.name},
                        {"compute_capability", result.device.compute_capability},
                        {"multiprocessors", result.device.multiprocessors},
                        {"nominal_hz", result.device.nominal_hz},
                        {"driver", result.device.driver},
                        {"cuda", result.device.cuda}}},
                      {"ceiling", result.ceiling},
                      {"points", points}};
  return whole.dump(2) + "\n";
}

}  // namespace mmaudit::sweeps
