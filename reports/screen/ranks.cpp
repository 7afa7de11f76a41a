// The screens of several ranks as one.
#include <fmt/format.h>

#include <sstream>

#include "mmaudit/json.hpp"
#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

/// Metrics in the order of the first text: Prometheus wants the samples of a metric side by side.
std::string metrics_together(const std::vector<std::string>& texts) {
  std::vector<std::string> metrics;  // "# HELP ...", "# TYPE ...", then the samples
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    std::size_t at = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("# HELP ", 0) == 0 && ++at > metrics.size()) metrics.emplace_back();
      std::string& metric = metrics.at(at - 1);
      line += "\n";
      if (metric.find(line) == std::string::npos) metric += line;  // the headers come once
    }
  }
  std::string all;
  for (const std::string& metric : metrics) all += metric;
  return all;
}

/// Each line after "who: ".
std::string with_name(const std::string& who, const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += fmt::format("{}: {}\n", who, line);
  return all;
}

}  // namespace

GpuResult no_gpu(const std::string& error, int local_rank) {
  GpuResult none;
  none.device.ordinal = -1 - local_rank;
  none.device.name = "none";
  none.error = error;
  return none;
}

std::string part_of(const std::vector<GpuResult>& gpus, const Provenance& provenance,
                    const std::string& host) {
  const Json part{{"host", host},
                  {"result", parse_json(json_of(gpus, provenance))},
                  {"details", details_of(gpus)},
                  {"verdicts", verdicts_of(gpus)},
                  {"prometheus", prometheus_of(gpus, host)},
                  {"reproducer", first_reproducer(gpus)},
                  {"failed", failed(gpus)},
                  {"passed", passed(gpus)}};
  return part.dump();
}

Together put_together(const std::vector<std::string>& parts) {
  Together all;
  all.passed = !parts.empty();
  Json whole;
  Json gpus = Json::array();
  std::string verdicts;
  std::vector<std::string> metrics;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const Json part = parse_json(parts[rank]);
    const auto host = part.at("host").get<std::string>();
    if (rank == 0) whole = part.at("result");
    for (const Json& gpu : part.at("result").at("gpus")) {
      Json named{{"host", host}, {"rank", rank}, {"driver", part.at("result").at("driver")}};
      named.update(gpu);
      gpus.push_back(std::move(named));
    }
    if (const auto details = part.at("details").get<std::string>(); !details.empty())
      all.text += fmt::format("Rank {}, host {}\n\n", rank, host) + details;
    verdicts += with_name(host, part.at("verdicts").get<std::string>());
    metrics.push_back(part.at("prometheus").get<std::string>());
    if (all.reproducer.empty()) all.reproducer = part.at("reproducer").get<std::string>();
    all.failed = all.failed || part.at("failed").get<bool>();
    all.passed = all.passed && part.at("passed").get<bool>();
  }
  all.text += verdicts;
  all.prometheus = metrics_together(metrics);
  whole["passed"] = all.passed;
  whole["gpus"] = std::move(gpus);
  all.json = ordered_document(whole, 1);
  return all;
}

}  // namespace mmaudit::screen
