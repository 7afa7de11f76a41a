#pragma once
// Convolutions for the tests: operands by a seed.
#include <gtest/gtest.h>

#include "mmaudit/convolution/convolve.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::conv::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  int in(int low, int high) {
    return low + static_cast<int>(splitmix64(state_) % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

inline Problem problem_of(const Shape& shape, const char* architecture, const char* name,
                          std::uint64_t seed) {
  const auto inst = find_instruction(name);
  EXPECT_TRUE(inst) << name;
  const DatapathEntry* const entry = inst ? find_datapath(*find_architecture(architecture), *inst) : nullptr;
  EXPECT_NE(entry, nullptr) << architecture << " " << name;
  if (entry == nullptr) return {};
  EXPECT_EQ(why_not(*inst), "");
  Problem problem{shape, *inst, entry->datapath, {}, {}};
  problem.activations = random_elements(spec_of(inst->a), bytes_of_activations(shape, *inst), seed);
  problem.weights = random_elements(spec_of(inst->b), bytes_of_weights(shape, *inst), seed);
  return problem;
}

inline int differences(const std::vector<std::uint64_t>& x, const std::vector<std::uint64_t>& y) {
  EXPECT_EQ(x.size(), y.size());
  int count = 0;
  for (std::size_t i = 0; i < x.size() && i < y.size(); ++i) count += x[i] != y[i] ? 1 : 0;
  return count;
}

inline const Algorithm& algorithm(std::string_view name) {
  for (const Algorithm& one : kAlgorithms)
    if (one.name == name) return one;
  ADD_FAILURE() << name;
  return kAlgorithms[0];
}

}  // namespace mmaudit::conv::test
