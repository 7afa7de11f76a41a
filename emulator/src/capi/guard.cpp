#include "guard.hpp"

#include <cstdlib>
#include <exception>
#include <new>

#include "mmaudit/element_bits.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::capi {
namespace {

// A string could fail to be made when memory has run out.
thread_local std::string last_error;
thread_local bool lost_error = false;

void remember(std::string_view line) noexcept {
  try {
    last_error = line;
    lost_error = false;
  } catch (...) {
    lost_error = true;
  }
}

std::string shape_text(std::initializer_list<Axis> axes, const FormatSpec& format) {
  std::string names, lengths;
  for (const Axis& axis : axes) {
    names.append(names.empty() ? "" : ", ").append(axis.name);
    lengths.append(lengths.empty() ? "" : ", ").append(std::to_string(axis.length));
  }
  return "(" + names + ") = (" + lengths + ") of " + std::string(name_of(format.id));
}

}  // namespace

int guarded(const std::function<void()>& work) noexcept {
  try {
    work();
    return MMAUDIT_OK;
  } catch (const InputError& refused) {
    remember(refused.what());
    return MMAUDIT_BAD_INPUT;
  } catch (const std::bad_alloc&) {
    remember("memory: ran out");
  } catch (const std::exception& error) {
    remember(error.what());
  } catch (...) {
    remember("unknown error");
  }
  return MMAUDIT_ENVIRONMENT;
}

void give_text(char** out, const std::function<std::string()>& make) {
  if (out == nullptr) refuse("json: found null, allowed: where to put the text");
  const std::string text = make();
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  *out = copy;
}

const Architecture& architecture_of(const char* name) {
  const std::string_view asked = name == nullptr ? kDefaultArchitecture : name;
  if (const Architecture* found = find_architecture(asked)) return *found;
  throw InputError("arch: " + why_no_architecture(asked));
}

Instruction instruction_of(const char* name) {
  if (name == nullptr) refuse("inst: found nothing, allowed: an instruction of `mmaudit list`");
  if (const auto found = read_instruction(name)) return *found;
  throw InputError("inst: " + why_no_instruction(name));
}

const DatapathEntry& entry_of(const Architecture& architecture, const Instruction& instruction) {
  if (const DatapathEntry* entry = find_datapath(architecture, instruction)) return *entry;
  throw InputError("inst: " + why_no_datapath(architecture, instruction));
}

FormatSpec format_of(std::string_view field, const char* name) {
  const std::string_view asked = name == nullptr ? "" : name;
  if (const auto found = read_format(asked)) return spec_of(*found);
  throw InputError(std::string(field) + ": " + why_no_format(asked));
}

std::uint64_t bytes_of(std::string_view field, std::initializer_list<Axis> axes, const FormatSpec& format) {
  std::uint64_t bytes = format.storage_bytes();
  for (const Axis& axis : axes)
    if (__builtin_mul_overflow(bytes, axis.length, &bytes))
      refuse("{}: found {}, allowed: less than 2^64 bytes", field, shape_text(axes, format));
  return bytes;
}

void require_bytes(std::string_view field, const void* data, std::size_t bytes,
                   std::initializer_list<Axis> axes, const FormatSpec& format) {
  const std::uint64_t wanted = bytes_of(field, axes, format);
  if (bytes == wanted && (data != nullptr || wanted == 0)) return;
  const std::string found = data == nullptr ? "null" : std::to_string(bytes) + " bytes";
  refuse("{}: found {}, allowed: {} bytes, {}", field, found, wanted, shape_text(axes, format));
}

void require_unpacked(std::string_view field, mmaudit_in x, const FormatSpec& format) {
  const std::string why = why_bad_elements(format, {bytes_at(x), x.bytes});
  if (!why.empty()) throw InputError(std::string(field) + ": " + why);
}

void require_apart(std::string_view field, mmaudit_out d, mmaudit_in x, bool same) {
  const auto from = reinterpret_cast<std::uintptr_t>(d.data),
             other = reinterpret_cast<std::uintptr_t>(x.data);
  if (x.data == nullptr || d.bytes == 0 || x.bytes == 0) return;
  if (same && from == other && d.bytes == x.bytes) return;
  if (from < other + x.bytes && other < from + d.bytes)
    refuse("{}: found memory that the result shares, allowed: memory of its own", field);
}

}  // namespace mmaudit::capi

extern "C" {

const char* mmaudit_last_error() {
  return mmaudit::capi::lost_error ? "memory: ran out" : mmaudit::capi::last_error.c_str();
}

void mmaudit_free(void* text) { std::free(text); }
}
