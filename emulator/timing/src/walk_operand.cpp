#include "walk_operand.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace mmaudit::timing {
namespace {

using Kind = WalkOperand::Kind;

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
void read_address(std::string_view text, WalkOperand& operand) {
  operand.kind = Kind::address;
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
      operand.value += sass_number(part);
    }
    first = false;
  }
}

WalkOperand operand_of(std::string_view text) {
  WalkOperand operand;
  if (text.starts_with("desc[")) text.remove_prefix(std::min(text.find(']') + 1, text.size()));
  if (text.starts_with('[')) {
    read_address(text.substr(1, text.find(']') - 1), operand);
    return operand;
  }
  if (text.starts_with('-') && text.size() > 1 && (text[1] == 'R' || text[1] == 'U' || text[1] == 'c')) {
    operand.negative = true;
    text.remove_prefix(1);
  }
  if (text.starts_with('~') || text.starts_with('!')) {
    operand.inverted = true;
    text.remove_prefix(1);
  }
  if (text.starts_with("c[0x0][")) {
    operand.kind = Kind::constant;
    operand.value = sass_number(text.substr(7));
    return operand;
  }
  const std::string_view plain = text.substr(0, text.find('.'));
  if (const int reg = register_of(plain); reg >= 0) {
    operand.kind = Kind::reg;
    operand.index = static_cast<std::int16_t>(reg);
  } else if (const int predicate = predicate_of(plain); predicate >= 0) {
    operand.kind = Kind::predicate;
    operand.index = static_cast<std::int16_t>(predicate);
  } else if (text.starts_with("SR") || text.starts_with("SB")) {
    operand.kind = Kind::special;
    operand.text = text;
  } else if (!text.empty()) {
    operand.kind = Kind::number;
    operand.value = sass_number(text);
  }
  return operand;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  for (const std::string_view one : all)
    if (text == one) return true;
  return false;
}

Work work_of(std::string_view base) {
  struct Named {
    std::string_view name;
    Work work;
  };
  constexpr Named kAll[] = {
      {"IMAD", Work::multiply},  {"IADD3", Work::add},    {"VIADD", Work::add},     {"IADD", Work::add},
      {"SHF", Work::shift},      {"LEA", Work::scale},    {"ISETP", Work::compare}, {"PLOP3", Work::combine},
      {"LDL", Work::from_local}, {"STL", Work::to_local}, {"MOV", Work::move},      {"S2R", Work::move},
      {"S2UR", Work::move},      {"2UR", Work::move},     {"R2UR", Work::first},    {"CS2R", Work::zero},
      {"LDC", Work::constant},   {"LOP3", Work::logic},   {"SEL", Work::select},    {"IMNMX", Work::least},
      {"VIMNMX", Work::least},   {"HFMA2", Work::half},
  };
  for (const Named& one : kAll)
    if (base == one.name) return one.work;
  return Work::none;
}

std::uint16_t marks_of(std::string_view opcode) {
  struct Named {
    std::string_view name;
    Mark mark;
  };
  constexpr Named kAll[] = {
      {".WIDE", Mark::wide},      {"C.64", Mark::pair},   {".32", Mark::has_32},
      {"64", Mark::has_64},       {".MMA", Mark::mma},    {".U32", Mark::is_unsigned},
      {".S32", Mark::is_signed},  {".X", Mark::extended}, {".HI", Mark::high},
      {".SX32", Mark::sx32},      {".L", Mark::left},     {".EX", Mark::ex},
      {".OR", Mark::joins_by_or},
  };
  unsigned marks = 0;
  for (const Named& one : kAll)
    if (opcode.find(one.name) != std::string_view::npos) marks |= static_cast<unsigned>(one.mark);
  return static_cast<std::uint16_t>(marks);
}

Relation relation_of(std::string_view opcode) {
  const std::string_view text = opcode.substr(std::min(opcode.find('.'), opcode.size()));
  constexpr std::string_view kAll[] = {".GE", ".GT", ".LE", ".LT", ".EQ", ".NE"};
  for (std::size_t i = 0; i < std::size(kAll); ++i)
    if (text.starts_with(kAll[i])) return static_cast<Relation>(i + 1);
  return Relation::none;
}

int bytes_of(std::string_view opcode) {
  const auto holds = [opcode](std::string_view part) { return opcode.find(part) != std::string_view::npos; };
  if (holds(".128")) return 16;
  if (holds(".64")) return 8;
  if (holds(".U16") || holds(".S16")) return 2;
  return holds(".U8") || holds(".S8") ? 1 : 4;
}

}  // namespace

Step step_of(const SassLine& line) {
  const std::string_view base = std::string_view(line.opcode).substr(0, line.opcode.find('.'));
  if (is_one_of(base, {"LDS", "STS", "LDSM", "STSM", "ATOMS"})) return Step::shared;
  if (is_one_of(base, {"LDG", "LD", "LDL"})) return Step::load;
  if (is_one_of(base, {"STG", "ST", "RED", "STL"})) return Step::store;
  if (base == "LDGSTS") return Step::copy;
  if (base == "LDGDEPBAR") return Step::commit;
  if (base == "DEPBAR") return Step::wait_copies;
  if (base == "BAR") return Step::barrier;
  if (base == "EXIT") return Step::exit;
  return Step::plain;
}

WalkLine walk_line(const SassLine& line) {
  WalkLine out;
  out.opcode = line.opcode;
  out.base = out.opcode.substr(0, out.opcode.find('.'));
  out.step = step_of(line);
  if (out.base.size() > 2 && out.base[0] == 'U' && out.base != "UMMA") out.base.remove_prefix(1);
  out.work = work_of(out.base);
  out.marks = marks_of(out.opcode);
  out.relation = relation_of(out.opcode);
  out.bytes = bytes_of(out.opcode);
  out.is_branch = out.base == "BRA";
  out.is_local = out.base == "LDL" || out.base == "STL";
  std::string_view predicate = line.predicate;
  if (predicate.starts_with('!')) {
    out.not_predicate = true;
    predicate.remove_prefix(1);
  }
  if (const int index = predicate_of(predicate); index >= 0) out.predicate = index;
  if (out.base == "BRA") {
    const std::size_t at = line.operands.find("0x");
    if (at != std::string::npos) out.target = sass_number(std::string_view(line.operands).substr(at));
    return out;
  }
  for (const std::string_view part : sass_operands(line.operands)) out.operands.push_back(operand_of(part));
  return out;
}

}  // namespace mmaudit::timing
