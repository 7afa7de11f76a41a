#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

std::string draw(const Report& report, bool) {
  std::string out;
  for (const auto& row : report.records.rows)
    for (std::size_t i = 0; i < row.size(); ++i) out += row[i].text + (i + 1 < row.size() ? '\t' : '\n');
  return out;
}

}  // namespace

namespace render {
extern const Renderer kTsv{"tsv", "tsv", draw};
}  // namespace render

}  // namespace mmaudit::report
