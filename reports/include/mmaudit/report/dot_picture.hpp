#pragma once
// One dot product on one axis of powers of two: the bits of every product, what alignment keeps and cuts, the
// sum, the rounding.
#include <string>
#include <vector>

#include "mmaudit/explain.hpp"

namespace mmaudit::report {

struct DotPicture {
  std::string title;  ///< "mma.m16n8k16.f32.f16.f16.f32 on hopper (recorded)"
  Explanation trace;
};

/// The shortest decimal that reads back to the same binary64; "nan" has no sign.
std::string value_of(double x);
std::string value_of(Dyadic x);

/// What: a figure, the pictures below one another on the same axis. Products that are zero are counted, not
/// drawn; bits beyond 96 powers of two end in "...".
std::string dot_figure(const std::vector<DotPicture>& pictures);

}  // namespace mmaudit::report
