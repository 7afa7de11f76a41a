#include "sweeps/census.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "mmaudit/sweeps/benchmark.hpp"
#include "mmaudit/sweeps/symbol.hpp"

namespace mmaudit::sweeps {
namespace {

/// A float type's conversion beside a matrix instruction: the unit has no such type.
constexpr std::string_view kConversions[] = {"F2FP", "F2F", "HADD2", "I2F", "F2I"};

template <typename Units>
bool one_of(std::string_view opcode, const Units& units) {
  return std::find(std::begin(units), std::end(units), opcode.substr(0, opcode.find('.'))) != std::end(units);
}

struct Kernel {
  std::string subject;
  int copies = 1;
  std::vector<std::string_view> units;
};

/// Kernels with one chain by the template arguments of their symbol.
std::map<std::string, Kernel> known_kernels() {
  std::map<std::string, Kernel> known;
  const std::vector<Axis> axes = resolve_axes({"warps=4", "ilp=1", "init=zero", "group=[1,8]"}, false);
  for (const Benchmark& benchmark : benchmarks())
    for (const Point& point : points_of(benchmark, axes)) {
      const std::string symbol = benchmark.kernel(point).symbol;
      constexpr std::string_view kSame[] = {"scope", "init", "warps", "ilp"};
      if (symbol.empty()) continue;
      const int copies = std::stoi(symbol.substr(symbol.rfind(' ') + 1));
      known.try_emplace(symbol, Kernel{point.key(kSame), copies, benchmark.sass.opcodes});
    }
  return known;
}

/// The opcode of "  /*0080*/   @!P0 HMMA.16816.F32 R4, ... ;", empty for other lines.
std::string_view opcode_of(std::string_view line) {
  const std::size_t address = line.find("/*"), end = line.find("*/");
  if (address == std::string_view::npos || end == std::string_view::npos || end < address + 6) return {};
  // Addresses are digits alone; the encoding of an instruction starts with a blank.
  if (!std::all_of(line.begin() + static_cast<std::ptrdiff_t>(address) + 2,
                   line.begin() + static_cast<std::ptrdiff_t>(end),
                   [](unsigned char c) { return std::isxdigit(c) != 0; }))
    return {};
  line.remove_prefix(end + 2);
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_blanks();
  if (line.starts_with('@')) {
    line.remove_prefix(std::min(line.find(' '), line.size()));
    skip_blanks();
  }
  return line.substr(0, line.find_first_of(" ;"));
}

class Reader {
 public:
  std::vector<CensusRow> read(std::string_view sass) {
    while (!sass.empty()) {
      const std::size_t end = sass.find('\n');
      line(sass.substr(0, end));
      sass.remove_prefix(end == std::string_view::npos ? sass.size() : end + 1);
    }
    finish();
    return rows_;
  }

 private:
  void line(std::string_view text) {
    if (const std::size_t at = text.find("code for sm_"); at != std::string_view::npos) {
      target_ = text.substr(at + 9);
      while (!target_.empty() && std::isspace(static_cast<unsigned char>(target_.back())) != 0)
        target_.pop_back();
      return;
    }
    if (const std::size_t at = text.find("Function : "); at != std::string_view::npos) {
      finish();
      kernel_ = kernel_of(text.substr(at + 11));
      return;
    }
    const std::string_view opcode = opcode_of(text);
    if (kernel_ == nullptr || opcode.empty()) return;
    if (text.find("SR_CLOCKLO") != std::string_view::npos) {
      // What lay between this reading and the one before; the last such stretch is the loop.
      if (clocks_++ > 0) loop_ = since_;
      since_.clear();
      return;
    }
    ++since_[std::string(opcode)];
  }

  /// Of the mangled symbol of timed<...>(TimedArgs); null for other functions.
  [[nodiscard]] const Kernel* kernel_of(std::string_view symbol) const {
    symbol = symbol.substr(0, symbol.find_last_not_of(" \t\r") + 1);
    const std::string name = readable_symbol(std::string(symbol).c_str());
    const std::size_t begin = name.find('<'), end = name.rfind('>');
    if (!name.starts_with("void timed<") || end == std::string::npos) return nullptr;
    const auto at = known_.find(name.substr(begin + 1, end - begin - 1));
    return at == known_.end() ? nullptr : &at->second;
  }

  void finish() {
    if (kernel_ != nullptr && clocks_ > 1)
      rows_.push_back({target_, kernel_->subject, kernel_->copies, loop_, kernel_->units});
    kernel_ = nullptr;
    clocks_ = 0;
    loop_.clear();
    since_.clear();
  }

  const std::map<std::string, Kernel> known_ = known_kernels();
  std::vector<CensusRow> rows_;
  std::string target_;
  const Kernel* kernel_ = nullptr;
  int clocks_ = 0;
  std::map<std::string, int> since_, loop_;
};

/// "2 x " for 8 in 4 copies, "0.5 x " for 2 in 4.
std::string each(int count, int copies) {
  return count == copies ? std::string() : fmt::format("{:.3g} x ", static_cast<double>(count) / copies);
}

}  // namespace

std::string CensusRow::matrix() const {
  std::string text;
  for (const auto& [opcode, count] : opcodes)
    if (one_of(opcode, matrix_units)) text += (text.empty() ? "" : " + ") + each(count, copies) + opcode;
  if (!text.empty()) return text;
  // The opcode that there is most of does the work.
  const auto most = std::max_element(opcodes.begin(), opcodes.end(),
                                     [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == opcodes.end() ? "nothing" : each(most->second, copies) + most->first;
}

std::string_view CensusRow::verdict() const {
  bool matrix = false, converts = false;
  for (const auto& [opcode, count] : opcodes) {
    matrix = matrix || one_of(opcode, matrix_units);
    converts = converts || (one_of(opcode, kConversions) && count >= copies);
  }
  return !matrix ? "no tensor core" : converts ? "converted" : "native";
}

std::vector<CensusRow> census_of(std::string_view sass) { return Reader().read(sass); }

std::string census_csv(const std::vector<CensusRow>& rows) {
  std::string text = "target,subject,matrix,verdict,opcodes\n";
  for (const CensusRow& row : rows) {
    std::string opcodes;
    for (const auto& [opcode, count] : row.opcodes)
      opcodes += fmt::format("{}{} {}", opcodes.empty() ? "" : "; ", count, opcode);
    text += fmt::format("{},{},{},{},{}\n", row.target, row.subject, row.matrix(), row.verdict(), opcodes);
  }
  return text;
}

}  // namespace mmaudit::sweeps
