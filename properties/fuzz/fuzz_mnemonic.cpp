// Text as the name of an instruction.
#include "mmaudit/model/instruction.hpp"
#include "support.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mmaudit;
  const std::string_view text = fuzz::Bytes(data, size).text();
  const auto found = find_instruction(text);
  const std::string reason = why_no_instruction(text);
  fuzz::check_one_line(reason);
  if (found.has_value() != reason.empty()) fuzz::fail("refused without a reason");
  if (!found) return 0;
  if (!has_shape(*found, found->m, found->n)) {
    bool listed = false;
    for (const Instruction& row : kInstructions) listed = listed || row == *found;
    if (!listed) fuzz::fail("a shape that does not exist");
  }
  if (find_instruction(name_of(*found)) != found) fuzz::fail("another instruction by its own name");
  return 0;
}
