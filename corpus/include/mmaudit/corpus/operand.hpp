#pragma once
// Operands of matrix products in files of the user, and the file of the result.
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/corpus/tensor.hpp"
#include "mmaudit/scale_layout.hpp"
#include "mmaudit/tile_batch.hpp"

namespace mmaudit::corpus {

/// How many matrices, and their size.
struct MatrixShape {
  static constexpr std::uint64_t kAny = ~std::uint64_t{0};
  std::uint64_t count = kAny, rows = kAny, columns = kAny;
  bool packed = false;  ///< a checkpoint's weight of 4 bits may have two per byte
};

struct Operand {
  Tensor tensor;         ///< (count, rows, columns)
  bool raw = false;      ///< raw bits, not numbers
  bool batched = false;  ///< the file has three dimensions; with two it is one matrix

  [[nodiscard]] std::uint64_t count() const { return tensor.shape[0]; }
  [[nodiscard]] const void* data() const { return tensor.data.data(); }
};

/// What: the tensor of `file`, raw bits or numbers of `format`, as (count, rows, columns) or (rows, columns).
/// Errors: InputError that names file, option, what was found and what `wanted` and `format` allow.
/// `cast`: floats of another format are converted to `format` by it; null: they are refused, too.
Operand load_operand(const char* option, const std::string& file, const FormatSpec& format,
                     const MatrixShape& wanted, const CastRule* cast = nullptr);

/// (count, rows, columns) becomes (count, columns, rows), elements of `bytes` each.
/// Whether a tensor of this name holds 1 over the factor. Source: compressed_tensors 0.20.0,
/// compressors/nvfp4/base.py (weight_global_scale, input_global_scale).
bool is_reciprocal_factor(std::string_view name);
void exchange_rows_and_columns(Tensor& tensor, std::size_t bytes);

/// InputError that starts with `where` unless the tensor holds raw bits or numbers of the format.
void require_elements(const std::string& where, const Tensor& tensor, const FormatSpec& format);

/// The tensor "D" of such numbers, from their bits.
Tensor tensor_of_bits(Format format, std::vector<std::uint64_t> shape,
                      const std::vector<std::uint64_t>& elements);

/// D of this shape, zeros: raw bits if C, or without C A, was raw bits.
Tensor result_tensor(const FormatSpec& format, const MatrixShape& shape, const Operand& a,
                     const std::optional<Operand>& c);

/// What: the bytes of the scales of `owner` for `instruction`, in the layout of Matmul and TileView: count x
/// rows x blocks (A) or count x blocks x rows (B, whose rows here are columns). nullopt without a file.
/// `blocked`: the file has the layout of scale_layout.hpp. `transposed`: of a B whose file is (N, K) it may
/// have that order too, rows x blocks, or one UE8M0 for every 128 x 128 elements, (N / 128, K / 128) rounded
/// up, which is the scale of all blocks in them. Where N is K / block, and both orders fit, it is rows x
/// blocks.
/// Errors: InputError that names file, option, what was found and what is allowed.
std::optional<std::vector<std::uint8_t>> load_scales(const char* option, const std::string& file,
                                                     const Instruction& instruction, ScaleOwner owner,
                                                     std::uint64_t count, std::uint64_t rows,
                                                     std::uint64_t blocks, bool blocked = false,
                                                     bool transposed = false);

/// What: --metadata, count x rows x stored bytes, valid; empty for a dense instruction. `of`: as in
/// why_bad_metadata(). Errors: as load_scales(), also where a sparse instruction has none.
std::vector<std::uint8_t> load_metadata(const std::string& file, const Instruction& instruction,
                                        const MatrixShape& shape, const char* of);

/// Files of the operands of tiles; of those that may be left out the name is empty.
struct TileFiles {
  std::string a, b, c, scale_a, scale_b, metadata;
};

/// Operands of tiles as files have them.
struct TileOperands {
  Operand a, b;
  std::optional<Operand> c;
  std::optional<std::vector<std::uint8_t>> scale_a, scale_b;
  std::vector<std::uint8_t> modifiers, metadata;
  std::uint64_t tiles = 0;

  /// With room for D, which `d` holds.
  [[nodiscard]] TileView view(Tensor& d) const;
};

/// What: the operands of `instruction`, which all have as many tiles as A, each tile with these modifiers.
/// Errors: InputError that names file and option.
TileOperands load_tile_operands(const TileFiles& files, const Instruction& instruction,
                                std::uint8_t modifiers);

}  // namespace mmaudit::corpus
