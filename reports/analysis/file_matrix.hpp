#pragma once
// Matrices from files as numbers, of which only some rows or columns are kept.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/corpus/tensor.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// A matrix in a file, with facts about all of its elements. Rows and columns are counted as the product sees
/// them: a transposed file has them exchanged.
class FileMatrix {
 public:
  /// `option` is named in refusals. InputError when the tensor is no matrix of a floating type.
  FileMatrix(const char* option, const std::string& file, std::string role, bool transposed);

  [[nodiscard]] std::uint64_t rows() const { return tensor_.shape[transposed_ ? 1 : 0]; }
  [[nodiscard]] std::uint64_t columns() const { return tensor_.shape[transposed_ ? 0 : 1]; }
  [[nodiscard]] const TensorFacts& facts() const { return facts_; }
  /// These rows and columns, row-major.
  [[nodiscard]] std::vector<double> part(const std::vector<std::uint64_t>& rows,
                                         const std::vector<std::uint64_t>& columns) const;

 private:
  corpus::Tensor tensor_;
  bool transposed_;
  FastDecode values_;
  TensorFacts facts_;
};

/// Refuses a square B whose side was not named: it fits either way round, and the wrong way gives the error
/// of another product.
void require_known_side(const TensorAuditRequest& request, const FileMatrix& b);

}  // namespace mmaudit::report
