#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mmaudit/error.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::report {

// Every file of render/, listed by CMake, defines one.
namespace render {
#include "renderer_declarations.hpp"
}

namespace {
const Renderer kRenderers[] = {
#include "renderer_list.hpp"
};
}  // namespace

std::span<const Renderer> renderers() { return kRenderers; }

const Renderer* find_renderer(std::string_view name) { return find_named(kRenderers, name); }

std::string rendered(const Report& report, std::string_view format, bool colour) {
  if (const Renderer* renderer = find_renderer(format)) return renderer->draw(report, colour);
  refuse("format: found {}, allowed: {}", format, names_of(kRenderers));
}

bool has_own_title(const Table& table, const Section& section) {
  return !table.title.empty() && table.title != section.title;
}

bool has_text(const Section& section) {
  return !section.lines.empty() || !section.block.empty() ||
         std::any_of(section.tables.begin(), section.tables.end(),
                     [](const Table& table) { return !table.rows.empty(); });
}

int exit_code(const Report& report) { return report.tone == Tone::bad ? 1 : 0; }

Table provenance_table(const Provenance& provenance) {
  Table out{.title = "Provenance", .columns = {"what", "value"}};
  const std::pair<std::string_view, std::string> rows[] = {
      {"mmaudit", provenance.version + (provenance.revision.empty() ? "" : " (" + provenance.revision + ")")},
      {"date", provenance.date},
      {"GPU", provenance.gpu},
      {"driver", provenance.driver},
      {"CUDA", provenance.cuda},
      {"command", fmt::format("{}", fmt::join(provenance.command, " "))}};
  for (const auto& [what, value] : rows)
    if (!value.empty()) out.rows.push_back({what, value});
  return out;
}

Section section_of(Table table, unsigned shown) {
  Section section{.title = table.title, .remark = table.remark, .shown = shown};
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace mmaudit::report
