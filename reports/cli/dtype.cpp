#include "dtype.hpp"

namespace mmaudit::cli {

corpus::DType raw_type(const FormatSpec& format) {
  switch (format.storage_bytes()) {
    case 1:
      return corpus::DType::u8;
    case 2:
      return corpus::DType::u16;
    case 4:
      return corpus::DType::u32;
    default:
      return corpus::DType::u64;
  }
}

corpus::DType value_type(Format format) {
  switch (format) {
    case Format::f64:
      return corpus::DType::f64;
    case Format::bf16:
      return corpus::DType::bf16;
    case Format::f16:
      return corpus::DType::f16;
    case Format::e5m2:
      return corpus::DType::f8_e5m2;
    case Format::e4m3:
      return corpus::DType::f8_e4m3;
    case Format::f32:
    case Format::tf32:  // travels in binary32 registers
      return corpus::DType::f32;
    case Format::s32:
      return corpus::DType::i32;
    case Format::s8:
    case Format::s4:
      return corpus::DType::i8;
    default:
      return raw_type(spec_of(format));
  }
}

Format format_of(corpus::DType dtype) {
  for (const Format format :
       {Format::f64, Format::f32, Format::bf16, Format::f16, Format::e5m2, Format::e4m3})
    if (value_type(format) == dtype) return format;
  return Format::none;
}

}  // namespace mmaudit::cli
