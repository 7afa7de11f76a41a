#include <fmt/format.h>

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
  return !section.lines.empty() || std::any_of(section.tables.begin(), section.tables.end(),
                                               [](const Table& table) { return !table.rows.empty(); });
}

Section section_of(Table table, unsigned shown) {
  Section section{.title = table.title, .remark = table.remark, .shown = shown};
  section.tables.push_back(std::move(table));
  return section;
}

}  // namespace mmaudit::report
