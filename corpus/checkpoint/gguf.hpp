#pragma once
// GGUF: headers, and the blocks of its types. Format: ggml-org/ggml docs/gguf.md, version 2 and 3.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/corpus/checkpoint.hpp"

namespace mmaudit::corpus {

/// Codes and scales of one block.
struct BlockOut {
  std::uint8_t* codes;      ///< `elements` of the type
  std::uint8_t* stored;     ///< elements / per_scale, where the scales have a format of a byte
  float *scales, *offsets;  ///< elements / per_scale
};

/// A type of tensors. A number without scales has per_scale 0.
struct GgmlType {
  std::uint32_t id;
  std::string_view name;
  std::uint64_t elements, bytes;  ///< of a block
  Format element;
  std::uint64_t per_scale = 0;
  Format scale = Format::f32;
  bool offsets = false;
  void (*unpack)(const std::uint8_t* block, const BlockOut& out) = nullptr;
};

/// nullptr: none that this module reads.
const GgmlType* find_ggml_type(std::uint32_t id);

struct GgufHeader {
  Json metadata = Json::object();  ///< texts and numbers; lists are left out
  std::vector<StoredTensor> tensors;
  std::vector<std::string> refused;  ///< why, per tensor; "": it can be read
};

/// Errors: InputError, naming the file.
GgufHeader read_gguf_header(const RawFile& file);

/// "blk.0.attn_q" as transformers names it, "model.layers.0.self_attn.q_proj".
std::string module_name_of_gguf(std::string_view name);

}  // namespace mmaudit::corpus
