#include "mmaudit/tensor_memory/interpreter.hpp"

#include <algorithm>

#include "mmaudit/printable.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/scale_layout.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "mmaudit/tensor_memory/shared_matrix.hpp"
#include "state.hpp"

namespace mmaudit::tmem {
namespace {

constexpr std::size_t kMostSteps = 10'000;
constexpr std::size_t kMostRegisters = 16384;

/// Element `index` of a fill that is made and not read.
std::uint64_t made_element(const Fill& fill, std::size_t index, std::uint64_t& seed) {
  const FormatSpec format = spec_of(fill.format);
  if (fill.source == "zero") return 0;
  if (fill.source == "iota") return index & 0x7U;
  // Random bits without infinity and NaN: the top exponent bit stays clear.
  const std::uint64_t bits = splitmix64(seed) & ((std::uint64_t{1} << format.value_bits()) - 1);
  const bool special = !format.integer() && format.specials != Specials::finite;
  const std::uint64_t top = (format.magnitude_mask() + 1) >> 1;
  return (special ? bits & ~top : bits) << format.ignored_low_bits;
}

/// Writes one fill into the shared memory of a CTA, or into the global memory of an input; a refusal when it
/// does not fit.
std::string apply(const Fill& fill, std::vector<std::uint8_t>& memory, Cta* shared) {
  std::uint64_t seed = 0;
  if (fill.source == "random")
    for (const char c : fill.argument) seed = mix(seed * 31 + static_cast<unsigned char>(c));
  const std::size_t count = static_cast<std::size_t>(fill.rows) * static_cast<std::size_t>(fill.columns);
  std::vector<std::uint64_t> elements = fill.elements;
  if (elements.empty())
    for (std::size_t i = 0; i < count; ++i) elements.push_back(made_element(fill, i, seed));
  if (elements.size() != count) return refusal("found {} elements, allowed: {}", elements.size(), count);
  MatrixDescriptor matrix;
  const bool is_matrix = fill.role == Fill::Role::a || fill.role == Fill::Role::b;
  if (is_matrix)
    if (std::string reason = decode(fill.place, matrix); !reason.empty()) return reason;
  const Packing packing = packing_of(fill.format, fill.dense4);
  const int bytes = spec_of(fill.format).storage_bits / 8;
  for (std::size_t i = 0; i < count; ++i) {
    const int row = static_cast<int>(i) / fill.columns, column = static_cast<int>(i) % fill.columns;
    std::uint64_t byte = 0;
    int bit = 0, width = 8 * bytes;
    if (is_matrix) {
      const bool b = fill.role == Fill::Role::b;  // B is given as K rows of N columns
      const ElementPlace place =
          element_place(matrix, packing, fill.transposed, b ? column : row, b ? row : column);
      byte = place.byte;
      bit = place.bit;
      width = packing.width;
    } else if (fill.role == Fill::Role::scales) {
      // As tcgen05.cp.32x128b.warpx4 reads them: rows 32 apart share 16 bytes, four bytes each.
      byte = fill.place + blocked_scale_index(static_cast<std::uint64_t>(row),
                                              static_cast<std::uint64_t>(column), kScaleTileBlocks);
    } else {
      byte = (fill.role == Fill::Role::words ? fill.place : 0) + i * static_cast<std::uint64_t>(bytes);
    }
    if (byte + static_cast<std::uint64_t>((bit + width + 7) / 8) > memory.size())
      return refuse(rule("shared_end"), std::to_string(byte));
    put_bits(memory, static_cast<std::uint32_t>(byte), bit, width, elements[i]);
    if (shared != nullptr) shared->mark_written(byte, static_cast<std::size_t>((bit + width + 7) / 8));
  }
  return {};
}

}  // namespace

Interpreter::Interpreter(PtxProgram given, const Architecture& architecture)
    : state_(std::make_unique<State>(std::move(given), architecture)) {
  State& state = *state_;
  const PtxProgram& program = state.program;
  for (const PtxInstruction& instruction : program.instructions)
    if (instruction.has("cta_group::2")) state.count = 2;
  for (const Fill& fill : program.fills)
    if (fill.cta == 1) state.count = 2;
  const auto count = static_cast<std::size_t>(state.count);
  for (std::size_t i = 0; i < count; ++i) state.ctas.push_back(std::make_unique<Cta>());
  state.columns.resize(count);
  state.letters.resize(count);
  state.name_registers();
  const std::size_t all = state.slots > kMostRegisters ? 0 : state.slots * kThreads * count;
  state.registers.resize(all);
  state.register_states.resize(all, RegisterState::undefined);
}

Interpreter::~Interpreter() = default;

int Interpreter::ctas() const { return state_->count; }
const Cta& Interpreter::cta(int index) const { return *state_->ctas[static_cast<std::size_t>(index)]; }

std::string Interpreter::run(const std::function<void(const Step&)>& observe) {
  State& state = *state_;
  for (std::size_t i = 0; i < state.program.fills.size(); ++i) {
    const Fill& fill = state.program.fills[i];
    if (fill.role == Fill::Role::output) {
      state.outputs[i].resize(static_cast<std::size_t>(fill.rows) * static_cast<std::size_t>(fill.columns));
      state.stored[i].resize(state.outputs[i].size());
      continue;
    }
    const bool global = fill.role == Fill::Role::input;
    if (global)
      state.inputs[i].resize(static_cast<std::size_t>(fill.rows) * static_cast<std::size_t>(fill.columns) *
                             spec_of(fill.format).storage_bytes());
    Cta* const cta = global ? nullptr : state.ctas[static_cast<std::size_t>(fill.cta)].get();
    if (std::string reason = apply(fill, global ? state.inputs[i] : cta->shared, cta); !reason.empty())
      return "line " + std::to_string(fill.line) + ": //! " + (global ? "global: " : "shared: ") + reason;
  }
  if (state.slots > kMostRegisters)
    return refusal("registers: found {} names, allowed: at most 16384", state.slots);
  if (!state.undeclared.empty()) return state.undeclared;
  for (const PtxInstruction& instruction : state.program.instructions) {
    const std::string_view group = instruction.after("cta_group::");
    if (state.cta_group.empty()) state.cta_group = group;
    if (group.empty() || group == state.cta_group) continue;
    return "line " + std::to_string(instruction.line) + ": " + printable(instruction.text) + ": " +
           refuse(rule("cta_group_same"), std::string(group) + " after " + state.cta_group);
  }
  // Only a loop takes more steps than there are instructions.
  const std::size_t most = kMostSteps + state.program.instructions.size();
  const bool waits =
      std::any_of(state.program.instructions.begin(), state.program.instructions.end(),
                  [](const PtxInstruction& one) { return one.has("try_wait") || one.has("test_wait"); });
  for (std::size_t steps = 0; !state.ended && state.next < state.program.instructions.size(); ++steps) {
    state.instruction = &state.program.instructions[state.next];
    if (steps == most) {
      if (waits)
        state.fail("wait_forever", std::to_string(most) + " steps");
      else
        state.fail(not_modelled(gap("loop")));
    }
    if (!state.failed()) state.execute();
    if (state.failed())
      return "line " + std::to_string(state.instruction->line) + ": " + printable(state.instruction->text) +
             ": " + state.failure;
    if (observe) observe(state.step);
  }
  for (const auto& cta : state.ctas)
    if (std::string reason = cta->memory.why_not_empty(); !reason.empty()) return reason;
  return {};
}

std::vector<std::uint64_t> Interpreter::output(std::size_t fill) const { return state_->outputs.at(fill); }

std::size_t Interpreter::not_stored(std::size_t fill) const {
  const std::vector<bool>& stored = state_->stored.at(fill);
  return static_cast<std::size_t>(std::count(stored.begin(), stored.end(), false));
}

char Interpreter::letter(int cta, int warp, int column) const {
  const auto c = static_cast<std::size_t>(cta);
  if (!state_->ctas[c]->memory.allocated(column)) return '.';
  const char letter = state_->letters[c][static_cast<std::size_t>(warp)][static_cast<std::size_t>(column)];
  return letter == 0 ? '-' : letter;
}

std::string Interpreter::picture(int cta) const {
  constexpr int kPerCharacter = 8;
  std::string text = "  lanes    columns 0 to 511, one character per 8\n";
  for (int warp = 0; warp < kQuarters; ++warp) {
    const std::string first = std::to_string(warp * kWarpLanes),
                      last = std::to_string(warp * kWarpLanes + kWarpLanes - 1);
    std::string line = std::string(5 - first.size(), ' ').append(first).append("-").append(last);
    line.append(4 - last.size(), ' ');
    for (int column = 0; column < kColumns; column += kPerCharacter) {
      char shown = letter(cta, warp, column);
      for (int c = column; c < column + kPerCharacter; ++c)
        if (shown == '-' || shown == '.') shown = letter(cta, warp, c);
      line += shown;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace mmaudit::tmem
