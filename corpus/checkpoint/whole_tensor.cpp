// Whole tensors: what no sample sees.
#include <algorithm>
#include <cstring>

#include "find_layers.hpp"
#include "gguf.hpp"
#include "input_file.hpp"
#include "mmaudit/fast_cast.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::uint64_t kBytesAtATime = std::uint64_t{1} << 22;

/// Magnitudes of formats whose bits are in the order of the numbers, of a type that holds them.
template <class Word>
void add_magnitudes(const std::vector<std::byte>& bytes, Word infinity, Word& largest,
                    std::uint64_t& beyond) {
  for (std::size_t i = 0; i + sizeof(Word) <= bytes.size(); i += sizeof(Word)) {
    Word bits = 0;
    std::memcpy(&bits, bytes.data() + i, sizeof bits);
    bits &= static_cast<Word>(static_cast<Word>(~Word{0}) >> 1);
    beyond += bits >= infinity ? 1 : 0;
    largest = std::max(largest, bits >= infinity ? Word{0} : bits);
  }
}

template <class Word>
void scan(const StoredTensor& tensor, const FormatSpec& format, TensorFacts& out) {
  Word largest = 0;
  const auto infinity = static_cast<Word>(format.max_finite_bits() + 1);
  for (std::uint64_t at = 0; at < tensor.bytes; at += kBytesAtATime)
    add_magnitudes<Word>(tensor.file->read(tensor.begin + at, std::min(kBytesAtATime, tensor.bytes - at)),
                         infinity, largest, out.not_finite);
  out.largest = decode_value(largest, format);
}

}  // namespace

bool has_numbers(const StoredTensor& tensor) {
  const GgmlType* blocks = tensor.ggml_type != 0 ? find_ggml_type(tensor.ggml_type) : nullptr;
  const Format id = format_of(tensor.dtype);
  return (blocks == nullptr || blocks->per_scale == 0) && id != Format::none && !spec_of(id).integer();
}

TensorFacts facts_of(const StoredTensor& tensor) {
  TensorFacts out;
  if (!has_numbers(tensor)) return out;
  const FormatSpec format = spec_of(format_of(tensor.dtype));
  if (format.storage_bits == 8) scan<std::uint8_t>(tensor, format, out);
  if (format.storage_bits == 16) scan<std::uint16_t>(tensor, format, out);
  if (format.storage_bits == 32) scan<std::uint32_t>(tensor, format, out);
  if (format.storage_bits == 64) scan<std::uint64_t>(tensor, format, out);
  return out;
}

std::vector<float> numbers_of(const StoredTensor& tensor, std::uint64_t first, std::uint64_t count) {
  const std::uint64_t size = bytes_of(tensor.dtype);
  if (first > tensor.bytes / size || count > tensor.bytes / size - first)
    refuse("{}: elements: found {}, allowed: {} from {} on", tensor.name, tensor.bytes / size, count, first);
  const std::vector<std::byte> bytes = tensor.file->read(tensor.begin + first * size, count * size);
  const FastDecode decode(spec_of(format_of(tensor.dtype)));
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(decode.at(bytes.data(), i));
  return out;
}

std::string Checkpoint::model_name(const std::string& tensor) const {
  const std::size_t end = tensor.rfind('.');
  if (!config_.contains("general.architecture") || end == std::string::npos) return tensor;
  return module_name_of_gguf(std::string_view(tensor).substr(0, end)) + tensor.substr(end);
}

bool OtherTensor::is_layer() const {
  if (name == "quant_method" || why.find("quant_method") != std::string::npos) return name == "quant_method";
  return name.ends_with(kPlain.codes) ||
         std::any_of(conventions().begin(), conventions().end(),
                     [&](const Convention& row) { return name.ends_with(row.codes); });
}

}  // namespace mmaudit::corpus
