#pragma once
// What every function of the C interface does around its work: turns errors into text and a status, reads
// structures of any version, checks sizes and overlaps.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/mmaudit.h"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::capi {

/// Runs `work`, and turns what it throws into a status and the thread's last error: InputError into
/// MMAUDIT_BAD_INPUT.
int guarded(const std::function<void()>& work) noexcept;

/// The caller's structure as this version's. Missing fields are zero; fields of a newer version must be zero.
template <typename Struct>
Struct taken(const Struct* given) {
  if (given == nullptr) refuse("work: found null, allowed: a structure");
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  constexpr std::size_t kMost = 4096;
  if (size < sizeof size || size > kMost) refuse("size: found {}, allowed: sizeof of the structure", size);
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0) refuse("size: found fields of a newer version, allowed: fields of this one");
  Struct copy{};
  std::memcpy(&copy, given, size < sizeof(Struct) ? size : sizeof(Struct));
  copy.size = size;
  return copy;
}

/// Writes as much of `value` as the caller's structure has.
template <typename Struct>
void give(Struct value, Struct* out) {
  if (out == nullptr) refuse("out: found null, allowed: a structure");
  std::size_t size = 0;
  std::memcpy(&size, out, sizeof size);
  if (size < sizeof size) refuse("size: found {}, allowed: sizeof of the structure", size);
  value.size = size;
  std::memcpy(out, &value, size < sizeof(Struct) ? size : sizeof(Struct));
}

/// Text for the caller, by malloc; `make` is called only when there is somewhere to put it.
void give_text(char** out, const std::function<std::string()>& make);

const Architecture& architecture_of(const char* name);
Instruction instruction_of(const char* name);
const DatapathEntry& entry_of(const Architecture& architecture, const Instruction& instruction);
FormatSpec format_of(std::string_view field, const char* name);

/// An axis of an array, for messages: its name and length.
struct Axis {
  const char* name;
  std::uint64_t length;
};

inline constexpr FormatSpec kByte = spec_of(Format::u8);
inline const std::uint8_t* bytes_at(mmaudit_in x) { return static_cast<const std::uint8_t*>(x.data); }

/// Bytes of an array; refused where they exceed 64 bits.
std::uint64_t bytes_of(std::string_view field, std::initializer_list<Axis> axes, const FormatSpec& format);
/// Whether the caller gave an optional array.
template <typename Array>
bool given(const Array& array) {
  return array.data != nullptr || array.bytes != 0;
}

void require_bytes(std::string_view field, const void* data, std::size_t bytes,
                   std::initializer_list<Axis> axes, const FormatSpec& format);
/// Refuses null and any other number of bytes.
template <typename Array>
void require(std::string_view field, const Array& array, std::initializer_list<Axis> axes,
             const FormatSpec& format) {
  require_bytes(field, array.data, array.bytes, axes, format);
}
/// The same for an array that may be left out.
template <typename Array>
void require_if_given(std::string_view field, const Array& array, std::initializer_list<Axis> axes,
                      const FormatSpec& format) {
  if (given(array)) require(field, array, axes, format);
}
/// Refuses bytes that hold several elements of a format narrower than a byte.
void require_unpacked(std::string_view field, mmaudit_in x, const FormatSpec& format);
/// Refuses d that shares bytes with `x`; with `same` the whole of it may be x.
void require_apart(std::string_view field, mmaudit_out d, mmaudit_in x, bool same = false);

}  // namespace mmaudit::capi
