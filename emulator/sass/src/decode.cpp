#include "mmaudit/sass/decode.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>

namespace mmaudit::sass {
namespace {

int digits(std::string_view text) {
  int value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "R12", "RZ", "UR4", "URZ": its number; -1 for others.
int register_of(std::string_view text) {
  int base = 0;
  if (text.starts_with("UR")) {
    base = kUniform;
    text.remove_prefix(2);
  } else if (text.starts_with('R')) {
    text.remove_prefix(1);
  } else {
    return -1;
  }
  if (text.starts_with('Z')) return base == 0 ? kZero : kUniformZero;
  if (text.empty() || text[0] < '0' || text[0] > '9') return -1;
  const int number = digits(text);
  return number < 0 || number > (base == 0 ? kZero : 63) ? -1 : base + number;
}

/// "P0", "PT", "UP1", "UPT".
int predicate_of(std::string_view text) {
  int base = 0;
  if (text.starts_with("UP")) {
    base = kUniformPredicates;
    text.remove_prefix(1);
  }
  if (text.size() < 2 || text[0] != 'P') return -1;
  if (text[1] == 'T') return base + kTrue;
  return text[1] >= '0' && text[1] <= '6' && text.size() == 2 ? base + text[1] - '0' : -1;
}

/// "R36.64+UR4+0x80" of an address.
void read_address(std::string_view text, Operand& operand) {
  operand.kind = OperandKind::address;
  operand.index = kZero;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('+', 1), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const int reg = register_of(part.substr(0, part.find('.'))); reg >= 0) {
      if (first) {
        operand.index = static_cast<std::int16_t>(reg);
        operand.wide = part.find(".64") != std::string_view::npos;
      } else {
        operand.second = static_cast<std::int16_t>(reg);
      }
    } else {
      operand.value += number_of(part);
    }
    first = false;
  }
}

Operand operand_of(std::string_view text) {
  Operand operand;
  if (text.starts_with("desc[")) text.remove_prefix(std::min(text.find(']') + 1, text.size()));
  if (text.starts_with('[')) {
    read_address(text.substr(1, text.find(']') - 1), operand);
    return operand;
  }
  if (text.starts_with('-') && text.size() > 1 && holds("RUc|", text.substr(1, 1))) {
    operand.negative = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('~') || text.starts_with('!')) {
    operand.inverted = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('|')) text.remove_prefix(1);
  if (text.starts_with("c[0x0][")) {
    operand.kind = OperandKind::constant;
    operand.value = number_of(text.substr(7));
    return operand;
  }
  const std::string_view plain = text.substr(0, text.find('.'));
  if (const int reg = register_of(plain); reg >= 0) {
    operand.kind = OperandKind::reg;
    operand.index = static_cast<std::int16_t>(reg);
  } else if (const int predicate = predicate_of(plain); predicate >= 0) {
    operand.kind = OperandKind::predicate;
    operand.index = static_cast<std::int16_t>(predicate);
  } else if (text.starts_with("SR") || text.starts_with("SB") || text == "PR") {
    operand.kind = OperandKind::special;
    operand.text = text;
  } else if (!text.empty()) {
    operand.kind = OperandKind::number;
    operand.value = number_of(text);
  }
  return operand;
}

std::uint16_t marks_of(std::string_view opcode) {
  constexpr std::string_view kAll[] = {".WIDE", "C.64", ".32",   "64", ".MMA", ".U32", ".S32",
                                       ".X",    ".HI",  ".SX32", ".L", ".EX",  ".OR"};
  unsigned marks = 0;
  for (std::size_t i = 0; i < std::size(kAll); ++i)
    if (holds(opcode, kAll[i])) marks |= 1U << i;
  return static_cast<std::uint16_t>(marks);
}

Relation relation_of(std::string_view opcode) {
  const std::string_view text = opcode.substr(base_of(opcode).size());
  constexpr std::string_view kAll[] = {".GE", ".GT", ".LE", ".LT", ".EQ", ".NE"};
  for (std::size_t i = 0; i < std::size(kAll); ++i)
    if (text.starts_with(kAll[i])) return static_cast<Relation>(i + 1);
  return Relation::none;
}

}  // namespace

std::int32_t number_of(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus) text.remove_prefix(1);
  if (!text.starts_with("0x")) return 0;
  std::uint32_t value = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), value, 16);
  return static_cast<std::int32_t>(minus ? 0U - value : value);
}

Decoded decode(const Line& line) {
  Decoded out;
  out.opcode = line.opcode;
  out.row = opcode_of(line.opcode);
  out.marks = marks_of(line.opcode);
  out.relation = relation_of(line.opcode);
  out.bytes = lane_bytes(line.opcode);
  std::string_view predicate = line.predicate;
  if (predicate.starts_with('!')) {
    out.not_predicate = true;
    predicate.remove_prefix(1);
  }
  if (const int index = predicate_of(predicate); index >= 0) out.predicate = index;
  if (out.row.kind == Kind::branch) {
    out.target = line.target();
    return out;
  }
  std::string_view text = line.operands;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    out.operands.push_back(operand_of(trimmed(text.substr(0, comma))));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

std::int32_t counter_step(const Line& line) {
  const Opcode row = opcode_of(line.opcode);
  const bool adds = row.work == Work::add && line.opcode == base_of(line.opcode);
  if (!adds && line.opcode != "IMAD.IADD") return 0;
  std::vector<Operand> parts = decode(line).operands;
  // Blackwell names the carries too: UIADD3 UR4, UPT, UPT, UR4, 0x10, URZ.
  std::erase_if(parts, [](const Operand& one) {
    return one.kind == OperandKind::predicate && one.index % kUniformPredicates == kTrue && !one.inverted;
  });
  if (parts.size() < 3 || parts[0].kind != OperandKind::reg || parts[2].kind != OperandKind::number) return 0;
  const Operand& from = parts[1];
  if (from.kind != OperandKind::reg || from.index != parts[0].index || from.negative || from.inverted)
    return 0;
  return static_cast<std::int32_t>(std::min<std::int64_t>(std::abs(parts[2].value), INT32_MAX));
}

}  // namespace mmaudit::sass
