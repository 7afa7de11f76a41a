// Registers of a program and of the hardware: their places, what reads and writes them.

#include "mmaudit/name_in.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/refusal.hpp"
#include "state.hpp"

namespace mmaudit::tmem {
namespace {

/// Registers of the hardware, as a function of block (%ctaid.x of the first CTA), CTA and thread.
struct Special {
  std::string_view name;
  int (*value)(int block, int cta, int thread);
};
constexpr Special kSpecials[] = {
    {"%tid.x", [](int, int, int thread) { return thread; }},
    {"%tid.y", [](int, int, int) { return 0; }},
    {"%tid.z", [](int, int, int) { return 0; }},
    {"%ntid.x", [](int, int, int) { return kThreads; }},
    {"%laneid", [](int, int, int thread) { return thread % kWarpLanes; }},
    {"%warpid", [](int, int, int thread) { return thread / kWarpLanes; }},
    {"%ctaid.x", [](int block, int cta, int) { return block + cta; }},
    {"%cluster_ctarank", [](int, int cta, int) { return cta; }},
    {"%cluster_ctaid.x", [](int, int cta, int) { return cta; }},
};

}  // namespace

void Interpreter::State::name_registers() {
  std::map<std::string, int, std::less<>> names;
  int line = 0;
  const auto slot = [&](const std::string& name) {
    if (find_named(kSpecials, name) != nullptr || !name.starts_with('%')) return -1;
    if (undeclared.empty() && !is_declared(program, name))
      undeclared =
          refusal("line {}: register: found {}, allowed: one that .reg declares", line, printable(name));
    return names.try_emplace(name, static_cast<int>(names.size())).first->second;
  };
  const auto note = [&](Operand& operand, const auto& self) -> void {
    operand.slot = slot(operand.name);
    operand.second_slot = slot(operand.second);
    for (Operand& element : operand.elements) self(element, self);
  };
  for (PtxInstruction& one : program.instructions) {
    line = one.line;
    one.predicate_slot = slot(one.predicate);
    for (Operand& operand : one.operands) note(operand, note);
  }
  slots = names.size();
}

std::uint64_t Interpreter::State::value(int thread, const Operand& operand) {
  using Kind = Operand::Kind;
  if (operand.kind == Kind::immediate) return static_cast<std::uint64_t>(operand.value);
  if (operand.kind == Kind::symbol) {
    const auto found = program.variables.find(operand.name);
    if (found == program.variables.end())
      fail(refusal("name: found {}, allowed: a .shared variable", in_quotes(operand.name)));
    return found == program.variables.end() ? 0 : found->second;
  }
  if (operand.kind == Kind::vector) {
    fail(refusal("operand: found a vector, allowed: a register or a number"));
    return 0;
  }
  if (operand.slot < 0) {
    if (const Special* known = find_named(kSpecials, operand.name))
      return static_cast<std::uint64_t>(
          known->value(static_cast<int>(program.block), thread / kThreads, thread % kThreads));
    fail(refusal("register: found {}, allowed: one of the program", printable(operand.name)));
    return 0;
  }
  const std::size_t at = register_place(thread, operand.slot);
  if (register_states[at] == RegisterState::loading)
    fail("order_ld", operand.name + ", which tcgen05.ld may still be writing");
  if (register_states[at] == RegisterState::undefined)
    fail(refusal("register: found {}, which holds no known value, allowed: one that was written",
                 printable(operand.name)));
  return operand.negated ? (registers[at] == 0 ? 1U : 0U) : registers[at];
}

void Interpreter::State::assign(int thread, const Operand& operand, std::uint64_t bits, RegisterState state) {
  if (operand.kind != Operand::Kind::reg) {
    if (operand.kind == Operand::Kind::symbol && operand.name == "_") return;
    return fail(refusal("destination: found no register, allowed: a register"));
  }
  if (operand.slot < 0)
    return fail(
        refusal("destination: found {}, allowed: a register that can be written", printable(operand.name)));
  const std::size_t at = register_place(thread, operand.slot);
  registers[at] = bits;
  register_states[at] = state;
}

std::uint64_t Interpreter::State::address(int thread, const Operand& operand) {
  Operand base = operand;
  base.kind = operand.name.empty()
                  ? Operand::Kind::immediate
                  : (operand.name.front() == '%' ? Operand::Kind::reg : Operand::Kind::symbol);
  if (operand.name.empty()) return static_cast<std::uint64_t>(operand.value);
  return value(thread, base) + static_cast<std::uint64_t>(operand.value);
}

}  // namespace mmaudit::tmem
