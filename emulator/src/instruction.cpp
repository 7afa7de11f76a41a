#include "mmaudit/instruction.hpp"

#include <charconv>

namespace mmaudit {
namespace {

std::string shape_text(const Instruction& row) {
  const std::string n = row.n == 0 ? "N" : std::to_string(row.n);
  return "m" + std::to_string(row.m) + "n" + n + "k" + std::to_string(row.k);
}

std::string name_with_shape(const Instruction& row, const std::string& shape) {
  constexpr std::string_view kOps[] = {"mma.", "wgmma.", "wmma."};
  std::string name(kOps[static_cast<int>(row.op)]);
  name += shape;
  if (row.satfinite) name += ".satfinite";
  for (const Format format : {row.d, row.a, row.b}) (name += '.') += name_of(format);
  // wgmma has one accumulator: its C is its D.
  if (row.op != Op::wgmma) (name += '.') += name_of(row.c);
  if (row.multiply == Multiply::xor_popc) name += ".xor.popc";
  if (row.multiply == Multiply::and_popc) name += ".and.popc";
  return name;
}

/// The n of "wgmma.m64n<digits>k..." and the name with it replaced by 'N'; -1 when the name is not of that
/// form.
int take_n(std::string_view name, std::string& generic) {
  constexpr std::string_view kPrefix = "wgmma.m64n";
  if (name.substr(0, kPrefix.size()) != kPrefix) return -1;
  const std::string_view rest = name.substr(kPrefix.size());
  int n = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
  if (error != std::errc() || rest.front() == '0' || rest.front() == '-') return -1;
  generic = std::string(kPrefix) + "N" + std::string(end, rest.data() + rest.size());
  return n;
}

}  // namespace

std::string name_of(const Instruction& instruction) {
  return name_with_shape(instruction, shape_text(instruction));
}

std::optional<Instruction> find_instruction(std::string_view name) {
  std::string generic;
  const int n = take_n(name, generic);
  for (Instruction row : kInstructions) {
    if (row.n != 0) {
      if (name_of(row) == name) return row;
    } else if (wgmma_has_n(row, n) && name_of(row) == generic) {
      row.n = static_cast<std::int16_t>(n);
      return row;
    }
  }
  return std::nullopt;
}

std::string why_no_instruction(std::string_view name) {
  if (find_instruction(name)) return {};
  std::string generic;
  const int n = take_n(name, generic);
  for (const Instruction& row : kInstructions) {
    if (row.n == 0 && name_of(row) == generic && !wgmma_has_n(row, n)) {
      return "n: found " + std::to_string(n) +
             (wgmma_has_n(row, 40) ? ", allowed 8 to 256 in steps of 8"
                                   : ", allowed 8 to 32 in steps of 8 and 48 to 256 in steps of 16");
    }
  }
  // Point at the rows that share the longest prefix with what was typed.
  std::size_t best = 0;
  std::string nearest;
  for (const Instruction& row : kInstructions) {
    const std::string candidate = name_of(row);
    std::size_t common = 0;
    while (common < candidate.size() && common < name.size() && candidate[common] == name[common]) ++common;
    if (common > best) {
      best = common;
      nearest = candidate;
    }
  }
  std::string text = "found \"" + std::string(name) + "\", allowed: an instruction of `mmaudit list`";
  if (best > 4) text += " (the nearest is " + nearest + ")";
  return text;
}

}  // namespace mmaudit
