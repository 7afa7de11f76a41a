
#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"
#include "sweeps/fields.hpp"
#include "sweeps/published.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr ProvenanceKey kGemmMetaKeys[] = {
    {"version", &Provenance::version}, {"revision", &Provenance::revision}, {"date", &Provenance::date}};
constexpr ProvenanceKey kGemmDeviceKeys[] = {{"name", &Provenance::gpu},
                                             {"compute_capability", &Provenance::compute_capability},
                                             {"multiprocessors", &Provenance::multiprocessors},
                                             {"nominal_hz", &Provenance::nominal_hz},
                                             {"driver", &Provenance::driver},
                                             {"cuda", &Provenance::cuda}};

constexpr int kPublishedSize = 2048;
constexpr double kGoal = 0.7;

double seconds_of(const Json& point, const char* which) {
  return point.at("seconds").at(which).get<double>();
}

/// Null when it was not measured.
const Json* measured(const Json& points, std::string_view kernel, int size) {
  for (const Json& point : points)
    if (point.at("kernel") == kernel && point.at("size") == size && !point.contains("skipped")) return &point;
  return nullptr;
}

std::string bits_of(const Json& bits) {
  const auto compared = bits.at("compared").get<std::uint64_t>(),
             differing = bits.at("differing").get<std::uint64_t>();
  if (compared == 0) return "not compared";
  if (differing == 0) return fmt::format("{} equal", compared);
  return fmt::format("{} of {} differ{}", differing, compared,
                     bits.at("order_known").get<bool>() ? "" : " (order of k unknown)");
}

/// Other bits although the order of k is known.
bool is_wrong(const Json& point) {
  if (point.contains("skipped")) return false;
  const Json& bits = point.at("bits");
  return bits.at("differing").get<std::uint64_t>() > 0 && bits.at("order_known").get<bool>();
}

/// A number of a point, where it was measured.
auto number_at(std::vector<const char*> way) {
  return [way = std::move(way)](const Json& point) -> std::optional<double> {
    const Json* number = &point;
    for (const char* const key : way)
      if (number = number->find(key); number == nullptr) return std::nullopt;
    return number->get<double>();
  };
}

report::Table table_of(const Json& points) {
  const auto text = [](const char* key) {
    return [key](const Json& point) { return point.at(key).get<std::string>(); };
  };
  const auto flops = number_at({"flops"});
  const auto share = [&](const Json& point) -> std::optional<double> {
    const Json* ceiling = measured(points, kCublas, point.at("size").get<int>());
    if (ceiling == nullptr || point.contains("skipped")) return std::nullopt;
    const auto own = flops(point), most = flops(*ceiling);
    return own && most ? std::optional(*own / *most) : std::nullopt;
  };
  const auto bits = [](const Json& point) {
    return point.contains("skipped") ? point.at("skipped").get<std::string>() : bits_of(point.at("bits"));
  };
  const auto published = [](const Json& point) {
    return published_gemm_cycles(point.at("kernel").get<std::string>(), point.at("size").get<int>());
  };
  return report::table_of<Json>(
      "Whole products, bfloat16 to binary32", Json::List(points.begin(), points.end()),
      {{{"size", true}, [](const Json& point) { return std::to_string(point.at("size").get<int>()); }},
       {"kernel", text("kernel")},
       number_column("us", number_at({"seconds", "median"}), 1, 1e6),
       share_column("noise", number_at({"seconds", "noise"}), 2),
       number_column("cycles", number_at({"cycles"})),
       number_column("longest block", number_at({"longest_block", "cycles"})),
       number_column("MHz", number_at({"hz"}), 0, 1e-6),
       number_column("TFLOPS", flops, 1, 1e-12),
       share_column("ceiling", share),
       {"sampled bits", bits},
       {"published cycles", published},
       {{"what", false, true}, text("what")}});
}

/// What the papers found, as yes or no.
std::vector<std::string> statements_of(const Json& points) {
  std::vector<std::string> lines;
  std::vector<double> cycles;  // of the longest block, as the paper counts
  for (const char* kernel : {"Sun baseline", "Sun pipeline", "Sun permuted"})
    if (const Json* point = measured(points, kernel, kPublishedSize);
        point != nullptr && point->contains("longest_block"))
      cycles.push_back(point->at("longest_block").at("cycles").get<double>());
  if (cycles.size() == 3)
    lines.push_back(fmt::format(
        "{}  the pipeline takes fewer cycles than the baseline, the permuted layout fewer still (Sun XVI, "
        "XVII): {:.0f}, {:.0f}, {:.0f} cycles of the longest block",
        cycles[0] > cycles[1] && cycles[1] > cycles[2] ? "yes" : "no ", cycles[0], cycles[1], cycles[2]));
  for (const Json& point : points) {
    const int size = point.at("size").get<int>();
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
      if (point.launches > 0)
        one["longest_block"] = {{"cycles", point.longest_block}, {"launches", point.launches}};
      if (point.hz > 0) one["hz"] = point.hz;
      one["flops"] = point.flops();
      one["bits"] = {
          {"compared", point.compared}, {"differing", point.differing}, {"order_known", point.order_known}};
    }
    points.push_back(one);
  }
  Json whole = {{"meta", {{"schema", kGemmSchema}}}, {"device", Json::object()}};
  write_fields(result.provenance, kGemmMetaKeys, whole["meta"]);
  write_fields(result.provenance, kGemmDeviceKeys, whole["device"]);
  whole["ceiling"] = result.ceiling;
  whole["points"] = points;
  return ordered_document(whole);
}

report::Report gemm_report(const std::string& json, const std::string& label) {
  constexpr std::string_view kAllowed = "what `mmaudit sweep gemm --out` writes";
  try {
    const Json whole = corpus::parse_bounded(json, label, kAllowed);
    if (whole.at("meta").at("schema") != kGemmSchema)
      throw InputError(fmt::format("{}: meta.schema: allowed: {}", label, kGemmSchema));
    Provenance from;
    read_fields(whole.at("meta"), kGemmMetaKeys, from);
    read_fields(whole.at("device"), kGemmDeviceKeys, from);
    const Json& points = whole.at("points");
    const auto wrong = std::count_if(points.begin(), points.end(), is_wrong);
    report::Report report{.title = "Whole products"};
    report.lead = origin_of(from);
    report.headline =
        wrong == 0
            ? fmt::format("{} products: no sampled bit differs where the order of k is known", points.size())
            : fmt::format("WRONG BITS in {} of {} products", wrong, points.size());
    report.tone = wrong == 0 ? report::Tone::good : report::Tone::bad;
    report.json = [json] { return json; };
    report.sections = {section_of(table_of(points))};
    report.sections.front().remark =
        fmt::format("D = A * B^T, random operands. Ceiling: {}", whole.at("ceiling").get<std::string>());
    report.sections.front().lines = statements_of(points);
    return report;
  } catch (const JsonError&) {
    throw InputError(fmt::format("{}: found another object, allowed: {}", label, kAllowed));
  }
}

}  // namespace mmaudit::sweeps
