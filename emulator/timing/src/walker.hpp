#pragma once
// Walks the warps of a block: walk.cpp has the flow and the addresses, walk_values.cpp the arithmetic.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "mmaudit/error.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/sass/decode.hpp"
#include "mmaudit/timing/walk.hpp"

namespace mmaudit::timing {

using sass::Decoded, sass::Kind, sass::Mark, sass::Operand, sass::OperandKind, sass::Relation, sass::Step,
    sass::Work;
using sass::kAllPredicates, sass::kAllRegisters, sass::kTrue, sass::kUniformPredicates, sass::kUniformZero,
    sass::kZero;
inline constexpr int kLanes = 32;

using Lanes = std::array<std::uint32_t, kLanes>;
using LaneAddresses = std::array<std::uint64_t, kLanes>;

inline constexpr std::uint32_t kAllLanes = 0xffffffff;
inline constexpr std::size_t kMostSteps = std::size_t{1} << 26;
inline constexpr int kSectorBytes = 32, kLineSectors = 4, kBanks = 32, kWordBytes = 4;
/// High word of an address of shared memory that is written as one of all memory.
inline constexpr std::uint32_t kSharedWindow = 0x7f00;
/// Of blockDim.x and gridDim.x in the bank of constants, and of the parameters. Source: what nvcc 13.0 reads.
inline constexpr std::int64_t kBlockDim = 0x0, kGridDim = 0xc, kFirstParameter = 0x210;

class Walker {
 public:
  Walker(const sass::Function& function, const Grid& grid, int x, int y)
      : function_(function), grid_(grid), x_(x), y_(y) {
    lines_.reserve(function.lines.size());
    for (const sass::Line& line : function.lines) {
      place_[line.address] = static_cast<int>(lines_.size());
      lines_.push_back(sass::decode(line));
    }
    for (const Decoded& line : lines_) parts_.push_back(parts_of(line));
    met_.resize(lines_.size());
  }

  /// One block per number of trips.
  std::vector<WalkedBlock> run(std::span<const int> most_trips) {
    WalkedBlock block;  // its warps keep nothing; its accesses are those of all
    std::vector<WalkedBlock> shortened(most_trips.size());
    for (int warp = 0; warp < grid_.threads / kLanes; ++warp) {
      warp_ = warp;
      WalkedWarp walked;
      walk_warp(block, walked);
      block.instructions += walked.steps.size();
      for (std::size_t i = 0; i < most_trips.size(); ++i)
        shortened[i].warps.push_back(shorten(block, walked, most_trips[i]));
    }
    for (WalkedBlock& one : shortened) {
      one.instructions = block.instructions;
      one.trips = block.trips;
      take_accesses(one, block.accesses);
    }
    return shortened;
  }

 private:
  [[noreturn]] void refuse(int at, std::string_view what) const {
    const sass::Line& line = function_.lines[static_cast<std::size_t>(at)];
    throw InputError("line " + std::to_string(line.number) + ": found " + printable(line.opcode) + " " +
                     printable(line.operands) + ", allowed: " + std::string(what));
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
    const Decoded& line = lines_[static_cast<std::size_t>(at)];
    const std::uint32_t mask = mask_of(line) & active_;
    warp.steps.push_back({at, -1});
    if (line.row.kind == Kind::branch) {
      if (is_unknown(line)) refuse(at, "a branch that depends on no loaded value");
      if (mask == 0) return at + 1;
      if (mask != active_) refuse(at, "a branch that all threads of a warp take alike");
      const auto target = place_.find(static_cast<std::uint32_t>(line.target));
      if (target == place_.end()) refuse(at, "a branch inside the function");
      if (target->second <= at) taken_.emplace_back(at, warp.steps.size());
      return target->second;
    }
    if (line.row.trait == sass::Trait::not_followed) refuse(at, "branches alone");
    switch (line.row.step) {
      case Step::exit:
        if (is_unknown(line)) refuse(at, "an exit that depends on no loaded value");
        active_ &= ~mask;
        break;
      case Step::shared:
      case Step::load:
      case Step::store:
      case Step::copy:
        if (mask != 0) {
          warp.steps.back().access = access_at(block, line, at, mask);
        }
        if (is_local(line.row))
          compute(line, at, mask);
        else
          forget(line, line.row.step == Step::load || line.row.step == Step::shared);
        break;
      default:
        if (line.row.work != Work::none || !line.operands.empty()) compute(line, at, mask);
    }
    return at + 1;
  }

