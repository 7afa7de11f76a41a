#include "mmaudit/corpus/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

struct DTypeRow {
  DType dtype;
  std::size_t bytes;
  std::string_view npy;
  std::string_view safetensors;
};

// `<V1` and `<V2` are what ml_dtypes' bfloat16 and float8_e4m3fn write. Its float8_e5m2 writes `<f1`, which
// numpy itself cannot load, so e5m2 is written as `<V1` too.
constexpr std::array<DTypeRow, 15> kDTypes{{
    {DType::u8, 1, "|u1", "U8"},
    {DType::u16, 2, "<u2", "U16"},
    {DType::u32, 4, "<u4", "U32"},
    {DType::u64, 8, "<u8", "U64"},
    {DType::i8, 1, "|i1", "I8"},
    {DType::i16, 2, "<i2", "I16"},
    {DType::i32, 4, "<i4", "I32"},
    {DType::i64, 8, "<i8", "I64"},
    {DType::f16, 2, "<f2", "F16"},
    {DType::bf16, 2, "<V2", "BF16"},
    {DType::f32, 4, "<f4", "F32"},
    {DType::f64, 8, "<f8", "F64"},
    {DType::f8_e4m3, 1, "<V1", "F8_E4M3"},
    {DType::f8_e5m2, 1, "<V1", "F8_E5M2"},
    {DType::boolean, 1, "|b1", "BOOL"},
}};

constexpr bool rows_are_in_enum_order() {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (static_cast<std::size_t>(kDTypes.at(i).dtype) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_enum_order(), "row() indexes the table by the enum");

/// The type of a file that holds a format's numbers; of several formats of one type the first is what the
/// type says.
constexpr std::pair<Format, DType> kValueTypes[] = {
    {Format::f64, DType::f64},  {Format::f32, DType::f32},      {Format::bf16, DType::bf16},
    {Format::f16, DType::f16},  {Format::e5m2, DType::f8_e5m2}, {Format::e4m3, DType::f8_e4m3},
    {Format::tf32, DType::f32},  // travels in binary32 registers
    {Format::s32, DType::i32},  {Format::s8, DType::i8},        {Format::s4, DType::i8}};

const DTypeRow& row(DType dtype) { return kDTypes.at(static_cast<std::size_t>(dtype)); }

std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
  if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
  return a * b;
}

}  // namespace

std::size_t bytes_of(DType dtype) { return row(dtype).bytes; }
std::string_view npy_name(DType dtype) { return row(dtype).npy; }
std::string_view safetensors_name(DType dtype) { return row(dtype).safetensors; }

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
  const auto* const found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                         [kind](const DTypeRow& r) { return r.npy.substr(1) == kind; });
  return found == kDTypes.end() ? std::nullopt : std::optional(found->dtype);
}

std::optional<DType> dtype_from_safetensors(std::string_view name) {
  const auto* const found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                         [name](const DTypeRow& r) { return r.safetensors == name; });
  return found == kDTypes.end() ? std::nullopt : std::optional(found->dtype);
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
  for (const auto& [known, type] : kValueTypes)
    if (known == format) return type;
  return raw_type(spec_of(format));
}

Format format_of(DType dtype) {
  for (const auto& [format, type] : kValueTypes)
    if (type == dtype && !spec_of(format).integer()) return format;
  return Format::none;
}

std::string types_text(const FormatSpec& format) {
  return fmt::format("{} (raw bits of {}) or {}", safetensors_name(raw_type(format)), name_of(format.id),
                     safetensors_name(value_type(format.id)));
}

}  // namespace mmaudit::corpus
