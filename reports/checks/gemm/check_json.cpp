// A check as JSON and back: what a stopped check goes on from, and what `baseline diff` compares.
#include <cmath>

#include "gemm/check.hpp"
#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::string_view kSchema = "mmaudit.gemm.check/1";

/// The counts of a type, by their names in JSON.
constexpr std::pair<std::string_view, std::uint64_t GemmTypeCount::*> kCounts[] = {
    {"products", &GemmTypeCount::products}, {"wrong_products", &GemmTypeCount::wrong_products},
    {"calls", &GemmTypeCount::calls},       {"wrong_calls", &GemmTypeCount::wrong_calls},
    {"runs", &GemmTypeCount::runs},         {"elements", &GemmTypeCount::elements},
    {"refused", &GemmTypeCount::refused},   {"refused_calls", &GemmTypeCount::refused_calls}};

/// The plain products of programs.
constexpr std::pair<std::string_view, std::optional<Plain> GemmFault::*> kPrograms[] = {
    {"program_cu", &GemmFault::library}, {"program_py", &GemmFault::torch}};

Json json_of(const std::vector<exact::KRange>& ranges) {
  Json out = Json::array();
  for (const exact::KRange& each : ranges) out.push_back(Json::array({each.first, each.last, each.times}));
  return out;
}

Json json_of(const GemmFault& each) {
  Json out = {{"problem", corpus::to_json(each.problem)},
              {"call", corpus::to_json(each.call)},
              {"faults", each.finding.faults},
              {"kind", kind_of(each)},
              {"explained", each.finding.named},
              {"wrong", each.finding.wrong},
              {"elements", each.finding.elements},
              {"tail", each.finding.tail},
              {"wrong_k", json_of(each.finding.wrong_k)},
              {"first",
               {{"matrix", each.finding.matrix},
                {"row", each.finding.row},
                {"column", each.finding.column},
                {"expected", each.finding.expected},
                {"found", each.finding.found}}}};
  out["found_s"] = each.found_seconds;
  if (each.right) out["right_algorithm"] = *each.right;
  if (each.right_seconds != 0) out["right_s"] = each.right_seconds, out["first_s"] = each.first_seconds;
  if (each.trials != 0)
    out["condition"] = each.condition, out["shapes"] = each.trials, out["failing_shapes"] = each.failing;
  for (const auto& [name, program] : kPrograms)
    if (const std::optional<Plain>& plain = each.*program)
      out[name] = {{"problem", corpus::to_json(plain->problem)}, {"wrong_k", json_of(plain->wrong_k)}};
  if (each.torch_calls != 0) out["torch_calls"] = each.torch_calls;
  return out;
}

/// null, which JSON has for NaN, too.
double number_of(const JsonNode& node) {
  if (node.json().is_null()) return std::nan("");
  if (!node.json().is_number()) node.refuse(node.json(), "a number");
  return node.json().get<double>();
}
double seconds_of(const JsonNode& node) {
  const double out = number_of(node);
  if (!(out >= 0)) node.refuse(node.json(), "0 or more");
  return out;
}
std::uint64_t count_of(const JsonNode& node) { return node.count(UINT64_MAX); }
bool truth_of(const JsonNode& node) {
  if (!node.json().is_boolean()) node.refuse(node.json(), "true, false");
  return node.json().get<bool>();
}

std::vector<exact::KRange> ranges_of(const JsonNode& node) {
  std::vector<exact::KRange> out;
  for (const JsonNode& each : node.list()) {
    const std::vector<JsonNode> range = each.list();
    if (range.size() != 3) each.refuse(each.json(), "first, last, times");
    out.push_back({count_of(range[0]), count_of(range[1]), number_of(range[2])});
  }
  return out;
}
GemmProblem problem_of(const JsonNode& node) { return corpus::gemm_problem_of(node.json(), node.where()); }

