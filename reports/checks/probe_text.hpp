#pragma once
// What probe() and reveal() found, as text and as JSON.
#include <string>

#include "mmaudit/probe/probe.hpp"
#include "mmaudit/probe/reveal.hpp"

namespace mmaudit::checks {

/// A line per rule; with `witnesses` the dot product behind each as well.
std::string to_text(const probe::Finding& finding, bool witnesses);
/// Schema "mmaudit.probe/1".
std::string to_json(const probe::Finding& finding);
/// An architecture of this one datapath, as --model reads it.
std::string model_json(const probe::Finding& finding, const std::string& name);

std::string to_text(const probe::GemmFinding& finding, const probe::UnknownGemm& gemm);
/// Schema "mmaudit.gemm-reveal/1".
std::string to_json(const probe::GemmFinding& finding, const probe::UnknownGemm& gemm);

}  // namespace mmaudit::checks
