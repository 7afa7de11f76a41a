#include "foreign_function.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "mmaudit/error.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::size_t kWords = 10;  // 3 sizes, 6 lengths of inputs, the length of D
constexpr std::size_t kMostMessage = 2000;

bool read_all(int socket, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  while (size != 0) {
    errno = 0;
    const ssize_t got = read(socket, at, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int socket, const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size != 0) {
    errno = 0;
    const ssize_t put = ::send(socket, at, size, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

bool say(int socket, const std::string& message) {
  const std::uint64_t length = message.size();
  return write_all(socket, &length, sizeof length) && write_all(socket, message.data(), length);
}

using Gemm = int (*)(std::uint64_t, std::uint64_t, std::uint64_t, const void*, const void*, const void*,
                     void*);
using Tiles = int (*)(std::uint64_t, const void*, const void*, const void*, const void*, const void*,
                      const void*, void*);

/// The child's side of a function in a library. Never returns.
[[noreturn]] void serve(int socket, const std::string& name, Signature signature) {
  const std::size_t colon = name.rfind(':');
  void* library = dlopen(name.substr(0, colon).c_str(), RTLD_NOW | RTLD_LOCAL);
  void* function = library == nullptr ? nullptr : dlsym(library, name.substr(colon + 1).c_str());
  if (function == nullptr) {
    const char* reason = dlerror();
    say(socket, reason == nullptr ? "no such function" : reason);
    _exit(0);
  }
  say(socket, "");
  std::uint64_t words[kWords];
  std::vector<char> inputs[6], d;
  while (read_all(socket, words, sizeof words)) {
    const void* given[6] = {};
    for (std::size_t i = 0; i < 6; ++i) {
      inputs[i].resize(words[3 + i]);
      if (!read_all(socket, inputs[i].data(), inputs[i].size())) _exit(0);
      if (!inputs[i].empty()) given[i] = inputs[i].data();
    }
    d.assign(words[9], 0);
    const int code = signature == Signature::gemm
                         ? reinterpret_cast<Gemm>(function)(words[0], words[1], words[2], given[0], given[1],
                                                            given[2], d.data())
                         : reinterpret_cast<Tiles>(function)(words[0], given[0], given[1], given[2], given[3],
                                                             given[4], given[5], d.data());
    const bool sent = code != 0 ? say(socket, fmt::format("return value {}", code))
                                : say(socket, "") && write_all(socket, d.data(), d.size());
    if (!sent) break;
  }
  _exit(0);
}

/// A child with one end of a socket; `work` runs in it and never returns.
template <typename Work>
std::pair<int, pid_t> started(const std::string& name, Work&& work) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw EnvironmentError(fmt::format("{}: no socket: {}", name, std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) throw EnvironmentError(fmt::format("{}: no process: {}", name, std::strerror(errno)));
  if (child == 0) {
    close(ends[0]);
    work(ends[1]);
    _exit(127);
  }
  close(ends[1]);
  return {ends[0], child};
}

}  // namespace

ForeignFunction::ForeignFunction(std::string name, int socket, pid_t child, double timeout_s)
    : name_(std::move(name)), socket_(socket), child_(child), timeout_s_(timeout_s) {
  timeval most{};
  most.tv_sec = static_cast<time_t>(timeout_s);
  most.tv_usec = static_cast<suseconds_t>((timeout_s - std::floor(timeout_s)) * 1e6);
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    if (setsockopt(socket, SOL_SOCKET, option, &most, sizeof most) != 0)
      refuse("--socket: found {}, allowed: a socket that this process inherited", socket);
  if (const std::string message = receive_message(); !message.empty())
    refuse("{}: found {}, allowed: a function that can be called", name_, message);
}

ForeignFunction::ForeignFunction(ForeignFunction&& other) noexcept
    : name_(std::move(other.name_)),
      during_(std::move(other.during_)),
      socket_(std::exchange(other.socket_, -1)),
      child_(std::exchange(other.child_, -1)),
      timeout_s_(other.timeout_s_) {}

ForeignFunction::~ForeignFunction() {
  if (socket_ >= 0) close(socket_);
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

ForeignFunction ForeignFunction::in_library(const std::string& name, Signature signature, double timeout_s) {
  const std::size_t colon = name.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == name.size())
    refuse("function: found {}, allowed: LIBRARY:FUNCTION, such as ./libmine.so:my_gemm", name);
  const auto [socket, child] = started(name, [&](int end) {
    dup2(STDERR_FILENO, STDOUT_FILENO);  // what it prints is not our result
    serve(end, name, signature);
  });
  return {name, socket, child, timeout_s};
}

ForeignFunction ForeignFunction::of_command(const std::string& command, double timeout_s) {
  const auto [socket, child] = started(command, [&](int end) {
    dup2(end, STDIN_FILENO);
    dup2(end, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  });
  return {command, socket, child, timeout_s};
}

ForeignFunction ForeignFunction::on_socket(int descriptor, double timeout_s) {
  return {"the callable", descriptor, -1, timeout_s};
}

void ForeignFunction::refuse_answer(const std::string& found) const {
  refuse("{}: found {} {}, allowed: a function that returns", name_, found, during_);
}

void ForeignFunction::refuse_end() {
  if (errno == EAGAIN || errno == EWOULDBLOCK) refuse_answer(fmt::format("no answer within {} s", timeout_s_));
  int status = 0;
  if (child_ <= 0 || waitpid(child_, &status, 0) != child_) refuse_answer("the end of the stream");
  child_ = -1;
  if (WIFSIGNALED(status))
    refuse_answer(fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status))));
  refuse_answer(fmt::format("exit code {}", WEXITSTATUS(status)));
}

void ForeignFunction::send(const void* data, std::size_t size) {
  if (!write_all(socket_, data, size)) refuse_end();
}

void ForeignFunction::receive(void* data, std::size_t size) {
  if (!read_all(socket_, data, size)) refuse_end();
}

std::string ForeignFunction::receive_message() {
  std::uint64_t length = 0;
  receive(&length, sizeof length);
  std::string message(std::min<std::uint64_t>(length, kMostMessage), ' ');
  receive(message.data(), message.size());
  return message;
}

void ForeignFunction::call(const ForeignCall& one) {
  during_ = one.sizes[1] == 0
                ? fmt::format("in a call with {} tiles", one.sizes[0])
                : fmt::format("in a call with m {}, n {}, k {}", one.sizes[0], one.sizes[1], one.sizes[2]);
  std::uint64_t words[kWords] = {one.sizes[0], one.sizes[1], one.sizes[2]};
  for (std::size_t i = 0; i < one.inputs.size(); ++i) words[3 + i] = one.inputs[i].size;
  words[kWords - 1] = one.d_size;
  send(words, sizeof words);
  for (const ForeignCall::Bytes& input : one.inputs) send(input.data, input.size);
  if (const std::string message = receive_message(); !message.empty()) refuse_answer(message);
  receive(one.d, one.d_size);
}

}  // namespace mmaudit::checks
