#include "mmaudit/sparse_pack.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {
namespace {

/// The magnitude; a NaN counts as infinite.
double size_of(std::uint64_t bits, const FormatSpec& format) {
  const double value = decode_value(bits, format);
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : std::fabs(value);
}

}  // namespace

PackedSparse pack_sparse(const Sparsity& sparsity, const FormatSpec& format, const void* dense,
                         std::uint64_t rows, std::uint64_t k) {
  const std::size_t bytes = format.storage_bytes();
  const auto group = static_cast<std::uint64_t>(sparsity.group),
             run = static_cast<std::uint64_t>(sparsity.run);
  PackedSparse out;
  out.elements.resize(rows * k / 2 * bytes);
  out.metadata.reserve(rows * k / 2);
  for (std::uint64_t first = 0; first < rows * k; first += group) {
    std::vector<std::pair<double, std::uint64_t>> runs;  // the largest first, of equals the earlier
    for (std::uint64_t position = 0; position < group; position += run) {
      double size = 0;
      for (std::uint64_t i = 0; i < run; ++i)
        size += size_of(load_word(dense, bytes, first + position + i), format);
      runs.emplace_back(-size, position);
    }
    std::sort(runs.begin(), runs.end());
    const auto kept = static_cast<std::size_t>(sparsity.kept / sparsity.run);
    for (std::size_t i = kept; i < runs.size(); ++i)
      for (std::uint64_t j = 0; j < run; ++j) {
        const std::uint64_t at = first + runs[i].second + j;
        if (size_of(load_word(dense, bytes, at), format) == 0) continue;
        if (out.pruned++ == 0) out.row = at / k, out.column = at % k;
      }
    std::sort(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(kept),
              [](const auto& x, const auto& y) { return x.second < y.second; });
    for (std::size_t i = 0; i < kept; ++i)
      for (std::uint64_t j = 0; j < run; ++j) {
        const std::uint64_t position = runs[i].second + j;
        store_word(out.elements.data(), bytes, out.metadata.size(),
                   load_word(dense, bytes, first + position));
        out.metadata.push_back(static_cast<std::uint8_t>(position));
      }
  }
  return out;
}

std::vector<std::byte> expand_sparse(const Sparsity& sparsity, const FormatSpec& format, const void* elements,
                                     const std::uint8_t* metadata, std::uint64_t rows, std::uint64_t k) {
  const std::size_t bytes = format.storage_bytes();
  std::vector<std::byte> out(rows * k * bytes);
  const auto kept = static_cast<std::uint64_t>(sparsity.kept),
             group = static_cast<std::uint64_t>(sparsity.group);
  for (std::uint64_t stored = 0; stored < rows * k / 2; ++stored)
    store_word(out.data(), bytes, stored / kept * group + metadata[stored],
               load_word(elements, bytes, stored));
  return out;
}

}  // namespace mmaudit
