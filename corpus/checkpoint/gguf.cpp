#include "gguf.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "input_file.hpp"
#include "mmaudit/convert.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

// ---- blocks. Source of all: gguf 0.19.0, gguf/quants.py, dequantize_blocks of the type.

float half_at(const std::uint8_t* bytes) {
  return static_cast<float>(
      decode_value(static_cast<std::uint64_t>(bytes[0] | bytes[1] << 8), spec_of(Format::f16)));
}

/// `count` bytes hold 2 `count` codes: the low halves first, then the high ones.
void halves(const std::uint8_t* bytes, std::size_t count, std::uint8_t* codes, int zero = 0) {
  for (std::size_t i = 0; i < count; ++i) {
    codes[i] = static_cast<std::uint8_t>((bytes[i] & 0xF) - zero);
    codes[count + i] = static_cast<std::uint8_t>((bytes[i] >> 4) - zero);
  }
}

void q8_0(const std::uint8_t* block, const BlockOut& out) {
  out.scales[0] = half_at(block);
  std::copy_n(block + 2, 32, out.codes);
}
void q4_0(const std::uint8_t* block, const BlockOut& out) {
  out.scales[0] = half_at(block);
  halves(block + 2, 16, out.codes, 8);
}
void mxfp4(const std::uint8_t* block, const BlockOut& out) {
  out.stored[0] = block[0];
  out.scales[0] = static_cast<float>(decode_value(block[0], spec_of(Format::ue8m0)));
  halves(block + 1, 16, out.codes);
}
void nvfp4(const std::uint8_t* block, const BlockOut& out) {
  for (std::size_t s = 0; s < 4; ++s) {
    const std::uint8_t bits = block[s];
    out.stored[s] = bits == 0x7F ? std::uint8_t{0} : bits;  // ue4m3_to_fp32: NaN is 0
    out.scales[s] = static_cast<float>(decode_value(out.stored[s], spec_of(Format::ue4m3)));
    halves(block + 4 + 8 * s, 8, out.codes + 16 * s);
  }
}
void q4_k(const std::uint8_t* block, const BlockOut& out) {
  const float d = half_at(block), least = half_at(block + 2);
  const std::uint8_t* s = block + 4;
  for (std::size_t i = 0; i < 8; ++i) {  // get_scale_min: 6 bits each
    const std::size_t j = i % 4;
    const int scale = i < 4 ? s[j] & 63 : (s[8 + j] & 15) | (s[j] >> 2 & 48);
    const int offset = i < 4 ? s[4 + j] & 63 : s[8 + j] >> 4 | (s[4 + j] >> 2 & 48);
    out.scales[i] = d * static_cast<float>(scale);
    out.offsets[i] = least * static_cast<float>(offset);
  }
  for (std::size_t i = 0; i < 4; ++i) halves(block + 16 + 32 * i, 32, out.codes + 64 * i);
}
void q6_k(const std::uint8_t* block, const BlockOut& out) {
  const std::uint8_t *low = block, *high = block + 128, *scales = block + 192;
  const float d = half_at(block + 208);
  for (std::size_t i = 0; i < 16; ++i)
    out.scales[i] = d * static_cast<float>(std::bit_cast<std::int8_t>(scales[i]));
  for (std::size_t i = 0; i < 256; ++i) {
    const std::size_t half = i / 128, in = i % 128;
    const int four = low[64 * half + in % 64] >> 4 * (in / 64) & 15;
    const int two = high[32 * half + in % 32] >> 2 * (in / 32) & 3;
    out.codes[i] = static_cast<std::uint8_t>((four | two << 4) - 32);
  }
}

// Ids and sizes: gguf 0.19.0, gguf/constants.py, GGMLQuantizationType and GGML_QUANT_SIZES.
constexpr GgmlType kTypes[] = {
    {0, "F32", 1, 4, Format::f32},
    {1, "F16", 1, 2, Format::f16},
    {30, "BF16", 1, 2, Format::bf16},
    {28, "F64", 1, 8, Format::f64},
    {2, "Q4_0", 32, 18, Format::s4, 32, Format::f32, false, q4_0},
    {8, "Q8_0", 32, 34, Format::s8, 32, Format::f32, false, q8_0},
    {12, "Q4_K", 256, 144, Format::u4, 32, Format::f32, true, q4_k},
    {14, "Q6_K", 256, 210, Format::s8, 16, Format::f32, false, q6_k},
    {39, "MXFP4", 32, 17, Format::e2m1, 32, Format::ue8m0, false, mxfp4},
    {40, "NVFP4", 64, 36, Format::e2m1, 16, Format::ue4m3, false, nvfp4},
};

