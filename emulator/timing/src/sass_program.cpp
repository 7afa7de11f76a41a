#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>

#include "mmaudit/printable.hpp"
#include "mmaudit/timing/sass.hpp"
#include "register_reads.hpp"

namespace mmaudit::timing {
namespace {

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [text](std::string_view start) { return text.starts_with(start); });
}
bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Registers registers_at(const std::vector<std::string_view>& parts, std::size_t i, int count) {
  const int first = i < parts.size() ? register_at(parts[i]) : -1;
  if (first < 0 || first + count > 256) return {};
  return {static_cast<std::int16_t>(first), static_cast<std::uint8_t>(count)};
}

constexpr std::string_view kShapes =
    "m 8 or 16, n 8, k a power of two from 4 to 256; wgmma: m 64, n a multiple of 8 to 256, k of 8 to 512";
bool is_shape(int m, int n, int k) {
  if (k < 4 || (k & (k - 1)) != 0) return false;
  if (m == 64) return n >= 8 && n <= 256 && n % 8 == 0 && k >= 8 && k <= 512;
  return (m == 8 || m == 16) && n == 8 && k <= 256;
}

/// m, n, k in the digits of ".16816": 16, 8 and what is left; ".64x128x16" too; nothing if no GPU has it.
std::optional<std::array<int, 3>> shape_of(std::string_view opcode) {
  while (!opcode.empty()) {
    const std::size_t dot = opcode.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    opcode.remove_prefix(dot + 1);
    const std::string_view field = opcode.substr(0, opcode.find('.'));
    if (field.size() < 3 || field[0] < '0' || field[0] > '9') continue;
    const std::string text(field);
    const char* const form = holds(field, "x")          ? "%3dx%3dx%3d%n"
                             : field.starts_with("168") ? "%2d%1d%3d%n"
                                                        : "%1d%1d%3d%n";
    int m = 0, n = 0, k = 0, end = 0;
    std::sscanf(text.c_str(), form, &m, &n, &k, &end);
    if (end != static_cast<int>(text.size()) || !is_shape(m, n, k)) return std::nullopt;
    return std::array<int, 3>{m, n, k};
  }
  return std::nullopt;
}

bool is_matrix(std::string_view opcode) {
  return starts_with_any(
      opcode, {"HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA", "HGMMA", "QGMMA", "IGMMA", "BGMMA"});
}

/// The instruction of the model whose cost a matrix instruction has; only what the cost depends on is set.
std::optional<Instruction> instruction_of(std::string_view opcode) {
  const auto shape = shape_of(opcode);
  if (!is_matrix(opcode) || !shape) return std::nullopt;
  Instruction inst;
  const bool group = holds(opcode.substr(0, 6), "GMMA"), sparse = holds(opcode, ".SP.");
  if (group)
    inst.op = sparse ? Op::wgmma_sp : Op::wgmma;
  else
    inst.op = sparse ? Op::mma_sp : Op::mma;
  inst.m = static_cast<std::int16_t>((*shape)[0]);
  inst.n = static_cast<std::int16_t>((*shape)[1]);
  inst.k = static_cast<std::int16_t>((*shape)[2]);
  inst.d = holds(opcode, ".F16") && !holds(opcode, ".F32") ? Format::f16 : Format::f32;
  switch (opcode[0]) {
    case 'D':
      inst.a = inst.d = Format::f64;
      break;
    case 'I':
      inst.a = holds(opcode, "4.") || opcode.ends_with("4") ? Format::s4 : Format::s8;
      if (holds(opcode, "8.") && (holds(opcode, "S8") || holds(opcode, "U8"))) inst.a = Format::s8;
      inst.d = Format::s32;
      break;
    case 'B':
      inst.a = Format::b1;
      inst.d = Format::s32;
      if (holds(opcode, ".XOR")) inst.multiply = Multiply::xor_popc;
      break;
    case 'Q':
    case 'O':
      inst.a = Format::e4m3;
      break;
    default:
      inst.a = holds(opcode, ".TF32") ? Format::tf32 : Format::f16;
  }
  inst.b = inst.a;
  inst.c = inst.d;
  return inst;
}

