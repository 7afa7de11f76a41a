#pragma once
// The disassembly of kernels (cuobjdump -sass, or nvdisasm -hex) as functions and lines, with the control
// words that the encodings hold.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::sass {

/// What an instruction of Volta or later says about scheduling, bits 105 to 125 of its encoding. Source:
/// Huerta et al., arXiv 2503.20481; Jia et al., arXiv 1804.06826, section 2.1.
struct ControlWord {
  std::uint8_t stall = 0;
  bool yield = false;
  std::int8_t write_barrier = -1, read_barrier = -1;  ///< -1: none
  std::uint8_t wait_mask = 0, reuse = 0;
  constexpr bool operator==(const ControlWord&) const = default;
};

/// The control word in the upper half of an encoding.
ControlWord control_word_of(std::uint64_t upper);

/// Without blanks, and without the semicolon at the end.
std::string_view trimmed(std::string_view text);

struct Line {
  std::uint32_t address = 0;
  std::string predicate, opcode, operands;  ///< "!P0", "HMMA.16816.F32", "R4, R8, R2, R4"
  ControlWord control;
  std::size_t number = 0;  ///< of the line in the file, from 1

  /// Where a branch or a call goes; -1 where its text does not say.
  [[nodiscard]] std::int64_t target() const;
  [[nodiscard]] bool reads_clock() const { return operands.find("SR_CLOCKLO") != std::string::npos; }
};

struct Function {
  std::string target;  ///< "sm_90a"
  std::string name;    ///< as the file has it
  std::vector<Line> lines;

  /// The line with this address; -1: none.
  [[nodiscard]] int index_of(std::int64_t address) const;
  /// The return from what is called at line `first`; behind the last line where there is none.
  [[nodiscard]] int return_from(int first) const;
  /// The lines that read the clock.
  [[nodiscard]] std::vector<int> clock_readings() const;
};

/// Takes a disassembly line by line.
class Reader {
 public:
  /// Whether an instruction without its encoding, or without an opcode, is refused or passed over. Where
  /// encodings are passed over, control words may be empty.
  enum class Encodings : std::uint8_t { needed, passed_over };
  explicit Reader(Encodings encodings) : needed_(encodings == Encodings::needed) {}

  /// Returns the function that the line ends, if it ends one. Errors: InputError with the line, where
  /// encodings are needed.
  std::optional<Function> line(std::string_view text);
  /// The last function.
  std::optional<Function> finish();

 private:
  void instruction(std::string_view text);

  bool needed_, open_ = false, waits_for_upper_ = false;
  std::size_t number_ = 0, count_ = 0;
  std::string target_;
  Function function_;
};

/// What: every function of a disassembly. Range: at most 1,000,000 instructions in all. Errors: InputError
/// with the line where an instruction has no encoding, or the file holds none.
std::vector<Function> read(std::string_view text);

/// What: every function of a listing as docs/experiments/whole/listing.py writes it. Errors: InputError with
/// the line.
std::vector<Function> read_listing(std::string_view text, std::string_view target);

}  // namespace mmaudit::sass
