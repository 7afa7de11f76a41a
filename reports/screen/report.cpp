#include "screen/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <ctime>

#include "mmaudit/comparison.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::screen {
namespace {

constexpr std::size_t kMostShown = 5;
constexpr std::string_view kVerdicts = "Verdicts";

/// Multiply-adds per clock per multiprocessor at the clock held.
double fma_per_clock(const WorkResult& one, int multiprocessors) {
  return one.cycles > 0 ? one.steady_fma / one.cycles / multiprocessors : 0;
}

std::string utc(double unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof(text), "%FT%TZ", &parts);
  return {text, length};
}

/// Faults per multiprocessor and hour that as many hours without one leave possible: exp(-rate * hours) = 5%.
double upper_bound(const GpuResult& gpu) {
  const double hours = gpu.seconds / 3600 * gpu.device.multiprocessors;
  return hours > 0 ? -std::log(0.05) / hours : 0;
}

/// A driver's message may have several lines.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

/// "bits 3, 17".
std::string bits_text(std::uint64_t flipped) {
  std::string text = std::popcount(flipped) == 1 ? "bit" : "bits";
  for (; flipped != 0; flipped &= flipped - 1) {
    text += text.back() == 't' || text.back() == 's' ? " " : ", ";
    text += std::to_string(std::countr_zero(flipped));
  }
  return text;
}

/// One row per instruction: the sum over its input sets.
report::Table rates(const GpuResult& gpu) {
  report::Table table{.title = "Rates"};
  table.columns = {{"instruction"}, {"multiply-adds", true}, {"TFLOPS", true}, {"FMA/clk/SM", true},
                   {"GHz", true},   {"GB/s", true},          {"SMs", true},    {"wrong", true}};
  std::vector<WorkResult> sums;
  for (const WorkResult& one : gpu.works) {
    const auto same = std::find_if(sums.begin(), sums.end(),
                                   [&](const WorkResult& sum) { return sum.work.name() == one.work.name(); });
    if (same == sums.end()) {
      sums.push_back(one);
      continue;
    }
    same->fma += one.fma;
    same->steady_fma += one.steady_fma;
    same->steady_bytes += one.steady_bytes;
    same->seconds += one.seconds;
    same->cycles += one.cycles;
    same->wrong += one.wrong;
    same->multiprocessors = std::max(same->multiprocessors, one.multiprocessors);
  }
  for (const WorkResult& one : sums)
    table.rows.push_back(
        {one.work.name(), fmt::format("{:.2e}", one.fma), fmt::format("{:.0f}", 1e-12 * one.flops()),
         fmt::format("{:.0f}", fma_per_clock(one, gpu.device.multiprocessors)),
         fmt::format("{:.2f}", one.seconds > 0 ? 1e-9 * one.cycles / one.seconds : 0),
         is_streamed(one.work.feed) ? fmt::format("{:.0f}", 1e-9 * one.bytes_per_second()) : "-",
         std::to_string(one.multiprocessors), std::to_string(one.wrong)});
  return table;
}

report::Table watts(const GpuResult& gpu) {
  report::Table table{.title = "Power"};
  table.columns = {{"inputs"}, {"watts", true}};
  for (const auto& [set, energy] : gpu.energy)
    table.rows.push_back(
        {name_of(set), fmt::format("{:.0f}", energy.second > 0 ? energy.first / energy.second : 0)});
  return table;
}

std::string kind(const Suspect& one) {
  if (one.reruns == 0) return "not run again";
  if (one.again_here > 0)
    return fmt::format("again on this sub-core {} times in {} reruns: a hard fault", one.again_here,
                       one.reruns);
  if (one.again_elsewhere > 0)
    return fmt::format("not again here, but elsewhere in {} reruns: look at operands, memory and driver",
                       one.reruns);
  return fmt::format("not again in {} reruns: a soft fault", one.reruns);
}

