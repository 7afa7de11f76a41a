#include "decisions_like.hpp"

#include "mmaudit/corpus/text_file.hpp"

namespace mmaudit::cli {

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
