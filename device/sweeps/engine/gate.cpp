// Whether the code of a timed kernel is what its point says.
#include <algorithm>
#include <sstream>

#include "mmaudit/sass/opcode.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "mmaudit/sweeps/sass.hpp"
#include "sweeps/matrix/matrix_benchmark.hpp"

namespace mmaudit::sweeps {
namespace {

template <typename Weight>
double sum(const Opcodes& opcodes, Weight&& weight) {
  double total = 0;
  for (const auto& [opcode, count] : opcodes) total += count * weight(opcode);
  return total;
}

double expected(const Opcodes& opcodes, const SassRule& rule) {
  return sum(opcodes, [&](std::string_view opcode) { return matches(opcode, rule.opcodes) ? 1.0 : 0.0; });
}

double called(std::string_view opcode) { return sass::opcode_of(opcode).kind == sass::Kind::call ? 1 : 0; }
double spilled(std::string_view opcode) { return sass::is_local(sass::opcode_of(opcode)) ? 1 : 0; }

/// Empty when enough was found.
std::string shortage(const SassLoop& loop, double found, double needed, std::string_view what) {
  if (found >= needed) return {};
  std::ostringstream text;
  text << "the loop of " << loop.steps << " steps holds " << found << " of " << needed << " " << what;
  return text.str();
}

}  // namespace

bool matches(std::string_view opcode, const std::vector<std::string_view>& opcodes) {
  return std::any_of(opcodes.begin(), opcodes.end(), [&](std::string_view one) {
    return opcode.starts_with(one) && (opcode.size() == one.size() || opcode[one.size()] == '.');
  });
}

std::string why_not_timed(const Benchmark& benchmark, const Point& point, const SassKernel& code) {
  if (code.main() == nullptr) return "no loop with a counter between the readings of the clock";
  if (expected(code.between, benchmark.between) < benchmark.between.per_step)
    return "the instructions of other warps are not between the readings of the clock";
  const double chains = std::max(1, point.number("ilp"));
  const bool matrix = benchmark.instruction.has_value();
  const bool spelled_out =
      matrix && sum(code.between, sass::multiply_adds_of) == 0 && sum(code.between, called) > 0;
  for (const SassLoop& loop : code.loops) {
    if (loop.steps == 0) continue;
    double found = 0, needed = chains * loop.steps;
    constexpr std::string_view kExpected = "the expected instructions";
    std::string_view what = kExpected;
    if (spelled_out) {
      found = sum(loop.opcodes, called);
      what = "calls of the function that spells the instruction out";
    } else if (matrix) {
      const Instruction is = instruction_at(*benchmark.instruction, point);
      found = sum(loop.opcodes, sass::multiply_adds_of);
      needed *= 1.0 * is.m * is.n * is.k;
      what = "multiply-adds of matrix instructions";
    } else {
      found = expected(loop.opcodes, benchmark.sass);
      needed *= benchmark.sass.per_step;
    }
    if (std::string why = shortage(loop, found, needed, what); !why.empty()) return why;
    if (benchmark.besides) {
      const SassRule rule = benchmark.besides(point);
      needed = chains * loop.steps * rule.per_step;
      if (std::string why = shortage(loop, expected(loop.opcodes, rule), needed, kExpected); !why.empty())
        return why;
    }
    if (sum(loop.opcodes, spilled) > 0) return "the loop spills registers";
  }
  return {};
}

double sass_per_step(const Benchmark& benchmark, const Point& point, const SassKernel& code) {
  const SassLoop* loop = code.main();
  if (loop == nullptr) return 0;
  return expected(loop->opcodes, benchmark.sass) / loop->steps / std::max(1, point.number("ilp"));
}

double ceiling_of(int compute_capability, const SassKernel& code) {
  double ceiling = 0;
  if (const SassLoop* loop = code.main(); loop != nullptr)
    for (const auto& [opcode, count] : loop->opcodes)
      if (const auto instruction = sass::matrix_instruction(opcode))
        ceiling = std::max(ceiling, peak_fma(compute_capability, *instruction));
  return ceiling;
}

}  // namespace mmaudit::sweeps
