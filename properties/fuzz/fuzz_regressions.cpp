// Bytes as the file in which laws keep their failures.
#include "law_check.hpp"
#include "mmaudit/model/instruction.hpp"
#include "support.hpp"

void mmaudit::fuzz::run(Bytes bytes) {
  static ScratchFile file("regressions.jsonl");
  const std::string& path = file.holding(bytes.rest()).native();
  accepted([&] {
    const checks::RegressionFile read(path);
    for (const Instruction& row : kInstructions)
      for (const laws::Dot& dot : read.dots("the_floor", row))
        if (dot.a.size() != static_cast<std::size_t>(row.stored_k()) ||
            dot.b.size() != static_cast<std::size_t>(row.k))
          fail("a dot product of another depth than its instruction");
  });
}
