// What instructions of integers and predicates compute.
#include "walker.hpp"

namespace mmaudit::timing {

using Kind = WalkOperand::Kind;

void Walker::compute(const WalkLine& line, std::uint32_t mask) {
  if (line.operands.empty() || mask == 0) return;
  if (line.base == "STL") to_local(line);
  const WalkOperand& to = line.operands[0];
  if (to.kind != Kind::reg && to.kind != Kind::predicate) return;
  const Parts parts = parts_of(line);
  bool unknown = false;
  const auto look = [&](const WalkOperand& one) {
    if (one.kind == Kind::reg && one.index != kZero) unknown |= unknown_[static_cast<std::size_t>(one.index)];
    if (one.kind == Kind::predicate) unknown |= (unknown_predicates_ >> one.index & 1U) != 0;
  };
  for (const WalkOperand* one : parts.sources) look(*one);
  if (line.base == "PLOP3")
    for (std::size_t i = 2; i < line.operands.size(); ++i) look(line.operands[i]);
  for (const WalkOperand* one : parts.ins) look(*one);
  bool computed = false;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    if ((mask >> lane & 1U) != 0) {
      computed = lane_of(line, parts, lane);
      if (!computed) break;
    }
  unknown |= !computed;
  const auto mark = [&](const WalkOperand& one) {
    if (one.kind == Kind::predicate && one.index % kUniformPredicates != kTrue) {
      unknown_predicates_ = (unknown_predicates_ & ~(1U << one.index)) | static_cast<std::uint32_t>(unknown)
                                                                             << one.index;
    } else if (one.kind == Kind::reg && one.index != kZero && one.index != kUniformZero) {
      const auto index = static_cast<std::size_t>(one.index);
      unknown_[index] = unknown;
      if (index + 1 < unknown_.size() && (holds(line.opcode, ".WIDE") || holds(line.opcode, "C.64") ||
                                          (line.base == "CS2R" && !holds(line.opcode, ".32"))))
        unknown_[index + 1] = unknown;
    }
  };
  mark(to);
  for (const WalkOperand* one : parts.outs) mark(*one);
}

/// False where the walk does not compute the instruction.
bool Walker::lane_of(const WalkLine& line, const Parts& parts, std::size_t lane) {
  const WalkOperand& to = line.operands[0];
  const auto& from = parts.sources;
  const std::string_view base = line.base;
  if (base == "IMAD") return from.size() >= 3 && multiply(line, parts, lane);
  if (base == "IADD3" || base == "VIADD" || base == "IADD") return add(line, parts, lane);
  if (base == "SHF" || base == "LEA") return from.size() >= 3 && shift(line, parts, lane);
  if (base == "ISETP") return compare(line, lane);
  if (base == "PLOP3") return combine(line, lane);
  if (base == "LDL") return from_local(line, lane);
  if (from.empty()) return false;
  if (base == "MOV" || base == "S2R" || base == "S2UR" || base == "2UR") {
    write(to, lane, signed_source(*from[0], lane));
  } else if (base == "R2UR") {
    write(to, lane, source(*from[0], 0));
  } else if (base == "CS2R") {
    write(to, lane, source(*from[0], lane));
    if (!holds(line.opcode, ".32")) write(to, lane, 0, 1);
  } else if (base == "LDC") {
    write(to, lane, source(*from[0], lane));
    if (holds(line.opcode, ".64")) write(to, lane, source(*from[0], lane, 1), 1);
  } else if (base == "LOP3" && from.size() >= 4) {
    const std::uint32_t a = source(*from[0], lane), b = source(*from[1], lane), c = source(*from[2], lane);
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < 8; ++i)
      if ((from[3]->value >> i & 1) != 0)
        value |= ((i & 4U) != 0 ? a : ~a) & ((i & 2U) != 0 ? b : ~b) & ((i & 1U) != 0 ? c : ~c);
    write(to, lane, value);
    for (const WalkOperand* out : parts.outs) write_predicate(*out, lane, value != 0);
  } else if (base == "SEL" && from.size() >= 2 && !parts.ins.empty()) {
    write(to, lane, signed_source(*from[predicate(*parts.ins[0], lane) ? 0 : 1], lane));
  } else if ((base == "IMNMX" || base == "VIMNMX") && from.size() >= 2 && !parts.ins.empty()) {
    const auto a = static_cast<std::int32_t>(signed_source(*from[0], lane)),
               b = static_cast<std::int32_t>(signed_source(*from[1], lane));
    write(to, lane,
          static_cast<std::uint32_t>(predicate(*parts.ins[0], lane) ? std::min(a, b) : std::max(a, b)));
  } else if (base == "HFMA2" && holds(line.opcode, ".MMA") && from.size() >= 4 && from[0]->index == kZero) {
    // A constant: 0 * 0 + two halves. Only zero is written so where the result is a number of a loop.
    if (from[2]->kind != Kind::number || from[2]->value != 0 || from[3]->value != 0) return false;
    write(to, lane, 0);
  } else {
    return false;
  }
  return true;
}

