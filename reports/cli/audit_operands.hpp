#pragma once
// Matrices from files as numbers, of which only some rows or columns are kept.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/corpus/tensor.hpp"
#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::cli {

/// A matrix in a file, with what it holds. Rows and columns are those of the product: a transposed file has
/// them exchanged.
class FileMatrix {
 public:
  /// `option` is named in refusals. InputError when the tensor is no matrix of a floating type.
  FileMatrix(const char* option, const std::string& file, std::string role, bool transposed);

  [[nodiscard]] std::uint64_t rows() const { return transposed_ ? tensor_.shape[1] : tensor_.shape[0]; }
  [[nodiscard]] std::uint64_t columns() const { return transposed_ ? tensor_.shape[0] : tensor_.shape[1]; }
  [[nodiscard]] const report::TensorFacts& facts() const { return facts_; }
  /// These rows and columns, row-major.
  [[nodiscard]] std::vector<double> part(const std::vector<std::uint64_t>& rows,
                                         const std::vector<std::uint64_t>& columns) const;

 private:
  [[nodiscard]] double at(std::uint64_t index) const;
  void look_at_everything();

  corpus::Tensor tensor_;
  bool transposed_;
  FormatSpec format_;
  std::vector<double> table_;  ///< every number of a narrow format
  report::TensorFacts facts_;
};

}  // namespace mmaudit::cli
