#pragma once
// Convolutions by a matrix instruction: the reference, every schedule with any instruction, and the schedules
// that tensor memory can do, in the model of tensor memory.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/backend.hpp"
#include "mmaudit/convolution/schedule.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::conv {

/// A convolution with its operands: raw bits in the storage width of the instruction's A and B.
struct Problem {
  Shape shape;
  Instruction instruction;
  Datapath datapath;
  std::vector<std::byte> activations;  ///< (images, height, width, channels)
  std::vector<std::byte> weights;      ///< (filters, rows, columns, channels)
};

/// Why an instruction computes no convolution here: sparse, block-scaled, single bits, or C and D of two
/// formats. Errors: "instruction: found X, allowed: Y"; empty when it does.
std::string why_not(const Instruction& instruction);

/// Bytes of both operands.
std::uint64_t bytes_of_activations(const Shape& shape, const Instruction& instruction);
std::uint64_t bytes_of_weights(const Shape& shape, const Instruction& instruction);

/// What: `bytes` bytes of random elements in storage width. Range: integers have every bit at random, floats
/// are within -8 to 8 and one in ten is 0. `state`: of splitmix64(), moved on. Errors: none.
std::vector<std::byte> random_elements(const FormatSpec& format, std::uint64_t bytes, std::uint64_t& state);

/// What: the direct convolution, one output after another, each the chain of the instruction's steps from +0
/// by the plain core. Order of k: as runs_of(). Padding is +0 times the weight. Returns: D's raw bits,
/// (images, out_height, out_width, filters). Errors: none where both why_not() have no reason and the
/// operands have their bytes.
std::vector<std::uint64_t> reference(const Problem& problem);

struct Result {
  std::vector<std::uint64_t> d;  ///< raw bits, (images, out_height, out_width, filters)
  Counts counts;
};

/// What: the convolution by one instruction per tile, place of the filter and block of channels. D starts
/// from +0 and a masked lane keeps its D. Bits: as reference() gives, where a step whose products are zeros
/// leaves D as it is: always for integers; for floats unless a weight is infinite or NaN, or a sum is -0.
/// Shapes: tiles of `lanes` output positions, 1 or more. `runner`: who runs the instruction, a GPU for one;
/// null: the model of the problem's datapath. Errors: as reference(), and what the runner throws.
Result convolve(const Problem& problem, const Algorithm& algorithm, int lanes,
                const Backend* runner = nullptr);

/// How tensor memory runs it: every warp's 32 lanes hold one tile and its halo, tcgen05.shift.down moves it,
/// disable-output-lane masks it.
struct InTensorMemory {
  Algorithm algorithm;
  int lanes = 16;       ///< output positions per warp's lanes
  bool ashift = false;  ///< every second place by .ashift of the instruction in place of a shift
};

/// Errors: "field: found X, allowed: Y" where tensor memory can't run it; empty when it can.
std::string why_not(const Problem& problem, const InTensorMemory& how);

/// What: convolve() with A and D in the model of tensor memory and B in shared memory, through
/// tcgen05.mma with M = 128. Errors: none where why_not() has no reason.
Result convolve(const Problem& problem, const InTensorMemory& how);

}  // namespace mmaudit::conv
