#include "functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "explained.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/function_recording.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/report/fields.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::checks {
namespace {

using functions::format_of;
using functions::Function;

std::string hex(const Function& function, std::uint32_t bits) { return hex_text(bits, function.bits); }

using functions::Bound;
using functions::BoundKind;

/// An error in a bound's unit; a power of two by its exponent.
std::string error_text(BoundKind kind, double error) {
  if (kind == BoundKind::ulps) return fmt::format("{:.3g} ulp", error);
  return fmt::format("2^{:.5g}{}", std::log2(error), kind == BoundKind::relative ? " of the value" : "");
}
std::string text_of(const Function& function, const Bound& bound) {
  if (bound.kind == BoundKind::none) return "-";
  std::string text = error_text(bound.kind, bound.most);
  if (bound.per_x != 0) text += fmt::format(" + floor({} |x|)", bound.per_x);
  if (std::isinf(bound.high)) return text;
  return text +
         fmt::format(", {} in [{:.4g}, {:.4g}]", function.operands == 2 ? "|y|" : "x", bound.low, bound.high);
}
std::string bounds_text(const Function& one) {
  const bool more = one.elsewhere.kind != BoundKind::none;
  return text_of(one, one.bound) + (more ? "; else " + text_of(one, one.elsewhere) : "");
}

/// What all operands gave: the largest error, the laws that hold, and those that don't.
std::string found_text(const Function& one) {
  const functions::Found* found = functions::found_on_all(one);
  if (found == nullptr) return "-";
  std::vector<std::string> texts = {error_text(one.bound.kind, found->bound.error)};
  if (one.elsewhere.kind != BoundKind::none)
    texts[0] += "; else " + error_text(one.elsewhere.kind, found->elsewhere.error);
  const auto add = [&](const char* law, const functions::Breaks& breaks, bool shown = false) {
    if (breaks.count != 0)
      texts.push_back(fmt::format("{} broken at {}, first {}", law, breaks.count, hex(one, breaks.first)));
    else if (shown)
      texts.emplace_back(law);
  };
  const functions::Value& value = functions::value_of(one);
  add("bound", found->above);
  add(value.symmetry == functions::Symmetry::odd ? "odd" : "even", found->symmetry,
      value.symmetry != functions::Symmetry::none);
  add("monotonic in binades", found->inside_binade, value.trend != functions::Trend::none);
  add("monotonic between them", found->past_binade, value.trend != functions::Trend::none);
  return with_commas(texts);
}

Json json_of(const Function& one) {
  return {{"name", one.name},           {"value", one.value},       {"operands", one.operands},
          {"bits", one.bits},           {"steps", one.steps},       {"bound", bounds_text(one)},
          {"source", one.bound.source}, {"evidence", one.evidence}, {"on_all_operands", found_text(one)}};
}

}  // namespace

std::vector<const Function*> functions_of(const std::vector<std::string>& names) {
  std::vector<const Function*> chosen;
  const std::string* other = nullptr;
  for (const std::string& name : names) {
    std::vector<const Function*> found = functions::rows_of(name);
    if (name == "functions")
      for (const Function& one : functions::all()) found.push_back(&one);
    if (found.empty()) other = &name;
    for (const Function* one : found)
      if (std::find(chosen.begin(), chosen.end(), one) == chosen.end()) chosen.push_back(one);
  }
  if (!chosen.empty() && other != nullptr)
    refuse("--inst: found {} beside special functions, allowed: functions (all), {}", in_quotes(*other),
           allowed_near(*other, names_of(functions::all()), "mmaudit list --functions"));
  return chosen;
}

