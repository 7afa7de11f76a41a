#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "mmaudit/error.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {
namespace {

using Json = nlohmann::ordered_json;  // fields keep the order in which they are written here

const SummarySpec* spec_of_tag(std::string_view tag) {
  for (const SummarySpec& spec : summary_specs())
    if (spec.tag == tag) return &spec;
  return nullptr;
}

/// "int64" or "string", as NVBench calls them.
std::string_view type_of(std::string_view axis) {
  static const std::vector<AxisSpec> specs = axis_specs();
  const auto at =
      std::find_if(specs.begin(), specs.end(), [&](const AxisSpec& spec) { return spec.name == axis; });
  return at != specs.end() && at->number ? "int64" : "string";
}

Json axes_json(const std::vector<Axis>& axes) {
  Json out = Json::array();
  for (const Axis& axis : axes) {
    Json values = Json::array();
    for (const std::string& value : axis.values)
      values.push_back({{"input_string", value}, {"description", ""}, {"value", value}});
    out.push_back({{"name", axis.name}, {"type", type_of(axis.name)}, {"flags", ""}, {"values", values}});
  }
  return out;
}

Json point_json(const Point& point) {
  Json axis_values = Json::array(), summaries = Json::array();
  for (const auto& [name, value] : point.axes)
    axis_values.push_back({{"name", name}, {"type", type_of(name)}, {"value", value}});
  for (const SummarySpec& spec : summary_specs()) {
    const std::optional<double> value = point.get(spec.tag);
    if (!value) continue;
    Json data = Json::array();
    data.push_back({{"name", "value"}, {"type", "float64"}, {"value", fmt::format("{}", *value)}});
    summaries.push_back({{"tag", spec.tag},
                         {"name", spec.name},
                         {"hint", spec.hint},
                         {"description", spec.description},
                         {"data", data}});
  }
  return {{"name", point.key().substr(std::min(point.key().size(), point.subject.size() + 1))},
          {"device", 0},
          {"axis_values", axis_values},
          {"is_skipped", !point.skipped.empty()},
          {"skip_reason", point.skipped},
          {"summaries", summaries}};
}

Json benchmarks_json(const SweepResult& result) {
  std::vector<std::string> order;
  for (const Point& point : result.points)
    if (std::find(order.begin(), order.end(), point.subject) == order.end()) order.push_back(point.subject);
  Json benchmarks = Json::array();
  for (const std::string& name : order) {
    Json states = Json::array();
    std::vector<Axis> axes;
    for (const Point& point : result.points) {
      if (point.subject != name) continue;
      states.push_back(point_json(point));
      for (const auto& [axis, value] : point.axes) {
        auto at = std::find_if(axes.begin(), axes.end(),
                               [&wanted = axis](const Axis& one) { return one.name == wanted; });
        if (at == axes.end()) at = axes.insert(axes.end(), Axis{axis, {}});
        if (std::find(at->values.begin(), at->values.end(), value) == at->values.end())
          at->values.push_back(value);
      }
    }
    benchmarks.push_back({{"name", name},
                          {"index", benchmarks.size()},
                          {"devices", {0}},
                          {"axes", axes_json(axes)},
                          {"states", states}});
  }
  return benchmarks;
}

double number_in(const Json& text, const std::string& label) {
  const auto value = text.get<std::string>();
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc{} || end != value.data() + value.size())
    throw InputError(fmt::format("{}: summaries: found \"{}\", allowed: a number", label, value));
  return number;
}

std::vector<Axis> axes_in(const Json& from) {
  std::vector<Axis> axes;
  for (const Json& axis : from) {
    axes.push_back({axis.at("name").get<std::string>(), {}});
    for (const Json& value : axis.at("values"))
      axes.back().values.push_back(value.at("value").get<std::string>());
  }
  return axes;
}

SweepResult result_in(const Json& root, const std::string& label) {
  const Json& meta = root.at("meta");
  if (const auto schema = meta.at("schema").get<std::string>(); schema != kSchema)
    throw InputError(fmt::format("{}: meta.schema: found \"{}\", allowed: {}", label, schema, kSchema));
  SweepResult result;
  result.interrupted = meta.at("interrupted").get<bool>();
  result.axes = axes_in(meta.at("axes"));
  const Json& rule = meta.at("rule");
  result.rule = {.warm_ups = rule.at("warm_ups").get<int>(),
                 .least = rule.at("least_runs").get<int>(),
                 .most = rule.at("most_runs").get<int>(),
                 .noise = rule.at("noise").get<double>(),
                 .gpu_milliseconds = rule.at("gpu_milliseconds").get<double>(),
                 .energy_seconds = rule.at("energy_seconds").get<double>(),
                 .energy_steps = rule.at("energy_steps").get<double>()};
  const Json& device = root.at("devices").at(0);
  result.provenance = {.gpu = device.at("name"),
                       .driver = device.at("driver"),
                       .cuda = device.at("cuda"),
                       .compute_capability = device.at("sm_version").get<int>() / 10,
                       .multiprocessors = device.at("number_of_sms"),
                       .nominal_hz = device.at("sm_default_clock_rate"),
                       .version = meta.at("version"),
                       .revision = meta.at("revision"),
                       .date = meta.at("date"),
                       .seed = 0,
                       .command = meta.at("argv")};
  for (const Json& benchmark : root.at("benchmarks"))
    for (const Json& from : benchmark.at("states")) {
      Point point;
      point.subject = benchmark.at("name").get<std::string>();
      for (const Json& axis : from.at("axis_values"))
        point.axes.emplace_back(axis.at("name").get<std::string>(), axis.at("value").get<std::string>());
      point.skipped = from.at("skip_reason").get<std::string>();
      for (const Json& summary : from.at("summaries")) {
        const auto tag = summary.at("tag").get<std::string>();
        if (spec_of_tag(tag) == nullptr)
          throw InputError(
              fmt::format("{}: summaries: found the tag \"{}\", which {} lacks", label, tag, kSchema));
        point.summaries[tag] = number_in(summary.at("data").at(0).at("value"), label);
      }
      result.points.push_back(point);
    }
  return result;
}

}  // namespace

std::string to_json(const SweepResult& result) {
  const Provenance& from = result.provenance;
  const Json root = {{"meta",
                      {{"schema", kSchema},
                       {"version", from.version},
                       {"revision", from.revision},
                       {"date", from.date},
                       {"argv", from.command},
                       {"interrupted", result.interrupted},
                       {"axes", axes_json(result.axes)},
                       {"rule",
                        {{"warm_ups", result.rule.warm_ups},
                         {"least_runs", result.rule.least},
                         {"most_runs", result.rule.most},
                         {"noise", result.rule.noise},
                         {"gpu_milliseconds", result.rule.gpu_milliseconds},
                         {"energy_seconds", result.rule.energy_seconds},
                         {"energy_steps", result.rule.energy_steps},
                         {"throttled_below", kThrottledBelow}}}}},
                     {"devices",
                      {{{"id", 0},
                        {"name", from.gpu},
                        {"sm_version", 10 * from.compute_capability},
                        {"sm_default_clock_rate", from.nominal_hz},
                        {"number_of_sms", from.multiprocessors},
                        {"driver", from.driver},
                        {"cuda", from.cuda}}}},
                     {"benchmarks", benchmarks_json(result)}};
  return root.dump(1) + "\n";
}

SweepResult from_json(std::string_view text, const std::string& label) {
  try {
    return result_in(Json::parse(text), label);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: not a result of `mmaudit sweep`: {}", label, error.what()));
  }
}

}  // namespace mmaudit::sweeps
