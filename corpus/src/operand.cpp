#include "mmaudit/corpus/operand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/element_bits.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"

namespace mmaudit::corpus {
namespace {

void convert_elements(Tensor& tensor, const FormatSpec& to, const CastRule& rule) {
  const FormatSpec from = spec_of(format_of(tensor));
  const std::size_t elements = tensor.data.size() / from.storage_bytes();
  std::vector<std::byte> converted(elements * to.storage_bytes());
  cast_elements(tensor.data.data(), from, converted.data(), to, rule, elements, [](double, std::uint64_t) {});
  tensor.data = std::move(converted);
  tensor.dtype = value_type(to.id);
  tensor.said = to.id;
}

/// A byte per element of two in each, the first in the low half, as checkpoints keep them.
void unpack_halves(Tensor& tensor) {
  std::vector<std::byte> out;
  out.reserve(2 * tensor.data.size());
  for (const std::byte both : tensor.data) out.insert(out.end(), {both & std::byte{15}, both >> 4});
  tensor.data = std::move(out);
  tensor.shape.back() *= 2;
}

/// Makes the shape (count, rows, columns); refuses any other than `wanted`.
void require_shape(const char* option, const std::string& file, Tensor& tensor, const MatrixShape& wanted) {
  if (tensor.shape.size() == 2) tensor.shape.insert(tensor.shape.begin(), 1);
  const std::uint64_t sizes[] = {wanted.count, wanted.rows, wanted.columns};
  const auto takes = [](std::uint64_t size, std::uint64_t found) {
    return size == MatrixShape::kAny || size == found;
  };
  bool fits = tensor.shape.size() == 3;
  std::vector<std::string> allowed;
  for (std::size_t i = 0; i < 3; ++i) {
    fits = fits && takes(sizes[i], tensor.shape[i]);
    allowed.push_back(sizes[i] == MatrixShape::kAny ? "any" : std::to_string(sizes[i]));
  }
  if (fits) return;
  const bool exchanged = tensor.shape.size() == 3 && takes(wanted.rows, tensor.shape[2]) &&
                         takes(wanted.columns, tensor.shape[1]);
  refuse("{}: {} shape: found {}, allowed: [{}] (matrices, rows, columns){}", file, option,
         to_string(tensor.shape), allowed, exchanged ? "; with rows and columns exchanged it fits" : "");
}

/// Refuses blocked scales of a shape that no library gives them: bytes, the padded matrix, or its tiles.
void require_blocked_shape(const char* option, const std::string& file, const Tensor& tensor,
                           std::uint64_t count, std::uint64_t rows, std::uint64_t blocks) {
  const std::uint64_t down = detail::quotient_up(rows, kScaleTileRows),
                      across = detail::quotient_up(blocks, kScaleTileBlocks);
  std::vector<std::string> allowed;
  for (std::vector<std::uint64_t> shape : {std::vector{blocked_scale_bytes(rows, blocks)},
                                           {down * kScaleTileRows, across * kScaleTileBlocks},
                                           {down, across, kScaleTileRows * kScaleTileBlocks},
                                           {down, across, 32, 16}}) {
    if (count == 1 && tensor.shape == shape) return;
    shape.insert(shape.begin(), count);
    if (tensor.shape == shape) return;
    allowed.push_back(to_string(std::span(shape).subspan(count == 1 ? 1 : 0)));
  }
  refuse("{}: {} shape: found {}, allowed: {} (blocked: bytes, or tiles of {} x {})", file, option,
         to_string(tensor.shape), fmt::format("{}", fmt::join(allowed, ", ")), kScaleTileRows,
         kScaleTileBlocks);
}

std::span<const std::uint8_t> bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const std::uint8_t*>(tensor.data.data()), tensor.data.size()};
}

std::vector<std::uint8_t> copy_of(const Tensor& tensor) {
  const auto bytes = bytes_of(tensor);
  return {bytes.begin(), bytes.end()};
}

/// Elements of a side of a block of DeepSeek-V3.1, config.json, weight_block_size with scale_fmt ue8m0.
constexpr std::uint64_t kCheckpointBlock = 128;

