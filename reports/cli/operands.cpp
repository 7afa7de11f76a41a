#include "operands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mmaudit/corpus/dtype.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/generators/tiles.hpp"

namespace mmaudit::cli {

namespace {

void convert_elements(corpus::Tensor& tensor, const FormatSpec& to, const CastRule& rule) {
  const FormatSpec from = spec_of(corpus::format_of(tensor.dtype));
  const std::size_t elements = tensor.data.size() / from.storage_bytes();
  std::vector<std::byte> converted(elements * to.storage_bytes());
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = gen::load_bits(tensor.data, from.storage_bytes(), i);
    gen::store_bits(converted, to.storage_bytes(), i, cast_bits(bits, from, to, rule));
  }
  tensor.data = std::move(converted);
  tensor.dtype = corpus::value_type(to.id);
}

}  // namespace

Operand load_operand(const char* option, const std::string& file, const FormatSpec& format,
                     const MatrixShape& wanted, const CastRule* cast) {
  Operand operand{corpus::load_tensor(file)};
  corpus::Tensor& tensor = operand.tensor;
  operand.raw = tensor.dtype == corpus::raw_type(format);
  const bool fits_type = operand.raw || tensor.dtype == corpus::value_type(format.id);
  const bool is_float = corpus::format_of(tensor.dtype) != Format::none && !format.integer();
  if (!fits_type && (cast == nullptr || !is_float))
    throw InputError(
        fmt::format("{}: {} dtype: found {}, allowed: {}{}", file, option,
                    corpus::safetensors_name(tensor.dtype), corpus::types_text(format),
                    is_float ? fmt::format(" (`mmaudit convert --to {}` converts it)", name_of(format.id))
                             : std::string()));
  if (!fits_type) convert_elements(tensor, format, *cast);
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
  d.dtype = raw ? corpus::raw_type(format) : corpus::value_type(format.id);
  d.shape = {shape.count, shape.rows, shape.columns};
  d.data.resize(shape.count * shape.rows * shape.columns * format.storage_bytes());
  return d;
}

}  // namespace mmaudit::cli