std::vector<std::string> type_names() {
  std::vector<std::string> out;
  for (const GgmlType& type : kTypes) out.emplace_back(type.name);
  return out;
}

// ---- the header

/// Reads forwards through the start of the file, in pieces.
class Cursor {
 public:
  explicit Cursor(const RawFile& file) : file_(file) {}

  std::uint64_t number(std::size_t bytes) { return little_endian(std::as_bytes(take(bytes))); }
  std::string text(std::uint64_t most) {
    const std::uint64_t length = number(8);
    if (length > most) refuse("{}: text: found {} bytes, allowed: at most {}", file_.label(), length, most);
    const auto bytes = take(static_cast<std::size_t>(length));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void skip(std::uint64_t bytes) {
    if (bytes > file_.size() - at())
      refuse("{}: size: found {} bytes, allowed: {} more from byte {} on", file_.label(), file_.size(), bytes,
             at());
    begin_ = at() + bytes, next_ = 0;
    piece_.clear();
  }
  [[nodiscard]] std::uint64_t at() const { return begin_ + next_; }

 private:
  std::span<const std::byte> take(std::size_t count) {
    if (piece_.size() - next_ < count) {
      constexpr std::uint64_t kPiece = std::uint64_t{1} << 16;
      begin_ += next_, next_ = 0;
      const std::uint64_t left = file_.size() - std::min(file_.size(), begin_);
      piece_ = file_.read(begin_, std::max<std::uint64_t>(count, std::min(kPiece, left)));
    }
    next_ += count;
    return std::span(piece_).subspan(next_ - count, count);
  }

  const RawFile& file_;
  std::uint64_t begin_ = 0;
  std::size_t next_ = 0;
  std::vector<std::byte> piece_;
};

constexpr std::uint64_t kMostText = std::uint64_t{16} << 20;

/// Types of metadata: docs/gguf.md, gguf_metadata_value_type.
constexpr std::uint64_t kString = 8, kArray = 9, kTypesOfValues = 13;
constexpr std::size_t kBytesOf[kTypesOfValues] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr bool kSigned[kTypesOfValues] = {false, true, false, true, false, true};

Json value_of(Cursor& from, std::uint64_t type, const RawFile& file, int depth = 0) {
  if (type >= kTypesOfValues) refuse("{}: metadata type: found {}, allowed: 0 to 12", file.label(), type);
  if (type == kString) return from.text(kMostText);
  if (type == kArray) {
    constexpr int kDeepest = 4;
    if (depth == kDeepest)
      refuse("{}: metadata: found lists in lists, allowed: {} deep", file.label(), kDeepest);
    const std::uint64_t of = from.number(4), count = from.number(8);
    const std::uint64_t each = of < kTypesOfValues ? kBytesOf[of] : 0;
    if (count > file.size() / (each != 0 ? each : 8))  // 8: the length of a text or of a list's elements
      refuse("{}: list: found {} elements, allowed: what the file holds", file.label(), count);
    if (each != 0) {
      from.skip(count * each);
    } else {
      for (std::uint64_t i = 0; i < count; ++i) value_of(from, of, file, depth + 1);  // ends with the file
    }
    return {};
  }
  const std::uint64_t bits = from.number(kBytesOf[type]);
  if (type == 6) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  if (type == 12) return std::bit_cast<double>(bits);
  if (type == 7) return bits != 0;
  const unsigned empty = 64 - 8 * static_cast<unsigned>(kBytesOf[type]);
  if (kSigned[type] || type == 11) return static_cast<std::int64_t>(bits << empty) >> empty;
  return bits;
}

/// Where the data lies and whether it can be read: "" or why not.
std::string place(StoredTensor& tensor, std::uint64_t data, std::uint64_t alignment, std::uint64_t size) {
  const GgmlType* type = find_ggml_type(tensor.ggml_type);
  if (type == nullptr)
    return refusal("type: found {}, allowed: {}", tensor.ggml_type, with_commas(type_names()));
  const auto elements = element_count(tensor.shape);
  const std::uint64_t k = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (!elements || *elements > (std::uint64_t{1} << 56) || k % type->elements != 0)
    return refusal("shape: found {}, allowed: rows of whole blocks of {}", to_string(tensor.shape),
                   type->elements);
  tensor.bytes = *elements / type->elements * type->bytes;
  if (tensor.begin % alignment != 0 || tensor.begin > size || data > size - tensor.begin ||
      tensor.bytes > size - data - tensor.begin)
    return refusal("offset: found {}, allowed: {} bytes within the file, a multiple of {}", tensor.begin,
                   tensor.bytes, alignment);
  tensor.begin += data;
  if (type->per_scale == 0) tensor.dtype = value_type(type->element);
  return {};
}

}  // namespace

