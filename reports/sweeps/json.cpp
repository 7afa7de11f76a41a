#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/whole_number.hpp"
#include "sweeps/plausible.hpp"
#include "sweeps/point_groups.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr ProvenanceKey kMetaKeys[] = {{"version", &Provenance::version},
                                       {"revision", &Provenance::revision},
                                       {"date", &Provenance::date},
                                       {"argv", &Provenance::command}};
constexpr ProvenanceKey kDeviceKeys[] = {{"name", &Provenance::gpu},
                                         {"sm_version", &Provenance::compute_capability, 10},
                                         {"sm_default_clock_rate", &Provenance::nominal_hz},
                                         {"number_of_sms", &Provenance::multiprocessors},
                                         {"driver", &Provenance::driver},
                                         {"cuda", &Provenance::cuda}};

/// Calls visit(key, number) for the rule's numbers, for writer and reader alike.
template <typename Rule, typename Visit>
void for_each_number(Rule& rule, Visit visit) {
  visit("warm_ups", rule.warm_ups);
  visit("least_runs", rule.least);
  visit("most_runs", rule.most);
  visit("noise", rule.noise);
  visit("gpu_milliseconds", rule.gpu_milliseconds);
  visit("energy_seconds", rule.energy_seconds);
  visit("energy_steps", rule.energy_steps);
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

/// Numbers of a list with blanks between them.
Json lists_json(const Point& point) {
  Json lists = Json::array();
  for (const ListSpec& spec : list_specs())
    if (const auto numbers = point.numbers(spec.tag); !numbers.empty())
      lists.push_back({{"tag", spec.tag},
                       {"description", spec.description},
                       {"values", fmt::format("{}", fmt::join(numbers, " "))}});
  return lists;
}

Json point_json(const Point& point) {
  Json axis_values = Json::array(), summaries = Json::array();
  for (const auto& [name, value] : point.axes)
    axis_values.push_back({{"name", name}, {"type", type_of(name)}, {"value", value}});
  for (const SummarySpec& spec : summary_specs()) {
    const std::optional<double> value = point.get(spec.tag);
    if (!value) continue;
    const Json data = {{"name", "value"}, {"type", "float64"}, {"value", fmt::format("{}", *value)}};
    summaries.push_back({{"tag", spec.tag},
                         {"name", spec.name},
                         {"hint", spec.hint},
                         {"description", spec.description},
                         {"data", Json::array({data})}});
  }
  Json out = {{"name", point.key().substr(std::min(point.key().size(), point.subject.size() + 1))},
              {"device", 0},
              {"axis_values", axis_values},
              {"is_skipped", !point.skipped.empty()},
              {"skip_reason", point.skipped},
              {"summaries", summaries}};
  if (!point.lists.empty()) out["lists"] = lists_json(point);
  return out;
}

/// The axes of points of one benchmark, each with the values that occur.
std::vector<Axis> axes_of(const Points& points) {
  std::vector<Axis> axes;
  for (const auto& [name, first] : points.front()->axes) {
    std::vector<std::string>& values = axes.emplace_back(Axis{name, {}}).values;
    for (const Point* point : points)
      if (const std::string_view value = point->axis(name);
          std::find(values.begin(), values.end(), value) == values.end())
        values.emplace_back(value);
  }
  return axes;
}

Json benchmarks_json(const SweepResult& result) {
  Json benchmarks = Json::array();
  const auto any = [](const Point&) { return true; };
  for (const Points& points :
       grouped(points_with(result, any), [](const Point& one) { return one.subject; })) {
    Json states = Json::array();
    for (const Point* point : points) states.push_back(point_json(*point));
    benchmarks.push_back({{"name", points.front()->subject},
                          {"index", benchmarks.size()},
                          {"devices", {0}},
                          {"axes", axes_json(axes_of(points))},
                          {"states", states}});
  }
  return benchmarks;
}

/// What a summary can be: a number from 0 to `most`, 0 itself only where `zero` says so.
struct Range {
  double most;
  bool zero;
};
Range range_of(std::string_view name) {
  // Noise above 1 would call a run of twice the time the same; the largest figure is of 1e16 FLOP/s.
  constexpr Range kNoise = {1, true}, kPositive = {1e20, false}, kOther = {1e20, true};
  if (name == tag::kCyclesNoise || name == tag::kEventsNoise) return kNoise;
  // Times, clocks, rates and what they are a share of: 0 would be a measurement bug.
  constexpr std::string_view kNeverZero[] = {
      tag::kCycles,      tag::kCyclesLeast, tag::kCyclesMost, tag::kEvents,     tag::kTimer,
      tag::kClock,       tag::kRuns,        tag::kSteps,      tag::kShareHeld,  tag::kShareNominal,
      tag::kWatts,       tag::kLimit,       tag::kMemoryPeak, tag::kLeastBlock, tag::kMostBlock,
      tag::kBlocks,      tag::kDistinct,    tag::kNearHit,    tag::kFarHit,     tag::kNearMiss,
      tag::kFarMiss,     tag::kAgain,       tag::kIssue,      tag::kExpect,     tag::kWait,
      tag::kFlopsPerWatt};
  const bool never_zero = name.starts_with("rate/") || std::find(std::begin(kNeverZero), std::end(kNeverZero),
                                                                 name) != std::end(kNeverZero);
  return never_zero ? kPositive : kOther;
}

double number_in(const Json& text, std::string_view tag, const std::string& label) {
  const auto value = text.get<std::string>();
  const Range range = range_of(tag);
  const double number = whole_number<double>(value).value_or(std::nan(""));
  // Written so that a NaN is refused, and -0 too.
  if (!(number <= range.most) || std::signbit(number) || (number == 0 && !range.zero))
    refuse("{}: {}: found {}, allowed: a number {} 0, at most {}", label, tag, in_quotes(value),
           range.zero ? "from" : "above", range.most);
  return number;
}

/// A list of numbers, none of which a clock or a place can't be.
std::vector<std::uint32_t> list_in(const Json& text, std::string_view tag, const std::string& label) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::vector<std::uint32_t> numbers;
  const auto values = text.get<std::string>();
  for (const std::string_view one : split(values, ' ')) {
    const auto number = whole_number<std::uint32_t>(one);
    if (!number || numbers.size() == kMost)
      refuse("{}: {}: found {}, allowed: at most {} whole numbers from 0 to 2^32 - 1", label, tag,
             in_quotes(one), kMost);
    numbers.push_back(*number);
  }
  return numbers;
}