bool Walker::multiply(const WalkLine& line, const Parts& parts, std::size_t lane) {
  const auto& from = parts.sources;
  const std::uint32_t a = source(*from[0], lane), b = signed_source(*from[1], lane);
  const bool is_signed = !holds(line.opcode, ".U32");
  std::uint32_t carry = 0;
  if (holds(line.opcode, ".X") && !parts.ins.empty()) carry = predicate(*parts.ins[0], lane) ? 1 : 0;
  if (holds(line.opcode, ".WIDE") || holds(line.opcode, ".HI")) {
    const std::uint64_t product =
        is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)} *
                                               static_cast<std::int32_t>(b))
                  : std::uint64_t{a} * b;
    if (holds(line.opcode, ".HI")) {
      write(line.operands[0], lane,
            static_cast<std::uint32_t>(product >> 32) + signed_source(*from[2], lane));
      return true;
    }
    const std::uint64_t c = source(*from[2], lane) | std::uint64_t{source(*from[2], lane, 1)} << 32;
    const std::uint64_t sum = product + (from[2]->negative ? 0 - c : c) + carry;
    write(line.operands[0], lane, static_cast<std::uint32_t>(sum));
    write(line.operands[0], lane, static_cast<std::uint32_t>(sum >> 32), 1);
    for (const WalkOperand* out : parts.outs) write_predicate(*out, lane, sum < product);
    return true;
  }
  write(line.operands[0], lane, a * b + signed_source(*from[2], lane) + carry);
  return true;
}

bool Walker::add(const WalkLine& line, const Parts& parts, std::size_t lane) {
  const bool extended = holds(line.opcode, ".X");
  std::uint64_t sum = 0;
  std::array<bool, 2> carries{};
  std::size_t count = 0;
  for (const WalkOperand* one : parts.sources) {
    const std::uint32_t plain = source(*one, lane);
    const bool negative = one->negative || one->inverted;
    std::uint64_t term = negative ? std::uint64_t{static_cast<std::uint32_t>(~plain)} : std::uint64_t{plain};
    if (one->negative && !extended) ++term;
    sum = (sum & kAllLanes) + term;
    if (count > 0 && sum >> 32 != 0) (carries[0] ? carries[1] : carries[0]) = true;
    if (count == 0 && sum >> 32 != 0) carries[0] = true;
    ++count;
  }
  if (extended)
    for (const WalkOperand* in : parts.ins)
      if (predicate(*in, lane)) {
        sum = (sum & kAllLanes) + 1;
        if (sum >> 32 != 0) (carries[0] ? carries[1] : carries[0]) = true;
      }
  write(line.operands[0], lane, static_cast<std::uint32_t>(sum));
  for (std::size_t i = 0; i < parts.outs.size() && i < 2; ++i)
    write_predicate(*parts.outs[i], lane, carries[i]);
  return true;
}

