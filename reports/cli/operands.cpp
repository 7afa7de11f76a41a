#include "operands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dtype.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::cli {

Operand load_operand(const char* option, const std::string& file, const FormatSpec& format,
                     const MatrixShape& wanted) {
  Operand operand{corpus::load_tensor(file)};
  corpus::Tensor& tensor = operand.tensor;
  operand.raw = tensor.dtype == raw_type(format);
  if (!operand.raw && tensor.dtype != value_type(format.id))
    throw InputError(fmt::format("{}: {} dtype: found {}, allowed: {} (raw bits of {}) or {}", file, option,
                                 corpus::safetensors_name(tensor.dtype),
                                 corpus::safetensors_name(raw_type(format)), name_of(format.id),
                                 corpus::safetensors_name(value_type(format.id))));
  operand.batched = tensor.shape.size() == 3;
  if (tensor.shape.size() == 2) tensor.shape.insert(tensor.shape.begin(), 1);
  const std::uint64_t sizes[] = {wanted.count, wanted.rows, wanted.columns};
  bool fits = tensor.shape.size() == 3;
  std::vector<std::string> allowed;
  for (std::size_t i = 0; i < 3; ++i) {
    fits = fits && (sizes[i] == 0 || tensor.shape[i] == sizes[i]);
    allowed.push_back(sizes[i] == 0 ? "any" : std::to_string(sizes[i]));
  }
  if (!fits)
    throw InputError(fmt::format("{}: {} shape: found {}, allowed: [{}] (matrices, rows, columns)", file,
                                 option, corpus::to_string(tensor.shape), fmt::join(allowed, ", ")));
  return operand;
}

corpus::Tensor result_tensor(const FormatSpec& format, const MatrixShape& shape, const Operand& a,
                             const std::optional<Operand>& c) {
  // Bytes of unsigned integers are raw bits and numbers alike: only C can ask for a raw D.
  const bool raw = c ? c->raw : a.raw && !format.integer();
  corpus::Tensor d;
  d.name = "D";
  d.dtype = raw ? raw_type(format) : value_type(format.id);
  d.shape = {shape.count, shape.rows, shape.columns};
  d.data.resize(shape.count * shape.rows * shape.columns * format.storage_bytes());
  return d;
}

}  // namespace mmaudit::cli