std::string finding_text(const Finding& one) {
  std::string text = fmt::format(
      "SM {} sub-core {} lane {}: {}, {}, tile {}, element ({}, {}): expected {:#x}, found {:#x}, {}",
      one.multiprocessor, one.subcore, one.lane, one.work.name(), name_of(one.work.inputs), one.tile, one.row,
      one.column, one.expected, one.found, bits_text(one.expected ^ one.found));
  return text + fmt::format("; {:.2f} GHz, {:.0f} C, {:.0f} W, {}", 1e-9 * one.hz, one.celsius, one.watts,
                            utc(one.unix_seconds));
}

/// explain_line() of the first finding; empty without one.
std::string first_explained(const GpuResult& gpu) {
  const Architecture* architecture = find_architecture(gpu.device.compute_capability);
  return gpu.findings.empty() || architecture == nullptr ? ""
                                                         : explain_line(gpu.findings.front(), *architecture);
}

std::string who(const GpuResult& gpu) {
  return gpu.device.ordinal < 0 ? "no GPU" : fmt::format("GPU {} {}", gpu.device.ordinal, gpu.device.name);
}

/// Nothing where no accumulator was wrong.
report::Section errors(const GpuResult& gpu) {
  report::Section out{.title = "Wrong accumulators of " + who(gpu)};
  if (gpu.suspects.empty()) return out;
  report::Table places{
      .title = "By place",
      .columns = {{"SM", true}, {"sub-core", true}, {"threads' checksums", true}, "run again"}},
      bits{.title = "By flipped bit of the accumulator", .columns = {{"bit", true}, {"flips", true}}};
  for (const auto& [place, suspect] : gpu.suspects)
    places.rows.push_back({std::to_string(place.first), std::to_string(place.second),
                           std::to_string(suspect.wrong), kind(suspect)});
  for (const auto& [bit, count] : gpu.flipped)
    bits.rows.push_back({std::to_string(bit), std::to_string(count)});
  out.tables = {std::move(places), std::move(bits)};
  for (std::size_t i = 0; i < std::min(kMostShown, gpu.findings.size()); ++i)
    out.lines.push_back(finding_text(gpu.findings[i]));
  if (const std::string line = first_explained(gpu); !line.empty())
    out.block = "The last instruction of the first case's chain, by the model:\n  " + line + "\n";
  return out;
}

/// Why a GPU did not pass, as far as it is known.
std::string reason(const GpuResult& gpu) {
  if (!gpu.error.empty()) return one_line(gpu.error);
  return gpu.refused.empty() ? "" : "processes: " + gpu.refused;
}

report::Table verdicts(const std::vector<GpuResult>& gpus) {
  using Row = const GpuResult&;
  return report::table_of<GpuResult>(
      kVerdicts, gpus,
      {{"GPU", who},
       {"verdict",
        [](Row gpu) {
          const std::string text = verdict(gpu);
          return report::Cell(text, text == "pass"   ? report::Tone::good
                                    : text == "FAIL" ? report::Tone::bad
                                                     : report::Tone::note);
        }},
       {{"wrong checksums", true}, [](Row gpu) { return std::to_string(gpu.wrong()); }},
       {{"multiply-adds", true}, [](Row gpu) { return fmt::format("{:.2e}", gpu.fma()); }},
       {{"seconds", true}, [](Row gpu) { return fmt::format("{:.0f}", gpu.seconds); }},
       {{"(SM, sub-core, type) ran", true},
        [](Row gpu) {
          const auto [done, of] = gpu.covered();
          return fmt::format("{} of {}", done, of);
        }},
       {{"faults per SM and hour", true},
        [](Row gpu) {
          return gpu.works.empty() || verdict(gpu) == "FAIL" ? "-"
                                                             : fmt::format("under {:.2g}", upper_bound(gpu));
        }},
       {{"hottest", true},
        [](Row gpu) { return gpu.hottest > 0 ? fmt::format("{:.0f} C", gpu.hottest) : "-"; }},
       {{"why", false, true}, reason}});
}

report::TestCase case_of(const GpuResult& gpu) {
  using Outcome = report::TestCase::Outcome;
  const std::string text = verdict(gpu);
  return {.group = "mmaudit.screen",
          .name = who(gpu),
          .outcome = text == "pass"   ? Outcome::passed
                     : text == "FAIL" ? Outcome::failure
                                      : Outcome::error,
          .message = text == "pass" ? "" : text + ": " + reason(gpu)};
}

