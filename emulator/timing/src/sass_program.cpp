#include "mmaudit/timing/sass.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "mmaudit/error.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/sass/decode.hpp"

namespace mmaudit::timing {
namespace {

using sass::Decoded, sass::Kind;

Registers registers_at(const Decoded& line, std::size_t i, int count) {
  const int first = i < line.operands.size() ? line.operands[i].lane_register() : -1;
  if (first < 0 || first + count > 256) return {};
  return {static_cast<std::int16_t>(first), static_cast<std::uint8_t>(count)};
}

/// What instructions of a kind occupy, and for how long.
struct KindCost {
  Kind kind;
  Unit unit;
  Parameter interval;
};
constexpr KindCost kCosts[] = {
    {Kind::branch, Unit::branch, Parameter::alu_interval},
    {Kind::jump, Unit::branch, Parameter::alu_interval},
    {Kind::call, Unit::alu, Parameter::call_interval},
    {Kind::back, Unit::alu, Parameter::call_interval},
    {Kind::addition, Unit::fma, Parameter::add_interval},
    {Kind::half_multiply, Unit::fma, Parameter::half_interval},
    {Kind::half_matrix, Unit::half, Parameter::half_interval},
    {Kind::conversion, Unit::alu, Parameter::fma_interval},
    {Kind::special, Unit::special, Parameter::special_interval},
    {Kind::multiply, Unit::fma, Parameter::alu_interval},
    {Kind::uniform, Unit::uniform, Parameter::alu_interval},
    {Kind::binary64, Unit::f64, Parameter::interval_f64},
    {Kind::alu, Unit::alu, Parameter::alu_interval},
    {Kind::unknown, Unit::alu, Parameter::alu_interval},
};

/// Which registers instructions, one after the other, read from which bank. What `.reuse` keeps is kept until
/// its operand is read from its bank again. Source: Huerta et al., arXiv 2503.20481;
/// docs/results/h200-memory, vimax_s16x2_relu with four chains, where ptxas keeps an operand over IMADs with
/// an immediate in its place.
class RegisterReads {
 public:
  explicit RegisterReads(bool matrices) : matrices_(matrices) {}
  /// Registers that an instruction of the units of additions and integers reads, or an mma. `reuse`: of the
  /// control word. What stands in two places is read once.
  void add(const sass::Decoded& line, std::uint8_t reuse, TimedOp& op) {
    const bool matrix = op.unit == Unit::tensor && !op.queued && matrices_;
    const bool counts = op.unit == Unit::fma || op.unit == Unit::alu || op.unit == Unit::half || matrix;
    std::size_t slot = 0;
    std::array<int, 3> read{-1, -1, -1};
    for (std::size_t i = 1; i < line.operands.size() && slot < kept_.size(); ++i) {
      const sass::Operand& operand = line.operands[i];
      if (operand.kind == sass::OperandKind::predicate || operand.text == "PR") continue;
      if (const int reg = operand.lane_register(); reg >= 0) {
        const auto bank = static_cast<std::size_t>(reg) % kRegisterBanks;
        int& kept = kept_[slot][bank];
        if (counts && kept != reg && std::find(read.begin(), read.end(), reg) == read.end()) {
          const int count = matrix ? op.sources[slot].count : 1;
          op.reads[bank] = static_cast<std::uint8_t>(op.reads[bank] + (count + 1) / 2);
          op.reads[1 - bank] = static_cast<std::uint8_t>(op.reads[1 - bank] + count / 2);
        }
        if (counts && slot == 2 && line.has(sass::Mark::wide)) ++op.reads[1 - bank];
        read[slot] = reg;
        kept = counts && (reuse >> slot & 1U) != 0 ? reg : -1;
      }
      ++slot;
    }
  }

 private:
  bool matrices_;
  /// Of each operand and bank: the register that is kept; -1: none.
  std::array<std::array<int, kRegisterBanks>, 3> kept_ = {{{-1, -1}, {-1, -1}, {-1, -1}}};
};

class ProgramOf {
 public:
  ProgramOf(const Machine& machine, const sass::Function& function, const SassOptions& options)
      : machine_(machine), function_(function), options_(options) {
    kinds_.reserve(function.lines.size());
    for (const sass::Line& one : function.lines) kinds_.push_back(sass::opcode_of(one.opcode).kind);
  }

