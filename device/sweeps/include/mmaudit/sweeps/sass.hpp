#pragma once
// What the code of a timed kernel holds, read off its disassembly, and whether that is what the point says.
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/sass/text.hpp"
#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

struct Benchmark;

/// Opcodes with their modifiers ("HMMA.16816.F32") and how often each occurs.
using Opcodes = std::map<std::string, int>;

/// A loop between the two readings of the clock: one turn of it, with the functions that it calls.
struct SassLoop {
  Opcodes opcodes;
  int steps = 0;  ///< of each chain in a turn, by which a counter of the loop moves; 0: no such counter
};

/// A timed kernel on one target.
struct SassKernel {
  std::string target;           ///< "sm_90a"
  std::string symbol;           ///< as TimedKernel has it
  int copies = 1;               ///< steps of each chain in a turn of the loop as it is written
  std::vector<SassLoop> loops;  ///< ptxas makes several of one when it unrolls it
  Opcodes between;              ///< everything between the readings, by text order

  /// The loop that does the work: the one of most steps. Null when the kernel has no loop with a counter.
  [[nodiscard]] const SassLoop* main() const;
};

/// Reads what `cuobjdump -sass` prints, a line at a time. Errors: none; other functions are passed over.
class SassReader {
 public:
  void line(std::string_view text) { add(reader_.line(text)); }
  /// The timed kernels so far.
  std::vector<SassKernel> kernels();

 private:
  void add(const std::optional<sass::Function>& function);

  sass::Reader reader_{sass::Reader::Encodings::passed_over};
  std::vector<SassKernel> kernels_;
};

/// Timed kernels by symbol.
using SassBySymbol = std::map<std::string, SassKernel>;

/// What: of every kernel the code that a GPU of this compute capability (90 for 9.0) runs: of targets of its
/// major version that are no newer the newest. A target with a letter runs on its own capability alone.
SassBySymbol code_of_gpu(std::vector<SassKernel> kernels, int compute_capability);

/// True when an opcode is one of these: "HMMA" is every HMMA, "LDS.64" every LDS.64.
bool matches(std::string_view opcode, const std::vector<std::string_view>& opcodes);

/// What: why a point does not time what it says: a turn of a loop holds fewer of the expected instructions
/// (or multiply-adds) than its steps need, or spills registers. Empty when it does.
std::string why_not_timed(const Benchmark& benchmark, const Point& point, const SassKernel& code);

/// What: multiply-adds per clock per multiprocessor that the matrix instructions of the code can do at most,
/// 0 where no document says or there are none.
double ceiling_of(int compute_capability, const SassKernel& code);

/// The expected instructions of one step of one chain in the loop that does the work.
double sass_per_step(const Benchmark& benchmark, const Point& point, const SassKernel& code);

/// The template arguments of a timed kernel by its mangled name, as TimedKernel has them; empty: it is none.
std::string timed_symbol(const std::string& mangled);

/// What: the timed kernels of a program, read with a cuobjdump: every kernel of each cubin that holds one of
/// `wanted` (symbols as TimedKernel has them; none: any timed kernel). Empty where cuobjdump prints none.
std::vector<SassKernel> sass_of(const std::string& cuobjdump, const std::filesystem::path& program,
                                const std::set<std::string>& wanted);

/// What: of the program that runs the code for a GPU of this compute capability. Where there is no cuobjdump
/// or no such code, `why_not` says so in one clause and the result is empty.
SassBySymbol sass_of_this_program(const std::set<std::string>& wanted, int compute_capability,
                                  std::string& why_not);

}  // namespace mmaudit::sweeps
