// ld and st: shared memory, global memory and the parameters of the kernel.
#include "mmaudit/raw_words.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "state.hpp"
#include "widths.hpp"

namespace mmaudit::tmem {

void Interpreter::State::load_parameter() {
  const Operand destination = operand(0), where = operand_of(1, Operand::Kind::address);
  const int width = width_of(instruction->opcode.back());
  if (failed()) return;
  const auto found = program.parameters.find(where.name);
  if (found == program.parameters.end() || where.value != 0)
    return fail(
        refusal("parameter: found {}, allowed: one that \"//! param NAME VALUE\" gives, without an offset",
                in_quotes(where.name)));
  if (width < 64 && found->second >> width != 0)
    return fail(refusal("parameter: found {}, allowed: one of {} bits", found->second, width));
  for (const int thread : active) assign(thread, destination, found->second);
}

const std::uint8_t* Interpreter::State::global_bytes(std::uint64_t at, std::size_t bytes) {
  for (const auto& [index, memory] : inputs) {
    const std::uint64_t first = program.fills[index].place;
    if (at >= first && at - first < memory.size() && bytes <= memory.size() - (at - first))
      return memory.data() + (at - first);
  }
  fail(refusal("address: found {}, allowed: one inside a \"//! global\" with a source", at));
  return nullptr;
}

void Interpreter::State::store_global(std::uint64_t at, std::size_t bytes, std::uint64_t bits) {
  bool inside = false;
  for (auto& [index, elements] : outputs) {
    const Fill& fill = program.fills[index];
    const std::size_t each = spec_of(fill.format).storage_bytes();
    if (at < fill.place || at - fill.place > (elements.size() - 1) * each || each != bytes ||
        (at - fill.place) % each != 0)
      continue;
    elements[(at - fill.place) / each] = bits;
    stored[index][(at - fill.place) / each] = true;
    inside = true;
  }
  if (!inside)
    fail(refusal("address: found {}, allowed: one inside a \"//! global\" of elements of this width", at));
}

void Interpreter::State::memory() {
  const bool store = instruction->opcode.front() == "st";
  if (!store && instruction->has("param")) return load_parameter();
  const std::size_t bytes = static_cast<std::size_t>(width_of(instruction->opcode.back())) / 8;
  const bool shared = instruction->has("shared") || instruction->has("shared::cta");
  if (bytes == 0 || (!shared && !instruction->has("global")))
    return fail(
        refusal("state space and type: found another, allowed: ld.param, and ld and st .shared and .global, "
                "of .b8 to .b64"));
  const Operand where = operand_of(store ? 0 : 1, Operand::Kind::address), what = operand(store ? 1 : 0);
  if (failed()) return;
  const std::vector<Operand> parts =
      what.kind == Operand::Kind::vector ? what.elements : std::vector<Operand>{what};
  const auto loaded = [&](const std::uint8_t* from) {
    const std::uint64_t bits = load_word(from, bytes, 0);
    const bool is_signed = instruction->opcode.back().front() == 's';  // fills the register with its sign
    return is_signed ? static_cast<std::uint64_t>(extended(bits, static_cast<int>(8 * bytes))) : bits;
  };
  const auto given = [&](int thread, const Operand& part) {
    return masked(value(thread, part), static_cast<int>(8 * bytes));
  };
  for (const int thread : active) {
    const std::uint64_t base = address(thread, where);
    Cta& cta = *ctas[static_cast<std::size_t>(thread / kThreads)];
    std::vector<std::uint8_t>& memory = cta.shared;
    if (!failed() && base % (bytes * parts.size()) != 0)
      fail("ld_alignment", std::to_string(base) + " for " + std::to_string(bytes * parts.size()) + " bytes");
    for (std::size_t i = 0; i < parts.size() && !failed(); ++i) {
      const std::uint64_t at = base + i * bytes;
      if (shared && at > memory.size() - bytes) return fail("shared_end", std::to_string(at));
      if (shared && store) {
        store_word(memory.data() + at, bytes, 0, given(thread, parts[i]));
        cta.mark_written(at, bytes);
      } else if (shared) {
        assign(thread, parts[i], loaded(memory.data() + at),
               cta.written(at, bytes) ? RegisterState::known : RegisterState::undefined);
      } else if (store) {
        store_global(at, bytes, given(thread, parts[i]));
      } else if (const std::uint8_t* const from = global_bytes(at, bytes); from != nullptr) {
        assign(thread, parts[i], loaded(from));
      }
    }
    if (failed()) return;
  }
}

}  // namespace mmaudit::tmem
