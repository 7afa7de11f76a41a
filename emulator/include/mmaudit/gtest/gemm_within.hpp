#pragma once
// EXPECT_GEMM_WITHIN, for tests of kernels.
#include <gtest/gtest.h>

#include <string>

#include "mmaudit/tolerance.hpp"

namespace mmaudit {

/// Fails where an element of problem.d is beyond its bound, where there is no bound, and where zeros would
/// pass.
inline testing::AssertionResult gemm_is_within(const Instruction& instruction, const Datapath& datapath,
                                               const Matmul& problem) {
  if (const std::string why = why_no_tolerance(instruction, datapath, problem); !why.empty())
    return testing::AssertionFailure() << why;
  const GemmCheck check = check_gemm(instruction, datapath, problem);
  if (!check.within || check.vacuous) return testing::AssertionFailure() << check.explanation();
  return testing::AssertionSuccess() << check.explanation();
}

}  // namespace mmaudit

/// (Instruction, Datapath, Matmul)
#define EXPECT_GEMM_WITHIN(instruction, row, problem) \
  EXPECT_TRUE(::mmaudit::gemm_is_within(instruction, row, problem))
#define ASSERT_GEMM_WITHIN(instruction, row, problem) \
  ASSERT_TRUE(::mmaudit::gemm_is_within(instruction, row, problem))
