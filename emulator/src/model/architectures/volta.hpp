#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kVoltaAliases[] = {"sm_70", "sm_72", "v100", "titanv"};
inline constexpr DatapathEntry kVoltaDatapaths[] = {
    {units::mma_884, Format::f32, to_f32(4, 23, -131), Evidence::replayed,
     "MATLAB-tensor-core V100/fp16 d_fp32 (wmma); floor: MMA-Sim, cannot show with binary16 inputs and a "
     "binary32 C",
     Format::f32},
    {units::mma_884, Format::f32, to_f32(4, 23, -19), Evidence::literature,
     "MMA-Sim (C binary16, D binary32); floor: by the pattern, MMA-Sim says -20", Format::f16},
    {units::mma_884, Format::f16, to_f16(4, 23, -19), Evidence::replayed,
     "MATLAB-tensor-core V100/fp16 d_fp16 (wmma; F at least 22); floor: Khattak and Mikaitis, MMA-Sim says "
     "-20",
     Format::f16},
    {units::wmma_f16, Format::f32, to_f32(4, 23, -131), Evidence::literature,
     "as mma.884, four steps (Raihan et al. 2019: 4 sets of k); the first four k: MATLAB-tensor-core V100",
     Format::f32},
    {units::wmma_f16, Format::f16, to_f16(4, 23, -19), Evidence::literature,
     "as mma.884, four steps (Raihan et al. 2019: 4 sets of k); the first four k: MATLAB-tensor-core V100",
     Format::f16},
    {units::wmma_f16, Format::f32, to_f32(4, 23, -19), Evidence::literature,
     "as mma.884 with C binary16 (MMA-Sim), four steps", Format::f16},
    {units::wmma_f16, Format::f16, narrowed_d(to_f32(4, 23, -131)), Evidence::literature,
     "as Turing: steps in binary32, then one conversion; Volta itself is not known", Format::f32},
};

inline constexpr Architecture kVolta = {"volta", kVoltaAliases, 70, kVoltaDatapaths};

}  // namespace mmaudit::generations
