#include "sweeps/gemm/samples.hpp"

#include "mmaudit/matmul.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "sweeps/gemm/value.hpp"

namespace mmaudit::sweeps {

std::vector<int> sampled_rows(int size) {
  constexpr int kOdd = 37;  // walks through the rows of a tile
  std::vector<int> rows;
  rows.reserve(kSampledRows);
  for (int i = 0; i < kSampledRows; ++i)
    rows.push_back(i * (size / kSampledRows) + i * kOdd % (size / kSampledRows));
  return rows;
}

std::vector<std::uint32_t> model_samples(int compute_capability, const Instruction& instruction, int size) {
  const Architecture* architecture = find_architecture(compute_capability);
  const DatapathEntry* entry = architecture == nullptr ? nullptr : find_datapath(*architecture, instruction);
  if (entry == nullptr) return {};
  const std::vector<int> rows = sampled_rows(size);
  const auto depth = static_cast<std::size_t>(size), count = rows.size();
  std::vector<std::uint16_t> a(count * depth), b(depth * count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < depth; ++k) {
      const std::uint64_t at = static_cast<std::uint64_t>(rows[i]) * depth + k;
      a[i * depth + k] = gemm_value(kGemmSeedA, at);
      b[k * count + i] = gemm_value(kGemmSeedB, at);
    }
  std::vector<std::uint32_t> d(count * count);
  Matmul problem;
  problem.m = problem.n = count;
  problem.k = depth;
  problem.a = a.data();
  problem.b = b.data();
  problem.d = d.data();
  matmul(instruction, entry->datapath, problem);
  return d;
}

const GemmPoint* GemmResult::find(std::string_view kernel, int size) const {
  for (const GemmPoint& point : points)
    if (point.kernel == kernel && point.size == size) return &point;
  return nullptr;
}

int GemmResult::wrong() const {
  int count = 0;
  for (const GemmPoint& point : points) count += point.order_known && point.differing > 0 ? 1 : 0;
  return count;
}

std::string why_no_gemm_size(int size) {
  if (size >= kGemmMultiple && size <= kMostGemmSize && size % kGemmMultiple == 0) return {};
  return refusal("found {}, allowed: multiples of {} up to {}", size, kGemmMultiple, kMostGemmSize);
}

}  // namespace mmaudit::sweeps
