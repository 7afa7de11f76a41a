// Codes and scales of some rows of a layer, and the numbers that they stand for.
#include <bit>
#include <cmath>
#include <limits>

#include "find_layers.hpp"
#include "gguf.hpp"
#include "input_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"

namespace mmaudit::corpus {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// `count` bytes of a tensor from `offset` on.
Bytes bytes_of_tensor(const StoredTensor& tensor, std::uint64_t offset, std::uint64_t count) {
  if (offset > tensor.bytes || count > tensor.bytes - offset)
    refuse("{}: size: found {} bytes, allowed: {} from {} on", tensor.name, tensor.bytes, count, offset);
  Bytes out(static_cast<std::size_t>(count));
  tensor.file->read(tensor.begin + offset, std::as_writable_bytes(std::span(out)));
  return out;
}
Bytes bytes_of_tensor(const StoredTensor& tensor) { return bytes_of_tensor(tensor, 0, tensor.bytes); }

/// Where the words of AWQ keep column i of eight. Source: AutoAWQ awq/utils/packing_utils.py,
/// AWQ_REVERSE_ORDER.
constexpr std::uint64_t kAwqPlace[8] = {0, 4, 1, 5, 2, 6, 3, 7};

std::uint64_t place_in_word(CodeOrder order, std::uint64_t i) {
  return order == CodeOrder::awq ? kAwqPlace[i] : i;
}

/// Element i of words that hold `bits` each.
std::uint8_t in_words(const Bytes& words, std::uint64_t word, std::uint64_t place, std::uint64_t bits) {
  const std::uint64_t value = load_word(words.data(), 4, word);
  return static_cast<std::uint8_t>(value >> (place * bits) & ((std::uint64_t{1} << bits) - 1));
}

/// The stored code without the half of the range that packing added, as a signed byte.
std::uint8_t centred(std::uint8_t code, std::uint64_t bits) {
  return static_cast<std::uint8_t>(code - (1U << (bits - 1)));
}

void read_codes(const CheckpointLayer& layer, CheckpointRows& out) {
  const CodeOrder order = layer.convention->order;
  const std::uint64_t k = layer.k, count = out.count;
  if (order == CodeOrder::elements) {
    const std::uint64_t row = k * spec_of(layer.format).storage_bytes();
    out.codes = bytes_of_tensor(*layer.codes, out.first * row, count * row);
    return;
  }
  out.codes.resize(static_cast<std::size_t>(count * k));
  if (order == CodeOrder::nibbles) {
    const Bytes packed = bytes_of_tensor(*layer.codes, out.first * (k / 2), count * (k / 2));
    for (std::size_t i = 0; i < packed.size(); ++i) {
      out.codes[2 * i] = packed[i] & 0xF;
      out.codes[2 * i + 1] = packed[i] >> 4;
    }
    return;
  }
  const std::uint64_t bits = element_bits(layer), per_word = 32 / bits;
  if (order == CodeOrder::words) {
    const std::uint64_t row = (k + per_word - 1) / per_word;
    const Bytes words = bytes_of_tensor(*layer.codes, out.first * row * 4, count * row * 4);
    for (std::uint64_t r = 0; r < count; ++r)
      for (std::uint64_t i = 0; i < k; ++i)
        out.codes[r * k + i] = centred(in_words(words, r * row + i / per_word, i % per_word, bits), bits);
    return;
  }
  const Bytes words = bytes_of_tensor(*layer.codes);
  for (std::uint64_t i = 0; i < k; ++i)
    for (std::uint64_t r = 0; r < count; ++r) {
      const std::uint64_t n = out.first + r;
      out.codes[r * k + i] = order == CodeOrder::gptq
                                 ? in_words(words, i / per_word * layer.n + n, i % per_word, bits)
                                 : in_words(words, i * (layer.n / per_word) + n / per_word,
                                            place_in_word(order, n % per_word), bits);
    }
}

void read_zeros(const CheckpointLayer& layer, CheckpointRows& out) {
  const CodeOrder order = layer.convention->order;
  const std::uint64_t columns = layer.scale_columns, bits = element_bits(layer), per_word = 32 / bits;
  out.zeros.resize(out.scales.size());
  if (order == CodeOrder::elements) {
    const Bytes stored = bytes_of_tensor(*layer.zero, out.first_scale * columns, out.zeros.size());
    for (std::size_t i = 0; i < stored.size(); ++i) out.zeros[i] = std::bit_cast<std::int8_t>(stored[i]);
    return;
  }
  const Bytes words = bytes_of_tensor(*layer.zero);
  const std::uint64_t width = (layer.n + per_word - 1) / per_word;
  for (std::uint64_t r = 0; r < out.scale_rows; ++r)
    for (std::uint64_t g = 0; g < columns; ++g) {
      const std::uint64_t n = out.first_scale + r, word = n / per_word,
                          place = place_in_word(order, n % per_word);
      std::uint8_t zero =
          in_words(words, order == CodeOrder::words ? word * columns + g : g * width + word, place, bits);
      if (order == CodeOrder::words) {
        out.zeros[r * columns + g] = std::bit_cast<std::int8_t>(centred(zero, bits));
      } else {
        zero = static_cast<std::uint8_t>((zero + layer.convention->zero_added) & ((1U << bits) - 1));
        out.zeros[r * columns + g] = zero;
      }
    }
}

/// A power of two as PyTorch computes 2 ^ (byte - 127): 255 is beyond the largest number. E8M0's own is NaN.
float power_of(std::uint8_t byte, bool of_type) {
  if (byte == 0xFF)
    return of_type ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  return std::ldexp(1.0F, byte - 127);
}

void read_scales(const CheckpointLayer& layer, CheckpointRows& out) {
  const CodeOrder order = layer.convention->order;
  const StoredTensor& tensor = *layer.scale;
  const std::uint64_t columns = layer.scale_columns, size = bytes_of(tensor.dtype);
  const bool across = order == CodeOrder::gptq || order == CodeOrder::awq;  // (groups, N)
  const Bytes stored =
      across ? bytes_of_tensor(tensor)
             : bytes_of_tensor(tensor, out.first_scale * columns * size, out.scale_rows * columns * size);
  out.scales.resize(static_cast<std::size_t>(out.scale_rows * columns));
  const FastDecode decode(
      spec_of(layer.scale_format == Format::f32 ? format_of(tensor.dtype) : layer.scale_format));
  for (std::uint64_t r = 0; r < out.scale_rows; ++r)
    for (std::uint64_t c = 0; c < columns; ++c) {
      const std::uint64_t at = across ? c * layer.n + out.first_scale + r : r * columns + c;
      out.scales[r * columns + c] = layer.scale_format == Format::ue8m0
                                        ? power_of(stored[at], tensor.dtype == DType::f8_e8m0)
                                        : static_cast<float>(decode.at(stored.data(), at));
    }
  if (layer.scale_format != Format::f32) out.stored_scales = stored;
}

void read_blocks(const CheckpointLayer& layer, CheckpointRows& out) {
  const GgmlType& type = *find_ggml_type(layer.codes->ggml_type);
  const std::uint64_t row = layer.k / type.elements * type.bytes, scales = type.elements / type.per_scale;
  const Bytes blocks = bytes_of_tensor(*layer.codes, out.first * row, out.count * row);
  const std::size_t count = blocks.size() / type.bytes;
  out.codes.resize(count * type.elements);
  out.scales.resize(count * scales);
  if (type.offsets) out.offsets.resize(count * scales);
  if (type.scale != Format::f32) out.stored_scales.resize(count * scales);
  for (std::size_t i = 0; i < count; ++i)
    type.unpack(
        blocks.data() + i * type.bytes,
        {out.codes.data() + i * type.elements,
         out.stored_scales.empty() ? nullptr : out.stored_scales.data() + i * scales,
         out.scales.data() + i * scales, out.offsets.empty() ? nullptr : out.offsets.data() + i * scales});
}

}  // namespace

