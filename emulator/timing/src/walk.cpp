#include "mmaudit/timing/walk.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>

#include "mmaudit/printable.hpp"
#include "walk_operand.hpp"

namespace mmaudit::timing {
namespace {

using Kind = WalkOperand::Kind;
using Lanes = std::array<std::uint32_t, kLanes>;

constexpr std::uint32_t kAllLanes = 0xffffffff;
constexpr std::size_t kMostSteps = std::size_t{1} << 26;
constexpr int kSectorBytes = 32, kLineSectors = 4, kBanks = 32, kWordBytes = 4;
/// High word of an address of shared memory that is written as one of all memory.
constexpr std::uint32_t kSharedWindow = 0x7f00;
/// Of blockDim.x and gridDim.x in the bank of constants, and of the parameters. Source: what nvcc 13.0 reads.
constexpr std::int64_t kBlockDim = 0x0, kGridDim = 0xc, kParameters = 0x210;

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

int bytes_of(std::string_view opcode) {
  if (holds(opcode, ".128")) return 16;
  if (holds(opcode, ".64")) return 8;
  return holds(opcode, ".U16") || holds(opcode, ".S16") ? 2
         : holds(opcode, ".U8") || holds(opcode, ".S8") ? 1
                                                        : 4;
}

class Walker {
 public:
  Walker(const SassFunction& function, const Grid& grid, int x, int y)
      : function_(function), grid_(grid), x_(x), y_(y) {
    lines_.reserve(function.lines.size());
    for (const SassLine& line : function.lines) {
      place_[line.address] = static_cast<int>(lines_.size());
      lines_.push_back(walk_line(line));
    }
  }

  WalkedBlock run(int most_trips) {
    WalkedBlock block;
    for (int warp = 0; warp < grid_.threads / kLanes; ++warp) {
      warp_ = warp;
      block.warps.emplace_back();
      walk_warp(block, block.warps.back());
      block.instructions += block.warps.back().steps.size();
      shorten(block, block.warps.back(), most_trips);
    }
    return block;
  }

 private:
  [[noreturn]] void refuse(int at, std::string_view what) const {
    const SassLine& line = function_.lines[static_cast<std::size_t>(at)];
    throw std::invalid_argument("line " + std::to_string(line.number) + ": found " + printable(line.opcode) +
                                " " + printable(line.operands) + ", allowed: " + std::string(what));
  }

  void walk_warp(WalkedBlock& block, WalkedWarp& warp) {
    registers_.assign(kAllRegisters, Lanes{});
    unknown_.assign(kAllRegisters, false);
    unknown_predicates_ = 0;
    predicates_.fill(0);
    predicates_[kTrue] = predicates_[kUniformPredicates + kTrue] = kAllLanes;
    active_ = kAllLanes;
    taken_.clear();
    int at = 0;
    while (active_ != 0) {
      if (warp.steps.size() == kMostSteps)
        throw std::runtime_error("found a warp of more than 67108864 instructions, allowed: fewer");
      if (at >= static_cast<int>(lines_.size())) refuse(at - 1, "an EXIT at the end");
      at = step(block, warp, at);
    }
  }

  /// Executes the line; returns the next.
  int step(WalkedBlock& block, WalkedWarp& warp, int at) {
    const WalkLine& line = lines_[static_cast<std::size_t>(at)];
    const std::uint32_t mask = mask_of(line) & active_;
    warp.steps.push_back({at, -1});
    if (line.base == "BRA") {
      if (is_unknown(line)) refuse(at, "a branch that depends on no loaded value");
      if (mask == 0) return at + 1;
      if (mask != active_) refuse(at, "a branch that all threads of a warp take alike");
      const auto target = place_.find(static_cast<std::uint32_t>(line.target));
      if (target == place_.end()) refuse(at, "a branch inside the function");
      if (target->second <= at) taken_.push_back({at, warp.steps.size()});
      return target->second;
    }
    if (line.base == "CALL" || line.base == "RET" || line.base == "BRX" || line.base == "JMP")
      refuse(at, "branches alone");
    switch (line.step) {
      case Step::exit:
        if (is_unknown(line)) refuse(at, "an exit that depends on no loaded value");
        active_ &= ~mask;
        break;
      case Step::shared:
      case Step::load:
      case Step::store:
      case Step::copy:
        if (mask != 0) {
          warp.steps.back().access = static_cast<std::int32_t>(block.accesses.size());
          block.accesses.push_back(access_of(line, at, mask));
        }
        forget(line, line.step == Step::load || line.step == Step::shared);
        break;
      default:
        compute(line, mask);
    }
    return at + 1;
  }

