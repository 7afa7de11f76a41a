#pragma once
// Tensors as the user names them on the command line.
#include <string>

#include "mmaudit/corpus/tensor.hpp"

namespace mmaudit::corpus {

/// `file.npy`, `file.npy:FORMAT` (its raw bits are numbers of that format), `file.safetensors:tensor` or
/// `file.safetensors` with exactly one tensor, or `file.safetensors.index.json:tensor` by the file that the
/// index of a checkpoint says. The first `.safetensors:` splits, so a tensor's name may hold colons and dots.
/// Throws InputError.
Tensor load_tensor(const std::string& spec);

/// Bytes of its data, for a .npy file of the whole file; 0 where load_tensor() would throw.
std::uint64_t tensor_bytes(const std::string& spec);

/// The file of such a name: without the tensor's, or the format.
std::string file_of(const std::string& spec);

/// Throws what save_tensor() would of this path, as far as that can be known before.
void check_tensor_target(const std::string& path);

/// By extension, .npy or .safetensors; a tensor without a name is stored as `tensor`. Throws InputError.
void save_tensor(const std::string& path, const Tensor& tensor);

}  // namespace mmaudit::corpus
