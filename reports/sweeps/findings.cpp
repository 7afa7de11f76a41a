#include "sweeps/findings.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

#include <algorithm>

namespace mmaudit::sweeps {

#define MMAUDIT_FILE(NAME) std::vector<Statement> statements_##NAME();
#include "finding_files.inc"
#undef MMAUDIT_FILE

namespace {

/// Whether a point has the coordinates.
class Wanted {
 public:
  explicit Wanted(const Query& query)
      : query_(query), warps_(std::to_string(query.warps)), ilp_(std::to_string(query.ilp)) {}
  bool operator()(const Point& point) const {
    const auto agrees = [&](const std::pair<std::string_view, std::string_view>& one) {
      const std::string_view value = point.axis(one.first);
      return one.second.empty() || value.empty() || value == one.second;
    };
    return point.subject == query_.subject && point.skipped.empty() && agrees({"scope", query_.scope}) &&
           agrees({"init", query_.init}) && agrees({"warps", warps_}) && agrees({"ilp", ilp_}) &&
           std::all_of(query_.others.begin(), query_.others.end(), agrees);
  }

 private:
  const Query& query_;
  std::string warps_, ilp_;
};

}  // namespace

const Point* find_point(const SweepResult& result, const Query& query) {
  const auto at = std::find_if(result.points.begin(), result.points.end(), Wanted(query));
  return at == result.points.end() ? nullptr : &*at;
}

const Point* find_point(const Points& points, const Query& query) {
  const Wanted wanted(query);
  const auto at = std::find_if(points.begin(), points.end(), [&](const Point* one) { return wanted(*one); });
  return at == points.end() ? nullptr : *at;
}

Source value(const Query& query, std::string_view summary) {
  return [=](const SweepResult& result) {
    const Point* point = find_point(result, query);
    return point == nullptr ? std::nullopt : point->get(summary);
  };
}

std::string_view measured_init(const SweepResult& result, std::string_view subject) {
  const bool any_zero = std::any_of(result.points.begin(), result.points.end(), [&](const Point& point) {
    return point.subject == subject && point.axis("scope") == "sm" && point.axis("init") == "zero";
  });
  return !any_zero || find_point(result, {.subject = subject}) != nullptr ? "random" : "zero";
}

Source most(std::string_view summary, std::function<bool(const Point&)> wanted) {
  return [=](const SweepResult& result) {
    return highest_number(points_with(result, wanted),
                          [&](const Point& point) { return point.get(summary); });
  };
}

Source most(std::string_view subject, std::string_view summary, Coordinates axes, std::string_view scope) {
  axes.emplace_back("scope", scope);
  return most(summary, [=](const Point& point) { return point.subject == subject && is_at(point, axes); });
}

Source best_rate(std::string_view subject, int least_warps, int most_warps) {
  return [=](const SweepResult& result) {
    const auto wanted = [&](const Point& point) {
      const int warps = point.number("warps");
      return point.subject == subject && point.axis("scope") == "sm" && warps >= least_warps &&
             warps <= most_warps;
    };
    return highest_number(points_with(result, wanted), &Point::rate);
  };
}

Source scaled(double factor, Source source) {
  return [=](const SweepResult& result) {
    std::optional<double> number = source(result);
    if (number) *number *= factor;
    return number;
  };
}

bool gpu_lacks(const SweepResult& result, std::string_view subject, const Coordinates& axes) {
  const Points points =
      points_with(result, [&](const Point& point) { return point.subject == subject && is_at(point, axes); });
  return !points.empty() && std::none_of(points.begin(), points.end(), [](const Point* point) {
    return point->skipped.empty() || point->skipped.starts_with("refused: ");
  });
}

Values numbers(const std::vector<std::optional<double>>& found) {
  Values values;
  for (const std::optional<double>& one : found) {
    if (!one) return {};
    values.push_back(*one);
  }
  return values;
}

Values numbers(const SweepResult& result, const std::vector<Source>& sources) {
  std::vector<std::optional<double>> found;
  found.reserve(sources.size());
  for (const Source& source : sources) found.push_back(source(result));
  return numbers(found);
}

std::function<void(const SweepResult&, Finding&)> judged(std::vector<Source> sources, bool (*holds)(Values&),
                                                         std::string measured) {
  return [=](const SweepResult& result, Finding& out) {
    Values found = numbers(result, sources);
    if (found.empty()) return;
    out.holds = holds(found);
    fmt::dynamic_format_arg_store<fmt::format_context> arguments;
    for (const double one : found) arguments.push_back(one);
    out.measured = fmt::vformat(measured, arguments);
  };
}

std::optional<Convergence> convergence_of(const Points& points, Query query, int warps) {
  constexpr int kMostIlp = kIlpAxis.most;
  std::vector<Convergence> grid;
  query.warps = warps;
  for (query.ilp = 1; query.ilp <= kMostIlp; ++query.ilp)
    if (const Point* point = find_point(points, query))
      grid.push_back({warps, query.ilp, point->get(tag::kCycles).value_or(0), point->rate().value_or(0)});
  if (grid.empty()) return std::nullopt;
  double best = 0;
  for (const Convergence& one : grid) best = std::max(best, one.rate);
  const auto found = std::find_if(grid.begin(), grid.end(),
                                  [&](const Convergence& one) { return one.rate >= kConverged * best; });
  return found == grid.end() ? std::nullopt : std::optional(*found);
}

std::optional<Convergence> convergence_of(const SweepResult& result, const Query& query, int warps) {
  return convergence_of(points_with(result, [](const Point&) { return true; }), query, warps);
}

std::vector<Finding> findings_of(const SweepResult& result) {
  std::vector<Statement> statements;
#define MMAUDIT_FILE(NAME) \
  for (const Statement& statement : statements_##NAME()) statements.push_back(statement);
#include "finding_files.inc"
#undef MMAUDIT_FILE
  SweepResult right = result;  // a point whose result was wrong says nothing
  std::erase_if(right.points, [](const Point& point) { return point.get(tag::kDiffering).value_or(0) > 0; });
  SweepResult checked = right;  // nor does one whose result was not looked at
  std::erase_if(checked.points, [](const Point& point) {
    return point.skipped.empty() && point.get(tag::kCompared).value_or(0) <= 0;
  });
  const bool all_checked = checked.points.size() == right.points.size();
  std::vector<Finding> findings;
  for (const Statement& statement : statements) {
    const Finding asked{std::string(statement.text), {}, {}, std::string(statement.source)};
    Finding& finding = findings.emplace_back(asked);
    statement.judge(checked, finding);
    if (finding.holds || all_checked) continue;
    Finding unchecked = asked;
    statement.judge(right, unchecked);
    if (unchecked.holds)
      finding.needs = "points whose results were compared: bits/compared is 0 or missing in some";
  }
  return findings;
}

}  // namespace mmaudit::sweeps
