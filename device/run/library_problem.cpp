// What a problem for a library is called, with or without CUDA.
#include "mmaudit/device/cublaslt.hpp"

namespace mmaudit::device {

Format output_of(const LibraryProblem& problem) {
  if (problem.operand == Format::tf32) return Format::f32;
  return problem.operand == Format::e4m3 ? Format::bf16 : problem.operand;
}

std::string name_of(const LibraryProblem& problem) {
  return std::string(mmaudit::name_of(problem.operand)) + (problem.fast ? "-fast " : " ") +
         std::to_string(problem.m) + " x " + std::to_string(problem.n) + " x " + std::to_string(problem.k);
}

}  // namespace mmaudit::device
