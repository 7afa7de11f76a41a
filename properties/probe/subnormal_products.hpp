#pragma once
// Products that show a callable which takes subnormals for zeros: of A, of B, of C, of the sums on the way,
// and of D, each alone.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/probe/reveal.hpp"

namespace mmaudit::probe {

struct SubnormalProduct {
  std::string of;                  ///< what is subnormal: "A"
  std::vector<std::byte> a, b, c;  ///< c: empty but for "C"
};

/// One product per kind that the formats of `gemm` allow. Where A, B or C is subnormal, every D is normal; C
/// has subnormals alone with `with_c`.
std::vector<SubnormalProduct> subnormal_products(const UnknownGemm& gemm, bool with_c, std::uint64_t seed);

}  // namespace mmaudit::probe
