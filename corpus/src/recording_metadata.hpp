#pragma once
// A recording's header fields, to text and back.
#include <map>
#include <string>
#include <string_view>

#include "mmaudit/corpus/recording.hpp"

namespace mmaudit::corpus {

using Metadata = std::map<std::string, std::string>;

inline constexpr const char* kFormatKey = "format";
inline constexpr const char* kFormat = "mmaudit.recording";
inline constexpr const char* kVersionKey = "format_version";
inline constexpr const char* kVersion = "1";
inline constexpr const char* kChecksumKey = "checksum";

/// All of a recording's metadata but the checksum.
Metadata metadata_of(const Recording& recording);

/// The value of `key`. Throws InputError naming the file and the key if there is none.
const std::string& metadata_value(const Metadata& metadata, std::string_view key, const std::string& file);

/// The inverse of metadata_of(): fills in provenance, instruction, generator and families. Accepts only what
/// metadata_of() writes. Throws InputError naming the field.
void parse_metadata(const Metadata& metadata, const std::string& file, Recording& recording);

/// Every text on one printable line of UTF-8; at least one family, each named and with at least one tile,
/// `tiles` in all. Throws InputError naming the field.
void check_metadata(const Recording& recording, const std::string& file);

}  // namespace mmaudit::corpus