int width_of(std::string_view opcode) { return holds(opcode, ".128") ? 4 : holds(opcode, ".64") ? 2 : 1; }

std::uint32_t half_cycles(double cycles) { return static_cast<std::uint32_t>(std::lround(2 * cycles)); }

class Reader {
 public:
  Reader(const Machine& machine, const SassFunction& function, const SassOptions& options)
      : machine_(machine), lines_(function.lines), options_(options) {}

  Program loop() {
    const auto [first, last] = timed_part();
    int best_first = -1, best_last = -1;
    std::array<int, 3> best{};
    for (int i = first; i < last; ++i) {
      if (!is_branch(i)) continue;
      const int target = index_of(goes_to(i));
      if (target < first || target > i) continue;
      const std::array<int, 3> weight = weight_of(target, i, 0);
      if (weight > best) {
        best = weight;
        best_first = target;
        best_last = i;
      }
    }
    if (best_first < 0)
      throw std::invalid_argument("found no loop, allowed: a kernel with a branch backwards");
    steps_in(best_first, best_last);
    add(best_first, best_last);
    finish();
    return std::move(program_);
  }

  /// Every line, one op each.
  Program whole() {
    for (const SassLine& one : lines_) {
      program_.add(op_of(one), one.opcode + " " + one.operands);
      reads_.add(one, program_.ops.back());
    }
    finish();
    return std::move(program_);
  }

