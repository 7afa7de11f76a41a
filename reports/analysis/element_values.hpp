#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::report {

/// The numbers that elements spell; of at most 16 bits they are looked up.
class ElementValues {
 public:
  explicit ElementValues(const FormatSpec& format) : format_(format), bytes_(format.storage_bytes()) {
    if (format.storage_bits > 16) return;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << format.storage_bits; ++bits)
      table_.push_back(decode_value(bits, format));
  }

  double operator()(std::uint64_t bits) const {
    if (!table_.empty()) return table_[bits];
    if (format_.integer()) return decode_value(bits, format_);
    if (bytes_ == 8) return std::bit_cast<double>(bits);
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  /// Element `index` of `elements`.
  [[nodiscard]] double at(const void* elements, std::uint64_t index) const {
    return (*this)(load_word(elements, bytes_, index));
  }

 private:
  FormatSpec format_;
  std::size_t bytes_;
  std::vector<double> table_;
};

}  // namespace mmaudit::report
