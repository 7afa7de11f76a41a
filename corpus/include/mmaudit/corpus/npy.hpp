#pragma once
// NumPy's .npy files. Format: numpy.lib.format, versions 1.0 to 3.0.
#include <filesystem>

#include "mmaudit/corpus/tensor.hpp"

namespace mmaudit::corpus {

/// The array of a .npy file in C order, named after the file's stem. Fortran order is transposed. Big-endian,
/// structured, object, complex and text dtypes are refused, as are bytes after the array.
/// `V1` and `V2` (how ml_dtypes stores fp8 and bf16) come as raw u8 and u16, untyped unless write_npy() named
/// the type. Throws InputError.
Tensor read_npy(const std::filesystem::path& path);

/// Version 1.0, C order, byte for byte what numpy.save writes. The tensor's name is not stored.
/// Throws InputError if data and shape disagree or the file cannot be written.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace mmaudit::corpus
