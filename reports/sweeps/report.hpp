#pragma once
// A sweep, and whole products, as a file and as a report.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/report/report.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "mmaudit/sweeps/point.hpp"
#include "sweeps/accuracy.hpp"

namespace mmaudit::sweeps {

inline constexpr char kSchema[] = "mmaudit.sweep/1";

/// What: the layout of NVBench's files (meta, devices, benchmarks with axes, states and summaries; numbers of
/// summaries are strings), with `kSchema` in meta.schema.
std::string to_json(const SweepResult& result);
/// Errors: InputError("<label>: ...") for anything that to_json() does not write.
SweepResult from_json(std::string_view text, const std::string& label);
/// One line per point, one column per axis and per summary.
std::string to_csv(const SweepResult& result);

/// One line each: GPU, program.
std::vector<std::string> origin_of(const Provenance& provenance);

/// What can be swept, and the axes.
report::Report benchmarks_report();

/// Bad where a point has other bits than the model. Findings, a table and figures per family of benchmarks,
/// the whole GPU, energy, and what was not measured or is wrong, with the papers' numbers beside ours.
/// `ceilings`: other sweeps of the same GPU, whose best rates count in the roofline.
report::Report report_of(const SweepResult& result, std::span<const SweepResult> ceilings = {});

inline constexpr char kAccuracyTitle[] = "Accuracy against speed";

/// What: adds to a report what stands beside a sweep on its page: accuracy, whole products (what gemm_json()
/// wrote, from a file called `label`; empty: none), and the census of SASS; takes what is folded off the
/// terminal. Errors: InputError("<label>: ...").
void add_context(report::Report& report, const SweepResult& result, const std::vector<AccuracyRow>& accuracy,
                 const std::string& products, const std::string& label);

inline constexpr char kGemmSchema[] = "mmaudit.gemm/1";

std::string gemm_json(const GemmResult& result);

/// What: bad where bits differ although the order of k is known; time, rate, share of the ceiling and bits
/// per kernel and size; then the order of the ablation and the share that the best kernel reaches, as yes or
/// no. `json`: what gemm_json() makes, from a file called `label`. Errors: InputError("<label>: ...") for any
/// other text.
report::Report gemm_report(const std::string& json, const std::string& label);

}  // namespace mmaudit::sweeps
