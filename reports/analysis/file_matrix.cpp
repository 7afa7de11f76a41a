#include "file_matrix.hpp"

#include <cmath>

#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::report {
namespace {

void count(TensorFacts& facts, double value) {
  const double size = std::fabs(value);
  facts.zeros_at_end = size == 0 ? facts.zeros_at_end + 1 : 0;
  if (std::isnan(size)) {
    ++facts.nan;
  } else if (std::isinf(size)) {
    ++facts.infinite;
  } else if (size == 0) {
    ++facts.zeros;
  } else {
    if (size > facts.largest) facts.largest = size;
    if (facts.least == 0 || size < facts.least) facts.least = size;
  }
}

}  // namespace

FileMatrix::FileMatrix(const char* option, const std::string& file, std::string role, bool transposed)
    : tensor_(corpus::load_tensor(file)),
      transposed_(transposed),
      values_(spec_of(corpus::format_of(tensor_))) {
  facts_.role = std::move(role);
  facts_.name = file;
  facts_.dtype = corpus::type_text(tensor_);
  facts_.shape = tensor_.shape;
  facts_.elements = tensor_.elements();
  if (corpus::format_of(tensor_) == Format::none)
    refuse("{}: {} dtype: found {}, allowed: {}", file, option, facts_.dtype, corpus::float_dtype_names());
  const std::size_t dimensions = tensor_.shape.size();
  // Activations are often (batch, sequence, K): every position is a row.
  if (dimensions > 2 && facts_.role != "B" && tensor_.shape.back() != 0)
    tensor_.shape = {facts_.elements / tensor_.shape.back(), tensor_.shape.back()};
  if (tensor_.shape.size() != 2)
    refuse("{}: {} shape: found {}, allowed: two dimensions{}", file, option,
           corpus::to_string(tensor_.shape),
           facts_.role == "C" && dimensions == 1 ? "; repeat a bias for every row" : "");
  for (std::uint64_t i = 0; i < facts_.elements; ++i) count(facts_, values_.at(tensor_.data.data(), i));
}

std::vector<double> FileMatrix::part(const std::vector<std::uint64_t>& rows,
                                     const std::vector<std::uint64_t>& columns) const {
  std::vector<double> out(rows.size() * columns.size());
  // In the file's own order; of a transposed file the writes are scattered.
  const std::vector<std::uint64_t>&outer = transposed_ ? columns : rows,
        &inner = transposed_ ? rows : columns;
  for (std::size_t o = 0; o < outer.size(); ++o)
    for (std::size_t i = 0; i < inner.size(); ++i)
      out[transposed_ ? i * columns.size() + o : o * columns.size() + i] =
          values_.at(tensor_.data.data(), outer[o] * tensor_.shape[1] + inner[i]);
  return out;
}

void require_known_side(const TensorAuditRequest& request, const FileMatrix& b) {
  if (request.b_transposed || b.rows() != b.columns() || b.rows() < 2) return;
  refuse(
      "--b: found {} x {}, allowed: a square B with --b-transposed (the file is (N, K), as the weight of "
      "torch.nn.Linear) or --no-b-transposed (K, N)",
      b.rows(), b.rows());
}

}  // namespace mmaudit::report