  [[nodiscard]] std::uint32_t mask_of(const WalkLine& line) const {
    const std::uint32_t value = predicates_[static_cast<std::size_t>(line.predicate)];
    return line.not_predicate ? ~value : value;
  }
  [[nodiscard]] bool is_unknown(const WalkLine& line) const {
    return (unknown_predicates_ >> line.predicate & 1U) != 0;
  }

  // ---- addresses
  MemoryAccess access_of(const WalkLine& line, int at, std::uint32_t mask) const {
    const auto address = std::find_if(line.operands.begin(), line.operands.end(),
                                      [](const WalkOperand& one) { return one.kind == Kind::address; });
    if (address == line.operands.end()) refuse(at, "an access with an address");
    if (line.step == Step::copy) {  // the second address is the global one
      const auto from = std::find_if(address + 1, line.operands.end(),
                                     [](const WalkOperand& one) { return one.kind == Kind::address; });
      if (from == line.operands.end()) refuse(at, "a copy from an address");
      return global_access(*from, at, mask, bytes_of(line.opcode));
    }
    if (line.step == Step::shared) return shared_access(line, *address, at, mask);
    const auto high = static_cast<std::size_t>(address->index) + 1;
    if (address->wide && (line.base == "LD" || line.base == "ST") && registers_[high][0] == kSharedWindow)
      return shared_access(line, *address, at, mask);
    return global_access(*address, at, mask, bytes_of(line.opcode));
  }

  std::array<std::uint64_t, kLanes> addresses_of(const WalkOperand& address, int at) const {
    const auto index = static_cast<std::size_t>(address.index);
    if (unknown_[index] || (address.wide && unknown_[index + 1]) ||
        (address.second >= 0 && unknown_[static_cast<std::size_t>(address.second)]))
      refuse(at, "an address that depends on no loaded value");
    std::array<std::uint64_t, kLanes> all{};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::uint64_t value = registers_[index][lane];
      if (address.wide) value |= std::uint64_t{registers_[index + 1][lane]} << 32;
      if (address.second >= 0) value += registers_[static_cast<std::size_t>(address.second)][lane];
      all[lane] = value + static_cast<std::uint64_t>(address.value);
    }
    return all;
  }

  MemoryAccess global_access(const WalkOperand& address, int at, std::uint32_t mask, int bytes) const {
    const auto all = addresses_of(address, at);
    MemoryAccess access;
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      if ((mask >> lane & 1U) != 0)
        for (std::uint64_t sector = all[lane] / kSectorBytes;
             sector <= (all[lane] + static_cast<unsigned>(bytes) - 1) / kSectorBytes; ++sector)
          access.sectors.push_back(sector);
    std::sort(access.sectors.begin(), access.sectors.end());
    access.sectors.erase(std::unique(access.sectors.begin(), access.sectors.end()), access.sectors.end());
    std::uint64_t last = ~std::uint64_t{0};
    for (const std::uint64_t sector : access.sectors)
      if (sector / kLineSectors != last) {
        last = sector / kLineSectors;
        ++access.lines;
      }
    access.wavefronts = static_cast<std::uint16_t>(std::max(1, std::popcount(mask) * bytes / 128));
    return access;
  }

