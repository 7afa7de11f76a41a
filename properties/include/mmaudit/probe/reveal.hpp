#pragma once
// A whole product that no plan describes: masks of large and small values show the order in which it adds,
// and the order names the plan.
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/probe/sum_tree.hpp"

namespace mmaudit::probe {

/// D (m x n) = A (m x k) * B (k x n), with C alpha * A * B + beta * C, row-major, elements as raw bits in
/// storage width.
struct UnknownGemm {
  std::uint64_t m = 0, n = 0, k = 0;
  Format a = Format::f16, b = Format::f16, d = Format::f32;
  bool with_c = false;  ///< C has the format of D; without it `c` is null
  std::function<void(const void* a, const void* b, const void* c, void* d)> run;
};

struct GemmFinding {
  SumTree tree;
  std::string why_no_tree;  ///< empty: the masks agree with `tree`
  std::optional<GemmPlan> plan;
  std::string architecture;        ///< whose instruction the plan has
  std::vector<std::string> alike;  ///< other plans with the same bits: "ampere mma.m16n8k16..."
  std::string why_no_plan;         ///< empty: there is one
  std::string c_place;             ///< where c enters; empty without C
  double alpha = 1, beta = 1;      ///< with C: D = alpha * sum + beta * C
  [[nodiscard]] bool scaled() const { return alpha != 1 || beta != 1; }
  bool random_c = false;                ///< the random products have a C; without: C is 0
  std::string why_no_c;                 ///< with C = 0 there is a plan: why there is none with a C
  std::uint64_t calls = 0;              ///< of the callable
  std::vector<std::string> subnormals;  ///< of what a product of its own has some: "A", "B", "C", "sums", "D"
  std::uint64_t verified = 0;           ///< elements of D compared on random data and on subnormals
  std::uint64_t mismatches = 0;         ///< of the plan, or of the best one tried
  std::uint64_t other_nans = 0;         ///< elements that are NaN in both, with other bits: no mismatches
};

struct RevealOptions {
  std::uint64_t seed = 0;
  std::uint64_t products = 9;  ///< random products at the end, of several distributions
  std::function<void(const std::string&)> progress{};
};

/// What: the summation tree of `gemm`, and the plan that gives its bits, with an instruction of one of
/// `architectures`. An element of D is one sum; all elements are taken to add in one order, which the random
/// products at the end check. Errors: InputError for formats without masks (integers: their sums have no
/// order) and for a product of no elements; what the callable throws.
GemmFinding reveal(const UnknownGemm& gemm, std::span<const Architecture* const> architectures,
                   const RevealOptions& options);

}  // namespace mmaudit::probe
