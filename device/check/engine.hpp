#pragma once
// Which engine computes the model of a datapath, and how much it gets at once. Known without a GPU.
#include <cstdint>
#include <string_view>

#include "mmaudit/model/datapath.hpp"
#include "mmaudit/model/instruction.hpp"

namespace mmaudit::device {

enum class Engine : std::uint8_t { fast, integer, binary64, binary32, plain };

Engine engine_for(const Instruction& instruction, const Datapath& datapath);
std::string_view name_of(Engine engine);
/// Tiles of A, B and C each in a block of tile products: a power of two, for up to 2^20 dot products.
std::uint32_t side_of_block(const Instruction& instruction);
std::uint64_t dots_of_block(const Instruction& instruction);
std::uint64_t blocks_of_batch(const Instruction& instruction, const Datapath& datapath);

}  // namespace mmaudit::device
