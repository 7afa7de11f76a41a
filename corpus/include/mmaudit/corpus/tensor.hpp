#pragma once
// A named array of raw bits: what every file format of this module reads into and writes from.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mmaudit/arithmetic/format.hpp"

namespace mmaudit::corpus {

static_assert(std::endian::native == std::endian::little, "tensors are little-endian in files and in memory");

/// Of a format whose type is none of these, the format table's rows say it: such a type comes behind them.
enum class DType : std::uint8_t {
  u8,
  u16,
  u32,
  u64,
  i8,
  i16,
  i32,
  i64,
  f16,
  bf16,
  f32,
  f64,
  f8_e4m3,
  f8_e5m2,
  boolean,
  f8_e8m0  ///< scales, never numbers of an audit
};

/// Most dimensions a tensor may have; numpy's own limit.
inline constexpr std::size_t kMaxRank = 64;

/// Bytes of one element.
std::size_t bytes_of(DType dtype);

/// The `descr` of a .npy header. bf16 and fp8 have none of their own: they are the void types numpy can load.
std::string_view npy_name(DType dtype);

/// The `dtype` of a safetensors header: `U8`, `BF16`, `F8_E4M3`, ...
std::string_view safetensors_name(DType dtype);

/// The dtype of a .npy `descr`, little-endian only. `V1` and `V2` are raw bits, u8 and u16: .npy does not
/// tell bf16 or fp8 apart (Tensor::untyped). nullopt for anything else.
std::optional<DType> dtype_from_npy(std::string_view descr);

/// The dtype of a safetensors name, nullopt if this module does not know it.
std::optional<DType> dtype_from_safetensors(std::string_view name);

/// Product of the extents, 1 for rank 0; nullopt if the product of the nonzero extents exceeds 64 bits.
std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape);

/// element_count times the element size, with the same overflow check.
std::optional<std::uint64_t> byte_count(DType dtype, std::span<const std::uint64_t> shape);

/// `[2, 3]`, for messages.
std::string to_string(std::span<const std::uint64_t> shape);

/// Dense, C order (last index fastest), little-endian.
struct Tensor {
  std::string name;
  DType dtype = DType::u8;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> data;
  /// Numbers of a format that the file does not name, such as of ml_dtypes in a .npy: raw bits until
  /// take_as().
  bool untyped = false;
  Format said = Format::none;  ///< what take_as() was told

  /// Product of the extents. Throws InputError on overflow.
  [[nodiscard]] std::uint64_t elements() const;

  /// The elements as T, which must have the size of the dtype; the caller decides what the bits mean.
  /// Throws InputError if the sizes of T, shape and data do not fit together.
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>,
                  "a bool of 2 is undefined: use uint8_t");
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "the buffer is aligned by operator new");
    const std::size_t count = checked_elements(sizeof(T));
    return {reinterpret_cast<const T*>(data.data()), count};
  }

 private:
  [[nodiscard]] std::size_t checked_elements(std::size_t bytes_of_t) const;
};

/// A tensor over a copy of `values`. Throws InputError if T's size or the number of values does not fit.
template <class T>
Tensor make_tensor(std::string name, DType dtype, std::vector<std::uint64_t> shape,
                   std::span<const T> values) {
  Tensor tensor{std::move(name), dtype, std::move(shape), std::vector<std::byte>(values.size_bytes())};
  if (!values.empty()) std::memcpy(tensor.data.data(), values.data(), values.size_bytes());
  static_cast<void>(tensor.as<T>());  // only for its checks
  return tensor;
}

// Between the number formats of the model and the element types of files.

/// The unsigned integer of the format's storage width.
DType raw_type(const FormatSpec& format);

/// What programs keep such numbers in: the float or signed type of the format; raw bits where files have none
/// of their own (e3m2, ue8m0, ...).
DType value_type(Format format);

/// The format that a float type holds; Format::none for integers.
Format format_of(DType dtype);

/// What safetensors calls every type, and the float types of formats, for messages.
std::vector<std::string> dtype_names();
std::vector<std::string> float_dtype_names();

/// Both types, for messages: "U16 (raw bits of f16) or F16".
std::string types_text(const FormatSpec& format);

/// The type of a tensor for messages: "U16"; of an untyped one how to say the format, with those there are.
std::string type_text(const Tensor& tensor);

/// Numbers of `format` from here on. Errors: InputError, after `where`, unless they are raw bits of its width
/// or of its type.
void take_as(Tensor& tensor, const FormatSpec& format, const std::string& where);
/// The format of the floats that it holds; Format::none for raw bits and integers.
Format format_of(const Tensor& tensor);

}  // namespace mmaudit::corpus
