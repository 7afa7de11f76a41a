#pragma once
// Which engine computes the model of a row, and how much it gets at once. Known without a GPU.
#include <cstdint>
#include <string_view>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::device {

enum class CrossedEngine : std::uint8_t { fast, integer, binary64, binary32, plain };

CrossedEngine crossed_engine(const Instruction& instruction, const Datapath& datapath);
std::string_view name_of(CrossedEngine engine);
/// Tiles of A, of B and of C that make a square, a power of two: a square has up to 2^20 dot products.
std::uint32_t side_of_square(const Instruction& instruction);
std::uint64_t dots_of_square(const Instruction& instruction);
std::uint64_t squares_of_chunk(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::device
