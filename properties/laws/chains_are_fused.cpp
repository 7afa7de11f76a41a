#include <algorithm>
#include <optional>

#include "laws.hpp"
#include "mmaudit/architecture.hpp"
#include "mmaudit/instruction.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  return subject.row.arithmetic == Arithmetic::fma_chain &&
                 subject.row.output.rounding == Rounding::nearest_even
             ? ""
             : "not a chain of fused multiply-adds";
}

/// The machine's own fma, in the row's order.
Verdict judge(const Case& at) {
  double sum = value_of(at.c(), at.subject.c());
  for (int i = 0; i < at.subject.plan.k; ++i) {
    const int k = evaluation_k(at.subject.row.order, at.subject.plan.k, i);
    sum = std::fma(value_of(at.tile.at_a(at.row, k), at.subject.a()),
                   value_of(at.tile.at_b(k, at.col), at.subject.b()), sum);
  }
  if (std::isnan(sum)) return verdict(is_nan(at.d(), at.subject.d()));
  return equal_bits(at.d(), __builtin_bit_cast(std::uint64_t, sum));
}

}  // namespace

const Law kChainsAreFused = {
    .name = "chains_are_fused",
    .statement = "binary64: a chain of fused multiply-adds, c first, k ascending.",
    .source = "IEEE 754-2019, fusedMultiplyAdd; Fasi et al. 2021, 3.5 (A100); measured on Hopper",
    .why_not = why_not,
    .judge = judge};

}  // namespace mmaudit::laws
