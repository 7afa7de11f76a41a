#pragma once
// Operands of matrix products in files of the user, and the file of the result.
#include <optional>
#include <string>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/tensor.hpp"

namespace mmaudit::cli {

/// How many matrices, and their size; 0: any.
struct MatrixShape {
  std::uint64_t count = 0, rows = 0, columns = 0;
};

struct Operand {
  corpus::Tensor tensor;  ///< (count, rows, columns)
  bool raw = false;       ///< raw bits, not numbers
  bool batched = false;   ///< the file has three dimensions; with two it is one matrix

  [[nodiscard]] std::uint64_t count() const { return tensor.shape[0]; }
  [[nodiscard]] const void* data() const { return tensor.data.data(); }
};

/// What: the tensor of `file`, raw bits or numbers of `format`, as (count, rows, columns) or (rows, columns).
/// Errors: InputError that names file, option, what was found and what `wanted` and `format` allow.
/// `cast`: floats of another format are converted to `format` by it; null: they are refused, too.
Operand load_operand(const char* option, const std::string& file, const FormatSpec& format,
                     const MatrixShape& wanted, const CastRule* cast = nullptr);

/// D of this shape, zeros: raw bits if C, or without C A, was raw bits.
corpus::Tensor result_tensor(const FormatSpec& format, const MatrixShape& shape, const Operand& a,
                             const std::optional<Operand>& c);

}  // namespace mmaudit::cli
