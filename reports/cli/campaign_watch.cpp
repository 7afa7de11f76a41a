#include "campaign_watch.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>

#include "mmaudit/error.hpp"

namespace mmaudit::cli {
namespace {

/// What this process was called with, the program's name first.
std::vector<std::string> own_arguments() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string one; std::getline(in, one, '\0');) arguments.push_back(one);
  return arguments;
}

}  // namespace

WatchedProcess::WatchedProcess(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = own_arguments();
  arguments.insert(arguments.end(), more.begin(), more.end());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& one : arguments) argv.push_back(one.data());
  argv.push_back(nullptr);
  const int failed = posix_spawn(&process_, "/proc/self/exe", nullptr, nullptr, argv.data(), environ);
  if (failed != 0) throw EnvironmentError(fmt::format("starting another mmaudit: {}", std::strerror(failed)));
}

WatchedProcess::~WatchedProcess() { kill(); }

bool WatchedProcess::ended() {
  if (!ended_) ended_ = waitpid(process_, &status_, WNOHANG) == process_;
  return ended_;
}

std::string WatchedProcess::how() const {
  return WIFSIGNALED(status_) ? fmt::format("lost, ended by signal {}", WTERMSIG(status_))
                              : fmt::format("stopped, exit code {}", WEXITSTATUS(status_));
}

int WatchedProcess::code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

void WatchedProcess::stop() {
  if (!ended()) ::kill(process_, SIGTERM);
}

void WatchedProcess::kill() {
  if (ended()) return;
  ::kill(process_, SIGKILL);
  ended_ = waitpid(process_, &status_, 0) == process_;
}

void end_with(int watcher) {
  prctl(PR_SET_NAME, "mmaudit");  // not "exe", by which it was started
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != watcher)
    throw EnvironmentError("--watched: found a process that has ended, allowed: the parent");
}

std::string GrowingFile::read() {
  std::ifstream in(file_, std::ios::binary);
  if (!in || !in.seekg(static_cast<std::streamoff>(read_))) return {};
  std::string text(std::size_t{1} << 20, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  text.resize(text.rfind('\n') + 1);  // npos + 1: nothing
  read_ += text.size();
  return text;
}

}  // namespace mmaudit::cli
