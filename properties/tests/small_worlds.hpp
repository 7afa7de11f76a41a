#pragma once
// Toys: instructions and datapaths of no hardware, so small that every input can be run. Method and limits:
// docs/properties.md, "Small worlds".
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/dot_case.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::gen {

/// Every position of `at_a` and `at_b` takes every pattern, the other positions of K are +0; every block
/// every scale, every group of a sparse A every metadata.
struct SmallWorld {
  std::string name;
  Instruction instruction;
  Datapath datapath;
  std::vector<std::uint64_t> a, b, c;     ///< patterns of an element, raw bits
  std::vector<int> at_a, at_b;            ///< positions among the stored elements of A, and the k of B
  std::vector<std::uint8_t> scales = {};  ///< patterns of a scale; empty unless block-scaled
};

/// One row of A or column of B.
struct Lane {
  std::vector<std::uint64_t> elements;
  std::vector<std::uint8_t> scales, metadata;  ///< metadata: of a row of a sparse A
};

/// What: the inputs of an element of D. Range: `row` below rows_of(), `column` below columns_of().
std::uint64_t rows_of(const SmallWorld& world);
std::uint64_t columns_of(const SmallWorld& world);
DotCase dot_of(const SmallWorld& world, std::uint64_t row, std::uint64_t column);

/// Every row times every column. The rows of A stand once per pattern of c. `problem` points into the
/// vectors.
struct SmallProduct {
  std::vector<std::byte> a, b, c, d;
  std::vector<std::uint8_t> scale_a, scale_b, metadata;
  Matmul problem;

  explicit SmallProduct(const SmallWorld& world);
  SmallProduct(const SmallProduct&) = delete;
  SmallProduct& operator=(const SmallProduct&) = delete;
};

/// Each arithmetic, each output, scales on products and on groups, metadata. `large`: more
/// patterns, for a GPU.
std::vector<SmallWorld> small_worlds(bool large);

}  // namespace mmaudit::gen
