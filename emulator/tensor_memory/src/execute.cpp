// Everything but tcgen05 and memory: registers, mbarriers, branches.
#include <algorithm>
#include <bit>
#include <iterator>

#include "mmaudit/name_in.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "state.hpp"
#include "widths.hpp"

namespace mmaudit::tmem {
namespace {

/// Instructions that change nothing here: threads go together, and memory is one.
constexpr std::string_view kNothing[] = {"bar", "barrier", "fence", "membar", "griddepcontrol", "nop"};

using Function = std::uint64_t (*)(std::uint64_t, std::uint64_t, std::uint64_t);
struct Alu {
  std::string_view name;
  std::size_t operands;  ///< read
  Function function;
};
constexpr Alu kAlu[] = {
    {"mov", 1, [](std::uint64_t x, std::uint64_t, std::uint64_t) { return x; }},
    {"cvta", 1, [](std::uint64_t x, std::uint64_t, std::uint64_t) { return x; }},
    {"cvt", 1, [](std::uint64_t x, std::uint64_t, std::uint64_t) { return x; }},
    {"not", 1, [](std::uint64_t x, std::uint64_t, std::uint64_t) { return ~x; }},
    {"add", 2, [](std::uint64_t x, std::uint64_t y, std::uint64_t) { return x + y; }},
    {"sub", 2, [](std::uint64_t x, std::uint64_t y, std::uint64_t) { return x - y; }},
    {"mul", 2, [](std::uint64_t x, std::uint64_t y, std::uint64_t) { return x * y; }},
    {"mad", 3, [](std::uint64_t x, std::uint64_t y, std::uint64_t z) { return x * y + z; }},
    {"and", 2, [](std::uint64_t x, std::uint64_t y, std::uint64_t) { return x & y; }},
    {"or", 2, [](std::uint64_t x, std::uint64_t y, std::uint64_t) { return x | y; }},
    {"xor", 2, [](std::uint64_t x, std::uint64_t y, std::uint64_t) { return x ^ y; }},
    {"shl", 2, [](std::uint64_t x, std::uint64_t y, std::uint64_t) { return y > 63 ? 0 : x << y; }},
    {"shr", 2, [](std::uint64_t x, std::uint64_t y, std::uint64_t) { return y > 63 ? 0 : x >> y; }},
    {"selp", 3, [](std::uint64_t x, std::uint64_t y, std::uint64_t p) { return p != 0 ? x : y; }},
};

struct SetpRule {
  std::string_view name;
  bool (*holds)(std::int64_t, std::int64_t);
};
constexpr SetpRule kSetpRules[] = {
    {"eq", [](std::int64_t x, std::int64_t y) { return x == y; }},
    {"ne", [](std::int64_t x, std::int64_t y) { return x != y; }},
    {"lt", [](std::int64_t x, std::int64_t y) { return x < y; }},
    {"le", [](std::int64_t x, std::int64_t y) { return x <= y; }},
    {"gt", [](std::int64_t x, std::int64_t y) { return x > y; }},
    {"ge", [](std::int64_t x, std::int64_t y) { return x >= y; }},
};

/// The first part of an arithmetic opcode that the functions above ignore (.hi, .sat, .f32, ...), or nothing.
std::string not_followed(const PtxInstruction& instruction) {
  constexpr std::string_view kFollowed[] = {"lo", "wide", "to", "shared", "shared::cta", "global"};
  const auto& opcode = instruction.opcode;
  const bool moves = opcode.front() == "mov" || opcode.front() == "selp", converts = opcode.front() == "cvt";
  for (std::size_t i = 1; i < opcode.size(); ++i) {
    const std::string& part = opcode[i];
    const bool type = i + 1 == opcode.size() || converts;
    const bool compares = opcode.front() == "setp" && find_named(kSetpRules, part) != nullptr;
    const bool followed =
        type ? width_of(part) != 0 && (moves || part != "f32")
             : compares || std::find(std::begin(kFollowed), std::end(kFollowed), part) != std::end(kFollowed);
    if (!followed) return part;
  }
  return converts && opcode.size() != 3 ? opcode.back() : std::string();
}

}  // namespace

void Interpreter::State::fail(std::string_view name, std::string_view found) {
  fail(refuse(rule(name), found));
}

const Operand& Interpreter::State::operand(std::size_t index) {
  static const Operand none;
  if (index < instruction->operands.size()) return instruction->operands[index];
  fail(refusal("operands: found {}, allowed: more", instruction->operands.size()));
  return none;
}

const Operand& Interpreter::State::operand_of(std::size_t index, Operand::Kind kind) {
  const Operand& found = operand(index);
  if (found.kind != kind)
    fail(refusal("operand {}: found another kind, allowed: {}", index + 1,
                 kind == Operand::Kind::address  ? "[address]"
                 : kind == Operand::Kind::vector ? "{vector}"
                                                 : "a number"));
  return found;
}

void Interpreter::State::execute() {
  step = {instruction, {}, false};
  active.clear();
  Operand guard;
  guard.kind = Operand::Kind::reg;
  guard.name = instruction->predicate;
  guard.slot = instruction->predicate_slot;
  for (int thread = 0; thread < count * kThreads; ++thread)
    if (guard.name.empty() || (value(thread, guard) != 0) != instruction->predicate_negated)
      active.push_back(thread);
  if (failed()) return;
  ++next;
  const std::string_view name = instruction->opcode.front();
  if (name == "bra") return branch();
  if (active.empty()) return;
  if (name == "tcgen05") return tcgen05();
  if (name == "setp" || find_named(kAlu, name) != nullptr) return alu();
  if (name == "ld" || name == "st") return memory();
  if (name == "mbarrier") return mbarrier();
  if (name == "elect") return elect();
  if (name == "ret" || name == "exit") {
    if (!everyone()) return fail(not_modelled(gap("branch")));
    ended = true;
    return;
  }
  if (std::find(std::begin(kNothing), std::end(kNothing), name) != std::end(kNothing)) return;
  fail(refusal(
      "instruction: found {}, allowed: tcgen05, ld, st, mbarrier, elect, bra, setp, {}, {}, ret, exit",
      in_quotes(name), names_of(kAlu), names_of(kNothing)));
}

void Interpreter::State::branch() {
  if (!active.empty() && !everyone()) return fail(not_modelled(gap("branch")));
  const auto label = program.labels.find(operand(0).name);
  if (label == program.labels.end())
    return fail(refusal("label: found \"{}\", allowed: one of the program", operand(0).name));
  if (!active.empty()) next = label->second;
}

void Interpreter::State::elect() {
  // "elect.sync _|%p, mask": the first thread of the mask in every warp.
  const Operand destination = operand(0);
  Operand predicate;
  predicate.kind = Operand::Kind::reg;
  predicate.name = destination.second;
  predicate.slot = destination.second_slot;
  for (const int thread : active) {
    const auto mask = static_cast<std::uint32_t>(value(thread, operand(1)));
    if (failed()) return;
    if ((mask >> thread % kWarpLanes & 1U) == 0) return fail("elect_mask", std::to_string(mask));
    const int leader = std::countr_zero(mask);
    if (destination.name != "_") assign(thread, destination, static_cast<std::uint64_t>(leader));
    if (!predicate.name.empty()) assign(thread, predicate, thread % kWarpLanes == leader ? 1 : 0);
  }
}

void Interpreter::State::alu() {
  const std::string_view name = instruction->opcode.front();
  const int width = width_of(instruction->opcode.back());
  if (width == 0)
    return fail(refusal("type: found .{}, allowed: .b, .u and .s of 8 to 64 bits, and .pred",
                        instruction->opcode.back()));
  if (const std::string part = not_followed(*instruction); !part.empty())
    return fail(
        refusal("qualifier: found .{} of {}, allowed: .lo, .wide, a comparison of setp, and types of "
                "integers; .f32 of mov and selp",
                part, name));
  const bool is_signed = instruction->opcode.back().front() == 's';
  if (name == "setp") {
    const auto* const found = std::find_if(std::begin(kSetpRules), std::end(kSetpRules),
                                           [&](const SetpRule& x) { return instruction->has(x.name); });
    if (found == std::end(kSetpRules))
      return fail(refusal("comparison: found none, allowed: {}", names_of(kSetpRules)));
    const Operand p = operand(0), x = operand(1), y = operand(2);
    for (const int thread : active) {
      const std::uint64_t left = masked(value(thread, x), width), right = masked(value(thread, y), width);
      // Unsigned numbers keep their order as signed ones when the top bit is flipped.
      const auto ordered = [&](std::uint64_t bits) {
        return is_signed ? extended(bits, width) : static_cast<std::int64_t>(bits ^ std::uint64_t{1} << 63);
      };
      assign(thread, p, found->holds(ordered(left), ordered(right)) ? 1 : 0);
    }
    return;
  }
  const Alu& alu = *find_named(kAlu, name);
  const Operand destination = operand(0);
  const Operand sources[] = {operand(1), alu.operands > 1 ? operand(2) : Operand{},
                             alu.operands > 2 ? operand(3) : Operand{}};
  // mul.wide and mad.wide give twice the width of what they read.
  const int out = instruction->has("wide") ? 2 * width
                  : name == "cvt"          ? width_of(instruction->opcode[instruction->opcode.size() - 2])
                                           : width;
  for (const int thread : active) {
    std::uint64_t read[3] = {};
    for (std::size_t i = 0; i < alu.operands; ++i) {
      const bool shifts = name == "shl" || name == "shr";  // by a number of 32 bits, whatever is shifted
      const int used = name == "selp" && i == 2             ? 1
                       : shifts && i == 1                   ? 32
                       : instruction->has("wide") && i == 2 ? out
                                                            : width;
      if (const auto parts = sources[i].elements; !parts.empty()) {  // mov.b64 %rd, {lo, hi}
        const int part = used / static_cast<int>(std::min<std::size_t>(parts.size(), 8));
        for (std::size_t e = 0; e < std::min<std::size_t>(parts.size(), 8); ++e)
          read[i] |= masked(value(thread, parts[e]), part) << static_cast<int>(e) * part;
      } else {
        read[i] = masked(value(thread, sources[i]), used);
      }
      if (is_signed && !shifts) read[i] = static_cast<std::uint64_t>(extended(read[i], used));
    }
    std::uint64_t result = alu.function(read[0], read[1], read[2]);
    if (name == "shr" && is_signed)
      result = static_cast<std::uint64_t>(extended(read[0], width) >> std::min<std::uint64_t>(read[1], 63));
    if (destination.kind == Operand::Kind::vector) {  // mov.b64 {lo, hi}, %rd
      const int part = width / static_cast<int>(destination.elements.size());
      for (std::size_t i = 0; i < destination.elements.size(); ++i)
        assign(thread, destination.elements[i], masked(result >> static_cast<int>(i) * part, part));
    } else {
      assign(thread, destination, masked(result, out));
    }
  }
}

void Interpreter::State::mbarrier() {
  const bool init = instruction->has("init"), arrive = instruction->has("arrive"),
             inval = instruction->has("inval"),
             wait = instruction->has("try_wait") || instruction->has("test_wait");
  if (!init && !arrive && !inval && !(wait && instruction->has("parity")))
    return fail(refusal(
        "mbarrier: found another form, allowed: init, inval, arrive, try_wait.parity and test_wait.parity"));
  const Operand where = operand_of(wait || arrive ? 1 : 0, Operand::Kind::address);
  for (const int thread : active) {
    if (failed()) return;
    const std::pair<int, std::uint32_t> key{thread / kThreads,
                                            static_cast<std::uint32_t>(address(thread, where))};
    if (init) {
      barriers[key] = {};
      barriers[key].expected = static_cast<std::uint32_t>(value(thread, operand(1)));
      continue;
    }
    const auto found = barriers.find(key);
    if (found == barriers.end()) return fail("mbarrier_init", "address " + std::to_string(key.second));
    MBarrier& barrier = found->second;
    const auto arrives = [&](int commit) {
      if (++barrier.arrived < barrier.expected) return;
      barrier.arrived = 0;
      barrier.phase = !barrier.phase;
      barrier.completed = std::max(barrier.completed, commit);
    };
    if (arrive) {
      arrives(0);
    } else if (wait) {
      // What a commit tracks ends some time: here, when somebody asks.
      for (const int commit : std::exchange(barrier.commits, {})) arrives(commit);
      const std::uint64_t parity = value(thread, operand(2));
      if (parity > 1) return fail("mbarrier_parity", std::to_string(parity));
      const bool over = barrier.phase != (parity != 0);
      assign(thread, operand(0), over ? 1 : 0);
      if (over) complete(barrier.completed);
    }
  }
  if (inval)
    for (const int thread : active)
      barriers.erase({thread / kThreads, static_cast<std::uint32_t>(address(thread, where))});
}

}  // namespace mmaudit::tmem