CheckpointRows Checkpoint::rows(const CheckpointLayer& layer, std::uint64_t first, std::uint64_t count,
                                bool with_codes) const {
  if (first > layer.rows() || count > layer.rows() - first)
    refuse("rows: found {} from {} on, allowed: {} of {}", count, first, layer.rows(), layer.name);
  CheckpointRows out;
  out.first = first, out.count = count;
  if (count == 0) return out;
  if (layer.block_n != 0) {
    const auto scale_row = [&](std::uint64_t row) {
      return row / layer.n * layer.scale_rows + row % layer.n / layer.block_n;
    };
    out.first_scale = scale_row(first);
    out.scale_rows = scale_row(first + count - 1) - out.first_scale + 1;
  }
  if (layer.convention->order == CodeOrder::blocks) {
    read_blocks(layer, out);
    return out;
  }
  if (with_codes) read_codes(layer, out);
  if (layer.scale == nullptr) return out;
  read_scales(layer, out);
  if (layer.zeros) read_zeros(layer, out);
  if (layer.factors)
    for (const double factor : numbers_of(*layer.factor)) out.factors.push_back(static_cast<float>(factor));
  if (layer.groups) {
    for (const double group : numbers_of(*layer.group)) {
      if (!(group < static_cast<double>(layer.scale_columns)))  // the file has changed
        refuse("{}: found group {}, allowed: below {}", layer.group->name, group, layer.scale_columns);
      out.groups.push_back(static_cast<std::uint32_t>(group));
    }
  }
  return out;
}