  /// Wavefronts: lanes are served in groups that move 128 bytes; of each group as many as words meet in a
  /// bank.
  MemoryAccess shared_access(const WalkLine& line, const WalkOperand& address, int at,
                             std::uint32_t mask) const {
    const auto all = addresses_of(address, at);
    const bool matrices = line.base == "LDSM" || line.base == "STSM";
    const int bytes = matrices ? 16 : std::max(kWordBytes, bytes_of(line.opcode));
    const int rows = !matrices ? kLanes : holds(line.opcode, ".4") ? 32 : holds(line.opcode, ".2") ? 16 : 8;
    const int group = 128 / bytes;
    int wavefronts = 0;
    for (int first = 0; first < rows; first += group) {
      std::array<std::vector<std::uint64_t>, kBanks> words;
      for (int lane = first; lane < std::min(first + group, rows); ++lane) {
        if (!matrices && (mask >> lane & 1U) == 0) continue;
        for (int word = 0; word < bytes / kWordBytes; ++word) {
          const std::uint64_t which =
              all[static_cast<std::size_t>(lane)] / kWordBytes + static_cast<unsigned>(word);
          std::vector<std::uint64_t>& bank = words[which % kBanks];
          if (std::find(bank.begin(), bank.end(), which) == bank.end()) bank.push_back(which);
        }
      }
      std::size_t most = 0;
      for (const auto& bank : words) most = std::max(most, bank.size());
      wavefronts += static_cast<int>(most);
    }
    MemoryAccess access;
    access.wavefronts = static_cast<std::uint16_t>(std::max(1, wavefronts));
    return access;
  }

  // ---- values
  [[nodiscard]] std::uint32_t constant(std::int64_t place) const {
    if (place == kBlockDim) return static_cast<std::uint32_t>(grid_.threads);
    if (place == kBlockDim + 4 || place == kBlockDim + 8) return 1;
    if (place == kGridDim) return static_cast<std::uint32_t>(grid_.x);
    if (place == kGridDim + 4) return static_cast<std::uint32_t>(grid_.y);
    std::uint32_t value = 0;
    for (int i = 0; i < kWordBytes; ++i) {
      const std::int64_t at = place - kParameters + i;
      if (at >= 0 && at < static_cast<std::int64_t>(grid_.parameters.size()))
        value |= std::uint32_t{grid_.parameters[static_cast<std::size_t>(at)]} << (8 * i);
    }
    return value;
  }

  [[nodiscard]] std::uint32_t special(std::string_view name, std::uint32_t lane) const {
    if (name == "SR_TID.X") return static_cast<std::uint32_t>(warp_ * kLanes) + lane;
    if (name == "SR_CTAID.X") return static_cast<std::uint32_t>(x_);
    if (name == "SR_CTAID.Y") return static_cast<std::uint32_t>(y_);
    if (name == "SR_LANEID") return lane;
    if (name == "SR_SWINHI") return kSharedWindow;
    return 0;
  }

  /// Word `word` of a source: the register, or the one behind it.
  [[nodiscard]] std::uint32_t source(const WalkOperand& operand, std::size_t lane, int word = 0) const {
    switch (operand.kind) {
      case Kind::reg: {
        const bool is_zero = operand.index == kZero || operand.index == kUniformZero;
        return is_zero ? 0 : registers_[static_cast<std::size_t>(operand.index + word)][lane];
      }
      case Kind::number:
        return word == 0 ? static_cast<std::uint32_t>(operand.value) : operand.value < 0 ? kAllLanes : 0;
      case Kind::constant:
        return constant(operand.value + static_cast<std::int64_t>(kWordBytes) * word);
      case Kind::special:
        return special(operand.text, static_cast<std::uint32_t>(lane));
      default:
        return 0;
    }
  }
  [[nodiscard]] std::uint32_t signed_source(const WalkOperand& operand, std::size_t lane) const {
    const std::uint32_t value = source(operand, lane);
    return operand.negative ? 0 - value : operand.inverted ? ~value : value;
  }
  [[nodiscard]] bool predicate(const WalkOperand& operand, std::size_t lane) const {
    const bool value = (predicates_[static_cast<std::size_t>(operand.index)] >> lane & 1U) != 0;
    return value != operand.inverted;
  }

  void write(const WalkOperand& to, std::size_t lane, std::uint32_t value, int word = 0) {
    if (to.kind != Kind::reg || to.index == kZero || to.index == kUniformZero) return;
    registers_[static_cast<std::size_t>(to.index + word)][lane] = value;
  }
  void write_predicate(const WalkOperand& to, std::size_t lane, bool value) {
    if (to.index % kUniformPredicates == kTrue) return;
    std::uint32_t& all = predicates_[static_cast<std::size_t>(to.index)];
    all = (all & ~(1U << lane)) | static_cast<std::uint32_t>(value) << lane;
  }