Json finding_json(const Finding& one) {
  return {{"sm", one.multiprocessor},
          {"subcore", one.subcore},
          {"lane", one.lane},
          {"instruction", one.work.name()},
          {"feed", name_of(one.work.feed)},
          {"inputs", name_of(one.work.inputs)},
          {"tile", one.tile},
          {"row", one.row},
          {"column", one.column},
          {"expected", fmt::format("{:#x}", one.expected)},
          {"found", fmt::format("{:#x}", one.found)},
          {"hz", one.hz},
          {"celsius", one.celsius},
          {"watts", one.watts},
          {"time", utc(one.unix_seconds)}};
}

Json gpu_json(const GpuResult& gpu) {
  const auto [done, of] = gpu.covered();
  Json json{{"gpu", gpu.device.ordinal},
            {"name", gpu.device.name},
            {"compute_capability", gpu.device.compute_capability},
            {"verdict", verdict(gpu)},
            {"refused", gpu.refused},
            {"error", gpu.error},
            {"wrong", gpu.wrong()},
            {"multiply_adds", gpu.fma()},
            {"seconds", gpu.seconds},
            {"covered", done},
            {"to_cover", of},
            {"power_limit_watts", gpu.power_limit},
            {"hottest_celsius", gpu.hottest},
            {"works", Json::array()},
            {"watts", Json::object()},
            {"suspects", Json::array()},
            {"findings", Json::array()}};
  for (const WorkResult& one : gpu.works)
    json["works"].push_back({{"instruction", one.work.name()},
                             {"inputs", name_of(one.work.inputs)},
                             {"launches", one.launches},
                             {"accumulators", one.accumulators},
                             {"wrong", one.wrong},
                             {"multiply_adds", one.fma},
                             {"flops", one.flops()},
                             {"feed", name_of(one.work.feed)},
                             {"bytes_per_second", one.bytes_per_second()},
                             {"fma_per_clk_sm", fma_per_clock(one, gpu.device.multiprocessors)},
                             {"multiprocessors", one.multiprocessors}});
  for (const auto& [set, energy] : gpu.energy)
    json["watts"][std::string(name_of(set))] = energy.second > 0 ? energy.first / energy.second : 0;
  for (const auto& [place, one] : gpu.suspects)
    json["suspects"].push_back({{"sm", place.first},
                                {"subcore", place.second},
                                {"wrong", one.wrong},
                                {"reruns", one.reruns},
                                {"again_here", one.again_here},
                                {"again_elsewhere", one.again_elsewhere}});
  for (const Finding& one : gpu.findings) json["findings"].push_back(finding_json(one));
  if (const std::string line = first_explained(gpu); !line.empty())
    json["findings"].front()["explain"] = line;
  return json;
}

}  // namespace

std::string verdict(const GpuResult& gpu) {
  if (!gpu.error.empty() || gpu.wrong() != 0) return "FAIL";
  if (!gpu.refused.empty() || gpu.works.empty()) return "NOT SCREENED";
  const auto [done, of] = gpu.covered();
  return done < of ? "stopped" : "pass";
}

bool failed(const std::vector<GpuResult>& gpus) {
  return std::any_of(gpus.begin(), gpus.end(), [](const GpuResult& gpu) { return verdict(gpu) == "FAIL"; });
}

bool hangs(const std::vector<GpuResult>& gpus) {
  return std::any_of(gpus.begin(), gpus.end(), [](const GpuResult& gpu) { return gpu.hangs; });
}

bool passed(const std::vector<GpuResult>& gpus) {
  return !gpus.empty() &&
         std::all_of(gpus.begin(), gpus.end(), [](const GpuResult& gpu) { return verdict(gpu) == "pass"; });
}

