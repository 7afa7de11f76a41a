#include "outputs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mmaudit::cli {

void Outputs::add_to(Command& command, bool flag) {
  command.section("Output");
  for (const report::Renderer& renderer : report::renderers()) {
    if (renderer.option.empty()) continue;
    std::string& path = paths_[std::string(renderer.name)];
    if (flag && renderer.name == "json")
      command.flag("--json", json_flag_, "print the result as JSON instead");
    else
      command.option(fmt::format("{} FILE", renderer.option), path,
                     fmt::format("write {}; - prints it instead", renderer.what));
  }
}

std::vector<NamedFile> Outputs::files(std::vector<NamedFile> more) const {
  for (const report::Renderer& renderer : report::renderers())
    if (const auto at = paths_.find(std::string(renderer.name)); at != paths_.end() && !at->second.empty())
      more.push_back({std::string(renderer.option), at->second});
  if (json_flag_) more.push_back({"--json", "-"});
  return more;
}

std::vector<std::string> Outputs::names() const {
  std::vector<std::string> out;
  for (const NamedFile& file : files())
    if (file.path != "-") out.push_back(file.path);
  return out;
}

bool Outputs::printed() const {
  const std::vector<NamedFile> all = files();
  return std::any_of(all.begin(), all.end(), [](const NamedFile& file) { return file.path == "-"; });
}

std::vector<corpus::TextFile> Outputs::drawn(report::Report& report, const Context& context) const {
  if (report.provenance.version.empty()) name_program(report.provenance);
  if (report.provenance.command.empty()) report.provenance.command = context.command;
  std::vector<corpus::TextFile> out;
  for (const auto& [name, path] : paths_)
    if (!path.empty() && path != "-") out.push_back({path, report::find_renderer(name)->draw(report, false)});
  return out;
}

void Outputs::keep(report::Report report, const Context& context) const {
  corpus::write_files_atomically(drawn(report, context));
}

int Outputs::publish(report::Report report, const Context& context,
                     std::vector<corpus::TextFile> more) const {
  std::vector<corpus::TextFile> files = drawn(report, context);
  files.insert(files.end(), more.begin(), more.end());
  corpus::write_files_atomically(files);  // before the text: who reads that may stop early
  std::string_view prints = json_flag_ ? "json" : "text";
  for (const auto& [name, path] : paths_)
    if (path == "-") prints = name;
  print(report::find_renderer(prints)->draw(report, colors()));
  return report::exit_code(report);
}

}  // namespace mmaudit::cli
