#include "decisions_like.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "mmaudit/corpus/text_file.hpp"

namespace mmaudit::cli {

std::filesystem::path corpus_part(const std::string& name) {
  const std::filesystem::path data = corpus_folder("") / "";
  std::error_code none;
  return std::filesystem::is_directory(data / name, none) ? data / name
                                                          : data.parent_path().parent_path() / name;
}

std::string recorded_decisions() {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& each : std::filesystem::directory_iterator(corpus_part("decisions"), none))
    if (each.path().extension() == ".jsonl") names.push_back(each.path().stem().string());
  std::sort(names.begin(), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

corpus::DecisionFile decisions_like(const std::string& name) {
  std::error_code none;
  const bool is_file = name.find('/') != std::string::npos || std::filesystem::is_regular_file(name, none);
  const std::string path = is_file ? name : (corpus_part("decisions") / (name + ".jsonl")).string();
  if (!is_file && !std::filesystem::is_regular_file(path, none))
    refuse("--like: found {}, allowed: a name of corpus/decisions ({}), or a file of gemm decisions --record",
           name, recorded_decisions());
  return corpus::read_decisions(corpus::text_of_file(path), path);
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
