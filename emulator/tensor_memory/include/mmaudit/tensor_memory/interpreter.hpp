#pragma once
// Runs a PTX program over the registers of one warpgroup per CTA, shared memory and tensor memory; two CTAs
// when it uses .cta_group::2. All threads go through the program together, so what differs between threads
// is a predicate. Asynchronous instructions take effect at once; what a program may not rely on, because the
// PTX ISA orders it only by a commit, a wait or a fence, is refused.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/tensor_memory/mma.hpp"
#include "mmaudit/tensor_memory/ptx.hpp"

namespace mmaudit::tmem {

inline constexpr int kThreads = 128;

/// What a step did, for a trace.
struct Step {
  const PtxInstruction* instruction = nullptr;
  std::string what;            ///< in words; empty: nothing but registers changed
  bool tensor_memory = false;  ///< it changed or allocated tensor memory
};

/// The machine that runs a PTX text, with the state of one program: one per run.
class Interpreter {
 public:
  /// `architecture` must outlive the interpreter. Elements of fills from files must be there.
  Interpreter(PtxProgram program, const Architecture& architecture);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// What: runs the program to its end; `observe` sees every step. Errors: "line N: INSTRUCTION: WHY"; empty
  /// when it ran to its end.
  std::string run(const std::function<void(const Step&)>& observe = {});

  [[nodiscard]] int ctas() const;
  [[nodiscard]] const Cta& cta(int index) const;
  /// Elements of an output fill (by its place in program.fills), raw bits, row-major.
  [[nodiscard]] std::vector<std::uint64_t> output(std::size_t fill) const;
  /// How many of its elements the program did not write; output() has 0 there.
  [[nodiscard]] std::size_t not_stored(std::size_t fill) const;
  /// What: tensor memory of a CTA as text, one character per 8 columns and warp's lanes: '.' free,
  /// '-' allocated, else what last touched it: D, A, a and b (scales), m (metadata), c (cp), s (st), >
  /// (shift).
  [[nodiscard]] std::string picture(int cta) const;
  /// The letters of picture(), one per warp's lanes and column.
  [[nodiscard]] char letter(int cta, int warp, int column) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mmaudit::tmem