bool Walker::shift(const WalkLine& line, const Parts& parts, std::size_t lane) {
  const auto& from = parts.sources;
  const WalkOperand& to = line.operands[0];
  const std::uint32_t first = signed_source(*from[0], lane), second = source(*from[1], lane);
  if (line.base == "LEA") {
    const bool high = holds(line.opcode, ".HI");
    if (high && from.size() < 4 && !holds(line.opcode, ".SX32")) return false;
    const auto by = static_cast<std::uint32_t>(from.back()->value) & 31U;
    std::uint64_t value = first;
    if (high) {
      const std::uint32_t upper = holds(line.opcode, ".SX32")
                                      ? static_cast<std::uint32_t>(static_cast<std::int32_t>(first) >> 31)
                                      : source(*from[2], lane);
      value = (first | std::uint64_t{upper} << 32) << by >> 32;
    } else {
      value = value << by & kAllLanes;
    }
    std::uint64_t sum = value + signed_source(*from[1], lane);
    if (holds(line.opcode, ".X") && !parts.ins.empty() && predicate(*parts.ins[0], lane)) ++sum;
    write(to, lane, static_cast<std::uint32_t>(sum));
    for (const WalkOperand* out : parts.outs) write_predicate(*out, lane, sum >> 32 != 0);
    return true;
  }
  const std::uint32_t by = second & 63U;
  const std::uint64_t both = source(*from[0], lane) | std::uint64_t{source(*from[2], lane)} << 32;
  if (holds(line.opcode, ".L")) {
    const std::uint64_t shifted = both << by;
    write(to, lane, static_cast<std::uint32_t>(holds(line.opcode, ".HI") ? shifted >> 32 : shifted));
    return true;
  }
  if (holds(line.opcode, "64")) {
    write(to, lane, static_cast<std::uint32_t>(both >> by));
    return true;
  }
  const std::uint32_t upper = source(*from[2], lane);
  if (holds(line.opcode, ".S32"))
    write(to, lane, static_cast<std::uint32_t>(static_cast<std::int32_t>(upper) >> std::min(by, 31U)));
  else if (holds(line.opcode, ".HI"))
    write(to, lane, by > 31 ? 0 : upper >> by);
  else
    write(to, lane, static_cast<std::uint32_t>(both >> by));
  return true;
}

/// PLOP3.LUT P3, PT, PT, PT, UP0, 0x80, 0x0: a result by the first table, one by the second.
bool Walker::combine(const WalkLine& line, std::size_t lane) {
  constexpr std::size_t kFirst = 2, kTable = 5;
  if (line.operands.size() < kTable + 2) return false;
  unsigned row = 0;
  for (std::size_t i = kFirst; i < kTable; ++i)
    row = row << 1 | static_cast<unsigned>(predicate(line.operands[i], lane));
  for (std::size_t i = 0; i < 2; ++i)
    write_predicate(line.operands[i], lane, (line.operands[kTable + i].value >> row & 1) != 0);
  return true;
}

/// Registers that the compiler puts aside: `[R1+0x1c]`, of every lane alike.
bool Walker::from_local(const WalkLine& line, std::size_t lane) {
  if (line.operands.size() < 2) return false;
  const auto found = local_.find(line.operands[1].value);
  if (found == local_.end() || bytes_of(line.opcode) != kWordBytes) return false;
  write(line.operands[0], lane, found->second[lane]);
  return true;
}
void Walker::to_local(const WalkLine& line) {
  if (line.operands.size() < 2 || line.operands[1].kind != Kind::reg) return;
  const auto index = static_cast<std::size_t>(line.operands[1].index);
  if (unknown_[index] || bytes_of(line.opcode) != kWordBytes)
    local_.erase(line.operands[0].value);
  else
    local_[line.operands[0].value] = registers_[index];
}

bool Walker::compare(const WalkLine& line, std::size_t lane) {
  // ISETP.GE.AND P1, PT, R2, 0x1, PT[, P0]: two results, two sources, a predicate to join, a carry of .EX.
  if (line.operands.size() < 5) return false;
  const WalkOperand &x = line.operands[2], &y = line.operands[3];
  const bool is_unsigned = holds(line.opcode, ".U32");
  const std::uint32_t a = signed_source(x, lane), b = signed_source(y, lane);
  bool less = is_unsigned ? a < b : static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b),
       same = a == b;
  if (holds(line.opcode, ".EX") && line.operands.size() >= 6) {
    // The comparison of the lower halves decides where the upper ones are the same.
    const bool lower = predicate(line.operands[5], lane);
    const bool value = same ? lower : holds(line.opcode, ".GE") || holds(line.opcode, ".GT") ? !less : less;
    write_predicate(line.operands[0], lane, value && predicate(line.operands[4], lane));
    return true;
  }
  const std::string_view text = line.opcode.substr(line.opcode.find('.'));
  bool value = false;
  if (text.starts_with(".GE"))
    value = !less;
  else if (text.starts_with(".GT"))
    value = !less && !same;
  else if (text.starts_with(".LE"))
    value = less || same;
  else if (text.starts_with(".LT"))
    value = less;
  else if (text.starts_with(".EQ"))
    value = same;
  else if (text.starts_with(".NE"))
    value = !same;
  else
    return false;
  const bool with = predicate(line.operands[4], lane);
  write_predicate(line.operands[0], lane, holds(line.opcode, ".OR") ? value || with : value && with);
  return true;
}

}  // namespace mmaudit::timing
