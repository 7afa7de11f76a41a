// Bytes as the journal of a small campaign. The first byte says whether the header and the checksums of lines
// are made right first, and which shard reads it. A journal that is accepted is the same read again, and its
// result is one that a reader accepts.
#include <sstream>

#include "mmaudit/campaign/result.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/json.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

using campaign::Journal;
using campaign::Schedule;
using campaign::Shard;

constexpr unsigned kWithHeader = 1, kSealed = 2, kOneOfTwo = 4;

Schedule small_schedule() {
  Schedule schedule;
  schedule.seed = 7;
  schedule.dots = 20000;
  const Architecture& hopper = *find_architecture("hopper");
  schedule.architecture = hopper.name;
  for (const char* name :
       {"mma.m16n8k8.f32.f16.f16.f32", "mma.sp.m16n8k16.f32.f16.f16.f32", "mma.m8n8k16.s32.s8.s8.s32"}) {
    const Instruction instruction = *find_instruction(name);
    const DatapathEntry* entry = find_datapath(hopper, instruction);
    schedule.instructions.push_back({instruction, entry, "plain", 1024, 4096, entry});
  }
  schedule.input_classes = {gen::InputClass::random_bits, gen::InputClass::normal};
  return schedule;
}

/// The lines, each with the checksum that it should have.
std::string sealed_lines(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::string out;
  for (std::string line; std::getline(in, line);) {
    Json entry;
    if (accepted([&] { entry = parse_json(line).sorted(); }) && entry.is_object()) {
      entry.erase("checksum");
      entry["checksum"] = corpus::checksum_of(entry.dump());
      line = entry.dump();
    }
    out += line;
    if (!in.eof()) out += '\n';
  }
  return out;
}

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  static const Schedule schedule = small_schedule();
  static ScratchFile file("journal");
  const unsigned how = bytes.byte();
  const Shard shard = (how & kOneOfTwo) != 0 ? Shard{(how >> 3) & 1U, 2} : Shard{};
  std::string text = (how & kWithHeader) != 0 ? journal_header(schedule, shard) + "\n" : "";
  text += (how & kSealed) != 0 ? sealed_lines(bytes.text()) : std::string(bytes.text());
  const auto& path = file.holding(text);
  accepted([&] {
    const Journal read(path, schedule, shard);
    const Journal again(path, schedule, shard);
    const std::string result = campaign_json(schedule, read.tally(), {}, 1, shard);
    if (result != campaign_json(schedule, again.tally(), {}, 1, shard))
      fail("a journal that reads differently");
    try {
      if (campaign::read_campaign(result, "x").mismatches != read.tally().total().mismatches)
        fail("a result of other mismatches");
    } catch (const InputError& error) {
      fail(std::string("a result that its reader refuses: ") + error.what());
    }
  });
}
