#pragma once
// Products by the tensor cores of the GPU that is here, each element in the order of its plan. Declarations
// without CUDA syntax.
#include <cstdint>
#include <string>

#include "mmaudit/matmul.hpp"
#include "model/gemm.hpp"
#include "model/raw_product.hpp"

namespace mmaudit::device {

/// Why the current GPU can't compute this product by its own instructions, as "field: found X, allowed: Y";
/// empty when it can: the datapath is its own, and there is a kernel. Of pointers it matters only whether
/// they are null.
std::string why_no_hardware(const Instruction& instruction, const Datapath& datapath, const Matmul& problem);

inline constexpr std::uint64_t kLineAlign = 16;  ///< bytes, of what the copy engine reads
/// From one row of A, or column of B, to the next, as the kernels read them.
constexpr std::uint64_t line_bytes(const Instruction& instruction, std::uint64_t k) {
  return padded(k * spec_of(instruction.a).storage_bytes(), kLineAlign);
}

/// Starts it, where why_no_hardware() is empty. Room for the lines of B, and of A where its own rows are not
/// line_bytes() long, else null. Of `args`, A and B are not read. InputError where A's address is no multiple
/// of kLineAlign.
void launch_chains(const Instruction& instruction, const RawProduct& product, void* lines_a, void* lines_b,
                   const GemmArgs& args);

}  // namespace mmaudit::device
