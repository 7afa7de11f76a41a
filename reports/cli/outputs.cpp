#include "outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "mmaudit/report/figures.hpp"

namespace mmaudit::cli {
namespace {

std::string picture_of(const report::Report& report) {
  for (const report::Section& section : report.sections)
    if (!section.figures.empty()) return report::svg_document(section.figures.front());
  return {};
}

}  // namespace

void Outputs::add_to(Command& command, bool flag) {
  command.section("Output");
  for (const report::Renderer& renderer : report::renderers()) {
    if (renderer.option.empty()) continue;
    std::string& path = paths_[std::string(renderer.name)];
    if (flag && renderer.name == "json")
      command.flag("--json", json_flag_, "print the result as JSON instead");
    else
      options_.emplace_back(renderer.name,
                            command
                                .option(fmt::format("{} FILE", renderer.option), path,
                                        fmt::format("write {}; - prints it instead", renderer.what))
                                .alone_means("-"));
  }
}

void Outputs::add_picture_to(Command& command, const std::string& text) {
  command.option("--svg FILE", picture_, text + ", as an SVG file; - prints it instead");
}

std::vector<NamedFile> Outputs::files(std::vector<NamedFile> more) const {
  // An empty text is a shell's unset variable. Where an option may stand alone, the parser lets it pass.
  for (const auto& [renderer, option] : options_)
    if (option.given() && paths_.at(renderer).empty())
      refuse("{}: found nothing, allowed: a value", report::find_renderer(renderer)->option);
  for (const report::Renderer& renderer : report::renderers())
    if (const auto at = paths_.find(std::string(renderer.name)); at != paths_.end() && !at->second.empty())
      more.push_back({std::string(renderer.option), at->second});
  if (json_flag_) more.push_back({"--json", "-"});
  if (!picture_.empty()) more.push_back({"--svg", picture_});
  return more;
}

std::vector<std::string> Outputs::names() const {
  std::vector<std::string> out;
  for (const NamedFile& file : files())
    if (file.path != "-") out.push_back(file.path);
  return out;
}

bool Outputs::writes(std::string_view option) const {
  const std::vector<NamedFile> all = files();
  return std::any_of(all.begin(), all.end(), [&](const NamedFile& file) { return file.option == option; });
}

bool Outputs::printed() const {
  const std::vector<NamedFile> all = files();
  return std::any_of(all.begin(), all.end(), [](const NamedFile& file) { return file.path == "-"; });
}

std::vector<corpus::TextFile> Outputs::drawn(report::Report& report, const Context& context) const {
  if (!report.origin_told && report.provenance.version.empty()) name_program(report.provenance);
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
  for (corpus::TextFile& file : drawn(report, context)) more.push_back(std::move(file));
  if (!picture_.empty()) more.push_back({picture_, picture_of(report)});
  const auto instead =
      std::partition(more.begin(), more.end(), [](const corpus::TextFile& file) { return file.path != "-"; });
  // The files first: who reads the text may stop early.
  corpus::write_files_atomically(std::span(more.begin(), instead));
  std::string_view prints = json_flag_ ? "json" : "text";
  for (const auto& [name, path] : paths_)
    if (path == "-") prints = name;
  print(instead == more.end() ? report::find_renderer(prints)->draw(report, colors()) : instead->text);
  return report::exit_code(report);
}

}  // namespace mmaudit::cli