  /// The destination holds what is not known: loaded, floating point, or an instruction that the walk lacks.
  void forget(const WalkLine& line, bool writes) {
    if (!writes || line.operands.empty()) return;
    const WalkOperand& to = line.operands[0];
    if (to.kind == Kind::predicate) unknown_predicates_ |= 1U << to.index;
    if (to.kind != Kind::reg || to.index == kZero) return;
    const int count =
        line.base == "LDSM" ? (holds(line.opcode, ".4") ? 4 : 2) : std::max(1, bytes_of(line.opcode) / 4);
    for (int i = 0; i < count && to.index + i < kZero; ++i)
      unknown_[static_cast<std::size_t>(to.index + i)] = true;
  }

  struct Parts {
    std::vector<const WalkOperand*> outs, carries, sources, ins;  ///< ins: predicates behind the sources
  };
  static Parts parts_of(const WalkLine& line) {
    Parts parts;
    for (std::size_t i = 1; i < line.operands.size(); ++i) {
      const WalkOperand& one = line.operands[i];
      if (one.kind != Kind::predicate)
        parts.sources.push_back(&one);
      else if (parts.sources.empty())
        parts.outs.push_back(&one);
      else
        parts.ins.push_back(&one);
    }
    return parts;
  }

  void compute(const WalkLine& line, std::uint32_t mask);
  bool lane_of(const WalkLine& line, const Parts& parts, std::size_t lane);
  bool multiply(const WalkLine& line, const Parts& parts, std::size_t lane);
  bool shift(const WalkLine& line, const Parts& parts, std::size_t lane);
  bool add(const WalkLine& line, const Parts& parts, std::size_t lane);
  bool compare(const WalkLine& line, std::size_t lane);

  /// Leaves out the middle of a loop that goes round more often than `most` times.
  static constexpr int kKeptAtEnd = 4;
  void shorten(WalkedBlock& block, WalkedWarp& warp, int most) const {
    std::map<int, int> counts;
    for (const auto& [op, at] : taken_) ++counts[op];
    int loop = -1, count = 0;
    for (const auto& [op, times] : counts)
      if (times > count) {
        loop = op;
        count = times;
      }
    block.trips = std::max(block.trips, count + 1);
    if (count + 1 <= most) return;
    std::vector<std::size_t> ends;
    for (const auto& [op, at] : taken_)
      if (op == loop) ends.push_back(at);
    const std::size_t from = ends[static_cast<std::size_t>(most - kKeptAtEnd - 1)],
                      to = ends[ends.size() - kKeptAtEnd];
    warp.steps.erase(warp.steps.begin() + static_cast<std::ptrdiff_t>(from),
                     warp.steps.begin() + static_cast<std::ptrdiff_t>(to));
  }

  const SassFunction& function_;
  const Grid& grid_;
  int x_, y_, warp_ = 0;
  std::vector<WalkLine> lines_;
  std::map<std::uint32_t, int> place_;
  std::vector<Lanes> registers_;
  std::vector<bool> unknown_;
  std::array<std::uint32_t, kAllPredicates> predicates_{};
  std::uint32_t unknown_predicates_ = 0, active_ = kAllLanes;
  std::vector<std::pair<int, std::size_t>> taken_;  ///< backward branches: op, steps until then
};

void Walker::compute(const WalkLine& line, std::uint32_t mask) {
  if (line.operands.empty() || mask == 0) return;
  const WalkOperand& to = line.operands[0];
  if (to.kind != Kind::reg && to.kind != Kind::predicate) return;
  const Parts parts = parts_of(line);
  bool unknown = false;
  const auto look = [&](const WalkOperand& one) {
    if (one.kind == Kind::reg && one.index != kZero) unknown |= unknown_[static_cast<std::size_t>(one.index)];
    if (one.kind == Kind::predicate) unknown |= (unknown_predicates_ >> one.index & 1U) != 0;
  };
  for (const WalkOperand* one : parts.sources) look(*one);
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

}  // namespace

WalkedBlock walk(const SassFunction& function, const Grid& grid, int x, int y, int most_trips) {
  if (grid.threads < kLanes || grid.threads % kLanes != 0 || grid.threads > 1024)
    throw std::invalid_argument("threads: found " + std::to_string(grid.threads) +
                                ", allowed: multiples of 32 to 1024");
  return Walker(function, grid, x, y).run(std::max(most_trips, 8));
}

}  // namespace mmaudit::timing
