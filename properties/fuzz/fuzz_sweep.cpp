// Bytes as the result of a sweep, of a sweep of whole products, as a disassembly for the census, as a machine
// of the timing model, or as loops or kernels that were measured. A sweep that is accepted comes back from
// its own JSON, is no different from itself, and every renderer draws it.
#include <cmath>
#include <stdexcept>

#include "mmaudit/report/report.hpp"
#include "mmaudit/timing/measured.hpp"
#include "support.hpp"
#include "sweeps/census.hpp"
#include "sweeps/compare.hpp"
#include "sweeps/report.hpp"
#include "timing/machine_file.hpp"

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

void time_loops(std::string_view csv, const timing::Machine& machine) {
  for (const timing::MeasuredLoop& each : timing::read_measured_loops(csv)) {
    const timing::ComparedLoop one = timing::compare(machine, each, timing::loops().front());
    if (one.cycles && !(*one.cycles >= 0 && std::isfinite(*one.cycles)))
      fail("a loop that takes no finite time");
    break;  // more only take time
  }
}

void read_machine(std::string_view text) {
  static ScratchFile file("x.json");
  const timing::Machine machine = timing::machine_of_file(file.holding(text).string());
  time_loops("mma.m16n8k16.f32.f16.f16.f32,,4,,100\n", machine);
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  const unsigned how = bytes.byte() % 6U;
  if (how == 0) read_sweep(bytes.text());
  if (how == 1) accepted([&] { draw(sweeps::gemm_report(std::string(bytes.text()), "x")); });
  if (how == 2) sweeps::census_csv(sweeps::census_of(bytes.text()));
  try {
    if (how == 3) accepted([&] { read_machine(bytes.text()); });
    if (how == 4) accepted([&] { time_loops(bytes.text(), *timing::find_machine("hopper")); });
    if (how == 5) accepted([&] { timing::read_measured(bytes.text()); });
  } catch (const std::runtime_error& never_ends) {
    check_one_line(never_ends.what());
  }
}