report::Report report_of_functions(const Architecture& architecture) {
  if (!architecture.target.empty())
    refuse("--arch: found {} with --functions, allowed: a generation of NVIDIA's", architecture.name);
  report::Report out{.title = "Special functions"};
  const bool recorded = architecture.compute_capability == functions::kRecordedCapability;
  report::Table table{
      .columns = {"function", "value", "vendor's bound", "on all operands", "known", "steps"}};
  Json rows = Json::array();
  for (const Function& one : functions::all()) {
    if (architecture.compute_capability < one.least_capability) continue;
    Json row = json_of(one);
    if (!recorded) {
      row["steps"] = row["on_all_operands"] = "-";
      row["evidence"] = name_of(Evidence::literature);
    }
    const auto text = [&](const char* key) { return row[key].get<std::string>(); };
    table.rows.push_back(
        {one.name, one.value, bounds_text(one), text("on_all_operands"), text("evidence"), text("steps")});
    rows.push_back(std::move(row));
  }
  out.sections.push_back(section_of(std::move(table)));
  out.sections.push_back(
      {.title = "Legend",
       .lines = {recorded
                     ? fmt::format("recorded: on {}.", functions::kRecordedOn)
                     : fmt::format("literature: {} is not recorded, so a row has the vendor's bound alone. "
                                   "`mmaudit baseline corpus` records compute capability 9.0 and later.",
                                   architecture.name),
                 "\"/fast\": with --use_fast_math. On all operands: the largest error and "
                 "the laws; \"-\": unknown.",
                 "`mmaudit explain --inst NAME --x X` shows one input."}});
  out.json = [rows, name = architecture.name] {
    return document({{"schema", "mmaudit.function_list/1"}, {"architecture", name}, {"functions", rows}});
  };
  return out;
}

report::Report explain_function(const Function& function, const std::string& x, const std::string& y) {
  const FormatSpec format = format_of(function);
  const auto parsed = [&](const char* option, const std::string& text) {
    if (text.empty()) refuse("{}: found nothing, allowed: a number for {}", option, function.name);
    const ParsedValue value = parse_value(text, format), wide = parse_value(text, spec_of(Format::f64));
    if (value.error.empty()) return static_cast<std::uint32_t>(value.bits);
    if (!wide.error.empty()) throw InputError(fmt::format("{}: {}", option, value.error));
    // The nearest number that the format has; the table shows it.
    return static_cast<std::uint32_t>(
        encode_nearest_even(decode_value(wide.bits, spec_of(Format::f64)), format));
  };
  const std::uint32_t a = parsed("--x", x), b = function.operands == 2 ? parsed("--y", y) : 0;
  if (function.operands == 1 && !y.empty())
    refuse("--y: found with {}, allowed: with a quotient", function.name);
  const std::uint32_t result = functions::evaluate(function.id, a, b, functions::kUnit);
  const double exact = functions::exact(function, decode_value(a, format),
                                        function.operands == 2 ? decode_value(b, format) : 1);
  const std::uint64_t nearest = std::isnan(exact) ? result : encode_nearest_even(exact, format);
  const std::string away = ulps_text(nearest, result, format);
  report::Report out{.title = fmt::format("{} of {}", function.name, x)};
  report::Table table{.columns = {"step", "value"}};
  table.rows.push_back({"function", function.name});
  table.rows.push_back({"x", fmt::format("{} ({})", value_text(a, format), hex(function, a))});
  if (function.operands == 2)
    table.rows.push_back({"y", fmt::format("{} ({})", value_text(b, format), hex(function, b))});
  table.rows.push_back({"instructions", function.steps});
  Json unit = Json::array();
  for (const functions::UnitStep& step : functions::unit_steps(function, a)) {
    table.rows.push_back({step.name, step.text});
    unit.push_back({{"step", step.name}, {"value", step.text}});
  }
  table.rows.push_back({"result", fmt::format("{} ({})", value_text(result, format), hex(function, result))});
  const double from_exact = functions::ulps_from_exact(function, a, result, exact);
  const std::string distance =
      std::isnan(from_exact) ? "" : fmt::format("; the result is {:.3g} ulp from it", from_exact);
  table.rows.push_back(
      {"exact value", fmt::format("{:.17g}{}", std::isnan(exact) ? std::fabs(exact) : exact, distance)});
  table.rows.push_back(
      {"correctly rounded", hex_text(nearest, function.bits) +
                                (away == "-" ? "" : fmt::format("; the result is {} ulp from it", away))});
  table.rows.push_back(
      {"vendor's bound", fmt::format("{} ({})", bounds_text(function), function.bound.source)});
  table.rows.push_back({"on all operands", found_text(function)});
  table.rows.push_back({"known", fmt::format("{} on {}", function.evidence, functions::kRecordedOn)});
  Json json = {{"schema", "mmaudit.explain_function/1"},
               {"function", function.name},
               {"x", hex(function, a)},
               {"result", hex(function, result)},
               {"correctly_rounded", hex_text(nearest, function.bits)},
               {"ulps", away},
               {"ulps_from_exact", from_exact},
               {"unit", unit}};
  out.sections.push_back(section_of(std::move(table)));
  std::string state = fmt::format("view=functions&fn={}&x=0x{}", function.name, hex(function, a));
  if (function.operands == 2) state += "&y=0x" + hex(function, b);
  out.sections.back().notes.push_back(to_play_with(state));
  out.json = [json] { return document(json); };
  return out;
}