/// The scales of a file in the order of (N, K) weights, rows x blocks or one per 128 x 128 elements, as
/// blocks x rows; nullopt where the file has neither shape.
std::optional<std::vector<std::uint8_t>> checkpoint_scales(const Tensor& tensor,
                                                           const Instruction& instruction,
                                                           const MatrixShape& shape) {
  const std::uint64_t count = shape.count, rows = shape.rows, blocks = shape.columns;
  for (const std::uint64_t side : {std::uint64_t{1}, kCheckpointBlock}) {
    const std::uint64_t along =
        std::max<std::uint64_t>(1, side / static_cast<std::uint64_t>(instruction.scale_block));
    const std::uint64_t down = detail::quotient_up(rows, side), across = detail::quotient_up(blocks, along);
    std::vector<std::uint64_t> found = tensor.shape;
    if (found.size() == 2) found.insert(found.begin(), 1);
    if (found != std::vector<std::uint64_t>{count, down, across}) continue;
    if (side != 1 && instruction.scale != Format::ue8m0) continue;
    std::vector<std::uint8_t> out;
    out.reserve(count * blocks * rows);
    for (std::uint64_t matrix = 0; matrix < count; ++matrix)
      for (std::uint64_t block = 0; block < blocks; ++block)
        for (std::uint64_t row = 0; row < rows; ++row)
          out.push_back(bytes_of(tensor)[(matrix * down + row / side) * across + block / along]);
    return out;
  }
  return std::nullopt;
}

}  // namespace

bool is_reciprocal_factor(std::string_view name) { return name.ends_with("_global_scale"); }

void exchange_rows_and_columns(Tensor& tensor, std::size_t bytes) {
  const std::uint64_t rows = tensor.shape[1], columns = tensor.shape[2];
  const std::vector<std::byte> from = tensor.data;
  for (std::uint64_t matrix = 0; matrix < tensor.shape[0]; ++matrix)
    for (std::uint64_t i = 0; i < rows; ++i)
      for (std::uint64_t j = 0; j < columns; ++j)
        std::copy_n(&from[((matrix * rows + i) * columns + j) * bytes], bytes,
                    &tensor.data[((matrix * columns + j) * rows + i) * bytes]);
  std::swap(tensor.shape[1], tensor.shape[2]);
}

Operand load_operand(const char* option, const std::string& file, const FormatSpec& format,
                     const MatrixShape& wanted, const CastRule* cast) {
  Operand operand{load_tensor(file)};
  Tensor& tensor = operand.tensor;
  if (wanted.packed && format.value_bits() == 4 && tensor.dtype == DType::u8 && !tensor.shape.empty() &&
      2 * tensor.shape.back() == wanted.columns &&
      (tensor.name.ends_with(".weight") || tensor.name.ends_with(".weight_packed")))
    unpack_halves(tensor);
  if (tensor.untyped && tensor.dtype == raw_type(format)) take_as(tensor, format, file);
  operand.raw = tensor.dtype == raw_type(format);
  const bool fits_type = operand.raw || tensor.dtype == value_type(format.id);
  const bool is_float = format_of(tensor) != Format::none && !format.integer();
  if (!fits_type && (cast == nullptr || !is_float))
    refuse("{}: {} dtype: found {}, allowed: {}{}", file, option, type_text(tensor), types_text(format),
           is_float ? fmt::format(" (`mmaudit convert --to {}` converts it)", name_of(format.id))
                    : std::string());
  if (!fits_type) convert_elements(tensor, format, *cast);
  if (const std::string why = why_bad_elements(format, bytes_of(tensor)); !why.empty())
    throw InputError(fmt::format("{}: {}: {}", file, option, why));
  operand.batched = tensor.shape.size() == 3;
  require_shape(option, file, tensor, wanted);
  return operand;
}

void require_elements(const std::string& where, const Tensor& tensor, const FormatSpec& format) {
  if (tensor.dtype != raw_type(format) && tensor.dtype != value_type(format.id))
    refuse("{}: dtype: found {}, allowed: {}", where, type_text(tensor), types_text(format));
}

Tensor tensor_of_bits(Format format, std::vector<std::uint64_t> shape,
                      const std::vector<std::uint64_t>& elements) {
  const std::size_t bytes = spec_of(format).storage_bytes();
  Tensor out{std::string(1, 'D'), value_type(format), std::move(shape),
             std::vector<std::byte>(elements.size() * bytes)};
  for (std::size_t i = 0; i < elements.size(); ++i) store_bits(out.data, bytes, i, elements[i]);
  return out;
}

Tensor result_tensor(const FormatSpec& format, const MatrixShape& shape, const Operand& a,
                     const std::optional<Operand>& c) {
  // Bytes of unsigned integers are raw bits and numbers alike: only C can ask for a raw D.
  const bool raw = c ? c->raw : a.raw && !format.integer();
  Tensor d;
  d.name.assign(1, 'D');  // GCC 12 sees an overflow in = "D"
  d.dtype = raw ? raw_type(format) : value_type(format.id);
  d.shape = {shape.count, shape.rows, shape.columns};
  d.data.resize(shape.count * shape.rows * shape.columns * format.storage_bytes());
  return d;
}

