#pragma once
// What the writers need of a tensor, so that writing copies no data.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "mmaudit/corpus/tensor.hpp"

namespace mmaudit::corpus {

struct TensorView {
  std::string_view name;
  DType dtype;
  std::span<const std::uint64_t> shape;
  std::span<const std::byte> data;
};

/// Throws InputError, naming `file` and the tensor, if the readers would refuse it: too many dimensions, or
/// data that does not match the shape.
void check_writable(const TensorView& tensor, const std::string& file);

}  // namespace mmaudit::corpus
