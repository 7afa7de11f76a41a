// What instructions of integers and predicates compute.
#include "walker.hpp"

namespace mmaudit::timing {

void Walker::compute(const Decoded& line, int at, std::uint32_t mask) {
  if (line.operands.empty() || mask == 0) return;
  if (line.row.work == Work::to_local) to_local(line);
  const Operand& to = line.operands[0];
  if (to.kind != OperandKind::reg && to.kind != OperandKind::predicate) return;
  const Parts& parts = parts_[static_cast<std::size_t>(at)];
  bool unknown = false;
  const auto look = [&](const Operand& one) {
    if (one.kind == OperandKind::reg && one.index != kZero)
      unknown |= unknown_[static_cast<std::size_t>(one.index)];
    if (one.kind == OperandKind::predicate) unknown |= (unknown_predicates_ >> one.index & 1U) != 0;
  };
  for (const Operand* one : parts.sources) look(*one);
  if (line.row.work == Work::combine)
    for (std::size_t i = 2; i < line.operands.size(); ++i) look(line.operands[i]);
  for (const Operand* one : parts.ins) look(*one);
  bool computed = false;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    if ((mask >> lane & 1U) != 0) {
      computed = lane_of(line, parts, lane);
      if (!computed) break;
    }
  unknown |= !computed;
  const auto mark = [&](const Operand& one) {
    if (one.kind == OperandKind::predicate && one.index % kUniformPredicates != kTrue) {
      unknown_predicates_ = (unknown_predicates_ & ~(1U << one.index)) | static_cast<std::uint32_t>(unknown)
                                                                             << one.index;
    } else if (one.kind == OperandKind::reg && one.index != kZero && one.index != kUniformZero) {
      const auto index = static_cast<std::size_t>(one.index);
      unknown_[index] = unknown;
      if (index + 1 < unknown_.size() && (line.has(Mark::wide) || line.has(Mark::pair) ||
                                          (line.row.work == Work::zero && !line.has(Mark::has_32))))
        unknown_[index + 1] = unknown;
    }
  };
  mark(to);
  for (const Operand* one : parts.outs) mark(*one);
}

/// False where the walk does not compute the instruction.
bool Walker::lane_of(const Decoded& line, const Parts& parts, std::size_t lane) {
  const auto& from = parts.sources;
  switch (line.row.work) {
    case Work::multiply:
      return from.size() >= 3 && multiply(line, parts, lane);
    case Work::add:
      return add(line, parts, lane);
    case Work::shift:
    case Work::scale:
      return from.size() >= 3 && shift(line, parts, lane);
    case Work::compare:
      return compare(line, lane);
    case Work::combine:
      return combine(line, lane);
    case Work::from_local:
      return from_local(line, lane);
    default:
      return !from.empty() && pick(line, parts, lane);
  }
}

bool Walker::pick(const Decoded& line, const Parts& parts, std::size_t lane) {
  const Operand& to = line.operands[0];
  const auto& from = parts.sources;
  switch (line.row.work) {
    case Work::move:
      write(to, lane, signed_source(*from[0], lane));
      return true;
    case Work::first:
      write(to, lane, source(*from[0], 0));
      return true;
    case Work::zero:
      write(to, lane, source(*from[0], lane));
      if (!line.has(Mark::has_32)) write(to, lane, 0, 1);
      return true;
    case Work::constant:
      write(to, lane, source(*from[0], lane));
      if (line.has(Mark::has_64)) write(to, lane, source(*from[0], lane, 1), 1);
      return true;
    case Work::logic: {
      if (from.size() < 4) return false;
      const std::uint32_t a = source(*from[0], lane), b = source(*from[1], lane), c = source(*from[2], lane);
      std::uint32_t value = 0;
      for (std::uint32_t i = 0; i < 8; ++i)
        if ((from[3]->value >> i & 1) != 0)
          value |= ((i & 4U) != 0 ? a : ~a) & ((i & 2U) != 0 ? b : ~b) & ((i & 1U) != 0 ? c : ~c);
      write(to, lane, value);
      for (const Operand* out : parts.outs) write_predicate(*out, lane, value != 0);
      return true;
    }
    case Work::select:
      if (from.size() < 2 || parts.ins.empty()) return false;
      write(to, lane, signed_source(*from[predicate(*parts.ins[0], lane) ? 0 : 1], lane));
      return true;
    case Work::least: {
      if (from.size() < 2 || parts.ins.empty()) return false;
      const auto a = static_cast<std::int32_t>(signed_source(*from[0], lane)),
                 b = static_cast<std::int32_t>(signed_source(*from[1], lane));
      write(to, lane,
            static_cast<std::uint32_t>(predicate(*parts.ins[0], lane) ? std::min(a, b) : std::max(a, b)));
      return true;
    }
    case Work::half:
      // A constant: 0 * 0 + two halves. Only zero is written so where the result is a number of a loop.
      if (!line.has(Mark::mma) || from.size() < 4 || from[0]->index != kZero) return false;
      if (from[2]->kind != OperandKind::number || from[2]->value != 0 || from[3]->value != 0) return false;
      write(to, lane, 0);
      return true;
    default:
      return false;
  }
}

bool Walker::multiply(const Decoded& line, const Parts& parts, std::size_t lane) {
  const auto& from = parts.sources;
  const std::uint32_t a = source(*from[0], lane), b = signed_source(*from[1], lane);
  const bool is_signed = !line.has(Mark::is_unsigned);
  std::uint32_t carry = 0;
  if (line.has(Mark::extended) && !parts.ins.empty()) carry = predicate(*parts.ins[0], lane) ? 1 : 0;
  if (line.has(Mark::wide) || line.has(Mark::high)) {
    const std::uint64_t product =
        is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)} *
                                               static_cast<std::int32_t>(b))
                  : std::uint64_t{a} * b;
    if (line.has(Mark::high)) {
      write(line.operands[0], lane,
            static_cast<std::uint32_t>(product >> 32) + signed_source(*from[2], lane));
      return true;
    }
    const std::uint64_t c = source(*from[2], lane) | std::uint64_t{source(*from[2], lane, 1)} << 32;
    const std::uint64_t sum = product + (from[2]->negative ? 0 - c : c) + carry;
    write(line.operands[0], lane, static_cast<std::uint32_t>(sum));
    write(line.operands[0], lane, static_cast<std::uint32_t>(sum >> 32), 1);
    for (const Operand* out : parts.outs) write_predicate(*out, lane, sum < product);
    return true;
  }
  write(line.operands[0], lane, a * b + signed_source(*from[2], lane) + carry);
  return true;
}

