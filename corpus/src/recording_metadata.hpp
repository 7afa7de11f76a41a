#pragma once
// A recording's header fields, to text and back.
#include <map>
#include <string>
#include <vector>

#include "mmaudit/corpus/recording.hpp"

namespace mmaudit::corpus {

using Metadata = std::map<std::string, std::string>;

inline constexpr const char* kFormatKey = "format";
inline constexpr const char* kFormat = "mmaudit.recording";
inline constexpr const char* kVersionKey = "format_version";
inline constexpr const char* kVersion = "1";
inline constexpr const char* kChecksumKey = "checksum";

/// All of a recording's metadata but the checksum.
Metadata metadata_of(const Provenance& provenance, const std::vector<FamilyRange>& families);

/// The value of `key`. Throws InputError naming the file and the key if there is none.
const std::string& metadata_value(const Metadata& metadata, const char* key, const std::string& file);

/// The inverses of metadata_of: they accept only what it writes. Throw InputError naming the field.
Provenance parse_provenance(const Metadata& metadata, const std::string& file);
std::vector<FamilyRange> parse_families(const Metadata& metadata, const std::string& file);

/// At least one family, each named and with at least one tile, `tiles` in all. Throws InputError.
void check_families(const std::vector<FamilyRange>& families, std::uint64_t tiles, const std::string& file);

}  // namespace mmaudit::corpus
