// The shipped recordings, replayed with nothing but the model: what every port of it has to pass.
#include <gtest/gtest.h>

#include <cstdio>

#include "mmaudit/corpus/recording.hpp"
#include "mmaudit/emulate.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::corpus {
namespace {

TEST(Recordings, TheModelGivesEveryBit) {
  std::size_t elements = 0, wrong = 0;
  for (const std::filesystem::path& file : find_recordings(MMAUDIT_TEST_CORPUS)) {
    const Recording recording = read_recording(file);
    const auto instruction = find_instruction(recording.instruction);
    const Architecture* architecture = find_architecture(recording.provenance.compute_capability);
    ASSERT_TRUE(instruction && architecture != nullptr) << file;
    const DatapathEntry* entry = find_datapath(*architecture, *instruction);
    ASSERT_NE(entry, nullptr) << file;
    std::vector<std::byte> d(recording.d.data.size());
    emulate(*instruction, entry->datapath,
            {.tiles = recording.tiles,
             .a = recording.a.data.data(),
             .b = recording.b.data.data(),
             .c = recording.c.data.data(),
             .d = d.data(),
             .modifiers = recording.modifiers.data(),
             .metadata = recording.metadata.empty() ? nullptr : recording.metadata.data()});
    if (d != recording.d.data) {
      ++wrong;
      ADD_FAILURE() << file << ": other bits";
    }
    elements += recording.d.elements();
  }
  std::printf("%zu dot products, %zu files differ\n", elements, wrong);
  EXPECT_GE(elements, 1'900'000U);
}

}  // namespace
}  // namespace mmaudit::corpus
