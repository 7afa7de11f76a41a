// What can be swept.
#include <fmt/format.h>

#include "mmaudit/refusal.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/fields.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {

report::Report benchmarks_report() {
  report::Report out{.title = "What can be swept"};
  out.sections = table_or_lines(report::table_of<AxisSpec>("Axes", axis_specs(),
                                                           {{"axis", &AxisSpec::name},
                                                            {"what", &AxisSpec::meaning},
                                                            {"usual", &AxisSpec::usual},
                                                            {"quick", &AxisSpec::quick}}),
                                "{}: {}; usual {}, quick {}");
  for (report::Section& section : out.sections)
    section.remark = "-a NAME=VALUE, NAME=[a,b,c], NAME=[start:end:step], NAME[pow2]=...";
  out.sections.insert(out.sections.begin(),
                      section_of(report::table_of<Benchmark>(
                          "Benchmarks", benchmarks(),
                          {{"benchmark", &Benchmark::name}, {"axes", [](const Benchmark& one) {
                                                               return fmt::format(
                                                                   "{}", fmt::join(names_of(one.axes), " "));
                                                             }}})));
  return out;
}

}  // namespace mmaudit::sweeps
