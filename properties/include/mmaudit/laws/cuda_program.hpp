#pragma once
// One instruction and its operands as a stand-alone CUDA file, which plain nvcc compiles and which says
// whether a GPU computes other bits.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/model/instruction.hpp"

namespace mmaudit::laws {

/// What the file runs and compares. A word has 32 bits, or 64 where an element has 64. Registers: word r of
/// lane l at r * lanes_of(instruction) + l. Shared memory: K-major without swizzle, core matrices that follow
/// each other along k adjacent.
struct CudaProgram {
  std::vector<std::string> title{};  ///< lines of the comment at the top
  Instruction instruction{};   ///< mma, mma.sp, wgmma or wgmma.sp without a kind, whose C has D's format
  bool a_in_registers = true;  ///< false: A of a wgmma in shared memory
  std::vector<std::uint64_t> a{};
  std::vector<std::uint64_t> b{};         ///< registers; of a wgmma shared memory
  std::vector<std::uint64_t> metadata{};  ///< registers of selector 0; empty where the instruction is dense
  std::vector<std::uint64_t> c{};         ///< registers; empty: +0
  std::vector<std::uint64_t> d{};         ///< registers: the bits that are expected
  std::vector<std::uint64_t> mask{};      ///< the bits of d that are compared; empty: all
  int steps = 1;                          ///< instructions of a run: D of one is C of the next
  int multiprocessor = -1;                ///< the one that runs it, as %smid says; -1: any
  int subcore = 0;                        ///< of it: the warp modulo 4 of an mma; a wgmma has all four
  int gpu = 0;                            ///< its number
  int compute_capability = 0;             ///< of the GPU; 0: the least that has the instruction
  std::uint64_t runs = 1;
};

/// What: the text of the file. Its program takes the GPU and the number of runs, prints how many runs were
/// wrong and where the first one was, and exits with 0 (none), 1 (some) or 3 (it could not run).
std::string cuda_program(const CudaProgram& program);

}  // namespace mmaudit::laws