  Program loop() {
    const auto [first, last] = timed_part();
    int best_first = -1, best_last = -1;
    std::array<int, 3> best{};
    for (int i = first; i < last; ++i) {
      if (kind(i) != Kind::branch) continue;
      const int target = target_of(i);
      if (target < first || target > i) continue;
      const std::array<int, 3> weight = weight_of(target, i, 0);
      if (weight > best) {
        best = weight;
        best_first = target;
        best_last = i;
      }
    }
    if (best_first < 0) throw InputError("found no loop, allowed: a kernel with a branch backwards");
    // By how much the counter moves: the largest constant that a register is raised by.
    for (int i = best_first; i <= best_last; ++i)
      program_.steps = std::max(program_.steps, sass::counter_step(line(i)));
    begin_ = best_first;
    add(options_.from_clock ? first : best_first, best_last);
    finish();
    return std::move(program_);
  }

  /// Every line, one op each.
  Program whole() {
    for (const sass::Line& one : function_.lines) {
      const Decoded decoded = sass::decode(one);
      program_.add(op_of(one, decoded), one.opcode + " " + one.operands);
      reads_.add(decoded, one.control.reuse, program_.ops.back());
    }
    finish();
    return std::move(program_);
  }

 private:
  [[nodiscard]] const sass::Line& line(int i) const { return function_.lines[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Kind kind(int i) const { return kinds_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int size() const { return static_cast<int>(function_.lines.size()); }
  [[nodiscard]] int target_of(int i) const { return function_.index_of(line(i).target()); }

  /// Between the last two readings of the clock, or everything.
  [[nodiscard]] std::pair<int, int> timed_part() const {
    const std::vector<int> clocks = function_.clock_readings();
    if (clocks.size() < 2) return {0, size()};
    return {clocks[clocks.size() - 2] + 1, clocks.back()};
  }

  /// Matrix instructions, accesses to shared memory, instructions, functions that are called included.
  [[nodiscard]] std::array<int, 3> weight_of(int first, int last, int depth) const {
    std::array<int, 3> weight{};
    for (int i = first; i <= last; ++i) {
      weight[0] += kind(i) == Kind::matrix;
      weight[1] += kind(i) == Kind::load_shared || kind(i) == Kind::load_matrices;
      ++weight[2];
      if (kind(i) != Kind::call || depth == 2) continue;
      const int begin = target_of(i);
      if (begin < 0) continue;
      const std::array<int, 3> called = weight_of(begin, end_of(begin), depth + 1);
      for (std::size_t j = 0; j < 3; ++j) weight[j] += called[j];
    }
    return weight;
  }
  /// The last line of a function that is called.
  [[nodiscard]] int end_of(int begin) const { return std::min(function_.return_from(begin), size() - 1); }

  /// Adds lines first to last; functions that they call come behind.
  void add(int first, int last) {
    for (int i = first; i <= last; ++i) {
      place_[i] = static_cast<int>(program_.ops.size());
      TimedOp op = op_of(line(i), sass::decode(line(i)));
      flow_of(i, last, op);
      reads_.add(sass::decode(line(i)), line(i).control.reuse, op);
      program_.add(op, line(i).opcode + " " + line(i).operands);
    }
  }

  void flow_of(int i, int last, TimedOp& op) {
    const int at = static_cast<int>(program_.ops.size()), target = target_of(i);
    switch (kind(i)) {
      case Kind::call:
        if (target < 0)
          throw InputError("found a call of an address that is not in the function, allowed: one that is");
        op.flow = Flow::call;
        calls_.emplace_back(at, target);
        break;
      case Kind::branch:
        if (i == last && depth_ == 0) {
          op.flow = Flow::loop;
          op.target = place_.at(begin_);
        } else if (line(i).predicate.empty() && target > i && target <= last) {
          op.flow = Flow::jump;
          jumps_.emplace_back(at, target);
        } else {
          ++not_taken_;
        }
        break;
      case Kind::back:
        op.flow = Flow::back;
        break;
      case Kind::drain:
        op.flow = Flow::drain;
        break;
      default:
        if (line(i).opcode.starts_with("BAR.SYNC")) op.flow = Flow::barrier;
        break;
    }
  }

  void finish() {
    std::map<int, int> begins;
    // NOLINTNEXTLINE(modernize-loop-convert): the list grows while it is read
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      const auto [op, target] = calls_[i];
      if (begins.find(target) == begins.end()) {
        begins[target] = static_cast<int>(program_.ops.size());
        depth_ = 1;
        add(target, end_of(target));
      }
      program_.ops[static_cast<std::size_t>(op)].target = begins[target];
    }
    for (const auto& [op, target] : jumps_)
      program_.ops[static_cast<std::size_t>(op)].target = place_.at(target);
    if (not_taken_ > 0)
      program_.notes.push_back(std::to_string(not_taken_) +
                               " branches inside the loop are taken to be not taken");
    if (no_unit_ > 0) {
      program_.work = 0;
      program_.notes.push_back(std::to_string(no_unit_) +
                               " matrix instructions have no unit on this machine: no rate");
    }
    const auto say = [&](const char* what, const std::set<std::string_view>& opcodes) {
      std::string names;
      for (const std::string_view name : opcodes)
        names.append(names.empty() ? what : ", ").append(printable(name));
      if (!names.empty()) program_.notes.push_back(names);
    };
    say("no cost is known for: ", no_cost_);
    say("no latency is known, an integer instruction's is taken, for: ", no_latency_);
  }

  /// What a warp does not do before the barrier of the block that it came to lets it go on; what computes in
  /// registers goes on (BAR.SYNC.DEFER_BLOCKING). Source: the loops of docs/results/timing.md.
  static bool waits_for_block(const sass::Opcode& row) {
    switch (row.kind) {
      case Kind::branch:
      case Kind::jump:
      case Kind::call:
      case Kind::back:
      case Kind::special:
      case Kind::global:
      case Kind::load_shared:
      case Kind::store_shared:
      case Kind::load_matrices:
      case Kind::store_matrices:
        return true;
      default:
        return row.step == sass::Step::barrier;
    }
  }

  TimedOp op_of(const sass::Line& one, const Decoded& decoded) {
    TimedOp op;
    const sass::ControlWord& control = one.control;
    op.stall = std::max<std::uint8_t>(1, control.stall);
    op.yields = control.yield;
    op.write_barrier = control.write_barrier;
    op.read_barrier = control.read_barrier;
    op.wait_mask = control.wait_mask;
    op.destination = registers_at(decoded, 0, 1);
    for (std::size_t i = 0; i < op.sources.size(); ++i) op.sources[i] = registers_at(decoded, i + 1, 1);
    op.latency = static_cast<std::uint32_t>(machine_.cycles(Parameter::fixed_latency));
    op.waits_for_block = waits_for_block(decoded.row);
    // What copies are waited for in a loop is not followed; of a barrier the machine may lack the number.
    const sass::Step step = decoded.row.step;
    if (step == sass::Step::wait_copies ||
        (step == sass::Step::barrier && machine_[Parameter::barrier_latency] == 0))
      no_cost_.insert(sass::base_of(one.opcode));
    switch (decoded.row.kind) {
      case Kind::none:
      case Kind::drain:
        break;
      case Kind::matrix:
        matrix(one, decoded, op);
        break;
      case Kind::load_shared:
      case Kind::store_shared:
      case Kind::load_matrices:
      case Kind::store_matrices:
      case Kind::shared_pipe:
        shared(decoded, op);
        break;
      case Kind::global:
        op.unit = Unit::global;
        op.interval2 = 2;
        op.bytes = 128U * static_cast<unsigned>(words_of(decoded));
        op.latency = static_cast<std::uint32_t>(machine_.cycles(Parameter::l1_latency));
        if (op.latency == 0) no_cost_.insert(sass::base_of(one.opcode));
        break;
      default:
        occupy(decoded.row.kind, op);
        if (decoded.row.kind == Kind::special) {
          if (const int latency = machine_.cycles(Parameter::special_latency); latency > 0)
            op.latency = static_cast<std::uint32_t>(latency);
          else
            no_latency_.insert(sass::base_of(one.opcode));
        }
        if (op.interval2 == 0 || decoded.row.kind == Kind::unknown)
          no_cost_.insert(sass::base_of(one.opcode));
    }
    return op;
  }

  void matrix(const sass::Line& one, const Decoded& decoded, TimedOp& op) {
    const auto inst = sass::matrix_instruction(one.opcode);
    if (!inst)
      throw InputError("line " + std::to_string(one.number) + ": shape: found " + printable(one.opcode) +
                       ", allowed: " + std::string(sass::matrix_shapes()));
    const bool group = is_wgmma(inst->op);
    const bool from_registers =
        group && decoded.operands.size() > 1 && decoded.operands[1].lane_register() >= 0;
    const auto cost = cost_of(machine_, *inst, from_registers);
    op.unit = inst->a == Format::f64 ? Unit::f64 : Unit::tensor;
    if (!cost) {
      ++no_unit_;
      return;
    }
    op.queued = group;
    op.interval2 = static_cast<std::uint32_t>(cost->interval2);
    op.latency = static_cast<std::uint32_t>(cost->latency);
    op.destination = registers_at(decoded, 0, cost->d_registers);
    op.sources = {registers_at(decoded, 1, cost->a_registers), registers_at(decoded, 2, cost->b_registers),
                  registers_at(decoded, 3, cost->d_registers)};
    program_.work += sass::multiply_adds_of(one.opcode) / (group ? 4 : 1);  // four warps do one
  }

  void occupy(Kind kind, TimedOp& op) {
    for (const KindCost& cost : kCosts) {
      if (cost.kind != kind) continue;
      op.unit = cost.unit;
      double interval = machine_[cost.interval];
      // Where a machine has no number of its own for it.
      const bool half = kind == Kind::half_multiply || kind == Kind::half_matrix;
      if (interval == 0 && half) interval = machine_[Parameter::add_interval];
      if (interval == 0 && (half || kind == Kind::addition)) interval = machine_[Parameter::fma_interval];
      op.interval2 = static_cast<std::uint32_t>(std::lround(2 * interval));
    }
  }

  /// Registers of a lane that an access fills or empties.
  static int words_of(const Decoded& decoded) { return std::max(1, decoded.bytes / 4); }

  void shared(const Decoded& decoded, TimedOp& op) {
    const Kind kind = decoded.row.kind;
    op.unit = Unit::shared;
    op.latency = 0;
    op.wavefronts = 1;
    if (kind == Kind::load_matrices) {
      op.wavefronts = static_cast<std::uint16_t>(sass::matrices_of(decoded.opcode));
      op.destination.count = static_cast<std::uint8_t>(op.destination.count * op.wavefronts);
      op.matrices = true;
    } else if (kind != Kind::shared_pipe) {
      const int words = words_of(decoded);
      op.wavefronts = static_cast<std::uint16_t>(std::max(options_.conflict_ways, words));
      op.latency = static_cast<std::uint32_t>((words - 1) * machine_.cycles(Parameter::shared_wide));
      if (kind == Kind::store_shared)
        op.interval2 = static_cast<std::uint32_t>(2 * machine_.cycles(Parameter::shared_store));
    } else if (options_.from_clock && decoded.row.work == sass::Work::constant &&
               !std::exchange(constants_cached_, true)) {
      op.latency = static_cast<std::uint32_t>(machine_.cycles(Parameter::constant_cold));
    }
  }

  const Machine& machine_;
  const sass::Function& function_;
  std::vector<Kind> kinds_;  ///< of each line
  SassOptions options_;
  Program program_;
  std::map<int, int> place_;                        ///< of a line among the ops
  std::vector<std::pair<int, int>> calls_, jumps_;  ///< op, line
  RegisterReads reads_{machine_[Parameter::matrix_reads] > 0};
  bool constants_cached_ = false;
  int not_taken_ = 0, no_unit_ = 0, depth_ = 0, begin_ = 0;
  std::set<std::string_view> no_cost_, no_latency_;  ///< opcodes of the loop, without what follows a dot
};

}  // namespace

Program program_of(const Machine& machine, const sass::Function& function, const SassOptions& options) {
  Program program = ProgramOf(machine, function, options).loop();
  program.name = function.name;
  return program;
}

Program whole_program_of(const Machine& machine, const sass::Function& function) {
  Program program = ProgramOf(machine, function, {}).whole();
  program.name = function.name;
  return program;
}

}  // namespace mmaudit::timing
