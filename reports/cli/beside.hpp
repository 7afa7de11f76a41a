#pragma once
// Commands of other programs: mmaudit-bench, and any mmaudit-NAME that stands on PATH.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace mmaudit::cli {

struct CommandText;

/// The program with the commands that need no part of an audit. It stands beside `mmaudit`.
inline constexpr std::string_view kBench = "mmaudit-bench";

struct BenchCommand {
  std::string_view name, text;
};
/// What help says about them, also where that program is not installed.
inline constexpr BenchCommand kBenchCommands[] = {
    {"screen",
     "Silent data corruption: every accumulator of chains at full rate against the model, on every "
     "sub-core; under mpirun on many hosts"},
    {"sweep", "How fast: latency and throughput of every instruction on the GPU of this machine"},
    {"time", "Cycles of an instruction or a loop on a GPU that you need not have"},
};
/// The text of one of them; empty for any other word.
std::string_view bench_text(std::string_view command);

/// Where mmaudit-bench is: beside this program, else on PATH; empty: neither.
std::filesystem::path bench_file();
/// What its --version prints; empty where it is not there.
std::string version_of_bench();
/// The heading under which help lists other programs.
inline constexpr const char* kForeign = "Other programs on PATH";
/// Every other mmaudit-NAME on PATH, by NAME, each once.
std::vector<std::string> foreign_commands();
/// The program of the command `word`: mmaudit-bench or a mmaudit-NAME on PATH; empty where `word` is neither.
/// Errors: EnvironmentError where mmaudit-bench is not installed.
std::filesystem::path program_of(std::string_view word);
/// Becomes `program`, called with `words`. Errors: EnvironmentError.
Action become(const std::filesystem::path& program, const std::vector<std::string>& words);

/// The commands of mmaudit-bench as `mmaudit-bench describe` says them; none where it is not there.
std::vector<CommandText> described_by_bench();
/// What `describe` prints: JSON with the fields of CommandText.
std::string description_of(const CommandText& command);

}  // namespace mmaudit::cli
