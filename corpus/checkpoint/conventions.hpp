#pragma once
// How whoever writes a checkpoint keeps the codes and scales of a layer: rows. Not one line is copied;
// sources name the file and the function that a row was read from.
#include <cstdint>
#include <span>
#include <string_view>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/corpus/checkpoint.hpp"

namespace mmaudit::corpus {

/// Where element (row, k) lies among the codes.
enum class CodeOrder : std::uint8_t {
  elements,  ///< one after another
  nibbles,   ///< two per byte, the first in the low half
  words,     ///< along K in words of 32 bits, the first in the lowest bits
  gptq,      ///< (K / 8, N) words: along K
  awq,       ///< (K, N / 8) words: along N, interleaved
  blocks     ///< GGUF: blocks that hold their scales
};

/// What the package's own dequantization rounds.
enum class Dequantization : std::uint8_t {
  to_model,        ///< fl32(code scale), rounded to the type of the model
  to_scale,        ///< in the type of the scales
  scale_to_model,  ///< the scale rounded to the type of the model, then the product
  float32          ///< fl32(code scale)
};

/// One convention. `codes`, `scales`, ... are the ends of tensors' names behind the layer's.
struct Convention {
  std::string_view name, title;
  std::string_view methods;  ///< quant_method of configs that say it, with blanks between
  std::string_view codes, code_types;
  std::string_view scales = "", scale_types = "";
  std::string_view factor = "";
  std::string_view zeros = "", groups = "", shape = "";
  std::string_view inputs = "";  ///< scales of the input, with blanks between
  CodeOrder order = CodeOrder::elements;
  Format element = Format::none;    ///< none: the type of the codes says it
  std::uint64_t block_k = 0;        ///< 0: the shape of the scales says it
  std::uint64_t block_n = 1;        ///< of a matrix of scales; 0: the config says it, else 128
  bool divides = false;             ///< the factor divides the scale, and a static input scale is inverse
  bool transposed_experts = false;  ///< of the model's own tensor, (experts, k, n)
  int zero_added = 0;               ///< to stored zeros
  Dequantization dequantization = Dequantization::float32;
  std::string_view recipe = "";         ///< of W x A; "": products in the type of the model
  std::string_view tensor_recipe = "";  ///< the same where a scale covers the tensor
  std::string_view row_recipe = "";     ///< a row
  std::string_view algorithms =
      "";  ///< quant_algo of ModelOpt that alone means this row, with blanks between
  Format activation = Format::none;  ///< elements of A where no recipe says them
  std::string_view formats = "";     ///< `format` of compressed-tensors, with blanks between
  std::string_view source = "";
};

std::span<const Convention> conventions();
extern const Convention kPlain, kGguf;

}  // namespace mmaudit::corpus
