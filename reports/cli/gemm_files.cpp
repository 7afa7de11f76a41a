#include "gemm_files.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::cli {
namespace {

std::vector<GemmProblem> problems_of_text(const std::string& text, const std::string& file) {
  std::string left_out;
  std::vector<GemmProblem> out = corpus::read_gemm_problems(text, file, &left_out);
  if (!left_out.empty())
    std::fputs(fmt::format("mmaudit: {}\n", printable(left_out, std::string::npos)).c_str(), stderr);
  return out;
}

}  // namespace

std::vector<GemmProblem> problems_of_file(const std::string& file) {
  return problems_of_text(corpus::text_of_file(file), file);
}

GemmProblem only_problem(const std::string& file) {
  const std::string text = corpus::text_of_file(file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '{' && is_json(text))
    return corpus::gemm_problem_of(corpus::parse_bounded(text, file, "a JSON object"), file);
  const std::vector<GemmProblem> found = problems_of_text(text, file);
  if (found.size() != 1) refuse("{}: found {} products, allowed: one", file, found.size());
  return found.front();
}

std::filesystem::path corpus_part(const std::string& name) {
  const std::filesystem::path data = corpus_folder("") / "";
  std::error_code none;
  return std::filesystem::is_directory(data / name, none) ? data / name
                                                          : data.parent_path().parent_path() / name;
}

std::map<std::string, std::filesystem::path> recorded_decisions() {
  std::map<std::string, std::filesystem::path> out;
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator(corpus_part("decisions"), none)) {
    const std::string file = each.path().filename().string();
    if (const std::size_t end = file.find(".jsonl"); end != std::string::npos)
      out[file.substr(0, end)] = each.path();
  }
  return out;
}

std::string recorded_names() {
  std::string out;
  for (const auto& [name, path] : recorded_decisions()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

corpus::DecisionFile decisions_like(const std::string& name) {
  std::error_code none;
  const bool is_file = name.find('/') != std::string::npos || std::filesystem::is_regular_file(name, none);
  const auto known = is_file ? std::map<std::string, std::filesystem::path>{} : recorded_decisions();
  const auto found = known.find(name);
  if (!is_file && found == known.end())
    refuse("--like: found {}, allowed: a name of corpus/decisions ({}), or a file of gemm decisions --record",
           name, recorded_names());
  const std::string path = is_file ? name : found->second.string();
  return corpus::read_decisions(corpus::text_of_file(path), path);
}

std::optional<std::string> pin_costs_like(const std::string& name) {
  std::error_code none;
  const std::filesystem::path path = corpus_part("decisions") / (name + ".pins.csv");
  const bool known = recorded_decisions().contains(name) && std::filesystem::is_regular_file(path, none);
  return known ? std::optional(path.string()) : std::nullopt;
}

void add_like(Command& command, std::string& like) {
  command.option("--like NAME", like,
                 "without a GPU: as the library decided where it was recorded; a name of corpus/decisions, "
                 "as h200-cublas-13.1, or a file of gemm decisions --record");
}

void add_compared(Command& command, std::string& file) {
  command.option("--compared FILE", file,
                 "what `gemm compare --json` wrote with this version of the library: its proof, where the "
                 "version was not recorded");
}

}  // namespace mmaudit::cli
