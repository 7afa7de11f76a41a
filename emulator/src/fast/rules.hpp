#pragma once
// A row of the model as the vector kernel needs it.
#include <optional>

#include "group_level.hpp"
#include "level.hpp"
#include "mmaudit/dot.hpp"

namespace mmaudit::fast {

struct FastSpec {
  Rules rules;
  Decode a, b;
};

/// nullopt when the kernel can't serve the row.
std::optional<FastSpec> fast_spec(const DotSpec& spec);

/// The same of a grouped datapath, by group_kernel.hpp.
std::optional<GroupRules> group_rules(const DotSpec& spec);

/// Between raw bits of D's format (f32 or f16) and the float that stands for them. Of a NaN of f16 only that
/// it is one survives: what comes out is the rule's.
float to_sum(std::uint64_t bits, const FormatSpec& format);
std::uint64_t from_sum(float sum, const FormatSpec& format, const OutputRule& rule);

}  // namespace mmaudit::fast
