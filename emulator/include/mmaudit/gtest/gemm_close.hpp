#pragma once
// EXPECT_GEMM_CLOSE, for tests of kernels.
#include <gtest/gtest.h>

#include <string>

#include "mmaudit/tolerance.hpp"

namespace mmaudit {

/// Fails where D differs from matmul() by more than chance allows, see check_gemm_close(), and where there is
/// no tolerance. A D with the bits of matmul() passes.
inline testing::AssertionResult gemm_is_close(const Instruction& instruction, const Datapath& datapath,
                                              const Matmul& problem, const ClosenessOptions& options = {}) {
  if (const std::string why = why_no_tolerance(instruction, datapath, problem); !why.empty())
    return testing::AssertionFailure() << why;
  const GemmCloseness found = check_gemm_close(instruction, datapath, problem, options);
  if (!found.close()) return testing::AssertionFailure() << found.explanation();
  return testing::AssertionSuccess() << found.explanation();
}

}  // namespace mmaudit

/// (Instruction, Datapath, Matmul), and ClosenessOptions where the defaults don't do
#define EXPECT_GEMM_CLOSE(...) EXPECT_TRUE(::mmaudit::gemm_is_close(__VA_ARGS__))
#define ASSERT_GEMM_CLOSE(...) ASSERT_TRUE(::mmaudit::gemm_is_close(__VA_ARGS__))
