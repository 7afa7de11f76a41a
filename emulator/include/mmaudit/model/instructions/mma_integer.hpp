#pragma once
// mma of integers and single bits. Source: PTX ISA 9.0, "mma".
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit mma_i8 = {"mma.int8"};
inline constexpr MatrixUnit mma_i4 = {"mma.int4"};
inline constexpr MatrixUnit mma_b1 = {"mma.b1"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

constexpr auto mma_int8(std::int16_t m, std::int16_t k, std::int16_t capability) {
  return every_integer_pair({Op::mma, m, 8, k, Format::s32, {}, {}, Format::s32, units::mma_i8, capability},
                            kInt8);
}
constexpr auto mma_int4(std::int16_t m, std::int16_t k, std::int16_t capability) {
  return every_integer_pair({Op::mma, m, 8, k, Format::s32, {}, {}, Format::s32, units::mma_i4, capability},
                            kInt4);
}

// clang-format off
inline constexpr Instruction kMmaBits[] = {
    {Op::mma, 8, 8, 128, Format::s32, Format::b1, Format::b1, Format::s32, units::mma_b1, 75, false, Multiply::xor_popc},
    {Op::mma, 8, 8, 128, Format::s32, Format::b1, Format::b1, Format::s32, units::mma_b1, 80, false, Multiply::and_popc},
    {Op::mma, 16, 8, 128, Format::s32, Format::b1, Format::b1, Format::s32, units::mma_b1, 80, false, Multiply::xor_popc},
    {Op::mma, 16, 8, 128, Format::s32, Format::b1, Format::b1, Format::s32, units::mma_b1, 80, false, Multiply::and_popc},
    {Op::mma, 16, 8, 256, Format::s32, Format::b1, Format::b1, Format::s32, units::mma_b1, 80, false, Multiply::xor_popc},
    {Op::mma, 16, 8, 256, Format::s32, Format::b1, Format::b1, Format::s32, units::mma_b1, 80, false, Multiply::and_popc},
};
// clang-format on

inline constexpr auto kMmaInteger =
    detail::joined<Instruction>(mma_int8(8, 16, 75), mma_int8(16, 16, 80), mma_int8(16, 32, 80),
                                mma_int4(8, 32, 75), mma_int4(16, 32, 80), mma_int4(16, 64, 80), kMmaBits);

}  // namespace mmaudit::instructions
