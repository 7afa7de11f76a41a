#include "mmaudit/sweeps/sass.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "mmaudit/sass/decode.hpp"
#include "mmaudit/sweeps/symbol.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr int kMostSteps = 1024;  ///< of a turn; what moves by more is no counter of steps
constexpr int kUncalled = 2;      ///< functions that functions call; deeper ones are not followed

/// Adds lines first to last, and those of the functions that they call.
void count(const sass::Function& function, int first, int last, int depth, Opcodes& opcodes) {
  for (int i = first; i < last; ++i) {
    const sass::Line& line = function.lines[static_cast<std::size_t>(i)];
    ++opcodes[line.opcode];
    if (depth == kUncalled || sass::opcode_of(line.opcode).kind != sass::Kind::call) continue;
    if (const int begin = function.index_of(line.target()); begin >= 0)
      count(function, begin, function.return_from(begin), depth + 1, opcodes);
  }
}

SassLoop loop_of(const sass::Function& function, int first, int last, int copies) {
  SassLoop loop;
  count(function, first, last, 0, loop.opcodes);
  for (int i = first; i < last; ++i)
    if (const int by = sass::counter_step(function.lines[static_cast<std::size_t>(i)]);
        by <= kMostSteps && by % copies == 0)
      loop.steps = std::max(loop.steps, by);
  return loop;
}

}  // namespace

const SassLoop* SassKernel::main() const {
  const auto most = std::max_element(loops.begin(), loops.end(),
                                     [](const SassLoop& x, const SassLoop& y) { return x.steps < y.steps; });
  return most == loops.end() || most->steps == 0 ? nullptr : &*most;
}

std::string timed_symbol(const std::string& mangled) {
  const std::string name = readable_symbol(mangled.c_str());
  const std::size_t begin = name.find('<'), end = name.rfind('>');
  if (!name.starts_with("void timed<") || end == std::string::npos) return {};
  return name.substr(begin + 1, end - begin - 1);
}

std::vector<SassKernel> SassReader::kernels() {
  add(reader_.finish());
  return kernels_;
}

void SassReader::add(const std::optional<sass::Function>& function) {
  if (!function) return;
  const std::string symbol = timed_symbol(function->name);
  const std::vector<int> clocks = function->clock_readings();
  if (symbol.empty() || clocks.size() < 2) return;
  // Entering, beginning, ending; readings between them are part of what is timed.
  const int first = clocks[clocks.size() > 2 ? 1 : 0] + 1, last = clocks.back();
  SassKernel kernel{.target = function->target,
                    .symbol = symbol,
                    .copies = std::max(1, std::atoi(symbol.c_str() + symbol.rfind(' ') + 1)),
                    .loops = {},
                    .between = {}};
  count(*function, first, last, 0, kernel.between);
  for (int i = first; i < last; ++i) {
    const sass::Line& line = function->lines[static_cast<std::size_t>(i)];
    if (sass::opcode_of(line.opcode).kind != sass::Kind::branch) continue;
    const int target = function->index_of(line.target());
    if (target >= first && target <= i)
      kernel.loops.push_back(loop_of(*function, target, i + 1, kernel.copies));
  }
  kernels_.push_back(std::move(kernel));
}

SassBySymbol code_of_gpu(std::vector<SassKernel> kernels, int compute_capability) {
  const auto capability_of = [](const SassKernel& kernel) {
    return std::atoi(kernel.target.substr(std::min<std::size_t>(3, kernel.target.size())).c_str());
  };
  std::stable_sort(kernels.begin(), kernels.end(), [&](const SassKernel& x, const SassKernel& y) {
    return capability_of(x) > capability_of(y);
  });
  SassBySymbol code;
  for (SassKernel& kernel : kernels) {
    const int target = capability_of(kernel);
    const bool own_only =
        !kernel.target.empty() && std::isalpha(static_cast<unsigned char>(kernel.target.back()));
    if (target == compute_capability ||
        (!own_only && target / 10 == compute_capability / 10 && target < compute_capability))
      code.emplace(kernel.symbol, std::move(kernel));
  }
  return code;
}

}  // namespace mmaudit::sweeps
