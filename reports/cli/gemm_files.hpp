#pragma once
// What the gemm commands read: products of a library, JSON or a log of cuBLASLt, and recorded decisions of
// libraries, by the name of their file.
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common.hpp"
#include "mmaudit/corpus/decision_file.hpp"
#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::cli {

/// JSON lines or a log. Says on standard error how many products of the log are left out. Errors: InputError.
std::vector<GemmProblem> problems_of_file(const std::string& file);
/// The one problem of a file, a JSON object on as many lines as it takes. Errors: InputError.
GemmProblem only_problem(const std::string& file);

/// The folder of this name beside the recordings, or in their folder: "decisions", "networks".
std::filesystem::path corpus_part(const std::string& name);
/// Files of corpus/decisions by name: NAME.jsonl, NAME.jsonl.zst.
std::map<std::string, std::filesystem::path> recorded_decisions();
/// "h100-cublas-13.1, h200-cublas-13.1"; empty where there are none.
std::string recorded_names();
/// One of them, or a file. Errors: InputError with the names there are.
corpus::DecisionFile decisions_like(const std::string& name);
/// NAME.pins.csv beside one of corpus/decisions: what pinned algorithms cost there.
std::optional<std::string> pin_costs_like(const std::string& name);
/// --like NAME, and --compared FILE.
void add_like(Command& command, std::string& like);
void add_compared(Command& command, std::string& file);

}  // namespace mmaudit::cli