  [[nodiscard]] std::uint32_t mask_of(const Decoded& line) const {
    const std::uint32_t value = predicates_[static_cast<std::size_t>(line.predicate)];
    return line.not_predicate ? ~value : value;
  }
  [[nodiscard]] bool is_unknown(const Decoded& line) const {
    return (unknown_predicates_ >> line.predicate & 1U) != 0;
  }

  // ---- addresses
  /// What an execution of a line met last: the next one that meets the same is the same access.
  struct Met {
    LaneAddresses addresses{};
    std::uint32_t mask = 0;
    std::int32_t access = -1;
  };
  std::int32_t access_at(WalkedBlock& block, const Decoded& line, int at, std::uint32_t mask);
  LaneAddresses addresses_of(const Operand& address, int at) const;
  static MemoryAccess global_access(const LaneAddresses& all, std::uint32_t mask, int bytes);
  static MemoryAccess shared_access(const Decoded& line, const LaneAddresses& all, std::uint32_t mask);
  MemoryAccess local_access(const Operand& address, int bytes) const;

  // ---- values
  [[nodiscard]] std::uint32_t constant(std::int64_t place) const {
    if (place == kBlockDim) return static_cast<std::uint32_t>(grid_.threads);
    if (place == kBlockDim + 4 || place == kBlockDim + 8) return 1;
    if (place == kGridDim) return static_cast<std::uint32_t>(grid_.x);
    if (place == kGridDim + 4) return static_cast<std::uint32_t>(grid_.y);
    std::uint32_t value = 0;
    for (int i = 0; i < kWordBytes; ++i) {
      const std::int64_t at = place - kFirstParameter + i;
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
  [[nodiscard]] std::uint32_t source(const Operand& operand, std::size_t lane, int word = 0) const {
    switch (operand.kind) {
      case OperandKind::reg: {
        const bool is_zero = operand.index == kZero || operand.index == kUniformZero;
        return is_zero ? 0
                       : registers_[static_cast<std::size_t>(operand.index) + static_cast<std::size_t>(word)]
                                   [lane];
      }
      case OperandKind::number:
        return word == 0 ? static_cast<std::uint32_t>(operand.value) : operand.value < 0 ? kAllLanes : 0;
      case OperandKind::constant:
        return constant(operand.value + static_cast<std::int64_t>(kWordBytes) * word);
      case OperandKind::special:
        return special(operand.text, static_cast<std::uint32_t>(lane));
      default:
        return 0;
    }
  }
  [[nodiscard]] std::uint32_t signed_source(const Operand& operand, std::size_t lane) const {
    const std::uint32_t value = source(operand, lane);
    return operand.negative ? 0 - value : operand.inverted ? ~value : value;
  }
  [[nodiscard]] bool predicate(const Operand& operand, std::size_t lane) const {
    const bool value = (predicates_[static_cast<std::size_t>(operand.index)] >> lane & 1U) != 0;
    return value != operand.inverted;
  }

  void write(const Operand& to, std::size_t lane, std::uint32_t value, int word = 0) {
    if (to.kind != OperandKind::reg || to.index == kZero || to.index == kUniformZero) return;
    registers_[static_cast<std::size_t>(to.index) + static_cast<std::size_t>(word)][lane] = value;
  }
  void write_predicate(const Operand& to, std::size_t lane, bool value) {
    if (to.index % kUniformPredicates == kTrue) return;
    std::uint32_t& all = predicates_[static_cast<std::size_t>(to.index)];
    all = (all & ~(1U << lane)) | static_cast<std::uint32_t>(value) << lane;
  }

  /// The destination holds what is not known: loaded, floating point, or an instruction that the walk lacks.
  void forget(const Decoded& line, bool writes) {
    if (!writes || line.operands.empty()) return;
    const Operand& to = line.operands[0];
    if (to.kind == OperandKind::predicate) unknown_predicates_ |= 1U << to.index;
    if (to.kind != OperandKind::reg || to.index == kZero) return;
    const int count = line.row.kind == Kind::load_matrices ? sass::matrices_of(line.opcode)
                                                           : std::max(1, line.bytes / kWordBytes);
    for (int i = 0; i < count && to.index + i < kZero; ++i)
      unknown_[static_cast<std::size_t>(to.index) + static_cast<std::size_t>(i)] = true;
  }

  struct Parts {
    std::vector<const Operand*> outs, carries, sources, ins;  ///< ins: predicates behind the sources
  };
  static Parts parts_of(const Decoded& line) {
    Parts parts;
    for (std::size_t i = 1; i < line.operands.size(); ++i) {
      const Operand& one = line.operands[i];
      if (one.kind != OperandKind::predicate)
        parts.sources.push_back(&one);
      else if (parts.sources.empty())
        parts.outs.push_back(&one);
      else
        parts.ins.push_back(&one);
    }
    return parts;
  }

  void compute(const Decoded& line, int at, std::uint32_t mask);
  bool lane_of(const Decoded& line, const Parts& parts, std::size_t lane);
  bool pick(const Decoded& line, const Parts& parts, std::size_t lane);
  bool multiply(const Decoded& line, const Parts& parts, std::size_t lane);
  bool shift(const Decoded& line, const Parts& parts, std::size_t lane);
  bool add(const Decoded& line, const Parts& parts, std::size_t lane);
  bool compare(const Decoded& line, std::size_t lane);
  bool combine(const Decoded& line, std::size_t lane);
  bool from_local(const Decoded& line, std::size_t lane);
  void to_local(const Decoded& line);

  /// Leaves out the middle of a loop that goes round more often than `most` times.
  static constexpr int kKeptAtEnd = 4;
  WalkedWarp shorten(WalkedBlock& block, const WalkedWarp& warp, int most) const {
    std::map<int, int> counts;
    for (const auto& [op, at] : taken_) ++counts[op];
    int loop = -1, count = 0;
    for (const auto& [op, times] : counts)
      if (times > count) {
        loop = op;
        count = times;
      }
    block.trips = std::max(block.trips, count + 1);
    if (count + 1 <= most) return warp;
    std::vector<std::size_t> ends;
    for (const auto& [op, at] : taken_)
      if (op == loop) ends.push_back(at);
    const auto from = static_cast<std::ptrdiff_t>(ends[static_cast<std::size_t>(most - kKeptAtEnd - 1)]),
               to = static_cast<std::ptrdiff_t>(ends[ends.size() - kKeptAtEnd]);
    WalkedWarp kept;
    kept.steps.reserve(warp.steps.size() - static_cast<std::size_t>(to - from));
    kept.steps.assign(warp.steps.begin(), warp.steps.begin() + from);
    kept.steps.insert(kept.steps.end(), warp.steps.begin() + to, warp.steps.end());
    return kept;
  }

  /// Copies the accesses that the steps of `block` name.
  static void take_accesses(WalkedBlock& block, const std::vector<MemoryAccess>& all) {
    std::vector<std::int32_t> place(all.size(), -1);
    for (WalkedWarp& warp : block.warps)
      for (Executed& step : warp.steps) {
        if (step.access < 0) continue;
        std::int32_t& to = place[static_cast<std::size_t>(step.access)];
        if (to < 0) {
          to = static_cast<std::int32_t>(block.accesses.size());
          block.accesses.push_back(all[static_cast<std::size_t>(step.access)]);
        }
        step.access = to;
      }
  }

  const sass::Function& function_;
  const Grid& grid_;
  int x_, y_, warp_ = 0;
  std::vector<Decoded> lines_;
  std::vector<Parts> parts_;  ///< of each line
  std::vector<Met> met_;      ///< of each line
  std::map<std::uint32_t, int> place_;
  std::vector<Lanes> registers_;
  std::vector<bool> unknown_;
  std::array<std::uint32_t, kAllPredicates> predicates_{};
  std::map<std::int64_t, Lanes> local_;  ///< by offset
  std::uint32_t unknown_predicates_ = 0, active_ = kAllLanes;
  std::vector<std::pair<int, std::size_t>> taken_;  ///< backward branches: op, steps until then
};

}  // namespace mmaudit::timing
