// A build without MPI under mpirun.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "campaign/ranks.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::campaign {
namespace {

TEST(WithoutMpi, OneProcessIsFineAndSeveralAreRefused) {
  unsetenv("OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(join_ranks(), nullptr);
  setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
  EXPECT_EQ(join_ranks(), nullptr);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  try {
    static_cast<void>(join_ranks());
    FAIL() << "nothing was refused";
  } catch (const EnvironmentError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("found 2 ranks"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

}  // namespace
}  // namespace mmaudit::campaign
