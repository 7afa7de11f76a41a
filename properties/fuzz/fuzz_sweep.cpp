// Bytes as the result of a sweep, of a sweep of whole products, or as a disassembly for the census. A sweep
// that is accepted comes back from its own JSON, is no different from itself, and every renderer draws it.
#include "mmaudit/report/report.hpp"
#include "support.hpp"
#include "sweeps/census.hpp"
#include "sweeps/compare.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::fuzz {
namespace {

void draw(const report::Report& report) {
  for (const report::Renderer& each : report::renderers()) each.draw(report, false);
}

void read_sweep(std::string_view text) {
  sweeps::SweepResult result;
  if (!accepted([&] { result = sweeps::from_json(text, "x"); })) return;
  const std::string json = sweeps::to_json(result);
  accepted([&] {
    if (sweeps::to_json(sweeps::from_json(json, "again")) != json) fail("a sweep that does not come back");
  });
  const sweeps::Compared compared = sweeps::compare(result, result);
  if (compared.count(sweeps::Change::fast) + compared.count(sweeps::Change::slow) != 0)
    fail("a sweep that differs from itself");
  draw(sweeps::report_of(compared));
  sweeps::to_csv(result);
  draw(sweeps::report_of(result));
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  const unsigned how = bytes.byte() % 3U;
  if (how == 0) read_sweep(bytes.text());
  if (how == 1) accepted([&] { draw(sweeps::gemm_report(std::string(bytes.text()), "x")); });
  if (how == 2) sweeps::census_csv(sweeps::census_of(bytes.text()));
}