std::vector<float> dequantized(const CheckpointLayer& layer, const CheckpointRows& rows) {
  const Convention& row = *layer.convention;
  const std::uint64_t k = layer.k, columns = layer.scale_columns;
  const FastDecode value(spec_of(layer.format));
  std::vector<float> out(static_cast<std::size_t>(rows.count * k));
  const auto rounded = [&](float x) {
    const FormatSpec spec = spec_of(layer.dequantized);
    return layer.dequantized == Format::f32 || x != x
               ? x
               : static_cast<float>(decode_value(encode_nearest_even(x, spec), spec));
  };
  const FastCast cast(spec_of(layer.dequantized), {CastRounding::nearest_even, false});
  const FastDecode back(spec_of(layer.dequantized));
  const bool narrow = layer.dequantized != Format::f32 && layer.dequantized != Format::f64;
  std::vector<float> scales(static_cast<std::size_t>(columns));
  std::vector<float> table;  // of elements of a byte
  for (unsigned code = 0; code < 256 && spec_of(layer.format).storage_bits == 8; ++code)
    table.push_back(static_cast<float>(value(code)));
  std::vector<std::uint32_t> group(rows.groups);
  for (std::uint64_t i = group.size(); i < k && columns != 0; ++i)
    group.push_back(static_cast<std::uint32_t>(i / layer.block_k));
  for (std::uint64_t r = 0; r < rows.count; ++r) {
    const std::uint64_t at = rows.first + r, expert = at / layer.n;
    const std::uint64_t from =
        columns == 0
            ? 0
            : (expert * layer.scale_rows + at % layer.n / layer.block_n - rows.first_scale) * columns;
    for (std::uint64_t c = 0; c < columns; ++c) {
      float scale = rows.scales[from + c];
      if (layer.factors) scale = row.divides ? scale / rows.factors[expert] : scale * rows.factors[expert];
      scales[c] = row.dequantization == Dequantization::scale_to_model ? rounded(scale) : scale;
    }
    for (std::uint64_t i = 0; i < k; ++i) {
      float x = table.empty() ? static_cast<float>(value.at(rows.codes.data(), r * k + i))
                              : table[rows.codes[r * k + i]];
      if (columns != 0) {
        const std::uint64_t c = group[i];
        if (!rows.zeros.empty()) x -= rows.zeros[from + c];
        x *= scales[c];
        if (!rows.offsets.empty()) x -= rows.offsets[from + c];
        if (narrow && x == x) x = static_cast<float>(back(cast(static_cast<double>(x))));
      }
      out[r * k + i] = x;
    }
  }
  return out;
}

}  // namespace mmaudit::corpus