std::optional<std::vector<std::uint8_t>> load_scales(const char* option, const std::string& file,
                                                     const Instruction& instruction, ScaleOwner owner,
                                                     std::uint64_t count, std::uint64_t rows,
                                                     std::uint64_t blocks, bool blocked, bool transposed) {
  if (file.empty()) return std::nullopt;
  if (instruction.scale == Format::none)
    refuse("{}: found with {}, allowed: with block-scaled instructions only (kind_mx...)", option,
           name_of(instruction));
  // A ue4m3 is an e4m3 without a sign, and files of checkpoints call it that.
  const DType as_number = instruction.scale == Format::ue4m3 ? value_type(Format::e4m3) : DType::f8_e8m0;
  const auto require_type = [&](DType found) {
    if (found == raw_type(spec_of(instruction.scale)) || found == as_number) return;
    refuse("{}: {} dtype: found {}, allowed: {} (raw bits of {}) or {}", file, option,
           safetensors_name(found), safetensors_name(raw_type(spec_of(instruction.scale))),
           name_of(instruction.scale), safetensors_name(as_number));
  };
  Tensor tensor = load_tensor(file);
  require_type(tensor.dtype);
  if (!blocked && transposed)
    if (auto scales = checkpoint_scales(tensor, instruction, {count, rows, blocks})) return scales;
  if (!blocked) {
    const MatrixShape shape =
        owner == ScaleOwner::a ? MatrixShape{count, rows, blocks} : MatrixShape{count, blocks, rows};
    require_shape(option, file, tensor, shape);
    return copy_of(tensor);
  }
  require_blocked_shape(option, file, tensor, count, rows, blocks);
  return plain_scales(reinterpret_cast<const std::uint8_t*>(tensor.data.data()), owner, count, rows, blocks);
}

std::vector<std::uint8_t> load_metadata(const std::string& file, const Instruction& instruction,
                                        const MatrixShape& shape, const char* of) {
  if (file.empty() != !is_sparse(instruction.op))
    refuse("--metadata: found {} with {}, allowed: with sparse instructions, which need it",
           file.empty() ? "none" : "some", name_of(instruction));
  if (file.empty()) return {};
  std::vector<std::uint8_t> metadata =
      copy_of(load_operand("--metadata", file, spec_of(Format::u8), shape).tensor);
  if (const std::string reason =
          why_bad_metadata(sparsity_of(instruction), metadata, shape.count, shape.rows, shape.columns, of);
      !reason.empty())
    throw InputError(fmt::format("{}: --metadata: {}", file, reason));
  return metadata;
}

TileOperands load_tile_operands(const TileFiles& files, const Instruction& inst, std::uint8_t modifiers) {
  const auto m = static_cast<std::uint64_t>(inst.m), n = static_cast<std::uint64_t>(inst.n),
             k = static_cast<std::uint64_t>(inst.k), stored = static_cast<std::uint64_t>(inst.stored_k()),
             blocks = static_cast<std::uint64_t>(scales_of(inst));
  TileOperands out;
  out.a = load_operand("--a", files.a, spec_of(inst.a), {MatrixShape::kAny, m, stored});
  const std::uint64_t tiles = out.tiles = out.a.count();
  if (tiles == 0) refuse("{}: --a: found no tiles, allowed: at least one", files.a);
  out.b = load_operand("--b", files.b, spec_of(inst.b), {tiles, k, n});
  if (!files.c.empty()) out.c = load_operand("--c", files.c, spec_of(inst.c), {tiles, m, n});
  out.scale_a = load_scales("--scale-a", files.scale_a, inst, ScaleOwner::a, tiles, m, blocks);
  out.scale_b = load_scales("--scale-b", files.scale_b, inst, ScaleOwner::b, tiles, n, blocks);
  out.modifiers.assign(tiles, modifiers);
  out.metadata = load_metadata(files.metadata, inst, {tiles, m, stored}, "tile");
  return out;
}

TileView TileOperands::view(Tensor& d) const {
  const auto bytes_at = [](const std::optional<std::vector<std::uint8_t>>& scales) {
    return scales ? scales->data() : nullptr;
  };
  return {.tiles = tiles,
          .a = a.data(),
          .b = b.data(),
          .c = c ? c->data() : nullptr,
          .d = d.data.data(),
          .modifiers = modifiers.data(),
          .scale_a = bytes_at(scale_a),
          .scale_b = bytes_at(scale_b),
          .metadata = metadata.empty() ? nullptr : metadata.data()};
}

}  // namespace mmaudit::corpus
