// mmaudit: the one binary.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "common.hpp"

namespace {

/// JSON allocates while it is destroyed: memory that runs out once more then ends here.
[[noreturn]] void end() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    std::fputs("mmaudit: out of memory\n", stderr);
    std::_Exit(mmaudit::cli::kEnvironment);
  } catch (...) {
    std::fputs("mmaudit: stopped by an error that nothing handles\n", stderr);
  }
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of a write, like a full disk
  return mmaudit::cli::program(argc, argv);
}
