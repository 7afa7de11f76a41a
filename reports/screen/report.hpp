#pragma once
// A screen as a report, JSON and Prometheus metrics, and the fault simulation as a report.
#include <string>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/provenance.hpp"
#include "mmaudit/report/report.hpp"
#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {

/// "FAIL" where a checksum was wrong, the GPU reported an error or does not answer, "pass", "NOT SCREENED",
/// or "stopped" where Ctrl-C came first.
std::string verdict(const GpuResult& gpu);
/// True when the verdict of a GPU is "FAIL".
bool failed(const std::vector<GpuResult>& gpus);
/// True when a GPU does not answer.
bool hangs(const std::vector<GpuResult>& gpus);
/// True when every GPU was screened whole and nothing was wrong.
bool passed(const std::vector<GpuResult>& gpus);

/// What: rates, watts and errors by place of each GPU, then the verdicts as the last section, and a test case
/// per GPU. Bad unless passed(). The JSON is json_of().
report::Report report_of(const std::vector<GpuResult>& gpus, const Provenance& provenance);
/// Says in the headline what the rows of the last section say: how many GPUs passed, and which did not.
void add_headline(report::Report& report, bool passed);
std::string json_of(const std::vector<GpuResult>& gpus, const Provenance& provenance);
/// For the text file collector of Prometheus' node exporter. `host`: a label more, where it has a name.
std::string prometheus_of(const std::vector<GpuResult>& gpus, const std::string& host = "");

/// What: `mmaudit explain` of the last instruction of the finding's chain, C as the model has it there.
/// Range: D of that command is the finding's `expected`, whichever instruction of the chain erred; empty
/// where the architecture lacks the instruction.
std::string explain_line(const Finding& finding, const Architecture& architecture);

/// What: a CUDA file that plain nvcc compiles. It runs the finding's chain on its multiprocessor and sub-core
/// alone, again and again, and compares every accumulator; `gpu`: the number of the GPU. Range: empty where
/// the architecture lacks the instruction. Errors: InputError where this program's model expects other bits
/// than the finding says, so that the finding is another version's.
std::string reproducer(const Finding& finding, const Architecture& architecture, int gpu);
/// Of the first finding of the first GPU that has one; empty without a finding.
std::string first_reproducer(const std::vector<GpuResult>& gpus);
/// What: the same of the text of a json_of(). Errors: InputError, also where it has no finding; `file` names
/// it.
std::string reproducer_of_json(const std::string& text, const std::string& file);

/// What a rank without a GPU that could be screened has instead of one: a GPU with this error, of a negative
/// number of its own; `local_rank`: of the ranks of its host.
GpuResult no_gpu(const std::string& error, int local_rank);

/// The screens of several ranks as one.
struct Together {
  report::Report report;
  std::string prometheus, reproducer;  ///< reproducer: of the first rank that has one
  bool failed = false, passed = false;
};
/// What: the screen of one rank as text, to be gathered.
std::string part_of(const std::vector<GpuResult>& gpus, const Provenance& provenance,
                    const std::string& host);
/// What: all ranks' part_of(), in their order. The JSON is that of a single screen, whose GPUs have host,
/// rank and driver in addition.
Together put_together(const std::vector<std::string>& parts);

/// The stuck-at faults of one datapath that some input sets show. `wide`: faults of 2 to kMostBits adjacent
/// bits.
struct Coverage {
  Instruction instruction;
  std::size_t faults = 0, undetectable = 0, shown = 0;
  std::vector<std::size_t> shown_by_set{};  ///< in the order of the sets
  std::size_t wide_faults = 0, wide_undetectable = 0, wide_shown = 0;
  std::string hidden{};  ///< faults that these sets don't show, in one line; without the undetectable ones
};

/// What: the fault simulation of each instruction that the architecture has, one instruction per host thread.
/// Takes a few CPU seconds per instruction.
std::vector<Coverage> simulate_coverage(const Architecture& architecture,
                                        const std::vector<Instruction>& instructions,
                                        const std::vector<InputSet>& inputs);
/// One row per instruction, and the faults that stay hidden; `inputs` as they were simulated.
report::Report report_of(const std::vector<Coverage>& coverage, const std::vector<InputSet>& inputs);

}  // namespace mmaudit::screen