GemmFault fault_of(const JsonNode& node) {
  GemmFault out;
  out.problem = problem_of(node.at("problem"));
  out.call = corpus::library_call_of(node.at("call").json(), node.at("call").where());
  exact::Finding& found = out.finding;
  for (const JsonNode& each : node.at("faults").list()) found.faults.push_back(each.text());
  if (found.faults.empty()) node.at("faults").refuse("none", "one or more");
  found.named = truth_of(node.at("explained"));
  found.wrong = count_of(node.at("wrong")), found.elements = count_of(node.at("elements"));
  found.tail = count_of(node.at("tail"));
  found.wrong_k = ranges_of(node.at("wrong_k"));
  const JsonNode first = node.at("first");
  found.matrix = count_of(first.at("matrix")), found.row = count_of(first.at("row"));
  found.column = count_of(first.at("column"));
  found.expected = number_of(first.at("expected")), found.found = number_of(first.at("found"));
  out.found_seconds = number_of(node.at("found_s"));
  if (node["right_algorithm"].given()) out.right = count_of(node["right_algorithm"]);
  if (node["right_s"].given())
    out.right_seconds = number_of(node["right_s"]), out.first_seconds = number_of(node.at("first_s"));
  if (node["shapes"].given()) {
    out.condition = node.at("condition").text();
    out.trials = count_of(node["shapes"]), out.failing = count_of(node.at("failing_shapes"));
  }
  for (const auto& [name, program] : kPrograms)
    if (const JsonNode plain = node[name]; plain.given()) {
      out.*program = Plain{problem_of(plain.at("problem")), ranges_of(plain.at("wrong_k"))};
      if ((out.*program)->wrong_k.empty()) plain.at("wrong_k").refuse("none", "one or more");
    }
  if (node["torch_calls"].given()) out.torch_calls = count_of(node["torch_calls"]);
  return out;
}

}  // namespace

std::string to_json(const GemmCheck& check) {
  Json faults = Json::array(), types = Json::object();
  for (const GemmFault& each : check.faults) faults.push_back(json_of(each));
  for (const auto& [name, x] : check.types) {
    Json& type = types[name] = Json::object();
    for (const auto& [key, field] : kCounts) type[key] = x.*field;
    type["seconds"] = x.seconds, type["product_seconds"] = x.product_seconds;
    Json& calls = type["calls_by_algorithm"] = Json::object();
    for (const auto& [place, count] : x.calls_by) calls[place] = count;
  }
  Json launches = Json::object(), not_started = Json::object();
  for (std::size_t i = 0; i < std::size(check.launches); ++i) {
    const std::string kind(device::names::kLaunchKind[i]);
    launches[kind] = check.launches[i];
    if (const auto& [times, why] = check.not_started[i]; times != 0)
      not_started[kind] = {{"products", times}, {"why", why}};
  }
  return document({{"schema", kSchema},
                   {"library", check.library},
                   {"gpu", check.gpu},
                   {"asked", check.asked},
                   {"seed", check.seed},
                   {"repeat", check.repeat},
                   {"taken", check.taken},
                   {"stopped", check.stopped},
                   {"seconds", check.seconds},
                   {"product_seconds", check.product_seconds},
                   {"why_refused", check.why_refused},
                   {"launches", std::move(launches)},
                   {"not_started", std::move(not_started)},
                   {"types", std::move(types)},
                   {"faults", std::move(faults)}},
                  1);
}

GemmCheck gemm_check_of_json(std::string_view text, const std::string& file) {
  const Json json = corpus::parse_bounded(text, file, "what `mmaudit gemm check --json` writes");
  constexpr JsonWording kWording{.separator = ".", .types = true, .most = 80};
  const JsonNode top(json, file + ": ", kWording);
  top.at("schema").expect(kSchema);
  GemmCheck out;
  out.library = top.at("library").text(), out.gpu = top.at("gpu").text();
  out.why_refused = top.at("why_refused").text();
  out.asked = top.at("asked").json();
  out.seed = count_of(top.at("seed")), out.repeat = count_of(top.at("repeat"));
  out.taken = count_of(top.at("taken"));
  out.seconds = seconds_of(top.at("seconds")), out.product_seconds = seconds_of(top.at("product_seconds"));
  out.stopped = truth_of(top.at("stopped"));
  for (std::size_t i = 0; i < std::size(out.launches); ++i) {
    const std::string_view kind = device::names::kLaunchKind[i];
    out.launches[i] = count_of(top.at("launches").at(kind));
    if (const JsonNode none = top.at("not_started")[kind]; none.given())
      out.not_started[i] = {count_of(none.at("products")), none.at("why").text()};
  }
  const JsonNode types = top.at("types");
  if (!types.json().is_object()) types.refuse(types.json(), "an object");
  for (const auto& [name, value] : types.json().items()) {
    const JsonNode type(value, types.where() + "." + printable(name, 60), kWording);
    GemmTypeCount& count = out.types[name];
    for (const auto& [key, field] : kCounts) count.*field = count_of(type.at(key));
    count.seconds = seconds_of(type.at("seconds")),
    count.product_seconds = seconds_of(type.at("product_seconds"));
    for (const auto& [place, calls] : type.at("calls_by_algorithm").integers()) {
      if (calls < 0) type.at("calls_by_algorithm").at(place).refuse("0 or more");
      count.calls_by[place] = static_cast<std::uint64_t>(calls);
    }
  }
  for (const JsonNode& each : top.at("faults").list()) out.faults.push_back(fault_of(each));
  return out;
}

}  // namespace mmaudit::checks
