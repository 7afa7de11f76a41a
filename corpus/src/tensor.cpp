#include "mmaudit/corpus/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "mmaudit/refusal.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

struct DTypeRow {
  std::string_view name;  ///< in safetensors
  std::size_t bytes;
  std::string_view npy;
};

// In the order of the enumerators. `<V1` and `<V2` are what ml_dtypes' bfloat16 and float8_e4m3fn write. Its
// float8_e5m2 writes `<f1`, which numpy itself cannot load, so e5m2 is written as `<V1` too.
constexpr DTypeRow kNamedDTypes[] = {
    {"U8", 1, "|u1"},      {"U16", 2, "<u2"},     {"U32", 4, "<u4"},  {"U64", 8, "<u8"},
    {"I8", 1, "|i1"},      {"I16", 2, "<i2"},     {"I32", 4, "<i4"},  {"I64", 8, "<i8"},
    {"F16", 2, "<f2"},     {"BF16", 2, "<V2"},    {"F32", 4, "<f4"},  {"F64", 8, "<f8"},
    {"F8_E4M3", 1, "<V1"}, {"F8_E5M2", 1, "<V1"}, {"BOOL", 1, "|b1"}, {"F8_E8M0", 1, "<V1"},
};

constexpr bool has_row(std::string_view file) {
  return std::any_of(std::begin(kNamedDTypes), std::end(kNamedDTypes),
                     [file](const DTypeRow& row) { return row.name == file; });
}

/// A type of the format table alone.
constexpr bool is_further(const NamedFormat& format) {
  return !format.names.file.empty() && !has_row(format.names.file);
}

/// A row per enumerator, then a row per format that has none: void types of its width.
constexpr auto kDTypes = [] {
  constexpr auto kFurther = std::count_if(std::begin(kFormats), std::end(kFormats), is_further);
  std::array<DTypeRow, std::size(kNamedDTypes) + static_cast<std::size_t>(kFurther)> rows{};
  auto* out = std::copy(std::begin(kNamedDTypes), std::end(kNamedDTypes), rows.data());
  for (const NamedFormat& format : kFormats)
    if (is_further(format))
      *out++ = {format.names.file, format.spec.storage_bytes(),
                format.spec.storage_bits == 8 ? "<V1" : "<V2"};
  return rows;
}();

template <typename Wanted>
std::optional<DType> dtype_where(const Wanted& wanted) {
  const auto* const found = std::find_if(kDTypes.begin(), kDTypes.end(), wanted);
  if (found == kDTypes.end()) return std::nullopt;
  return static_cast<DType>(found - kDTypes.begin());
}

const DTypeRow& row(DType dtype) { return kDTypes.at(static_cast<std::size_t>(dtype)); }

std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

}  // namespace

std::size_t bytes_of(DType dtype) { return row(dtype).bytes; }
std::string_view npy_name(DType dtype) { return row(dtype).npy; }
std::string_view safetensors_name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_npy(std::string_view descr) {
  if (descr.size() != 3) return std::nullopt;
  const char order = descr[0];
  const std::string_view kind = descr.substr(1);
  // Bytes have no order, and numpy's void types carry either mark; everything else must say little-endian.
  const bool either_mark = kind[1] == '1' || kind[0] == 'V';
  if (order != '<' && !(order == '|' && either_mark)) return std::nullopt;
  if (kind == "V1") return DType::u8;
  if (kind == "V2") return DType::u16;
  if (kind == "f1") return DType::f8_e5m2;
  return dtype_where([kind](const DTypeRow& r) { return r.npy.substr(1) == kind; });
}

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  return dtype_where([name](const DTypeRow& r) { return r.name == name; });
}

std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape) {
  std::uint64_t nonzero = 1;
  bool empty = false;
  for (const std::uint64_t extent : shape) {
    if (extent == 0) {
      empty = true;  // go on: strides computed over the other extents must not overflow either
      continue;
    }
    const auto product = multiply(nonzero, extent);
    if (!product) return std::nullopt;
    nonzero = *product;
  }
  return empty ? 0 : nonzero;
}

