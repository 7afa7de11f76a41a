#pragma once
// The state of a running program, shared by the files that run its instructions.
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/tensor_memory/interpreter.hpp"

namespace mmaudit::tmem {

/// What is under way in one column of tensor memory.
struct ColumnState {
  enum class Async : std::uint8_t { none, issued, committed, waited };
  std::uint8_t stores = 0, loads = 0;  ///< warps whose st or ld no wait has completed yet
  Async write = Async::none, read = Async::none;
  char issuer = 0;                  ///< of the write: 'm' mma, 'c' cp, 's' shift
  int commit = 0, read_commit = 0;  ///< number of the commit that tracks it
  int thread = 0, read_thread = 0;  ///< that issued it: only its own commits track it
  std::uint64_t accumulator = 0;    ///< D and shape of the mma that writes it
};

struct MBarrier {
  std::uint32_t expected = 1, arrived = 0;
  bool phase = false;
  std::vector<int> commits;  ///< that will arrive
  int completed = 0;         ///< largest commit of the phases that are over
};

/// A collector buffer: which matrix a fill left in it.
struct Collector {
  bool valid = false;
  std::uint64_t source = 0;
  std::vector<std::byte> content;
};

enum class RegisterState : std::uint8_t { known, loading, undefined };

struct Interpreter::State {
  PtxProgram program;
  const Architecture& architecture;
  int count = 1;  ///< CTAs
  std::vector<std::unique_ptr<Cta>> ctas;
  std::vector<std::array<ColumnState, kColumns>> columns;
  std::vector<std::array<std::array<char, kColumns>, kQuarters>> letters;
  std::map<std::pair<int, std::uint32_t>, MBarrier> barriers;
  std::array<Collector, 5> collectors;
  std::size_t slots = 0;   ///< registers per thread
  std::string undeclared;  ///< which register no .reg declares, and on which line
  std::vector<std::uint64_t> registers;
  std::vector<RegisterState> register_states;
  std::map<std::size_t, std::vector<std::uint64_t>> outputs;
  std::map<std::size_t, std::vector<std::uint8_t>> inputs;  ///< bytes of global memory that may be read
  std::map<std::size_t, std::vector<bool>> stored;          ///< elements of an output that the program wrote
  std::string cta_group;                                    ///< the one that the program uses
  int commits = 0;
  std::size_t next = 0;  ///< the instruction that runs next
  bool ended = false;

  // Of the instruction that runs.
  const PtxInstruction* instruction = nullptr;
  std::vector<int> active;  ///< threads; the second CTA's begin at kThreads
  std::string failure;      ///< why the instruction that runs is refused; empty: it is not
  Step step;

  State(PtxProgram p, const Architecture& a) : program(std::move(p)), architecture(a) {}

  void fail(std::string reason) {
    if (failure.empty()) failure = std::move(reason);
  }
  [[nodiscard]] bool failed() const { return !failure.empty(); }
  void fail(std::string_view name, std::string_view found);
  /// Whether every thread of the program runs the instruction.
  [[nodiscard]] bool everyone() const { return active.size() == static_cast<std::size_t>(count) * kThreads; }

  /// Gives every register that an instruction names a slot, special registers excepted.
  void name_registers();
  [[nodiscard]] std::size_t register_place(int thread, int slot) const {
    return static_cast<std::size_t>(slot) * kThreads * static_cast<std::size_t>(count) +
           static_cast<std::size_t>(thread);
  }
  std::uint64_t value(int thread, const Operand& operand);
  void assign(int thread, const Operand& operand, std::uint64_t bits,
              RegisterState state = RegisterState::known);
  std::uint64_t address(int thread, const Operand& operand);
  /// An operand of the running instruction; one that is missing refuses it.
  const Operand& operand(std::size_t index);
  const Operand& operand_of(std::size_t index, Operand::Kind kind);

  void execute();
  void alu();
  void memory();
  void load_parameter();
  /// The bytes of global memory at `at`; null and a refusal where nothing lies.
  const std::uint8_t* global_bytes(std::uint64_t at, std::size_t bytes);
  void store_global(std::uint64_t at, std::size_t bytes, std::uint64_t bits);
  void mbarrier();
  void branch();
  void elect();

  void tcgen05();
  void allocate();
  void deallocate();
  void relinquish();
  void load_store();
  void wait();
  void fence();
  void commit();
  void copy();
  void shift();
  void mma();
  /// The one thread that issues; -1 and a refusal when it is not one.
  int single_thread();
  /// of(thread), which the threads of a warp have alike; else the refusal `name` with `several` found.
  template <typename Of>
  std::uint64_t uniform(int first_thread, std::string_view name, std::string_view several, const Of& of) {
    const std::uint64_t first = of(first_thread);
    for (int thread = first_thread + 1; thread < first_thread + kWarpLanes && !failed(); ++thread)
      if (of(thread) != first) fail(name, several);
    return first;
  }
  /// The same of an operand of alloc and dealloc.
  std::uint64_t uniform_value(int first_thread, const Operand& operand) {
    return uniform(first_thread, "uniform_operand", "several values",
                   [&](int thread) { return value(thread, operand); });
  }
  /// (CTA, warp) pairs that run, each whole.
  std::vector<std::pair<int, int>> warps();
  bool read_form(MmaForm& form);
  bool use_collector(const MmaForm& form, std::uint64_t source, const std::vector<std::byte>& content);

  /// Refuses what the order of instructions does not allow.
  void check_synchronous(int cta, Region region, bool writes, unsigned warps_mask = 0xF);
  void check_asynchronous(int cta, Region region, char issuer, bool writes, std::uint64_t accumulator = 0);
  void mark_written(int cta, Region region, char issuer, std::uint64_t accumulator = 0);
  void mark_read(int cta, Region region);
  void complete(int commit);
  void paint(int cta, Region region, char letter, int first_quarter = 0, int quarters = kQuarters);
};

}  // namespace mmaudit::tmem
