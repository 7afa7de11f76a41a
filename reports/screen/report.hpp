#pragma once
// A screen as text, JSON and Prometheus metrics, and the fault simulation as a table.
#include <string>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/provenance.hpp"
#include "mmaudit/report/table.hpp"
#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {

/// "FAIL" where a checksum was wrong or the GPU reported an error, "pass", "NOT SCREENED", or "stopped" where
/// Ctrl-C came first.
std::string verdict(const GpuResult& gpu);
/// True when the verdict of a GPU is "FAIL".
bool failed(const std::vector<GpuResult>& gpus);
/// True when every GPU was screened whole and nothing was wrong.
bool passed(const std::vector<GpuResult>& gpus);

/// Rates, watts, errors by place, and one line per GPU as verdict.
std::string text_of(const std::vector<GpuResult>& gpus);
std::string json_of(const std::vector<GpuResult>& gpus, const Provenance& provenance);
/// For the text file collector of Prometheus' node exporter.
std::string prometheus_of(const std::vector<GpuResult>& gpus);

/// What: `mmaudit explain` of the last instruction of the finding's chain, C as the model has it there. Range:
/// D of that command is the finding's `expected`, whichever instruction of the chain erred; empty where the
/// architecture lacks the instruction.
std::string explain_line(const Finding& finding, const Architecture& architecture);

/// What: stuck-at faults of each datapath that these inputs show, one row per instruction. Slow: simulates.
report::Table coverage_table(const Architecture& architecture, const std::vector<Instruction>& instructions,
                             const std::vector<InputSet>& inputs, std::string& undetected);

}  // namespace mmaudit::screen
