// Text as the name of an instruction.
#include "mmaudit/model/instruction.hpp"
#include "support.hpp"

void mmaudit::fuzz::run(Bytes bytes) {
  const std::string_view text = bytes.text();
  const auto found = find_instruction(text);
  const std::string reason = why_no_instruction(text);
  check_one_line(reason);
  if (found.has_value() != reason.empty()) fail("refused without a reason");
  if (!found) return;
  if (!has_shape(*found, found->m, found->n)) {
    bool listed = false;
    for (const Instruction& row : kInstructions) listed = listed || row == *found;
    if (!listed) fail("a shape that does not exist");
  }
  if (find_instruction(name_of(*found)) != found) fail("another instruction by its own name");
}
