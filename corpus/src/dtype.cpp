#include "mmaudit/corpus/dtype.hpp"

#include <fmt/format.h>

#include <utility>

namespace mmaudit::corpus {
namespace {

/// The type of a file that holds a format's numbers; of several formats of one type the first is what the
/// type says.
constexpr std::pair<Format, DType> kValueTypes[] = {
    {Format::f64, DType::f64},  {Format::f32, DType::f32},      {Format::bf16, DType::bf16},
    {Format::f16, DType::f16},  {Format::e5m2, DType::f8_e5m2}, {Format::e4m3, DType::f8_e4m3},
    {Format::tf32, DType::f32},  // travels in binary32 registers
    {Format::s32, DType::i32},  {Format::s8, DType::i8},        {Format::s4, DType::i8}};

}  // namespace

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
