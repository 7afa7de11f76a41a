#include "python_run.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::checks {

namespace fs = std::filesystem;

PythonRun::PythonRun() {
  if (folder().empty())
    throw EnvironmentError(fs::temp_directory_path().string() + ": no folder can be made there");
}

void PythonRun::write(const std::string& name, const void* data, std::size_t bytes) const {
  std::ofstream out(folder() / name, std::ios::binary);
  out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!out.flush()) throw EnvironmentError((folder() / name).string() + ": cannot write");
}

std::string PythonRun::read(const std::string& name, std::size_t bytes) const {
  if (!fs::exists(folder() / name)) throw EnvironmentError(name + " of Python: it wrote none");
  std::string text = corpus::text_of_file(folder() / name, ~std::uint64_t{0});
  if (bytes != 0 && text.size() != bytes)
    throw EnvironmentError(fmt::format("{} of Python: {} bytes instead of {}", name, text.size(), bytes));
  return text;
}

void PythonRun::run(const std::string& python, std::string_view script, const std::vector<std::string>& words,
                    const std::string& what) const {
  constexpr int kRefused = 2, kInterrupted = 128 + SIGINT;  // as shells say it
  write("run.py", script.data(), script.size());
  std::string call = in_shell_quotes(python) + " " + in_shell_quotes((folder() / "run.py").string()) + " " +
                     in_shell_quotes(folder().string());
  for (const std::string& word : words) call += " " + in_shell_quotes(word);
  call += " >" + in_shell_quotes((folder() / "said").string()) + " 2>&1";
  const int status = std::system(call.c_str());  // NOLINT(cert-env33-c,concurrency-mt-unsafe): the user's own
  if (status == 0) return;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (code == kInterrupted) {
    std::error_code ignored;
    fs::remove_all(folder(), ignored);  // which no destructor does behind the signal
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  std::string said = corpus::text_of_file(folder() / "said");
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::string line = printable(said.substr(said.rfind('\n') + 1), 300);
  if (code == kRefused) throw InputError(line);
  throw EnvironmentError(what + ": " +
                         (line.empty() ? "it ended with status " + std::to_string(code) : line));
}

}  // namespace mmaudit::checks
