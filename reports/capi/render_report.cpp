// Reports that other programs make, drawn for the C interface.
#include <stdexcept>

#include "capi/guard.hpp"
#include "mmaudit/version.hpp"
#ifdef MMAUDIT_RENDER
#include "html_assets.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/report/report.hpp"
#endif

namespace mmaudit::capi {
namespace {

#ifdef MMAUDIT_RENDER

/// The first figure of a report as a file of its own.
std::string first_figure(const report::Report& report) {
  for (const report::Section& section : report.sections)
    for (const report::Figure& plot : section.plots) {
      const std::string figure = report::drawn(plot);
      if (figure.empty()) continue;
      const std::size_t content = figure.find('>') + 1;
      return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + figure.substr(4, content - 4) + "<style>" +
             std::string(report::kStyle) + "svg { background: var(--card); }</style>" +
             figure.substr(content) + "\n";
    }
  refuse("format: found svg, allowed: a format for a report without figures");
}

std::string drawn(const char* json, const char* format) {
  constexpr std::string_view kSvg = "svg";
  if (json == nullptr) refuse("report: found null, allowed: JSON of the schema mmaudit.report/1");
  const std::string_view asked = format == nullptr ? "html" : format;
  if (asked != kSvg && report::find_renderer(asked) == nullptr)
    refuse("format: found {}, allowed: {}, {}", asked, names_of(report::renderers()), kSvg);
  report::Report report = report::report_of_json(json, "report");
  if (report.provenance.version.empty()) {
    report.provenance.version = kVersion;
    report.provenance.revision = kGitRevision;
  }
  if (asked == kSvg) return first_figure(report);
  const std::string text = report::rendered(report, asked);
  return asked == "text" ? made_visible(text) : text;  // other formats escape what they must
}

#else

std::string drawn(const char* /*json*/, const char* /*format*/) {
  throw std::runtime_error(
      "report: found a library that was built without fmt and nlohmann_json, allowed: one built where their "
      "headers are (Debian: libfmt-dev, nlohmann-json3-dev)");
}

#endif

}  // namespace
}  // namespace mmaudit::capi

extern "C" int mmaudit_render_report(const char* report, const char* format, char** out) {
  using namespace mmaudit::capi;
  return guarded([&] { give_text(out, [&] { return drawn(report, format); }); });
}