std::optional<std::uint64_t> byte_count(DType dtype, std::span<const std::uint64_t> shape) {
  const auto elements = element_count(shape);
  return elements ? multiply(*elements, bytes_of(dtype)) : std::nullopt;
}

std::string to_string(std::span<const std::uint64_t> shape) {
  constexpr std::size_t kShown = 8;
  if (shape.size() <= kShown) return fmt::format("[{}]", fmt::join(shape, ", "));
  return fmt::format("[{}, ...] ({} dimensions)", fmt::join(shape.first(kShown), ", "), shape.size());
}

std::uint64_t Tensor::elements() const {
  const auto count = element_count(shape);
  if (!count)
    refuse("{}: shape: found {}, allowed: fewer than 2^64 elements", printable(name), to_string(shape));
  return *count;
}

std::size_t Tensor::checked_elements(std::size_t bytes_of_t) const {
  if (bytes_of_t != bytes_of(dtype))
    refuse("{}: element size: found {} bytes ({}), allowed: {} bytes", printable(name), bytes_of(dtype),
           safetensors_name(dtype), bytes_of_t);
  const std::uint64_t count = elements();
  const auto bytes = multiply(count, bytes_of_t);
  if (bytes != std::optional<std::uint64_t>(data.size()))
    refuse("{}: data: found {} bytes, allowed: {} elements of {} bytes, shape {}", printable(name),
           data.size(), count, bytes_of_t, to_string(shape));
  return static_cast<std::size_t>(count);
}

DType raw_type(const FormatSpec& format) {
  const std::size_t bytes = format.storage_bytes();
  return bytes == 1 ? DType::u8 : bytes == 2 ? DType::u16 : bytes == 4 ? DType::u32 : DType::u64;
}

DType value_type(Format format) {
  for (const NamedFormat& row : kFormats)
    if (row.spec.id == format && !row.names.file.empty()) return *dtype_from_safetensors(row.names.file);
  return raw_type(spec_of(format));
}

Format format_of(DType dtype) {
  for (const NamedFormat& row : kFormats)
    if (!row.spec.integer() && row.names.file == safetensors_name(dtype)) return row.spec.id;
  return Format::none;
}

std::vector<std::string> dtype_names() { return names_of(kDTypes); }

std::vector<std::string> float_dtype_names() {
  std::vector<std::string> names;
  for (const NamedFormat& row : kFormats)
    if (format_of(value_type(row.spec.id)) == row.spec.id) names.emplace_back(row.names.file);
  return names;
}

std::string type_text(const Tensor& tensor) {
  std::string name(safetensors_name(tensor.dtype));
  if (format_of(tensor) != format_of(tensor.dtype)) return fmt::format("{} ({})", name, name_of(tensor.said));
  if (!tensor.untyped) return name;
  const auto may_be = [&](const NamedFormat& row) {
    return !row.spec.integer() && row.names.numpy.empty() && raw_type(row.spec) == tensor.dtype;
  };
  return fmt::format("{} bits without a type (FILE.npy:FORMAT says it, with {})", name,
                     fmt::join(names_of(kFormats, may_be), ", "));
}

void take_as(Tensor& tensor, const FormatSpec& format, const std::string& where) {
  if (tensor.dtype != raw_type(format) && tensor.dtype != value_type(format.id))
    refuse("{}: dtype: found {}, allowed: {}", where, type_text(tensor), types_text(format));
  tensor.dtype = value_type(format.id);
  tensor.untyped = false;
  tensor.said = format.id;
}

Format format_of(const Tensor& tensor) {
  return tensor.said == Format::none || spec_of(tensor.said).integer() ? format_of(tensor.dtype)
                                                                       : tensor.said;
}

std::string types_text(const FormatSpec& format) {
  return fmt::format("{} (raw bits of {}) or {}", safetensors_name(raw_type(format)), name_of(format.id),
                     safetensors_name(value_type(format.id)));
}

}  // namespace mmaudit::corpus