/// Of a tag that this program does not write.
template <class Specs>
void require_tag(const Specs& specs, std::string_view tag, std::string_view where, const std::string& label) {
  if (std::none_of(specs.begin(), specs.end(), [&](const auto& spec) { return spec.tag == tag; }))
    refuse("{}: {}: found the tag {}, which {} lacks, allowed: its tags", label, where, in_quotes(tag),
           kSchema);
}

double property_in(const Json& from, std::string_view key, const std::string& label) {
  const auto number = from.get<double>();
  if (!(number >= 0 && number <= 1e20))
    refuse("{}: {}: found {}, allowed: a number from 0, at most 1e20", label, key, number);
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

/// More points than any sweep has; tables of points would take minutes.
constexpr std::size_t kMostPoints = std::size_t{1} << 15;

SweepResult result_in(const Json& root, const std::string& label) {
  const Json& meta = root.at("meta");
  if (const auto schema = meta.at("schema").get<std::string>(); schema != kSchema)
    refuse("{}: meta.schema: found {}, allowed: {}", label, in_quotes(schema), kSchema);
  SweepResult result;
  result.interrupted = meta.at("interrupted").get<bool>();
  if (const Json* const gate = meta.find("gate")) gate->get_to(result.gate);
  result.axes = axes_in(meta.at("axes"));
  for_each_number(result.rule,
                  [&rule = meta.at("rule")](const char* key, auto& number) { rule.at(key).get_to(number); });
  read_fields(meta, kMetaKeys, result.provenance);
  const Json& device = root.at("devices").at(0);
  read_fields(device, kDeviceKeys, result.provenance);
  for (const PropertySpec& spec : property_specs())
    if (const std::string key(spec.key); device.contains(key))
      result.properties[key] = property_in(device.at(key), key, label);
  for (const Json& benchmark : root.at("benchmarks"))
    for (const Json& from : benchmark.at("states")) {
      Point point;
      point.subject = benchmark.at("name").get<std::string>();
      for (const Json& axis : from.at("axis_values"))
        point.axes.emplace_back(axis.at("name").get<std::string>(), axis.at("value").get<std::string>());
      point.skipped = from.at("skip_reason").get<std::string>();
      for (const Json& summary : from.at("summaries")) {
        const auto tag = summary.at("tag").get<std::string>();
        require_tag(summary_specs(), tag, "summaries", label);
        point.summaries[tag] = number_in(summary.at("data").at(0).at("value"), tag, label);
      }
      if (from.contains("lists"))
        for (const Json& list : from.at("lists")) {
          const auto tag = list.at("tag").get<std::string>();
          require_tag(list_specs(), tag, "lists", label);
          point.lists[tag] = list_in(list.at("values"), tag, label);
        }
      const bool skipped = from.at("is_skipped").get<bool>();
      if (skipped == point.skipped.empty() || skipped != point.summaries.empty())
        refuse(
            "{}: {}: is_skipped: found {} with {} summaries and {} skip_reason, allowed: true with a reason "
            "and no summaries, or false with summaries and no reason",
            label, point.key(), skipped ? "true" : "false", point.summaries.size(),
            point.skipped.empty() ? "no" : "a");
      if (result.points.size() == kMostPoints)
        refuse("{}: benchmarks: found more than {} states, allowed: at most so many", label, kMostPoints);
      result.points.push_back(std::move(point));
    }
  require_plausible(result, label);
  return result;
}

}  // namespace

std::string to_json(const SweepResult& result) {
  Json meta = {{"schema", kSchema}}, device = {{"id", 0}}, rule;
  write_fields(result.provenance, kMetaKeys, meta);
  write_fields(result.provenance, kDeviceKeys, device);
  for (const PropertySpec& spec : property_specs())
    if (const auto at = result.properties.find(std::string(spec.key)); at != result.properties.end())
      device[at->first] = at->second;
  for_each_number(result.rule, [&](const char* key, auto number) { rule[key] = number; });
  rule["throttled_below"] = kThrottledBelow;
  meta["interrupted"] = result.interrupted;
  if (!result.gate.empty()) meta["gate"] = result.gate;
  meta["axes"] = axes_json(result.axes);
  meta["rule"] = std::move(rule);
  const Json root = {{"meta", std::move(meta)},
                     {"devices", Json::array({std::move(device)})},
                     {"benchmarks", benchmarks_json(result)}};
  return ordered_document(root, 1);
}

SweepResult from_json(std::string_view text, const std::string& label) {
  constexpr std::string_view kAllowed = "a result of `mmaudit sweep`";
  try {
    return result_in(corpus::parse_bounded(text, label, kAllowed), label);
  } catch (const JsonError&) {  // a field is missing or of another type
    refuse("{}: found another object, allowed: {}", label, kAllowed);
  }
}

}  // namespace mmaudit::sweeps
