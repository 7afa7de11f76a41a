// Bytes as the file in which laws keep their failures.
#include "law_check.hpp"
#include "mmaudit/model/instruction.hpp"
#include "support.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mmaudit;
  static fuzz::ScratchFile file("regressions.jsonl");
  const std::string& path = file.holding(std::span(data, size)).native();
  fuzz::accepted([&] {
    const checks::RegressionFile read(path);
    for (const Instruction& row : kInstructions)
      for (const laws::Dot& dot : read.dots("the_floor", row))
        if (dot.a.size() != static_cast<std::size_t>(row.stored_k()) ||
            dot.b.size() != static_cast<std::size_t>(row.k))
          fuzz::fail("a dot product of another depth than its instruction");
  });
  return 0;
}