const GgmlType* find_ggml_type(std::uint32_t id) {
  const auto* const found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [id](const auto& t) { return t.id == id; });
  return found == std::end(kTypes) ? nullptr : found;
}

GgufHeader read_gguf_header(const RawFile& file) {
  Cursor from(file);
  constexpr std::uint64_t kMagic = 0x46554747;  // "GGUF"
  if (const std::uint64_t magic = from.number(4); magic != kMagic)
    refuse("{}: first bytes: found {}, allowed: GGUF, little-endian", file.label(), magic);
  const std::uint64_t version = from.number(4);
  if (version != 2 && version != 3) refuse("{}: version: found {}, allowed: 2, 3", file.label(), version);
  const std::uint64_t tensors = from.number(8), keys = from.number(8);
  constexpr std::uint64_t kMost = 1'000'000, kMostKeys = 4096;
  if (tensors > kMost || keys > kMostKeys)
    refuse("{}: counts: found {} tensors and {} keys, allowed: at most {} and {}", file.label(), tensors,
           keys, kMost, kMostKeys);
  GgufHeader out;
  std::set<std::string> names;
  std::vector<std::pair<std::string, Json>> kept;
  for (std::uint64_t i = 0; i < keys; ++i) {
    std::string key = from.text(65535);  // docs/gguf.md
    Json value = value_of(from, from.number(4), file);
    if (!names.insert(key).second)
      refuse("{}: key: found {} twice, allowed: once", file.label(), in_quotes(key));
    constexpr std::size_t kShort = 1000;
    if (!value.is_null() && !(value.is_string() && value.get<std::string>().size() > kShort))
      out.metadata[key] = std::move(value);
  }
  names.clear();
  for (std::uint64_t i = 0; i < tensors; ++i) {
    StoredTensor& tensor = out.tensors.emplace_back();
    tensor.name = from.text(65535);
    tensor.file = &file;
    const std::uint64_t rank = from.number(4);
    if (rank > 4) refuse("{}: dimensions: found {}, allowed: at most 4", file.label(), rank);
    for (std::uint64_t d = 0; d < rank; ++d) tensor.shape.insert(tensor.shape.begin(), from.number(8));
    tensor.ggml_type = static_cast<std::uint32_t>(from.number(4));
    tensor.begin = from.number(8);
    if (!names.insert(tensor.name).second)
      refuse("{}: tensor: found {} twice, allowed: once", file.label(), in_quotes(tensor.name));
  }
  const Json* given = out.metadata.find("general.alignment");
  const std::uint64_t alignment =
      given != nullptr && given->is_number_unsigned() ? given->get<std::uint64_t>() : 32;
  if (!std::has_single_bit(alignment) || alignment > (std::uint64_t{1} << 20))
    refuse("{}: general.alignment: found {}, allowed: a power of two", file.label(), alignment);
  const std::uint64_t data = (from.at() + alignment - 1) / alignment * alignment;
  for (StoredTensor& tensor : out.tensors) out.refused.push_back(place(tensor, data, alignment, file.size()));
  return out;
}

std::string module_name_of_gguf(std::string_view name) {
  // gguf 0.19.0, gguf/tensor_mapping.py: the names of Llama, Qwen and Mixtral in transformers.
  static constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"token_embd", "model.embed_tokens"},
      {"output", "lm_head"},
      {"output_norm", "model.norm"},
      {"attn_norm", "input_layernorm"},
      {"ffn_norm", "post_attention_layernorm"},
      {"attn_q_norm", "self_attn.q_norm"},
      {"attn_k_norm", "self_attn.k_norm"},
      {"attn_q", "self_attn.q_proj"},
      {"attn_k", "self_attn.k_proj"},
      {"attn_v", "self_attn.v_proj"},
      {"attn_output", "self_attn.o_proj"},
      {"attn_qkv", "self_attn.qkv_proj"},
      {"ffn_gate", "mlp.gate_proj"},
      {"ffn_up", "mlp.up_proj"},
      {"ffn_down", "mlp.down_proj"},
      {"ffn_gate_inp", "mlp.gate"},
      {"ffn_gate_exps", "mlp.experts.gate_proj"},
      {"ffn_up_exps", "mlp.experts.up_proj"},
      {"ffn_down_exps", "mlp.experts.down_proj"}};
  std::string front;
  std::string_view part = name;
  if (name.starts_with("blk.")) {
    const std::size_t end = std::min(name.find('.', 4), name.size() - 1);
    front = "model.layers." + std::string(name.substr(4, end - 4)) + ".";
    part = name.substr(end + 1);
  }
  for (const auto& [from, to] : kParts)
    if (from == part) return front + std::string(to);
  return std::string(name);
}

}  // namespace mmaudit::corpus