std::vector<VerifiedFunction> replay_functions(const std::filesystem::path& folder,
                                               const std::vector<const Function*>& chosen) {
  std::vector<std::string> names;
  names.reserve(chosen.size());
  for (const Function* one : chosen) names.emplace_back(one->name);
  std::vector<VerifiedFunction> out;
  const auto recordings = corpus::read_function_recordings(folder, names);
  for (const corpus::FunctionRecording& one : recordings) {
    VerifiedFunction& found = out.emplace_back();
    found.function = one.function;
    found.source = one.file;
    std::erase(names, one.function->name);
    found.inputs = one.x.size();
    for (std::size_t i = 0; i < one.x.size(); ++i) {
      const std::uint32_t y = one.y.empty() ? 0 : one.y[i];
      const std::uint32_t model = functions::evaluate(one.function->id, one.x[i], y, functions::kUnit);
      if (model == one.result[i]) continue;
      if (found.differ++ < device::kMostDifferences)
        found.first.push_back({one.x[i], y, one.result[i], model});
    }
  }
  if (!names.empty())
    refuse("--corpus: found {}, which has no recording of {}, allowed: a folder of recordings",
           folder.string(), names);
  return out;
}

std::vector<VerifiedFunction> check_functions(const device::DeviceInfo& gpu,
                                              const std::vector<const Function*>& chosen,
                                              Progress& progress) {
  std::vector<VerifiedFunction> out;
  progress.begin("checking", chosen.size());
  for (const Function* one : chosen) {
    out.push_back(
        {device::check_function(gpu, *one), one, fmt::format("{} (driver {})", gpu.name, gpu.driver)});
    progress.advance(1, std::string(one->name));
  }
  return out;
}

void record_functions(const device::DeviceInfo& gpu, const std::vector<const Function*>& chosen,
                      std::uint64_t seed, const std::filesystem::path& folder) {
  for (const Function* one : chosen) {
    corpus::FunctionRecording recording = corpus::operands_to_record(*one, seed);
    recording.result = device::ask_function(gpu, *one, recording.x, recording.y);
    corpus::write_function_recording(folder, recording);
  }
}

report::Report report_of(const std::vector<VerifiedFunction>& verified) {
  report::Report out{.title = "Special functions against the GPU"};
  report::Table table{.columns = {"function", {"inputs", true}, {"differ", true}, "against"}};
  std::uint64_t inputs = 0, differ = 0;
  std::string examples;
  Json rows = Json::array();
  for (const VerifiedFunction& one : verified) {
    inputs += one.inputs;
    differ += one.differ;
    table.rows.push_back(
        {one.function->name, std::to_string(one.inputs), report::bad_count(one.differ), one.source});
    std::string first;
    for (const device::FunctionDifference& each : one.first)
      first += fmt::format("{}: x {}, y {}, hardware {}, model {}\n", one.function->name,
                           hex(*one.function, each.x), hex(*one.function, each.y),
                           hex(*one.function, each.hardware), hex(*one.function, each.model));
    std::string failed = one.differ == 0 ? "" : fmt::format("{} of {} inputs differ", one.differ, one.inputs);
    out.cases.push_back(
        report::judged("mmaudit.verify", std::string(one.function->name), std::move(failed), first));
    examples += first;
    rows.push_back({{"function", one.function->name},
                    {"inputs", one.inputs},
                    {"differ", one.differ},
                    {"against", one.source}});
  }
  out.suite = "mmaudit verify";
  std::set<const Function*> all;
  for (const VerifiedFunction& one : verified) all.insert(one.function);
  out.headline = fmt::format("{} functions, {} inputs, {} differ", all.size(), inputs, differ);
  out.headline_last = true;
  out.tone = differ != 0 || inputs == 0 ? report::Tone::bad : report::Tone::good;
  out.sections.push_back(section_of(std::move(table)));
  if (!examples.empty()) out.sections.push_back({.title = "Where they differ", .block = examples});
  out.json = [rows] { return document({{"schema", "mmaudit.verify_functions/1"}, {"functions", rows}}); };
  return out;
}

}  // namespace mmaudit::checks
