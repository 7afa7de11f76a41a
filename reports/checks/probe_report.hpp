#pragma once
// What probe() and reveal() found, as reports. Findings and products have to outlive them.
#include <string>

#include "mmaudit/probe/probe.hpp"
#include "mmaudit/probe/reveal.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

/// A row per rule; with `witnesses` the dot product behind each as well. JSON: mmaudit.probe/1. Passed where
/// a datapath explains every answer.
report::Report report_of(const probe::Finding& finding, bool witnesses);
/// An architecture of this one datapath, as --model reads it.
std::string model_json(const probe::Finding& finding, const std::string& name);

/// JSON: mmaudit.gemm-reveal/1. Passed where there is a plan.
report::Report report_of(const probe::GemmFinding& finding, const probe::UnknownGemm& gemm);

}  // namespace mmaudit::checks
