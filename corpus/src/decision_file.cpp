#include "mmaudit/corpus/decision_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json_fields.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::string_view kSchema = "mmaudit.gemm.decisions/1";

/// "1:0 17:4": from M = 1 choice 0, from 17 on choice 4.
std::string text_of(const std::vector<DecisionStart>& starts) {
  std::string out;
  for (const DecisionStart& each : starts)
    out += fmt::format("{}{}:{}", out.empty() ? "" : " ", each.m, each.choice);
  return out;
}

std::vector<DecisionStart> starts_of(const std::string& text, const DecisionFile& file,
                                     const std::string& where) {
  std::vector<DecisionStart> out;
  const char *at = text.data(), *const end = text.data() + text.size();
  while (at != end) {
    DecisionStart one;
    const auto m = std::from_chars(at, end, one.m);
    const bool colon = m.ec == std::errc{} && m.ptr != end && *m.ptr == ':';
    const auto choice = colon ? std::from_chars(m.ptr + 1, end, one.choice) : m;
    if (!colon || choice.ec != std::errc{} || (choice.ptr != end && *choice.ptr != ' ') ||
        one.choice >= file.choices.size() || (out.empty() ? one.m != file.first_m : one.m <= out.back().m) ||
        one.m > file.last_m)
      refuse("{}: starts: found {}, allowed: M:CHOICE with ascending M from {} to {} and choices above",
             where, std::string(at, std::min<std::ptrdiff_t>(end - at, 20)), file.first_m, file.last_m);
    out.push_back(one);
    at = choice.ptr == end ? end : choice.ptr + 1;
  }
  if (out.empty()) refuse("{}: starts: found none, allowed: one or more", where);
  return out;
}

/// What of a product makes no difference to the choice, or is the file's M, is set alike.
GemmProblem layer_of(GemmProblem problem) {
  problem.m = 1;
  problem.d = output_of(problem);
  if (is_fp8(problem.type)) problem.scale_a = problem.scale_b = 1;
  return problem;
}

/// The largest power of two up to 16 that divides a size: what loads may be wide by.
std::uint64_t alignment_of(std::uint64_t size) {
  std::uint64_t out = 16;
  while (size % out != 0) out /= 2;
  return out;
}

}  // namespace

std::string header_line(const DecisionFile& file) {
  return Json{{"schema", kSchema},       {"gpu", file.gpu},         {"architecture", file.architecture},
              {"library", file.library}, {"first_m", file.first_m}, {"last_m", file.last_m}}
             .dump() +
         "\n";
}
std::string line_of_choice(const LibraryCall& choice) {
  Json out = to_json(choice);
  for (Json& kernel : out.at("kernels")) kernel.erase("grid");
  return Json{{"choice", std::move(out)}}.dump() + "\n";
}
std::string line_of(const LayerDecisions& layer) {
  Json problem = to_json(layer_of(layer.layer));
  problem.erase("m");
  return Json{{"layer", std::move(problem)}, {"starts", text_of(layer.starts)}}.dump() + "\n";
}

DecisionFile read_decisions(std::string_view text, const std::string& file, std::size_t* cut) {
  DecisionFile out;
  bool headed = false;
  const std::size_t whole = text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1;
  if (cut != nullptr) {
    *cut = whole;
    text = text.substr(0, whole);
  }
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string where = fmt::format("{}: line {}", file, line);
    const Json json = parse_bounded(text.substr(0, end), where, "a line of recorded decisions");
    text.remove_prefix(std::min(end + 1, text.size()));
    JsonFields fields(json, where);
    if (!headed) {
      headed = true;
      if (const std::string schema = fields.text("schema").value_or("nothing"); schema != kSchema)
        fields.refuse("schema", schema, kSchema);
      fields.text("gpu", out.gpu);
      fields.text("architecture", out.architecture);
      fields.text("library", out.library);
      if (find_architecture(out.architecture) == nullptr)
        fields.refuse("architecture", out.architecture, "a name of `mmaudit list`");
      fields.count("first_m", out.first_m, 1);
      fields.count("last_m", out.last_m, out.first_m);
    } else if (const Json* const choice = fields.take("choice"); choice != nullptr) {
      out.choices.push_back(library_call_of(*choice, where + ": choice"));
    } else {
      const Json* const layer = fields.take("layer");
      if (layer == nullptr || !layer->is_object())
        fields.refuse("layer", layer == nullptr ? Json() : *layer, "an object");
      Json problem = *layer;
      problem["m"] = std::uint64_t{1};
      LayerDecisions one{gemm_problem_of(problem, where + ": layer"), {}};
      one.starts = starts_of(fields.text("starts").value_or(""), out, where);
      out.layers.push_back(std::move(one));
    }
    fields.refuse_unknown();
  }
  if (!headed) refuse("{}: found no line, allowed: recorded decisions", file);
  return out;
}

const LibraryCall* choice_at(const DecisionFile& file, const LayerDecisions& layer, std::uint64_t m) {
  if (m < file.first_m || m > file.last_m) return nullptr;
  const auto after =
      std::upper_bound(layer.starts.begin(), layer.starts.end(), m,
                       [](std::uint64_t value, const DecisionStart& start) { return value < start.m; });
  return &file.choices[std::prev(after)->choice];
}

std::optional<Decided> decided(const DecisionFile& file, const GemmProblem& problem, std::string* why) {
  const auto unknown = [&](std::string text) {
    if (why != nullptr) *why = std::move(text);
    return std::nullopt;
  };
  if (problem.m < file.first_m || problem.m > file.last_m)
    return unknown(
        fmt::format("M = {} was not recorded, M = {} to {} were", problem.m, file.first_m, file.last_m));
  const GemmProblem asked = layer_of(problem);
  const LayerDecisions* nearest = nullptr;
  double least = 0;
  for (const LayerDecisions& each : file.layers) {
    GemmProblem layer = layer_of(each.layer);
    if (layer == asked) return Decided{*choice_at(file, each, problem.m), true, &each};
    if (alignment_of(layer.n) != alignment_of(asked.n) || alignment_of(layer.k) != alignment_of(asked.k))
      continue;
    const auto apart = [](std::uint64_t a, std::uint64_t b) {
      return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
    };
    const double distance = apart(layer.n, asked.n) + apart(layer.k, asked.k);
    layer.n = asked.n;
    layer.k = asked.k;
    if (layer != asked || (nearest != nullptr && distance >= least)) continue;
    nearest = &each;
    least = distance;
  }
  if (nearest == nullptr)
    return unknown("neither this layer nor one that differs in N and K alone was recorded on " + file.gpu);
  return Decided{*choice_at(file, *nearest, problem.m), false, nearest};
}

}  // namespace mmaudit::corpus
