#include "beside.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <sstream>

#include "command_text.hpp"
#include "common.hpp"
#include "mmaudit/json_fields.hpp"

namespace mmaudit::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "mmaudit-";

bool runs(const fs::path& file) {
  std::error_code error;  // what can't be looked at can't be run
  return fs::is_regular_file(file, error) && ::access(file.c_str(), X_OK) == 0;
}

/// The folders of PATH. One that is not absolute depends on where the user stands, so it is left out.
std::vector<fs::path> folders() {
  const char* path = std::getenv("PATH");
  std::istringstream text(path == nullptr ? "" : path);
  std::vector<fs::path> out;
  for (std::string one; std::getline(text, one, ':');)
    if (one.starts_with('/')) out.emplace_back(one);
  return out;
}

fs::path on_path(const std::string& name) {
  for (const fs::path& folder : folders())
    if (runs(folder / name)) return folder / name;
  return {};
}

/// What may stand behind mmaudit- as a command: it is part of a file's name, and no option.
bool is_name(std::string_view word) {
  return !word.empty() && word.front() != '-' && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '_';
  });
}

Json to_json(const OptionText& option) {
  return {{"names", option.names}, {"value", option.value},       {"text", option.text},
          {"note", option.note},   {"argument", option.argument}, {"required", option.required},
          {"alone", option.alone}};
}

Json to_json(const CommandText& command) {
  Json groups = Json::array(), commands = Json::array();
  for (const OptionGroup& group : command.groups) {
    Json options = Json::array();
    for (const OptionText& one : group.options) options.push_back(to_json(one));
    groups.push_back({{"title", group.title}, {"options", options}});
  }
  for (const CommandText& one : command.commands) commands.push_back(to_json(one));
  return {{"path", command.path},         {"purpose", command.purpose}, {"text", command.text},
          {"examples", command.examples}, {"groups", groups},           {"commands", commands}};
}

OptionText option_of(const JsonNode& node) {
  OptionText out;
  JsonFields fields(node.json(), node.where());
  fields.texts("names", out.names);
  fields.text("value", out.value);
  fields.text("text", out.text);
  fields.text("note", out.note);
  fields.boolean("argument", out.argument);
  fields.boolean("required", out.required);
  fields.boolean("alone", out.alone);
  return out;
}

CommandText command_of(const JsonNode& node) {
  CommandText out;
  JsonFields fields(node.json(), node.where());
  fields.text("path", out.path);
  fields.text("purpose", out.purpose);
  fields.text("text", out.text);
  fields.texts("examples", out.examples);
  for (const JsonNode& group : node.JsonNode::at("groups").list()) {
    out.groups.push_back({group.at("title").text(), {}});
    for (const JsonNode& one : group.at("options").list())
      out.groups.back().options.push_back(option_of(one));
  }
  for (const JsonNode& one : node.JsonNode::at("commands").list()) out.commands.push_back(command_of(one));
  return out;
}

/// What `program` prints, called with one word; empty where it fails.
std::string printed_by(const fs::path& program, const std::string& word) {
  const std::string call = shell_quoted(program.string()) + " " + word + " 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(call.c_str(), "r"), ::pclose);
  std::string out;
  std::array<char, 4096> part{};
  while (pipe != nullptr) {
    const std::size_t bytes = std::fread(part.data(), 1, part.size(), pipe.get());
    if (bytes == 0) break;
    out.append(part.data(), bytes);
  }
  return out;
}

}  // namespace

std::string_view bench_text(std::string_view command) {
  for (const BenchCommand& one : kBenchCommands)
    if (one.name == command) return one.text;
  return {};
}

fs::path bench_file() {
  std::error_code error;  // without /proc PATH decides
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path() / kBench;
  return !error && runs(own) ? own : on_path(std::string(kBench));
}

std::string version_of_bench() {
  const fs::path program = bench_file();
  std::string version = program.empty() ? "" : printed_by(program, "--version");
  while (version.ends_with('\n')) version.pop_back();
  return version;
}

std::vector<std::string> foreign_commands() {
  std::set<std::string> names;
  for (const fs::path& folder : folders()) {
    std::error_code error;  // PATH may name what is not there
    for (auto one = fs::directory_iterator(folder, error); !error && one != fs::directory_iterator();
         one.increment(error)) {
      const std::string file = one->path().filename().string();
      if (!file.starts_with(kPrefix) || file == kBench || !is_name(file.substr(kPrefix.size()))) continue;
      if (runs(one->path())) names.insert(file.substr(kPrefix.size()));
    }
  }
  return {names.begin(), names.end()};
}

fs::path program_of(std::string_view word) {
  if (bench_text(word).empty())
    return is_name(word) ? on_path(fmt::format("{}{}", kPrefix, word)) : fs::path();
  fs::path found = bench_file();
  if (found.empty())
    throw EnvironmentError(fmt::format(
        "{}: found no program {} beside this one or on PATH, allowed: after ./run install, which builds both",
        word, kBench));
  return found;
}

Action become(const fs::path& program, const std::vector<std::string>& words) {
  return [program, words](const Context&) -> int {
    std::vector<char*> argv = {const_cast<char*>(program.c_str())};
    for (const std::string& one : words) argv.push_back(const_cast<char*>(one.c_str()));
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    throw EnvironmentError(
        fmt::format("{}: cannot run: {}", program.string(), std::generic_category().message(errno)));
  };
}

std::string description_of(const CommandText& command) { return ordered_document(to_json(command), -1); }

std::vector<CommandText> described_by_bench() {
  const fs::path program = bench_file();
  const std::string text = program.empty() ? "" : printed_by(program, "describe");
  if (text.empty()) return {};
  return command_of(JsonNode(parse_json(text), std::string(kBench))).commands;
}

}  // namespace mmaudit::cli
