#pragma once
#include "datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kExampleAliases[] = {"sm_130"};
inline constexpr DatapathEntry kExampleDatapaths[] = {
    {MatrixUnit::mma_f16, Format::f32, to_f32(8, 24, -132), Evidence::literature, "a paper, table 1"},
};

inline constexpr Architecture kExample = {"example", kExampleAliases, 130, kExampleDatapaths};

}  // namespace mmaudit::generations
