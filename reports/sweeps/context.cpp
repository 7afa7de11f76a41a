// What stands beside a sweep on its page: accuracy, whole products, SASS.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "mmaudit/error.hpp"
#include "sweeps/embedded.hpp"
#include "sweeps/gemm_report.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr char kAccuracyRemark[] =
    "Error of a product of N(0, 1) operands with K = 4096 by the model, relative to the exact product; rates "
    "of "
    "this sweep, the whole GPU, operands on the spot: what a library can reach at most. FP8 scaled by one "
    "factor "
    "per tensor.";

/// Errors: InputError for anything but what gemm_json() writes.
report::Table products_of(const std::string& text, const std::string& label) {
  report::Table table{.title = "Whole products, bfloat16 to binary32",
                      .columns = {"kernel",
                                  {"size", true},
                                  {"us", true},
                                  {"TFLOPS", true},
                                  {"cycles", true},
                                  "sampled bits",
                                  "what"}};
  try {
    const auto whole = nlohmann::json::parse(text);
    if (whole.at("meta").at("schema") != kGemmSchema)
      throw InputError(fmt::format("{}: meta.schema: allowed: {}", label, kGemmSchema));
    table.remark = "Ceiling: " + whole.at("ceiling").get<std::string>();
    for (const auto& point : whole.at("points")) {
      auto& row = table.rows.emplace_back();
      row = {point.at("kernel").get<std::string>(), std::to_string(point.at("size").get<int>())};
      if (point.contains("skipped")) {
        row.insert(row.end(), {"-", "-", "-", point.at("skipped").get<std::string>()});
      } else {
        const auto& bits = point.at("bits");
        row.emplace_back(fmt::format("{:.1f}", 1e6 * point.at("seconds").at("median").get<double>()));
        row.emplace_back(fmt::format("{:.1f}", 1e-12 * point.at("flops").get<double>()));
        row.emplace_back(point.contains("cycles") ? fmt::format("{:.0f}", point.at("cycles").get<double>())
                                                  : "-");
        row.emplace_back(fmt::format("{} of {} differ", bits.at("differing").get<std::uint64_t>(),
                                     bits.at("compared").get<std::uint64_t>()));
      }
      row.emplace_back(point.at("what").get<std::string>());
    }
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{}: not what sweep gemm --out writes", label));
  }
  return table;
}

/// Lines of the shipped census for the GPU of the sweep.
report::Table census_of_target(int compute_capability) {
  report::Table table{.title = "What the instructions become", .columns = {"instruction", "SASS", ""}};
  const std::string target = fmt::format("sm_{}", compute_capability);
  for (const std::string_view line : split(shipped_census(), '\n')) {
    const std::vector<std::string_view> cells = split(line, ',');
    if (cells.size() >= 4 && (cells[0] == target || cells[0] == target + "a"))
      table.rows.push_back({cells[1], cells[2], cells[3]});
  }
  return table;
}

}  // namespace

void add_context(report::Report& report, const SweepResult& result, const std::vector<AccuracyRow>& accuracy,
                 const std::string& products, const std::string& label) {
  auto& sections = report.sections;
  if (!products.empty()) sections.insert(sections.begin(), section_of(products_of(products, label)));
  sections.insert(sections.begin(), {.title = kAccuracyTitle,
                                     .remark = kAccuracyRemark,
                                     .figures = accuracy_figures(accuracy),
                                     .tables = {accuracy_table(accuracy)}});
  sections.push_back(section_of(census_of_target(result.device.compute_capability)));
  sections.back().folded = true;
}

}  // namespace mmaudit::sweeps
