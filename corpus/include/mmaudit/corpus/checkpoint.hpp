#pragma once
// Checkpoints as people have them: which layers there are, how whoever wrote them keeps codes and scales, and
// both of some rows at a time. Only headers are kept in memory.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/corpus/tensor.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::corpus {

class RawFile;
struct Convention;

/// A tensor of one of the files.
struct StoredTensor {
  std::string name;
  const RawFile* file = nullptr;
  DType dtype = DType::u8;                 ///< of GGUF's blocks U8
  std::vector<std::uint64_t> shape;        ///< outermost first
  std::uint64_t begin = 0, bytes = 0;      ///< in the file
  std::uint32_t ggml_type = 0;             ///< of GGUF
  [[nodiscard]] std::string type() const;  ///< "BF16"; of GGUF "Q4_K"
};

/// A matrix of weights, or one per expert. Its rows are counted over all experts.
struct CheckpointLayer {
  std::string name;  ///< of the module: without ".weight"
  const Convention* convention = nullptr;
  std::uint64_t experts = 1, n = 0, k = 0;
  Format format = Format::none;        ///< of the codes; an integer has a width that its name says
  Format scale_format = Format::none;  ///< none: there are no scales
  std::uint64_t block_n = 0, block_k = 0, scale_rows = 0, scale_columns = 0;
  bool zeros = false, offsets = false, factors = false, groups = false;
  Format dequantized = Format::f32;         ///< what the package's own weights are
  std::string activations;                  ///< of its products: "none" (as they are), "dynamic", "static"
  Format activation_format = Format::none;  ///< elements of A in its products; none: as they are
  std::string recipe;                       ///< a name of recipes(), ""
  std::optional<double> input_scale;        ///< one activation is code * input_scale
  /// Of the codes, then of scales, factors, zeros, groups and the shape, null where there are none.
  const StoredTensor *codes = nullptr, *scale = nullptr, *factor = nullptr, *zero = nullptr, *group = nullptr;
  std::vector<std::string> tensors;  ///< names of all that belong to it
  std::uint64_t bytes = 0;
  /// Rows of a head whose two halves alternate here (attn_q, attn_k of a GGUF of Llama); 0: they don't.
  std::uint64_t head_rows = 0;
  std::string algorithm;  ///< quant_algo of ModelOpt's config, in capitals
  bool smoothed = false;  ///< activations are multiplied by a pre_quant_scale first
  bool product = true;    ///< false: rows of it are looked up (an embedding)
  /// Where transform_config of compressed-tensors turned it: "weight_input" keeps the norms of rows; "": not.
  std::string rotation;

  [[nodiscard]] std::uint64_t rows() const { return experts * n; }
  /// "w4a4 nvfp4-modelopt", "w4a16", "w4a8 e4m3" (no recipe has it), "bf16": what it means on a GPU.
  [[nodiscard]] std::string meaning() const;
  /// Whether the factor divides the scale.
  [[nodiscard]] bool divides() const;
  /// Whether experts are the transpose, (experts, k, n), of what the model has without scales.
  [[nodiscard]] bool transposed_experts() const;
  [[nodiscard]] std::string_view convention_name() const;
};

/// Some rows of a layer as they lie in the file: nothing is rounded.
struct CheckpointRows {
  std::uint64_t first = 0, count = 0;
  std::vector<std::uint8_t> codes;  ///< (count, k) in the storage of the format
  /// The scales that cover these rows, (scale rows, scale_columns): as stored, and as numbers.
  std::uint64_t first_scale = 0, scale_rows = 0;
  std::vector<std::uint8_t> stored_scales;
  std::vector<float> scales, zeros, offsets;
  std::vector<float> factors;         ///< one per expert, all of them
  std::vector<std::uint32_t> groups;  ///< (k): columns of scales
};

/// A tensor that belongs to no layer, and why where something is wrong with it.
struct OtherTensor {
  const StoredTensor* tensor = nullptr;
  std::string name, why;
  /// Whether its name is one of weights: then `why` is of a layer that can't be read.
  [[nodiscard]] bool is_layer() const;
};

/// Whether a tensor's elements are numbers by themselves: no integers, no blocks of a GGUF.
bool has_numbers(const StoredTensor& tensor);
/// What a pass over a whole tensor of numbers finds; of others nothing.
struct TensorFacts {
  std::uint64_t not_finite = 0;
  double largest = 0;  ///< magnitude of the finite ones
};
TensorFacts facts_of(const StoredTensor& tensor);
/// Numbers of a tensor from `first` on. Errors: InputError where they are none.
std::vector<float> numbers_of(const StoredTensor& tensor, std::uint64_t first, std::uint64_t count);

class Checkpoint {
 public:
  /// A folder, an index, a .safetensors or a .gguf. `convention`: a name of conventions() that the layers are
  /// to be read by; empty: what the config and the tensors say. Errors: InputError, with the names to choose
  /// from where several fit.
  explicit Checkpoint(const std::filesystem::path& path, std::string_view convention = {});
  ~Checkpoint();

  [[nodiscard]] const std::string& label() const { return label_; }
  [[nodiscard]] const std::vector<CheckpointLayer>& layers() const { return layers_; }
  [[nodiscard]] const std::vector<OtherTensor>& others() const { return others_; }
  /// What the config says and the tensors don't: "group_size: found 128 in the config, allowed: 64, ...".
  [[nodiscard]] const std::vector<std::string>& contradictions() const { return contradictions_; }
  [[nodiscard]] const std::vector<std::unique_ptr<StoredTensor>>& tensors() const { return tensors_; }
  [[nodiscard]] const Json& config() const { return config_; }
  [[nodiscard]] std::string kind() const { return kind_; }
  /// A tensor's name in the model: of a GGUF's what transformers calls it.
  [[nodiscard]] std::string model_name(const std::string& tensor) const;
  /// quant_method or producer of the config, "" where it names none.
  [[nodiscard]] std::string written_by() const;
  /// mmaudit.checkpoint/1.
  [[nodiscard]] Json json() const;

  /// `with_codes`: false leaves codes unread where scales lie apart from them. Errors: InputError where the
  /// file ends or says what it can't mean.
  [[nodiscard]] CheckpointRows rows(const CheckpointLayer& layer, std::uint64_t first, std::uint64_t count,
                                    bool with_codes = true) const;

 private:
  void open_file(const std::filesystem::path& path);
  void open_folder(const std::filesystem::path& folder);
  void open_index(const std::filesystem::path& index);
  void read_config(const std::filesystem::path& folder);
  void find_layers(std::string_view convention);

  std::string label_, kind_;
  Json config_ = Json::object(), quantization_ = Json::object();
  std::vector<std::unique_ptr<RawFile>> files_;
  std::vector<std::unique_ptr<StoredTensor>> tensors_;
  std::vector<CheckpointLayer> layers_;
  std::vector<OtherTensor> others_;
  std::vector<std::string> contradictions_;
};

/// Names of all conventions, for messages and help.
std::vector<std::string> convention_names();

/// What: the dequantized weights of `rows` as the package computes them, (count, k). `rows` may have been
/// changed. Rounding: as the convention's row says, to `layer.dequantized`.
std::vector<float> dequantized(const CheckpointLayer& layer, const CheckpointRows& rows);

}  // namespace mmaudit::corpus
