// The element with the largest error again, alone: which products conversion changed, and what the
// accumulator held along K.

#include <algorithm>
#include <cmath>

#include "stages.hpp"

namespace mmaudit::report {
namespace {

constexpr std::size_t kTerms = 8;
constexpr std::uint64_t kSteps = 64;

/// Elements 0, stride, 2 stride, ... of one lane.
ConvertedOperand lane_of(const ConvertedOperand& from, const ConvertedOperands& all, std::uint64_t lane,
                         std::uint64_t first, std::uint64_t stride) {
  ConvertedOperand out;
  const std::size_t bytes = from.values.empty() ? 0 : from.raw.size() / from.values.size();
  for (std::uint64_t k = 0; k < all.k; ++k) {
    const std::uint64_t at = first + k * stride;
    out.values.push_back(from.values[at]);
    const std::byte* element = from.raw.data() + at * bytes;
    out.raw.insert(out.raw.end(), element, element + bytes);
  }
  if (!from.scales.empty()) {
    const auto block = static_cast<std::uint64_t>(all.dtype.scale_block);
    const std::uint64_t blocks = (all.k + block - 1) / block;
    for (std::uint64_t i = 0; i < blocks; ++i)
      out.scales.push_back(from.scales[stride == 1 ? lane * blocks + i : i * stride + lane]);
  }
  out.blocks = from.blocks;
  out.depth = from.depth;
  out.lanes = 1;
  for (std::uint64_t block = 0; block < from.blocks; ++block) out.factors.push_back(from.factor(lane, block));
  return out;
}

/// The product of one row and one column, cut after `depth` of k.
ConvertedOperands cut(const ConvertedOperands& whole, std::uint64_t depth) {
  ConvertedOperands out = whole;
  for (ConvertedOperand* each : {&out.a, &out.b}) {
    each->raw.resize(each->raw.size() / whole.k * depth);
    each->values.resize(depth);
    if (whole.dtype.scale_block != 0) {
      const auto block = static_cast<std::uint64_t>(whole.dtype.scale_block);
      each->scales.resize((depth + block - 1) / block);
    }
  }
  out.k = depth;
  return out;
}

/// Scales that are not applied along the way.
double last_factor(const ConvertedOperands& x) {
  return x.scaling.along_k() ? 1.0 : static_cast<double>(x.a.factor(0)) * static_cast<double>(x.b.factor(0));
}

std::vector<WorstStep> steps_of(const GemmCombination& combination, const GemmPath& path,
                                const ConvertedOperands& element) {
  std::vector<WorstStep> out;
  if (combination.accumulation.split_k > 1 || element.k == 0) return out;  // slices depend on the whole K
  std::uint64_t stride = std::max<std::uint64_t>(static_cast<std::uint64_t>(path.instruction.k),
                                                 combination.accumulation.promote);
  const std::uint64_t count = (element.k + stride - 1) / stride;
  stride *= (count + kSteps - 1) / kSteps;
  const double factor = last_factor(element);
  for (std::uint64_t depth = std::min(stride, element.k);; depth = std::min(depth + stride, element.k)) {
    const ConvertedOperands part = cut(element, depth);
    WorstStep step;
    step.k = depth;
    step.sum = model_sums(combination, path, part, {}).front() * factor;
    step.converted = converted_product(part, {}).front();
    out.push_back(step);
    if (depth == element.k) return out;
  }
}

std::vector<WorstTerm> terms_of(const GemmOperands& operands, const ConvertedOperands& element,
                                std::uint64_t row, std::uint64_t column, double& magnitudes) {
  std::vector<WorstTerm> out;
  for (std::uint64_t k = 0; k < operands.k; ++k) {
    out.push_back({k, operands.a[row * operands.k + k], operands.b[k * operands.n + column],
                   element.a.values[k] * static_cast<double>(element.a.factor_at(0, k)),
                   element.b.values[k] * static_cast<double>(element.b.factor_at(0, k))});
    magnitudes += std::fabs(out.back().a * out.back().b);
  }
  const auto change = [](const WorstTerm& term) {
    return std::fabs(term.converted_a * term.converted_b - term.a * term.b);
  };
  const auto end = out.begin() + static_cast<std::ptrdiff_t>(std::min(kTerms, out.size()));
  std::partial_sort(out.begin(), end, out.end(), [&](const WorstTerm& x, const WorstTerm& y) {
    return change(x) != change(y) ? change(x) > change(y) : x.k < y.k;
  });
  out.erase(end, out.end());
  return out;
}

}  // namespace

std::optional<WorstElement> worst_element(const GemmErrors& errors, const GemmCombination& combination,
                                          const GemmPath& path, const ConvertedOperands& converted,
                                          const GemmOperands& operands, std::span<const double> exact,
                                          const GemmElements& elements) {
  if (errors.compared == 0 || errors.worst_exact == errors.worst_result) return std::nullopt;
  const std::uint64_t row = errors.worst_row, column = errors.worst_column;
  const std::uint64_t at = row * converted.n + column;
  WorstElement out;
  out.row = row;
  out.column = column;
  out.exact = exact[at];
  out.converted = converted.product[at];
  out.accumulator = elements.accumulator[at];
  out.result = elements.result[at];
  ConvertedOperands element{converted.dtype, converted.scaling, 1, 1, converted.k, {}, {}, {}};
  element.a = lane_of(converted.a, converted, row, row * converted.k, 1);
  element.b = lane_of(converted.b, converted, column, column, converted.n);
  out.terms = terms_of(operands, element, row, column, out.magnitudes);
  out.steps = steps_of(combination, path, element);
  return out;
}

}  // namespace mmaudit::report
