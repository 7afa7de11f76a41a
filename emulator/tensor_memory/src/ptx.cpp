#include "mmaudit/tensor_memory/ptx.hpp"

#include <algorithm>
#include <bit>

#include "mmaudit/refusal.hpp"
#include "mmaudit/tensor_memory/mma.hpp"
#include "ptx_text.hpp"

namespace mmaudit::tmem {
namespace {

constexpr std::size_t kMostText = std::size_t{4} << 20;
constexpr int kMostBlocks = 64;  // in one another

/// The parts of `text` between commas outside of brackets and braces.
std::vector<std::string_view> list_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '{')) ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == '}')) --depth;
    if (i < text.size() && (text[i] != ',' || depth != 0)) continue;
    parts.push_back(trimmed(text.substr(first, i - first)));
    first = i + 1;
  }
  return parts;
}

/// Letters, digits and `others` alone.
bool holds_only(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  });
}

std::string read_operand(std::string_view text, Operand& operand) {
  using Kind = Operand::Kind;
  constexpr std::string_view kAllowed = "a register, a number, [address], {vector} or a name";
  if (text.empty()) return refusal("operand: found {}, allowed: {}", in_quotes(text), kAllowed);
  if (text.front() == '{' && text.back() == '}') {
    operand.kind = Kind::vector;
    for (const std::string_view part : list_of(text.substr(1, text.size() - 2))) {
      if (part.starts_with('{'))
        return refusal("operand: found {}, allowed: no vector in a vector", in_quotes(text));
      Operand element;
      if (std::string reason = read_operand(part, element); !reason.empty()) return reason;
      operand.elements.push_back(std::move(element));
    }
    return {};
  }
  if (text.front() == '[' && text.back() == ']') {
    operand.kind = Kind::address;
    std::string_view inside = trimmed(text.substr(1, text.size() - 2));
    const auto plus = inside.find('+');
    if (plus != std::string_view::npos) {
      const auto offset = number_of(inside.substr(plus + 1));
      if (!offset) return refusal("operand: found {}, allowed: [base+number]", in_quotes(text));
      operand.value = *offset;
      inside = trimmed(inside.substr(0, plus));
    }
    if (const auto absolute = number_of(inside))
      operand.value += *absolute;
    else
      operand.name = inside;
    return operand.name.empty() && inside.empty()
               ? refusal("operand: found {}, allowed: an address", in_quotes(text))
               : "";
  }
  if (text.front() == '!') {
    operand.negated = true;
    text = trimmed(text.substr(1));
  }
  if (const auto bar = text.find('|');
      bar != std::string_view::npos && (text.front() == '%' || text.front() == '_')) {
    operand.second = text.substr(bar + 1);
    text = text.substr(0, bar);
  }
  if (!text.empty() && text.front() == '%') {
    operand.kind = Kind::reg;
    operand.name = text;
    return {};
  }
  if (const auto value = number_of(text)) {
    operand.value = *value;
    return {};
  }
  if (!holds_only(text, "_$.") || text.empty())
    return refusal("operand: found {}, allowed: {}", in_quotes(text), kAllowed);
  operand.kind = Kind::symbol;
  operand.name = text;
  return {};
}

std::string read_instruction_text(std::string_view text, PtxInstruction& instruction) {
  instruction.text = text;
  std::replace(instruction.text.begin(), instruction.text.end(), '\n', ' ');
  if (text.front() == '@') {
    const auto end = text.find_first_of(" \t\n");
    if (end == std::string_view::npos)
      return refusal("instruction: found {}, allowed: an instruction after the predicate", in_quotes(text));
    std::string_view guard = text.substr(1, end - 1);
    instruction.predicate_negated = guard.starts_with('!');
    if (instruction.predicate_negated) guard.remove_prefix(1);
    instruction.predicate = guard;
    text = trimmed(text.substr(end));
  }
  const std::size_t end = std::min(text.find_first_of(" \t\n"), text.size());
  std::string_view opcode = text.substr(0, end);
  if (!holds_only(opcode, "_.:"))
    return refusal("instruction: found {}, allowed: an opcode of PTX", in_quotes(opcode));
  while (!opcode.empty()) {
    const std::size_t dot = std::min(opcode.find('.'), opcode.size());
    instruction.opcode.emplace_back(opcode.substr(0, dot));
    opcode.remove_prefix(std::min(dot + 1, opcode.size()));
  }
  const std::string_view rest = trimmed(text.substr(end));
  if (rest.empty()) return {};
  for (const std::string_view part : list_of(rest)) {
    Operand operand;
    if (std::string reason = read_operand(part, operand); !reason.empty()) return reason;
    instruction.operands.push_back(std::move(operand));
  }
  return {};
}

