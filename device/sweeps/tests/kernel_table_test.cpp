// Every point that can be swept has a kernel in a build with CUDA.
#include <gtest/gtest.h>

#include "kernel_table.hpp"
#include "mmaudit/sweeps/sweep.hpp"

namespace mmaudit::sweeps {
namespace {

TEST(KernelTable, HasEveryCellOfTheUsualAxes) {
  int cells = 0;
  for (const Subject& subject : subjects())
    for (const Cell& cell : cells_of(subject, resolve_axes({}, false))) {
      const std::optional<KernelHandle> found = find_timed(cell);
      ASSERT_TRUE(found.has_value()) << subject.name << " ilp " << cell.ilp << " n " << cell.instruction.n;
      EXPECT_NE(found->launch, nullptr);
      EXPECT_EQ(found->matrix, subject.words == 0);
      ++cells;
    }
  EXPECT_GT(cells, 3000);
}

TEST(KernelTable, SaysNoToWhatItLacks) {
  Cell cell{.subject = subjects().front(), .instruction = subjects().front().instruction};
  cell.ilp = 7;
  EXPECT_FALSE(find_timed(cell));
}

}  // namespace
}  // namespace mmaudit::sweeps
