#pragma once
// The text between a .npy file's magic and its data: one Python dict literal.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/corpus/tensor.hpp"

namespace mmaudit::corpus {

struct NpyHeader {
  DType dtype = DType::u8;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  bool untyped = false;  ///< V1 or V2 without a comment that names one
};

/// Throws InputError, naming `file`, unless `text` is a dict of exactly descr, fortran_order and shape with
/// values this module can use, padded with white space.
NpyHeader parse_npy_header(std::string_view text, const std::string& file);

/// Magic, version 1.0 and padded header, 64-byte aligned, as numpy.save writes them.
std::string npy_preamble(DType dtype, const std::vector<std::uint64_t>& shape);

}  // namespace mmaudit::corpus
