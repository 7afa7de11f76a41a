#pragma once
// A text of PTX instructions, read: what interpreter.hpp runs. Of a module it takes the body of one kernel;
// lines that begin with "//!" are directives of this program and comments to ptxas.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit::tmem {

/// One operand: a register, an immediate, an address, a vector in braces, or a symbol (variable or label).
struct Operand {
  enum class Kind : std::uint8_t { reg, immediate, address, vector, symbol };
  Kind kind = Kind::immediate;
  std::string name;                 ///< register or symbol; of an address its base, empty: none
  std::int64_t value = 0;           ///< immediate; of an address the offset
  bool negated = false;             ///< !%p
  std::vector<Operand> elements{};  ///< of a vector
  std::string second{};             ///< of "%r1|%p1" the predicate
  int slot = -1, second_slot = -1;  ///< where an interpreter keeps the registers; -1: it keeps none
};

struct PtxInstruction {
  int line = 0;
  std::string text;         ///< as written, in one line
  std::string predicate{};  ///< register of "@%p", empty: none
  bool predicate_negated = false;
  int predicate_slot = -1;
  std::vector<std::string> opcode{};  ///< parts between dots: {"tcgen05", "mma", "cta_group::1", ...}
  std::vector<Operand> operands{};

  [[nodiscard]] bool has(std::string_view part) const;
  /// The part that begins with `prefix`, without it; empty when there is none.
  [[nodiscard]] std::string_view after(std::string_view prefix) const;
};

/// "//! shared ...", "//! global ...": what lies in memory before the program starts, or where it writes its
/// result.
struct Fill {
  enum class Role : std::uint8_t { a, b, scales, words, output, input };
  int line = 0;
  Role role = Role::words;
  int cta = 0;
  std::uint64_t place = 0;  ///< descriptor of a and b, else an address
  Format format = Format::none;
  bool dense4 = false;      ///< "e2m1x2": two to a byte
  bool transposed = false;  ///< MN-major
  int rows = 0, columns = 0;
  std::string source{};                   ///< "file", "random", "iota", "zero", "values"
  std::string argument{};                 ///< file name, seed or list
  std::vector<std::uint64_t> elements{};  ///< row-major, raw bits; a caller reads them where a file is named
};

struct PtxProgram {
  std::string target;  ///< "sm_100a"; empty: not given
  std::vector<PtxInstruction> instructions;
  std::map<std::string, std::size_t, std::less<>> labels;       ///< "NAME BLOCK", as branches
                                                                ///< name them, to an instruction
  std::map<std::string, std::uint32_t, std::less<>> variables;  ///< of .shared, to their addresses
  std::vector<Fill> fills;
  std::map<std::string, std::uint64_t, std::less<>> parameters;  ///< "//! param NAME VALUE"
  std::uint32_t block = 0;                                       ///< "//! block N": %ctaid.x of the first CTA
  /// Registers that ".reg" declares: "%p", or "%r" with 40 for "%r<40>". Empty: a fragment that declares
  /// none.
  std::map<std::string, std::uint32_t, std::less<>> declared;
};

/// Whether ".reg" declares `name`; true in a fragment without declarations.
bool is_declared(const PtxProgram& program, std::string_view name);

/// What: reads a text. Errors: "line N: WHAT: found X, allowed: Y"; empty when `program` was filled.
std::string parse_ptx(std::string_view text, PtxProgram& program);

}  // namespace mmaudit::tmem
