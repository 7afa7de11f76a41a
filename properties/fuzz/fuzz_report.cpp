// The first byte says what the text is: a report, which comes back from its own JSON and is drawn by every
// renderer, or what a screen found, which becomes a program.
#include "mmaudit/report/report.hpp"
#include "screen/report.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

void read_report(std::string_view text) {
  report::Report read;
  if (!accepted([&] { read = report::report_of_json(text, "x"); })) return;
  const std::string json = report::to_json(read);
  if (!accepted([&] {
        if (report::to_json(report::report_of_json(json, "again")) != json)
          fail("a report that does not come back");
      }))
    fail("a report that its own JSON refuses");
  for (const report::Renderer& each : report::renderers()) accepted([&] { each.draw(read, true); });
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  if (bytes.byte() % 2U == 0)
    read_report(bytes.text());
  else
    accepted([&] {
      if (screen::reproducer_of_json(std::string(bytes.text()), "x").empty()) fail("an empty program");
    });
}
