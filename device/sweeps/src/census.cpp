#include "mmaudit/sweeps/census.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kMatrixUnits[] = {"HMMA", "IMMA",  "BMMA",  "DMMA",  "QMMA",
                                             "OMMA", "HGMMA", "IGMMA", "BGMMA", "QGMMA"};
/// A float type's conversion beside a matrix instruction: the unit has no such type.
constexpr std::string_view kConversions[] = {"F2FP", "F2F", "HADD2", "I2F", "F2I"};

std::string_view unit_of(std::string_view opcode) { return opcode.substr(0, opcode.find('.')); }

template <std::size_t N>
bool one_of(std::string_view opcode, const std::string_view (&units)[N]) {
  return std::find(std::begin(units), std::end(units), unit_of(opcode)) != std::end(units);
}

struct Kernel {
  std::string subject;
  int copies = 1;
};

/// Structs of the lines of ptx/, and how the table spells them.
struct Family {
  std::string_view prefix, spelled;
};
constexpr Family kFamilies[] = {{"Mma_", ""}, {"MmaSp_", "sp "}, {"Wmma_", "wmma "}};

/// "...9mma_timedINS0_28Mma_m16n8k8_f32_f16_f16_f32ELi1ELi4EEE..." and
/// "...11wgmma_timedINS0_6F16_n8ELb0ELi8EEE...": chains and copies, A from registers and copies.
std::optional<Kernel> kernel_of(std::string_view symbol) {
  const std::size_t at = symbol.find("_timedINS");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = symbol.substr(symbol.find('_', at + 1) + 1);
  const int length = std::atoi(std::string(rest).c_str());  // NOLINT(cert-err34-c)
  while (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) rest.remove_prefix(1);
  if (length <= 0 || static_cast<std::size_t>(length) >= rest.size()) return std::nullopt;
  std::string name(rest.substr(0, static_cast<std::size_t>(length)));
  rest.remove_prefix(static_cast<std::size_t>(length));
  const auto argument = [&](std::string_view kind) {
    const std::size_t found = rest.find(kind);
    if (found == std::string_view::npos) return -1;
    const int value =
        std::atoi(std::string(rest.substr(found + kind.size())).c_str());  // NOLINT(cert-err34-c)
    rest.remove_prefix(found + kind.size());
    return value;
  };
  for (const Family& family : kFamilies) {
    if (!name.starts_with(family.prefix)) continue;
    const int chains = argument("Li"), copies = argument("Li");
    if (chains != 1 || copies < 1) return std::nullopt;
    return Kernel{std::string(family.spelled) + name.substr(family.prefix.size()), copies};
  }
  const int registers = argument("Lb"), copies = argument("Li");
  if (registers < 0 || copies < 1) return std::nullopt;
  return Kernel{name + (registers == 1 ? " registers" : " shared"), copies};
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
      kernel_ = kernel_of(text.substr(at));
      return;
    }
    const std::string_view opcode = opcode_of(text);
    if (!kernel_ || opcode.empty()) return;
    if (text.find("SR_CLOCKLO") != std::string_view::npos) {
      // What lay between this reading and the one before; the last such stretch is the loop.
      if (clocks_++ > 0) loop_ = since_;
      since_.clear();
      return;
    }
    ++since_[std::string(opcode)];
  }

  void finish() {
    if (kernel_ && clocks_ > 1) rows_.push_back({target_, kernel_->subject, kernel_->copies, loop_});
    kernel_.reset();
    clocks_ = 0;
    loop_.clear();
    since_.clear();
  }

  std::vector<CensusRow> rows_;
  std::string target_;
  std::optional<Kernel> kernel_;
  int clocks_ = 0;
  std::map<std::string, int> since_, loop_;
};

/// 2 for 8 in 4 copies, 0.5 for 2 in 4.
std::string each(int count, int copies) {
  return count == copies ? std::string() : fmt::format("{:.3g} x ", static_cast<double>(count) / copies);
}

}  // namespace

std::string CensusRow::matrix() const {
  std::string text;
  for (const auto& [opcode, count] : opcodes)
    if (one_of(opcode, kMatrixUnits)) text += (text.empty() ? "" : " + ") + each(count, copies) + opcode;
  if (!text.empty()) return text;
  // The opcode that there is most of does the work.
  const auto most = std::max_element(opcodes.begin(), opcodes.end(),
                                     [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == opcodes.end() ? "nothing" : each(most->second, copies) + most->first;
}

std::string_view CensusRow::verdict() const {
  bool matrix = false, converts = false;
  for (const auto& [opcode, count] : opcodes) {
    matrix = matrix || one_of(opcode, kMatrixUnits);
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