/// ".shared .align 1024 .b8 name[4096]": the next variable of shared memory.
std::string read_variable(std::string_view text, std::uint32_t& next, PtxProgram& program) {
  std::uint64_t align = 4, size = 0, width = 1;
  std::string name;
  const std::vector<std::string> words = words_of(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == ".align" && i + 1 < words.size())
      align = static_cast<std::uint64_t>(number_of(words[i + 1]).value_or(0));
    if (words[i].size() > 2 && words[i][0] == '.' && words[i][1] == 'b')
      width = static_cast<std::uint64_t>(number_of(std::string_view(words[i]).substr(2)).value_or(0)) / 8;
    if (const auto open = words[i].find('['); open != std::string::npos) {
      name = words[i].substr(0, open);
      size = static_cast<std::uint64_t>(
          number_of(std::string_view(words[i]).substr(open + 1, words[i].size() - open - 2)).value_or(0));
    }
  }
  if (name.empty()) {
    name = words.back();
    size = 1;
  }
  const std::uint64_t first = align == 0 ? 0 : (next + align - 1) / align * align;
  if (!std::has_single_bit(align) || width == 0 || size == 0 || size > kMostElements ||
      first + size * width > kSharedBytes)
    return refusal(
        ".shared: found {}, allowed: \".shared .align N .b8 name[BYTES]\", N a power of two, all variables "
        "within 232448 bytes",
        in_quotes(text));
  program.variables[name] = static_cast<std::uint32_t>(first);
  next = static_cast<std::uint32_t>(first + size * width);
  return {};
}

/// ".reg .b32 %r<40>", ".reg .pred %p, %q": what registers there are.
std::string read_registers(std::string_view text, PtxProgram& program) {
  const std::size_t first = text.find('%');
  if (first == std::string_view::npos)
    return refusal(".reg: found {}, allowed: \".reg .TYPE %NAME<COUNT>\"", in_quotes(text));
  for (std::string_view one : list_of(text.substr(first))) {
    std::uint32_t count = 0;
    if (const auto open = one.find('<'); open != std::string_view::npos) {
      const auto given = number_of(one.substr(open + 1, one.size() - open - 2));
      if (one.back() != '>' || !given || *given < 1 || *given > std::int64_t{kMostElements})
        return refusal(".reg: found {}, allowed: %NAME<COUNT>, COUNT from 1 to 2^20", in_quotes(one));
      count = static_cast<std::uint32_t>(*given);
      one = one.substr(0, open);
    }
    std::uint32_t& most = program.declared[std::string(one)];
    most = std::max(most, count);
  }
  return {};
}

/// Lines and comments; statements come out one by one.
struct Reader {
  PtxProgram& program;
  std::uint32_t next_variable = 0;
  int open_braces = 0, entries = 0, block = 0;
  std::vector<int> around = {-1};  ///< of each block in braces the block around it
  std::vector<int> blocks{};       ///< of each instruction

  /// Counts the braces of `text`; why they can't be, or nothing.
  std::string braces(std::string_view text) {
    for (const char c : text) {
      open_braces += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (open_braces > kMostBlocks)
        return refusal("brace: found \"{\", allowed: 64 blocks in one another at most");
      if (open_braces < 0) return refusal("brace: found \"}\", allowed: after \"{\"");
      if (c == '}') block = around[static_cast<std::size_t>(block)];
      if (c != '{') continue;
      around.push_back(block);
      block = static_cast<int>(around.size()) - 1;
    }
    return {};
  }

