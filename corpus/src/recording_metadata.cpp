#include "recording_metadata.hpp"

#include <utility>

#include "mmaudit/json.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

constexpr ProvenanceKey kProvenanceKeys[] = {{"gpu", &Provenance::gpu},
                                             {"compute_capability", &Provenance::compute_capability},
                                             {"driver", &Provenance::driver},
                                             {"cuda", &Provenance::cuda},
                                             {"git_revision", &Provenance::revision},
                                             {"date", &Provenance::date},
                                             {"seed", &Provenance::seed}};
constexpr std::pair<const char*, std::string Recording::*> kTextKeys[] = {
    {"instruction", &Recording::instruction}, {"generator_version", &Recording::generator}};
/// Stands for a compute capability of 0.
constexpr std::string_view kUnknown = "unknown";
constexpr const char* kFormKey = "form";  // not in every file
constexpr const char* kFamiliesKey = "families";
constexpr const char* kFamiliesForm = R"([{"name":TEXT,"tiles":NUMBER},...] without spaces)";

/// Control characters are JSON escapes, and an escape has several spellings: a flipped bit that turns \u001f
/// into \u001F would pass as data. They would also break listings.
void check_text(const std::string& text, std::string_view field, const std::string& file) {
  if (text.empty()) refuse("{}: {}: found no text, allowed: some ('unknown' if it is)", file, field);
  if (has_control_characters(text))
    refuse("{}: {}: found '{}', allowed: one printable line", file, field, printable(text));
}

std::string families_text(const std::vector<FamilyRange>& families) {
  Json array = Json::array();
  for (const FamilyRange& family : families)
    array.push_back({{"name", family.name}, {"tiles", family.tiles}});
  return array.dump();
}

std::vector<FamilyRange> parse_families(const Metadata& metadata, const std::string& file) {
  const std::string& text = metadata_value(metadata, kFamiliesKey, file);
  const auto malformed = [&] {
    refuse("{}: {}: found '{}', allowed: {}", file, kFamiliesKey, printable(text), kFamiliesForm);
  };
  Json array;
  try {
    array = parse_json(text);
  } catch (const InputError&) {
    malformed();
  }
  if (!array.is_array()) malformed();
  std::vector<FamilyRange> families;
  for (const Json& entry : array) {
    if (!entry.is_object() || !entry.contains("name") || !entry.contains("tiles")) malformed();
    if (!entry["name"].is_string() || !entry["tiles"].is_number_unsigned()) malformed();
    families.push_back({entry["name"].get<std::string>(), entry["tiles"].get<std::uint64_t>()});
  }
  // One spelling only: no other keys, no keys twice, no spaces, no escapes that could be written otherwise.
  if (families_text(families) != text) malformed();
  return families;
}

void check_families(const std::vector<FamilyRange>& families, std::uint64_t tiles, const std::string& file) {
  std::uint64_t sum = 0;
  for (const FamilyRange& family : families) {
    check_text(family.name, kFamiliesKey, file);
    if (!is_utf8(family.name))
      refuse("{}: {}: found a name of other bytes, allowed: UTF-8", file, kFamiliesKey);
    if (family.tiles == 0 || family.tiles > tiles - sum)
      refuse("{}: {}: found {} tiles of '{}', allowed: 1 to {} of {} in all", file, kFamiliesKey,
             family.tiles, printable(family.name), tiles - sum, tiles);
    sum += family.tiles;
  }
  if (sum != tiles) refuse("{}: {}: found {} tiles, allowed: {}", file, kFamiliesKey, sum, tiles);
}

bool is_unknown(const ProvenanceKey& key, std::string_view text) {
  return std::holds_alternative<int Provenance::*>(key.field) && text == kUnknown;
}

/// Calls visit(key, text) for every text of the header but the families.
template <typename Visit>
void for_each_text(const Recording& recording, Visit visit) {
  for (const ProvenanceKey& key : kProvenanceKeys) {
    const std::string text = text_of(recording.provenance, key);
    visit(key.key, text.empty() && is_unknown(key, kUnknown) ? std::string(kUnknown) : text);
  }
  for (const auto& [key, text] : kTextKeys) visit(std::string_view(key), recording.*text);
  if (!recording.form.empty()) visit(std::string_view(kFormKey), recording.form);
}

}  // namespace

Metadata metadata_of(const Recording& recording) {
  Metadata metadata{{kFormatKey, kFormat}, {kVersionKey, kVersion}};
  for_each_text(recording,
                [&](std::string_view key, const std::string& text) { metadata[std::string(key)] = text; });
  metadata[kFamiliesKey] = families_text(recording.families);
  return metadata;
}

const std::string& metadata_value(const Metadata& metadata, std::string_view key, const std::string& file) {
  const auto found = metadata.find(std::string(key));
  if (found == metadata.end())
    refuse("{}: {}: found no such field, allowed: one in every recording's metadata", file, key);
  return found->second;
}

void parse_metadata(const Metadata& metadata, const std::string& file, Recording& recording) {
  for (const ProvenanceKey& key : kProvenanceKeys) {
    const std::string& text = metadata_value(metadata, key.key, file);
    if (is_unknown(key, text)) continue;
    if (const std::string_view allowed = set_text(recording.provenance, key, text); !allowed.empty())
      refuse("{}: {}: found '{}', allowed: {}", file, key.key, printable(text), allowed);
  }
  for (const auto& [key, text] : kTextKeys) recording.*text = metadata_value(metadata, key, file);
  if (const auto form = metadata.find(kFormKey); form != metadata.end()) recording.form = form->second;
  recording.families = parse_families(metadata, file);
}

void check_metadata(const Recording& recording, const std::string& file) {
  for_each_text(recording, [&](std::string_view key, const std::string& text) {
    check_text(text, key, file);
    if (!is_utf8(text)) refuse("{}: {}: found other bytes, allowed: UTF-8", file, key);
  });
  check_families(recording.families, recording.tiles, file);
}

}  // namespace mmaudit::corpus