report::Report report_of(const std::vector<GpuResult>& gpus, const Provenance& provenance) {
  report::Report out{.title = "Screen of tensor cores", .suite = "mmaudit screen"};
  for (const GpuResult& gpu : gpus) {
    out.cases.push_back(case_of(gpu));
    if (gpu.works.empty()) continue;
    report::Section& section = out.sections.emplace_back();
    section.title = fmt::format("{}, driver {}", who(gpu), gpu.device.driver);
    if (gpu.power_limit > 0) section.title += fmt::format(", power limit {:.0f} W", gpu.power_limit);
    section.tables = {rates(gpu)};
    if (!gpu.energy.empty()) section.tables.push_back(watts(gpu));
    out.sections.push_back(errors(gpu));
  }
  out.sections.push_back(section_of(verdicts(gpus)));
  out.sections.back().remark = "Faults per SM and hour: visible ones, at 95% confidence.";
  out.json = [gpus, provenance] { return json_of(gpus, provenance); };
  out.provenance = provenance;
  add_headline(out, passed(gpus));
  return out;
}

void add_headline(report::Report& report, bool passed) {
  const report::Table& table = report.sections.back().tables.front();
  const auto at = static_cast<std::size_t>(
      std::find_if(table.columns.begin(), table.columns.end(),
                   [](const report::Column& column) { return column.header == "verdict"; }) -
      table.columns.begin());
  std::size_t good = 0;
  std::string others;
  for (const auto& row : table.rows) {
    good += row[at].text == "pass" ? 1 : 0;
    if (row[at].text == "pass") continue;
    std::string name = row.front().text;
    if (at > 1) name += ", " + row[1].text;
    others += fmt::format("; {}: {}", name, row[at].text);
    if (!row.back().text.empty()) others += ": " + row.back().text;
  }
  report.headline = fmt::format("{} of {} GPUs passed{}", good, table.rows.size(), others);
  report.tone = passed ? report::Tone::good : report::Tone::bad;
  report.headline_last = true;
}

std::string json_of(const std::vector<GpuResult>& gpus, const Provenance& provenance) {
  Json json{{"kind", "mmaudit-screen"},      {"format", 1},
            {"version", provenance.version}, {"revision", provenance.revision},
            {"date", provenance.date},       {"driver", provenance.driver},
            {"cuda", provenance.cuda},       {"command", provenance.command},
            {"passed", passed(gpus)},        {"gpus", Json::array()}};
  for (const GpuResult& gpu : gpus) json["gpus"].push_back(gpu_json(gpu));
  return ordered_document(json, 1);
}

std::string prometheus_of(const std::vector<GpuResult>& gpus, const std::string& host) {
  std::string text;
  const std::string of_host = host.empty() ? "" : fmt::format("host=\"{}\",", host);
  const auto metric = [&](const char* name, const char* help, const auto& value) {
    text += fmt::format("# HELP mmaudit_screen_{0} {1}\n# TYPE mmaudit_screen_{0} gauge\n", name, help);
    for (const GpuResult& gpu : gpus)
      text += fmt::format("mmaudit_screen_{}{{{}gpu=\"{}\"}} {}\n", name, of_host, gpu.device.ordinal,
                          static_cast<double>(value(gpu)));
  };
  metric("passed", "1: every type ran on every sub-core and no checksum was wrong.",
         [](const GpuResult& gpu) { return verdict(gpu) == "pass" ? 1 : 0; });
  metric("wrong_checksums", "Threads' checksums that were not the model's.",
         [](const GpuResult& gpu) { return gpu.wrong(); });
  metric("multiply_adds", "Multiply-adds whose accumulators were checked.",
         [](const GpuResult& gpu) { return gpu.fma(); });
  metric("seconds", "Seconds of screening.", [](const GpuResult& gpu) { return gpu.seconds; });
  metric("gpu_error", "1: the GPU or its driver reported an error or did not answer, which ended the screen.",
         [](const GpuResult& gpu) { return gpu.error.empty() ? 0 : 1; });
  metric("suspect_subcores", "Sub-cores with a wrong checksum.",
         [](const GpuResult& gpu) { return gpu.suspects.size(); });
  metric("hottest_celsius", "Highest temperature seen; 0: not known.",
         [](const GpuResult& gpu) { return gpu.hottest; });
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  metric("finished_seconds", "When it ended, seconds since 1970.",
         [&](const GpuResult&) { return std::chrono::duration_cast<std::chrono::seconds>(now).count(); });
  return text;
}

}  // namespace mmaudit::screen
