#include "foreign.hpp"

#include "mmaudit/error.hpp"

namespace mmaudit::cli {

void add_foreign_options(Command& command, ForeignOptions& options) {
  command.option("--command", options.command,
                 "a command that answers calls on standard input and output, as docs/probe.md describes");
  command.option("--socket", options.socket, "a socket that was inherited, with the same calls")
      .range(0, 1e6)
      .default_text("");
  command.option("--timeout", options.timeout, "most seconds of one call").range(0.001, 1e6);
}

std::shared_ptr<checks::ForeignFunction> start(const ForeignOptions& options, checks::Signature signature) {
  using checks::ForeignFunction;
  const int count =
      (options.library.empty() ? 0 : 1) + (options.command.empty() ? 0 : 1) + (options.socket >= 0 ? 1 : 0);
  if (count != 1)
    refuse(
        "function: found {}, allowed: one of LIBRARY:FUNCTION (./libmine.so:my_gemm), --command and --socket",
        count == 0 ? "none" : "several");
  return std::make_shared<ForeignFunction>(
      !options.library.empty()   ? ForeignFunction::in_library(options.library, signature, options.timeout)
      : !options.command.empty() ? ForeignFunction::of_command(options.command, options.timeout)
                                 : ForeignFunction::on_socket(options.socket, options.timeout));
}

}  // namespace mmaudit::cli
