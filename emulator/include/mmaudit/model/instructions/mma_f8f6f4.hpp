#pragma once
// mma with kind::f8f6f4: elements of 8, 6 and 4 bits in any mix, one per byte. Source: PTX ISA 9.0, "mma".
#include "mmaudit/model/instruction_fields.hpp"

namespace mmaudit::units {
inline constexpr MatrixUnit mma_f8f6f4 = {"mma.f8f6f4"};
}  // namespace mmaudit::units

namespace mmaudit::instructions {

constexpr auto mma_f8f6f4(Format d) {
  return every_pair(of_kind({Op::mma, 16, 8, 32, d, {}, {}, d, units::mma_f8f6f4, 120}, MmaKind::f8f6f4),
                    kF8f6f4);
}

inline constexpr auto kMmaF8f6f4 =
    detail::joined<Instruction>(mma_f8f6f4(Format::f32), mma_f8f6f4(Format::f16));

}  // namespace mmaudit::instructions