  std::string statement(std::string_view text, int line) {
    text = trimmed(text);
    // Labels stand before an instruction.
    for (auto colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':')) {
      const std::string_view name = text.substr(0, colon);
      const bool label = !name.empty() && name.find_first_of(" \t\n.,[]{}@%") == std::string_view::npos &&
                         !text.substr(colon).starts_with("::");
      if (!label) break;
      if (!program.labels.emplace(label_in(name, block), program.instructions.size()).second)
        return refusal("label: found {}, allowed: one label of a name in a block", in_quotes(name));
      text = trimmed(text.substr(colon + 1));
    }
    while (!text.empty() && (text.front() == '{' || text.front() == '}')) {
      if (std::string reason = braces(text.substr(0, 1)); !reason.empty()) return reason;
      text = trimmed(text.substr(1));
    }
    if (text.empty()) return {};
    if (text.front() == '.') {
      if (text.starts_with(".shared") || text.starts_with(".extern .shared"))
        return read_variable(text, next_variable, program);
      return text.starts_with(".reg") ? read_registers(text, program) : "";
    }
    PtxInstruction instruction;
    instruction.line = line;
    std::string reason = read_instruction_text(text, instruction);
    program.instructions.push_back(std::move(instruction));
    blocks.push_back(block);
    return reason;
  }

  /// A label's name is known in its block and the blocks inside it.
  static std::string label_in(std::string_view name, int block) {
    return std::string(name).append(" ").append(std::to_string(block));
  }

  /// Branches name the label of the innermost block around them that has it.
  void bind_labels() {
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      PtxInstruction& one = program.instructions[i];
      if (one.opcode.empty() || one.opcode[0] != "bra" || one.operands.empty()) continue;
      for (int in = blocks[i]; in >= 0; in = around[static_cast<std::size_t>(in)]) {
        if (!program.labels.contains(label_in(one.operands[0].name, in))) continue;
        one.operands[0].name = label_in(one.operands[0].name, in);
        break;
      }
    }
  }

  /// A line that ends without ';': what stands outside of instructions.
  std::string head(std::string_view line) {
    constexpr std::string_view kTarget = ".target";
    if (line.starts_with(kTarget)) {
      const std::string_view given = trimmed(line.substr(kTarget.size()));
      program.target = trimmed(given.substr(0, given.find(',')));
      if (program.target.ends_with('f'))
        program.target.back() = 'a';  // of a family; its first member runs it
      if (program.target == "sm_100" || program.target == "sm_103")
        return refusal("{}: found {}, allowed: sm_100a, sm_100f, sm_103a or sm_103f: no other has tcgen05",
                       kTarget, in_quotes(given));
    }
    if (line.find(".entry") != std::string_view::npos && ++entries > 1)
      return refusal(".entry: found {}, allowed: one kernel in a file", in_quotes(line));
    return braces(line);
  }
};

/// What stands before the next semicolon, white space as one blank: however much of it there is, a look at
/// the end costs the same.
struct Pending {
  std::string text;
  int line = 0;  ///< where it begins
  bool two_words = false;

  void add(std::string_view part, int number) {
    for (const char c : part) {
      const bool blank = std::string_view(" \t\r\v\f").find(c) != std::string_view::npos;
      if (blank && (text.empty() || text.back() == ' ')) continue;
      if (text.empty()) line = number;
      two_words = two_words || (!blank && text.ends_with(' '));
      text += blank ? ' ' : c;
    }
  }
  [[nodiscard]] std::string_view words() const { return trimmed(text); }
  void clear() { *this = {}; }
};

/// The line without its comments, each of which is white space.
std::string without_comments(std::string_view line, bool& inside) {
  std::string out;
  while (!line.empty()) {
    const std::size_t end = line.find(inside ? "*/" : "/*");
    const std::string_view part = line.substr(0, end);
    const std::size_t rest_of_line = inside ? std::string_view::npos : part.find("//");
    if (!inside) out += part.substr(0, rest_of_line);
    if (end == std::string_view::npos || rest_of_line != std::string_view::npos) break;
    out += ' ';
    inside = !inside;
    line.remove_prefix(end + 2);
  }
  return out;
}

