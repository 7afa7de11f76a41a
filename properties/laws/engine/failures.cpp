#include "mmaudit/laws/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mmaudit/comparison.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::laws {
namespace {

std::string values(const std::vector<std::uint64_t>& bits, Format format) {
  std::vector<std::string> text;
  for (std::size_t k = 0; k < bits.size(); ++k)
    if (bits[k] != 0) text.push_back(fmt::format("[{}] {}", k, value_text(bits[k], spec_of(format))));
  return text.empty() ? "all +0" : fmt::format("{}", fmt::join(text, ", "));
}

}  // namespace

std::string replay_command(const Failure& failure, const std::string& backend,
                           const Architecture& architecture, const std::string& regressions) {
  return fmt::format(
      "mmaudit verify laws --on {} --arch {} --law {} --inst {} --dots 1 --seed 1 --regressions {}", backend,
      architecture.name, failure.law, name_of(failure.instruction),
      regressions.empty() ? "FILE" : regressions);
}

std::string describe(const Failure& failure, const Law& law, const std::string& where,
                     const std::string& replay) {
  const Instruction& inst = failure.instruction;
  const FormatSpec d = spec_of(inst.d);
  const Dot& dot = failure.dot;
  std::string text = fmt::format("\n{}: {}\n  {} (shrunk from {} non-zero products)\n", law.name,
                                 law.statement, name_of(inst), failure.shrunk_from);
  text += fmt::format("  a: {}\n  b: {}\n  c: {}\n", values(dot.a, inst.a), values(dot.b, inst.b),
                      value_text(dot.c, spec_of(inst.c)));
  return text + fmt::format("  found {}, the law allows {}\n  {}\n  replay: {}\n",
                            hex_value(failure.found, d), hex_value(failure.expected, d),
                            explain_command(inst, dot, where), replay);
}

}  // namespace mmaudit::laws