 private:
  [[nodiscard]] const SassLine& line(int i) const { return lines_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int size() const { return static_cast<int>(lines_.size()); }
  [[nodiscard]] bool is_branch(int i) const { return line(i).opcode.starts_with("BRA"); }
  [[nodiscard]] std::int64_t goes_to(int i) const {
    const std::size_t at = line(i).operands.find("0x");
    return at == std::string::npos ? -1 : sass_number(std::string_view(line(i).operands).substr(at));
  }
  [[nodiscard]] int index_of(std::int64_t address) const {
    const auto at = std::lower_bound(lines_.begin(), lines_.end(), address,
                                     [](const SassLine& x, std::int64_t where) { return x.address < where; });
    return at == lines_.end() || at->address != address ? -1 : static_cast<int>(at - lines_.begin());
  }

  /// Between the last two readings of the clock, or everything.
  [[nodiscard]] std::pair<int, int> timed_part() const {
    std::vector<int> clocks;
    for (int i = 0; i < size(); ++i)
      if (holds(line(i).operands, "SR_CLOCKLO")) clocks.push_back(i);
    if (clocks.size() < 2) return {0, size()};
    return {clocks[clocks.size() - 2] + 1, clocks.back()};
  }

  /// Matrix instructions, accesses to shared memory, instructions, functions that are called included.
  [[nodiscard]] std::array<int, 3> weight_of(int first, int last, int depth) const {
    std::array<int, 3> weight{};
    for (int i = first; i <= last; ++i) {
      weight[0] += is_matrix(line(i).opcode);
      weight[1] += line(i).opcode.starts_with("LDS");
      ++weight[2];
      if (!line(i).opcode.starts_with("CALL") || depth == 2) continue;
      const int begin = index_of(goes_to(i));
      if (begin < 0) continue;
      const std::array<int, 3> called = weight_of(begin, end_of(begin), depth + 1);
      for (std::size_t j = 0; j < 3; ++j) weight[j] += called[j];
    }
    return weight;
  }
  [[nodiscard]] int end_of(int begin) const {
    int end = begin;
    while (end + 1 < size() && !line(end).opcode.starts_with("RET")) ++end;
    return end;
  }

  /// By how much the counter moves: the largest constant that a register is raised by.
  void steps_in(int first, int last) {
    for (int i = first; i <= last; ++i)
      program_.steps = std::max(program_.steps, counter_step(line(i).opcode, line(i).operands));
  }

  /// Adds lines first to last; functions that they call come behind.
  void add(int first, int last) {
    for (int i = first; i <= last; ++i) {
      place_[i] = static_cast<int>(program_.ops.size());
      TimedOp op = op_of(line(i));
      flow_of(i, last, op);
      program_.add(op, line(i).opcode + " " + line(i).operands);
    }
  }

  void flow_of(int i, int last, TimedOp& op) {
    const SassLine& one = line(i);
    if (starts_with_any(one.opcode, {"BRA", "CALL"})) {
      const int target = index_of(goes_to(i));
      if (one.opcode.starts_with("CALL")) {
        if (target < 0) throw std::invalid_argument("found a call of an address that is not in the function");
        op.flow = Flow::call;
        calls_.emplace_back(static_cast<int>(program_.ops.size()), target);
      } else if (i == last && depth_ == 0) {
        op.flow = Flow::loop;
        op.target = 0;
      } else if (one.predicate.empty() && target > i && target <= last) {
        op.flow = Flow::jump;
        jumps_.emplace_back(static_cast<int>(program_.ops.size()), target);
      } else {
        ++not_taken_;
      }
    } else if (one.opcode.starts_with("RET")) {
      op.flow = Flow::back;
    } else if (holds(one.opcode, "WARPGROUP.DEPBAR")) {
      op.flow = Flow::drain;
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
    if (unknown_ > 0)
      program_.notes.push_back(std::to_string(unknown_) +
                               " instructions that the model does not know are taken to be of the ALU");
  }

  TimedOp op_of(const SassLine& one) {
    TimedOp op;
    const ControlWord& control = one.control;
    op.stall = std::max<std::uint8_t>(1, control.stall);
    op.yields = control.yield;
    op.write_barrier = control.write_barrier;
    op.read_barrier = control.read_barrier;
    op.wait_mask = control.wait_mask;
    const std::vector<std::string_view> parts = sass_operands(one.operands);
    op.destination = registers_at(parts, 0, 1);
    for (std::size_t i = 0; i < op.sources.size(); ++i) op.sources[i] = registers_at(parts, i + 1, 1);
    op.latency = static_cast<std::uint32_t>(machine_.cycles(Parameter::fixed_latency));
    if (is_matrix(one.opcode))
      matrix(one, parts, op);
    else
      other(one, op);
    return op;
  }

  void matrix(const SassLine& one, const std::vector<std::string_view>& parts, TimedOp& op) {
    const auto inst = instruction_of(one.opcode);
    if (!inst)
      throw std::invalid_argument("line " + std::to_string(one.number) + ": shape: found " +
                                  printable(one.opcode) + ", allowed: " + std::string(kShapes));
    const bool group = is_wgmma(inst->op);
    const bool from_registers = group && parts.size() > 1 && register_at(parts[1]) >= 0;
    const auto cost = cost_of(machine_, *inst, from_registers);
    op.unit = inst->a == Format::f64 ? Unit::f64 : Unit::tensor;
    if (!cost) {
      ++no_unit_;
      return;
    }
    op.queued = group;
    op.interval2 = static_cast<std::uint32_t>(cost->interval2);
    op.latency = static_cast<std::uint32_t>(cost->latency);
    op.destination = registers_at(parts, 0, cost->d_registers);
    op.sources = {registers_at(parts, 1, cost->a_registers), registers_at(parts, 2, cost->b_registers),
                  registers_at(parts, 3, cost->d_registers)};
    program_.work += multiply_adds_of(one.opcode) / (group ? 4 : 1);  // four warps do one
  }

  void occupy(TimedOp& op, Unit unit, Parameter interval) const {
    op.unit = unit;
    op.interval2 = half_cycles(machine_[interval]);
  }

  void other(const SassLine& one, TimedOp& op) {
    const std::string_view opcode = one.opcode;
    if (starts_with_any(opcode, {"NOP", "CS2R", "BAR", "WARPSYNC", "DEPBAR", "LDGDEPBAR", "WARPGROUP", "BSSY",
                                 "BSYNC", "EXIT"}))
      return;
    if (starts_with_any(opcode, {"LDSM", "LDS", "STS", "STSM", "SHFL", "LDC", "S2R"})) {
      shared(opcode, op);
    } else if (starts_with_any(opcode, {"LDGSTS", "LDG.", "STG", "LD.", "ST.", "LDL", "STL"})) {
      op.unit = Unit::global;
      op.interval2 = 2;
      op.bytes = 128U * static_cast<unsigned>(width_of(opcode));
      op.latency = static_cast<std::uint32_t>(machine_.cycles(Parameter::l1_latency));
    } else if (starts_with_any(opcode, {"BRA", "CALL", "RET", "JMP"})) {
      if (starts_with_any(opcode, {"CALL", "RET"}))
        occupy(op, Unit::alu, Parameter::call_interval);
      else
        occupy(op, Unit::branch, Parameter::alu_interval);
    } else if (starts_with_any(opcode, {"HADD2", "HMUL2", "HFMA2", "FADD", "FMUL", "FFMA"})) {
      const bool as_all = machine_[Parameter::add_interval] == 0;
      occupy(op, Unit::fma, as_all ? Parameter::fma_interval : Parameter::add_interval);
      if (opcode.starts_with("HFMA2") && machine_[Parameter::half_interval] > 0)
        occupy(op, Unit::fma, Parameter::half_interval);
    } else if (opcode.starts_with("F2FP")) {
      occupy(op, Unit::fma, Parameter::fma_interval);
    } else if (starts_with_any(opcode, {"POPC", "MUFU", "F2I", "I2F", "F2F", "FLO", "BREV"})) {
      occupy(op, Unit::special, Parameter::special_interval);
    } else if (starts_with_any(opcode, {"IMAD", "IDP"})) {
      occupy(op, Unit::fma, Parameter::alu_interval);
    } else if (opcode.starts_with('U') || opcode.starts_with("R2UR") || opcode.starts_with("S2UR")) {
      occupy(op, Unit::uniform, Parameter::alu_interval);
    } else if (starts_with_any(opcode, {"DADD", "DMUL", "DFMA"})) {
      occupy(op, Unit::f64, Parameter::interval_f64);
    } else {
      occupy(op, Unit::alu, Parameter::alu_interval);
      if (!starts_with_any(opcode,
                           {"BMSK", "DSETP", "FMNMX",  "FSEL", "FSET", "HMNMX", "HSET",     "IABS", "IADD",
                            "ICMP", "IMNMX", "ISCADD", "ISET", "LEA",  "LOP",   "MOV",      "P2R",  "PLOP",
                            "PRMT", "R2P",   "SEL",    "SGXT", "SHF",  "SHL",   "SHR",      "VABS", "VIADD",
                            "VIMN", "VOTE",  "I2I",    "I2IP", "LEPC", "FCHK",  "NANOSLEEP"}))
        ++unknown_;
    }
  }

  void shared(std::string_view opcode, TimedOp& op) const {
    op.unit = Unit::shared;
    op.latency = 0;
    op.wavefronts = 1;
    if (opcode.starts_with("LDSM")) {
      op.wavefronts = holds(opcode, ".4") ? 4 : holds(opcode, ".2") ? 2 : 1;
      op.destination.count = static_cast<std::uint8_t>(op.destination.count * op.wavefronts);
      op.matrices = true;
    } else if (starts_with_any(opcode, {"LDS", "STS"})) {
      const int width = width_of(opcode);
      op.wavefronts = static_cast<std::uint16_t>(std::max(options_.conflict_ways, width));
      op.latency = static_cast<std::uint32_t>((width - 1) * machine_.cycles(Parameter::shared_wide));
    }
  }

  const Machine& machine_;
  const std::vector<SassLine>& lines_;
  SassOptions options_;
  Program program_;
  std::map<int, int> place_;                        ///< of a line among the ops
  std::vector<std::pair<int, int>> calls_, jumps_;  ///< op, line
  RegisterReads reads_;
  int not_taken_ = 0, no_unit_ = 0, unknown_ = 0, depth_ = 0;
};

}  // namespace

double multiply_adds_of(std::string_view opcode) {
  const auto shape = shape_of(opcode);
  if (!is_matrix(opcode) || !shape) return 0;
  return static_cast<double>((*shape)[0]) * (*shape)[1] * (*shape)[2];
}

Program program_of(const Machine& machine, const SassFunction& function, const SassOptions& options) {
  Program program = Reader(machine, function, options).loop();
  program.name = function.name;
  return program;
}

Program whole_program_of(const Machine& machine, const SassFunction& function) {
  Program program = Reader(machine, function, {}).whole();
  program.name = function.name;
  return program;
}

}  // namespace mmaudit::timing
