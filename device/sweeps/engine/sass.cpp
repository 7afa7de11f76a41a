#include "mmaudit/sweeps/sass.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "mmaudit/sweeps/symbol.hpp"
#include "mmaudit/timing/sass.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr int kMostSteps = 1024;  ///< of a turn; what moves by more is no counter of steps
constexpr int kUncalled = 2;      ///< functions that functions call; deeper ones are not followed

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(" \t\r\n;") + 1);
}

/// By how much an instruction moves a counter of steps, 0 for every other.
int moved_by(std::string_view opcode, std::string_view operands) {
  const int by = timing::counter_step(opcode, operands);
  return by <= kMostSteps ? by : 0;
}

/// Where a branch or a call goes, -1 where its text does not say.
int goes_to(std::string_view operands) {
  const std::size_t at = operands.find("0x");
  return at == std::string_view::npos ? -1 : timing::sass_number(operands.substr(at));
}

bool is_clock(std::string_view operands) { return operands.find("SR_CLOCKLO") != std::string_view::npos; }

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

void SassReader::line(std::string_view text) {
  if (const std::size_t at = text.find("code for sm_"); at != std::string_view::npos) {
    finish();
    target_ = trimmed(text.substr(at + 9));
    return;
  }
  if (const std::size_t at = text.find("Function : "); at != std::string_view::npos) {
    finish();
    symbol_ = timed_symbol(std::string(trimmed(text.substr(at + 11))));
    return;
  }
  // "  /*0080*/   @!P0 HMMA.16816.F32 R4, ... ;": an address is digits alone, an encoding starts with a
  // blank.
  const std::size_t begin = symbol_.empty() ? std::string_view::npos : text.find("/*");
  if (begin == std::string_view::npos) return;
  const std::size_t end = text.find_first_not_of("0123456789abcdefABCDEF", begin + 2);
  if (end == std::string_view::npos || end < begin + 6 || !text.substr(end).starts_with("*/")) return;
  Instruction one;
  std::from_chars(text.data() + begin + 2, text.data() + end, one.address, 16);
  std::string_view rest = text.substr(end + 2);
  rest = trimmed(rest.substr(0, rest.find(';')));
  if (rest.starts_with('@')) rest = trimmed(rest.substr(std::min(rest.find(' '), rest.size())));
  const std::size_t space = std::min(rest.find(' '), rest.size());
  if (space == 0) return;
  one.opcode = rest.substr(0, space);
  one.operands = trimmed(rest.substr(space));
  code_.push_back(std::move(one));
}

std::vector<SassKernel> SassReader::kernels() {
  finish();
  return kernels_;
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

void SassReader::finish() {
  std::vector<std::size_t> clocks;
  for (std::size_t i = 0; i < code_.size(); ++i)
    if (is_clock(code_[i].operands)) clocks.push_back(i);
  if (!symbol_.empty() && clocks.size() > 1) {
    // Entering, beginning, ending; readings between them are part of what is timed.
    const std::size_t first = clocks[clocks.size() > 2 ? 1 : 0] + 1, last = clocks.back();
    SassKernel kernel{.target = target_,
                      .symbol = symbol_,
                      .copies = std::max(1, std::atoi(symbol_.c_str() + symbol_.rfind(' ') + 1)),
                      .loops = {},
                      .between = {}};
    count(first, last, 0, kernel.between);
    for (std::size_t i = first; i < last; ++i) {
      const int target = code_[i].opcode.starts_with("BRA") ? goes_to(code_[i].operands) : -1;
      if (target < code_[first].address || target > code_[i].address) continue;
      kernel.loops.push_back(loop_of(index_of(target), i + 1, kernel.copies));
    }
    kernels_.push_back(std::move(kernel));
  }
  symbol_.clear();
  code_.clear();
}

SassLoop SassReader::loop_of(std::size_t first, std::size_t last, int copies) const {
  SassLoop loop;
  count(first, last, 0, loop.opcodes);
  for (std::size_t i = first; i < last; ++i)
    if (const int by = moved_by(code_[i].opcode, code_[i].operands); by % copies == 0)
      loop.steps = std::max(loop.steps, by);
  return loop;
}

void SassReader::count(std::size_t first, std::size_t last, int depth, Opcodes& opcodes) const {
  for (std::size_t i = first; i < last; ++i) {
    ++opcodes[code_[i].opcode];
    if (!code_[i].opcode.starts_with("CALL") || depth == kUncalled) continue;
    const std::size_t begin = index_of(goes_to(code_[i].operands));
    std::size_t end = begin;
    while (end < code_.size() && !code_[end].opcode.starts_with("RET")) ++end;
    count(begin, end, depth + 1, opcodes);
  }
}

std::size_t SassReader::index_of(int address) const {
  const auto at = std::lower_bound(code_.begin(), code_.end(), address,
                                   [](const Instruction& one, int where) { return one.address < where; });
  return address < 0 ? code_.size() : static_cast<std::size_t>(at - code_.begin());
}

}  // namespace mmaudit::sweeps