bool Walker::add(const Decoded& line, const Parts& parts, std::size_t lane) {
  const bool extended = line.has(Mark::extended);
  std::uint64_t sum = 0;
  std::array<bool, 2> carries{};
  std::size_t count = 0;
  for (const Operand* one : parts.sources) {
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
    for (const Operand* in : parts.ins)
      if (predicate(*in, lane)) {
        sum = (sum & kAllLanes) + 1;
        if (sum >> 32 != 0) (carries[0] ? carries[1] : carries[0]) = true;
      }
  write(line.operands[0], lane, static_cast<std::uint32_t>(sum));
  for (std::size_t i = 0; i < parts.outs.size() && i < 2; ++i)
    write_predicate(*parts.outs[i], lane, carries[i]);
  return true;
}

bool Walker::shift(const Decoded& line, const Parts& parts, std::size_t lane) {
  const auto& from = parts.sources;
  const Operand& to = line.operands[0];
  const std::uint32_t first = signed_source(*from[0], lane), second = source(*from[1], lane);
  if (line.row.work == Work::scale) {
    const bool high = line.has(Mark::high);
    if (high && from.size() < 4 && !line.has(Mark::sx32)) return false;
    const auto by = static_cast<std::uint32_t>(from.back()->value) & 31U;
    std::uint64_t value = first;
    if (high) {
      const std::uint32_t upper = line.has(Mark::sx32)
                                      ? static_cast<std::uint32_t>(static_cast<std::int32_t>(first) >> 31)
                                      : source(*from[2], lane);
      value = (first | std::uint64_t{upper} << 32) << by >> 32;
    } else {
      value = value << by & kAllLanes;
    }
    std::uint64_t sum = value + signed_source(*from[1], lane);
    if (line.has(Mark::extended) && !parts.ins.empty() && predicate(*parts.ins[0], lane)) ++sum;
    write(to, lane, static_cast<std::uint32_t>(sum));
    for (const Operand* out : parts.outs) write_predicate(*out, lane, sum >> 32 != 0);
    return true;
  }
  const std::uint32_t by = second & 63U;
  const std::uint64_t both = source(*from[0], lane) | std::uint64_t{source(*from[2], lane)} << 32;
  if (line.has(Mark::left)) {
    const std::uint64_t shifted = both << by;
    write(to, lane, static_cast<std::uint32_t>(line.has(Mark::high) ? shifted >> 32 : shifted));
    return true;
  }
  if (line.has(Mark::has_64)) {
    write(to, lane, static_cast<std::uint32_t>(both >> by));
    return true;
  }
  const std::uint32_t upper = source(*from[2], lane);
  if (line.has(Mark::is_signed))
    write(to, lane, static_cast<std::uint32_t>(static_cast<std::int32_t>(upper) >> std::min(by, 31U)));
  else if (line.has(Mark::high))
    write(to, lane, by > 31 ? 0 : upper >> by);
  else
    write(to, lane, static_cast<std::uint32_t>(both >> by));
  return true;
}

/// PLOP3.LUT P3, PT, PT, PT, UP0, 0x80, 0x0: a result by the first table, one by the second.
bool Walker::combine(const Decoded& line, std::size_t lane) {
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
bool Walker::from_local(const Decoded& line, std::size_t lane) {
  if (line.operands.size() < 2) return false;
  const auto found = local_.find(line.operands[1].value);
  if (found == local_.end() || line.bytes != kWordBytes) return false;
  write(line.operands[0], lane, found->second[lane]);
  return true;
}
void Walker::to_local(const Decoded& line) {
  if (line.operands.size() < 2 || line.operands[1].kind != OperandKind::reg) return;
  const auto index = static_cast<std::size_t>(line.operands[1].index);
  if (unknown_[index] || line.bytes != kWordBytes)
    local_.erase(line.operands[0].value);
  else
    local_[line.operands[0].value] = registers_[index];
}

bool Walker::compare(const Decoded& line, std::size_t lane) {
  // ISETP.GE.AND P1, PT, R2, 0x1, PT[, P0]: two results, two sources, a predicate to join, a carry of .EX.
  if (line.operands.size() < 5) return false;
  const Operand &x = line.operands[2], &y = line.operands[3];
  const bool is_unsigned = line.has(Mark::is_unsigned);
  const std::uint32_t a = signed_source(x, lane), b = signed_source(y, lane);
  bool less = is_unsigned ? a < b : static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b),
       same = a == b;
  if (line.has(Mark::ex) && line.operands.size() >= 6) {
    // The comparison of the lower halves decides where the upper ones are the same.
    const bool lower = predicate(line.operands[5], lane);
    const bool value = same                                                             ? lower
                       : line.relation == Relation::ge || line.relation == Relation::gt ? !less
                                                                                        : less;
    write_predicate(line.operands[0], lane, value && predicate(line.operands[4], lane));
    return true;
  }
  bool value = false;
  switch (line.relation) {
    case Relation::ge:
      value = !less;
      break;
    case Relation::gt:
      value = !less && !same;
      break;
    case Relation::le:
      value = less || same;
      break;
    case Relation::lt:
      value = less;
      break;
    case Relation::eq:
      value = same;
      break;
    case Relation::ne:
      value = !same;
      break;
    default:
      return false;
  }
  const bool with = predicate(line.operands[4], lane);
  write_predicate(line.operands[0], lane, line.has(Mark::joins_by_or) ? value || with : value && with);
  return true;
}

}  // namespace mmaudit::timing
