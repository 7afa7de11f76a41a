#include "audit_operands.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "dtype.hpp"
#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::cli {

FileMatrix::FileMatrix(const char* option, const std::string& file, std::string role, bool transposed)
    : tensor_(corpus::load_tensor(file)), transposed_(transposed) {
  const Format format = format_of(tensor_.dtype);
  if (format == Format::none)
    throw InputError(fmt::format("{}: {} dtype: found {}, allowed: F64, F32, BF16, F16, F8_E5M2, F8_E4M3",
                                 file, option, corpus::safetensors_name(tensor_.dtype)));
  if (tensor_.shape.size() != 2)
    throw InputError(fmt::format("{}: {} shape: found {}, allowed: two dimensions", file, option,
                                 corpus::to_string(tensor_.shape)));
  format_ = spec_of(format);
  if (format_.storage_bits <= 16)
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format_.storage_bits; ++bits)
      table_.push_back(decode_value(bits, format_));
  facts_.role = std::move(role);
  facts_.name = file;
  facts_.dtype = corpus::safetensors_name(tensor_.dtype);
  facts_.shape = tensor_.shape;
  look_at_everything();
}

double FileMatrix::at(std::uint64_t index) const {
  const std::byte* from = tensor_.data.data() + index * format_.storage_bytes();
  if (format_.id == Format::f32) {
    float x = 0;
    std::memcpy(&x, from, sizeof x);
    return static_cast<double>(x);
  }
  if (format_.id == Format::f64) {
    double x = 0;
    std::memcpy(&x, from, sizeof x);
    return x;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, format_.storage_bytes() == 1 ? 1 : 2);
  return table_[bits];
}

void FileMatrix::look_at_everything() {
  facts_.elements = tensor_.elements();
  for (std::uint64_t i = 0; i < facts_.elements; ++i) {
    const double size = std::fabs(at(i));
    if (std::isnan(size)) {
      ++facts_.nan;
    } else if (std::isinf(size)) {
      ++facts_.infinite;
    } else if (size == 0) {
      ++facts_.zeros;
    } else {
      if (size > facts_.largest) facts_.largest = size;
      if (facts_.least == 0 || size < facts_.least) facts_.least = size;
    }
  }
}

std::vector<double> FileMatrix::part(const std::vector<std::uint64_t>& rows,
                                     const std::vector<std::uint64_t>& columns) const {
  std::vector<double> out(rows.size() * columns.size());
  // The file's own order of reading; the writes are the scattered ones where it is transposed.
  const std::uint64_t width = tensor_.shape[1];
  for (std::size_t i = 0; !transposed_ && i < rows.size(); ++i)
    for (std::size_t j = 0; j < columns.size(); ++j)
      out[i * columns.size() + j] = at(rows[i] * width + columns[j]);
  for (std::size_t j = 0; transposed_ && j < columns.size(); ++j)
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i * columns.size() + j] = at(columns[j] * width + rows[i]);
  return out;
}

}  // namespace mmaudit::cli
