// Text as a kernel of tcgen05 instructions: read, and run on the model of Blackwell.
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/tensor_memory/interpreter.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

constexpr std::size_t kMostElements = 1 << 16;  // of a fill; more only takes time
constexpr int kMostSteps = 300, kMostProducts = 4;

/// Thrown out of a run that has gone on for long enough.
struct Enough {};

/// Elements that a file would hold; false where they are too many.
bool fill_elements(tmem::PtxProgram& program) {
  for (tmem::Fill& fill : program.fills) {
    const std::size_t wanted = static_cast<std::size_t>(fill.rows) * static_cast<std::size_t>(fill.columns);
    if (wanted > kMostElements) return false;
    if (fill.source != "file" && fill.source != "values") continue;
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - spec_of(fill.format).storage_bits);
    for (std::size_t i = 0; i < wanted; ++i) fill.elements.push_back(i * 0x9e3779b97f4a7c15 & mask);
  }
  return true;
}

void run(tmem::Interpreter& interpreter, const tmem::PtxProgram& program) {
  int steps = 0, products = 0;
  const std::string reason = interpreter.run([&](const tmem::Step& step) {
    const auto& opcode = step.instruction->opcode;
    products += opcode.size() > 1 && opcode[1] == "mma" ? 1 : 0;
    if (++steps == kMostSteps || products == kMostProducts) throw Enough();
  });
  if (!reason.empty()) return check_one_line(reason);
  for (int cta = 0; cta < interpreter.ctas(); ++cta)
    if (interpreter.picture(cta).empty()) fail("no picture of tensor memory");
  for (std::size_t i = 0; i < program.fills.size(); ++i)
    if (program.fills[i].role == tmem::Fill::Role::output &&
        interpreter.not_stored(i) > interpreter.output(i).size())
      fail("more elements were not stored than there are");
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  tmem::PtxProgram program;
  const std::string reason = tmem::parse_ptx(bytes.text(), program);
  if (!reason.empty()) check_one_line(reason);
  if (!reason.empty() || !fill_elements(program)) return;
  tmem::Interpreter interpreter(program, *find_architecture("blackwell"));
  try {
    run(interpreter, program);
  } catch (const Enough&) {
  }
}
