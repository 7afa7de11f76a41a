// The screens of several ranks as one.
#include <fmt/format.h>

#include <iterator>
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

void add_host(report::Table& verdicts, const std::string& host) {
  verdicts.columns.insert(verdicts.columns.begin(), report::Column("host"));
  for (auto& row : verdicts.rows) row.insert(row.begin(), report::Cell(host));
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
                  {"report", parse_json(report::to_json(report_of(gpus, provenance)))},
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
  report::Section verdicts;
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
    report::Report own = report::report_of_json(part.at("report").dump(), host);
    add_host(own.sections.back().tables.front(), host);
    for (report::TestCase& one : own.cases) {
      one.name.insert(0, host + ": ");
      all.report.cases.push_back(std::move(one));
    }
    if (rank == 0) {
      verdicts = std::move(own.sections.back());
      all.report.title = own.title;
      all.report.suite = own.suite;
      all.report.provenance = own.provenance;
    } else {
      auto& rows = own.sections.back().tables.front().rows;
      std::move(rows.begin(), rows.end(), std::back_inserter(verdicts.tables.front().rows));
    }
    own.sections.pop_back();
    for (report::Section& section : own.sections) {
      section.title.insert(0, fmt::format("Rank {}, host {}: ", rank, host));
      all.report.sections.push_back(std::move(section));
    }
    metrics.push_back(part.at("prometheus").get<std::string>());
    if (all.reproducer.empty()) all.reproducer = part.at("reproducer").get<std::string>();
    all.failed = all.failed || part.at("failed").get<bool>();
    all.passed = all.passed && part.at("passed").get<bool>();
  }
  if (parts.empty()) return all;
  all.report.sections.push_back(std::move(verdicts));
  add_headline(all.report, all.passed);
  all.prometheus = metrics_together(metrics);
  whole["passed"] = all.passed;
  whole["gpus"] = std::move(gpus);
  all.report.json = [text = ordered_document(whole, 1)] { return text; };
  return all;
}

}  // namespace mmaudit::screen