bool is_head(std::string_view line) {
  constexpr std::string_view kHeads[] = {
      ".version", ".target",  ".address_size",      ".visible",         ".entry",
      ".maxntid", ".reqntid", ".reqnctapercluster", ".explicitcluster", ".func"};
  return std::any_of(std::begin(kHeads), std::end(kHeads),
                     [&](std::string_view x) { return line.starts_with(x); });
}

}  // namespace

bool PtxInstruction::has(std::string_view part) const {
  return std::find(opcode.begin(), opcode.end(), part) != opcode.end();
}

std::string_view PtxInstruction::after(std::string_view prefix) const {
  for (const std::string& part : opcode)
    if (part.starts_with(prefix)) return std::string_view(part).substr(prefix.size());
  return {};
}

std::string parse_ptx(std::string_view text, PtxProgram& program) {
  program = {};
  if (text.size() > kMostText) return refusal("found {} bytes, allowed: at most 4 MiB", text.size());
  Reader reader{program};
  Pending pending;
  int line_number = 0;
  const auto at = [](int line, std::string_view reason) {
    return reason.empty() ? std::string() : "line " + std::to_string(line) + ": " + std::string(reason);
  };
  bool in_comment = false;
  std::size_t elements = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (whole.starts_with("//!")) {
      const std::string_view directive = trimmed(whole.substr(3));
      if (std::string reason; read_launch(directive, program, reason)) {
        if (!reason.empty()) return at(line_number, reason);
        continue;
      }
      Fill fill;
      fill.line = line_number;
      if (std::string reason = read_fill(directive, fill); !reason.empty()) return at(line_number, reason);
      elements += static_cast<std::size_t>(fill.rows) * static_cast<std::size_t>(fill.columns);
      if (elements > 4 * kMostElements)
        return at(line_number, refusal("//!: found over 2^22 elements, allowed: at most 2^22"));
      program.fills.push_back(std::move(fill));
      continue;
    }
    const std::string code = without_comments(whole, in_comment);
    std::string_view line = trimmed(code);
    if (pending.text.empty() && is_head(line)) {
      if (std::string reason = reader.head(line); !reason.empty()) return at(line_number, reason);
      continue;
    }
    for (std::size_t semicolon = 0; (semicolon = line.find(';')) != std::string_view::npos;) {
      pending.add(line.substr(0, semicolon), line_number);
      line.remove_prefix(semicolon + 1);
      if (std::string reason = reader.statement(pending.text, pending.line); !reason.empty())
        return at(pending.line, reason);
      pending.clear();
    }
    pending.add(line, line_number);
    pending.add(" ", line_number);
    // A label or a brace alone needs no semicolon.
    const std::string_view rest = pending.words();
    if (rest == "{" || rest == "}" || (rest.ends_with(':') && !pending.two_words)) {
      if (std::string reason = reader.statement(rest, line_number); !reason.empty())
        return at(line_number, reason);
      pending.clear();
    }
  }
  const std::string_view rest = pending.words();
  if (rest.find_first_not_of("{}() ") != std::string_view::npos)
    return at(pending.line,
              refusal("instruction: found {}, allowed: a semicolon at its end", in_quotes(rest)));
  if (std::string reason = reader.braces(rest); !reason.empty()) return at(line_number, reason);
  if (reader.open_braces != 0)
    return at(line_number, refusal("braces: found {} open at the end, allowed: 0", reader.open_braces));
  reader.bind_labels();
  return program.instructions.empty() ? refusal("found no instruction, allowed: the PTX of a kernel") : "";
}

bool is_declared(const PtxProgram& program, std::string_view name) {
  if (program.declared.empty() || program.declared.contains(name)) return true;
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  const auto counted = program.declared.find(name.substr(0, digits));
  const auto number = number_of(name.substr(digits));
  return counted != program.declared.end() && number && *number < std::int64_t{counted->second};
}

}  // namespace mmaudit::tmem
