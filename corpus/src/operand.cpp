#include "mmaudit/corpus/operand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::corpus {
namespace {

void convert_elements(Tensor& tensor, const FormatSpec& to, const CastRule& rule) {
  const FormatSpec from = spec_of(format_of(tensor.dtype));
  const std::size_t elements = tensor.data.size() / from.storage_bytes();
  std::vector<std::byte> converted(elements * to.storage_bytes());
  for (std::size_t i = 0; i < elements; ++i) {
    const std::uint64_t bits = load_bits(tensor.data, from.storage_bytes(), i);
    store_bits(converted, to.storage_bytes(), i, cast_bits(bits, from, to, rule));
  }
  tensor.data = std::move(converted);
  tensor.dtype = value_type(to.id);
}

}  // namespace

Operand load_operand(const char* option, const std::string& file, const FormatSpec& format,
                     const MatrixShape& wanted, const CastRule* cast) {
  Operand operand{load_tensor(file)};
  Tensor& tensor = operand.tensor;
  operand.raw = tensor.dtype == raw_type(format);
  const bool fits_type = operand.raw || tensor.dtype == value_type(format.id);
  const bool is_float = format_of(tensor.dtype) != Format::none && !format.integer();
  if (!fits_type && (cast == nullptr || !is_float))
    throw InputError(
        fmt::format("{}: {} dtype: found {}, allowed: {}{}", file, option, safetensors_name(tensor.dtype),
                    types_text(format),
                    is_float ? fmt::format(" (`mmaudit convert --to {}` converts it)", name_of(format.id))
                             : std::string()));
  if (!fits_type) convert_elements(tensor, format, *cast);
  operand.batched = tensor.shape.size() == 3;
  if (tensor.shape.size() == 2) tensor.shape.insert(tensor.shape.begin(), 1);
  const std::uint64_t sizes[] = {wanted.count, wanted.rows, wanted.columns};
  bool fits = tensor.shape.size() == 3;
  std::vector<std::string> allowed;
  for (std::size_t i = 0; i < 3; ++i) {
    fits = fits && (sizes[i] == 0 || tensor.shape[i] == sizes[i]);
    allowed.push_back(sizes[i] == 0 ? "any" : std::to_string(sizes[i]));
  }
  if (!fits)
    throw InputError(fmt::format("{}: {} shape: found {}, allowed: [{}] (matrices, rows, columns)", file,
                                 option, to_string(tensor.shape), fmt::join(allowed, ", ")));
  return operand;
}

Tensor result_tensor(const FormatSpec& format, const MatrixShape& shape, const Operand& a,
                     const std::optional<Operand>& c) {
  // Bytes of unsigned integers are raw bits and numbers alike: only C can ask for a raw D.
  const bool raw = c ? c->raw : a.raw && !format.integer();
  Tensor d;
  d.name = "D";
  d.dtype = raw ? raw_type(format) : value_type(format.id);
  d.shape = {shape.count, shape.rows, shape.columns};
  d.data.resize(shape.count * shape.rows * shape.columns * format.storage_bytes());
  return d;
}

namespace {

/// --metadata: (tiles, M, K/2) of bytes; none for a dense instruction.
std::optional<Operand> load_metadata(const std::string& file, const Instruction& inst,
                                     const MatrixShape& shape) {
  if (file.empty() != !is_sparse(inst.op))
    throw InputError(
        fmt::format("--metadata: found {} with {}, allowed: with sparse instructions, which need it",
                    file.empty() ? "none" : "some", name_of(inst)));
  if (file.empty()) return std::nullopt;
  Operand metadata = load_operand("--metadata", file, spec_of(Format::u8), shape);
  const std::span bytes(static_cast<const std::uint8_t*>(metadata.data()), metadata.tensor.data.size());
  if (const std::string reason = why_bad_metadata(inst, bytes, shape.count); !reason.empty())
    throw InputError(fmt::format("{}: --metadata: {}", file, reason));
  return metadata;
}

}  // namespace

TileOperands load_tile_operands(const TileFiles& files, const Instruction& inst, std::uint8_t modifiers) {
  const auto m = static_cast<std::uint64_t>(inst.m), n = static_cast<std::uint64_t>(inst.n),
             k = static_cast<std::uint64_t>(inst.k), stored = static_cast<std::uint64_t>(inst.stored_k()),
             blocks = static_cast<std::uint64_t>(scales_of(inst));
  TileOperands out;
  out.a = load_operand("--a", files.a, spec_of(inst.a), {0, m, stored});
  const std::uint64_t tiles = out.tiles = out.a.count();
  if (tiles == 0) throw InputError(fmt::format("{}: --a: found no tiles, allowed: at least one", files.a));
  out.b = load_operand("--b", files.b, spec_of(inst.b), {tiles, k, n});
  if (!files.c.empty()) out.c = load_operand("--c", files.c, spec_of(inst.c), {tiles, m, n});
  const auto scales = [&](const char* option, const std::string& file,
                          const MatrixShape& shape) -> std::optional<Operand> {
    if (file.empty()) return std::nullopt;
    if (inst.scale == Format::none)
      throw InputError(
          fmt::format("{}: found with {}, allowed with block-scaled instructions only (kind_mx...)", option,
                      name_of(inst)));
    Operand operand = load_operand(option, file, spec_of(inst.scale), shape);
    if (!operand.raw)
      throw InputError(fmt::format("{}: {} dtype: found {}, allowed {} (raw bits of {})", file, option,
                                   safetensors_name(operand.tensor.dtype),
                                   safetensors_name(raw_type(spec_of(inst.scale))), name_of(inst.scale)));
    return operand;
  };
  out.scale_a = scales("--scale-a", files.scale_a, {tiles, m, blocks});
  out.scale_b = scales("--scale-b", files.scale_b, {tiles, blocks, n});
  out.modifiers.assign(tiles, modifiers);
  out.metadata = load_metadata(files.metadata, inst, {tiles, m, stored});
  return out;
}

TileView TileOperands::view(Tensor& d) const {
  const auto bytes_of = [](const std::optional<Operand>& operand) {
    return operand ? static_cast<const std::uint8_t*>(operand->data()) : nullptr;
  };
  return {.tiles = tiles,
          .a = a.data(),
          .b = b.data(),
          .c = c ? c->data() : nullptr,
          .d = d.data.data(),
          .modifiers = modifiers.data(),
          .scale_a = bytes_of(scale_a),
          .scale_b = bytes_of(scale_b),
          .metadata = bytes_of(metadata)};
}

}  // namespace mmaudit::corpus
