#include "recording_metadata.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

struct TextField {
  const char* key;
  std::string Provenance::*member;
};

constexpr std::array<TextField, 8> kTextFields{{
    {"gpu", &Provenance::gpu},
    {"compute_capability", &Provenance::compute_capability},
    {"driver", &Provenance::driver},
    {"cuda", &Provenance::cuda},
    {"instruction", &Provenance::instruction},
    {"generator_version", &Provenance::generator_version},
    {"git_revision", &Provenance::git_revision},
    {"date", &Provenance::date},
}};
constexpr const char* kSeedKey = "seed";
constexpr const char* kFamiliesKey = "families";
constexpr const char* kFamiliesForm = R"([{"name":TEXT,"tiles":NUMBER},...] without spaces)";

/// Control characters are JSON escapes, and an escape has several spellings: a flipped bit that turns \u001f
/// into \u001F would pass as data. They would also break listings.
void check_text(const std::string& text, std::string_view field, const std::string& file) {
  if (text.empty()) refuse(file, field, "no text", "some ('unknown' if it is)");
  if (has_control_characters(text))
    refuse(file, field, fmt::format("'{}'", printable(text)), "one printable line");
}

std::string families_text(const std::vector<FamilyRange>& families) {
  nlohmann::json array = nlohmann::json::array();
  for (const FamilyRange& family : families)
    array.push_back({{"name", family.name}, {"tiles", family.tiles}});
  // Replacement instead of an exception: check_families says which name it is.
  return array.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace

Metadata metadata_of(const Provenance& provenance, const std::vector<FamilyRange>& families) {
  Metadata metadata{{kFormatKey, kFormat}, {kVersionKey, kVersion}};
  for (const TextField& field : kTextFields) metadata[field.key] = provenance.*field.member;
  metadata[kSeedKey] = std::to_string(provenance.seed);
  metadata[kFamiliesKey] = families_text(families);
  return metadata;
}

const std::string& metadata_value(const Metadata& metadata, const char* key, const std::string& file) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) refuse(file, key, "no such field", "one in every recording's metadata");
  return found->second;
}

void check_provenance(const Provenance& provenance, const std::string& file) {
  for (const TextField& field : kTextFields) {
    check_text(provenance.*field.member, field.key, file);
    if (!is_utf8(provenance.*field.member)) refuse(file, field.key, "other bytes", "UTF-8");
  }
}

Provenance parse_provenance(const Metadata& metadata, const std::string& file) {
  Provenance provenance;
  for (const TextField& field : kTextFields)
    provenance.*field.member = metadata_value(metadata, field.key, file);
  const std::string& seed = metadata_value(metadata, kSeedKey, file);
  // Whatever from_chars made of it: only the one spelling that metadata_of writes passes.
  static_cast<void>(std::from_chars(seed.data(), seed.data() + seed.size(), provenance.seed));
  if (std::to_string(provenance.seed) != seed) {
    refuse(file, kSeedKey, fmt::format("'{}'", printable(seed)), "a number of 0 to 2^64 - 1");
  }
  return provenance;
}

std::vector<FamilyRange> parse_families(const Metadata& metadata, const std::string& file) {
  const std::string& text = metadata_value(metadata, kFamiliesKey, file);
  const auto malformed = [&] {
    refuse(file, kFamiliesKey, fmt::format("'{}'", printable(text)), kFamiliesForm);
  };
  const auto shallow = [&](int depth, nlohmann::json::parse_event_t event, const nlohmann::json& /*value*/) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > 1 && (event == Event::object_start || event == Event::array_start)) malformed();
    return true;
  };
  const auto array = nlohmann::json::parse(text, shallow, false);
  if (!array.is_array()) malformed();
  std::vector<FamilyRange> families;
  for (const nlohmann::json& entry : array) {
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
    if (!is_utf8(family.name)) refuse(file, kFamiliesKey, "a name of other bytes", "UTF-8");
    if (family.tiles == 0 || family.tiles > tiles - sum) {
      refuse(file, kFamiliesKey, fmt::format("{} tiles of '{}'", family.tiles, printable(family.name)),
             fmt::format("1 to {} of {} in all", tiles - sum, tiles));
    }
    sum += family.tiles;
  }
  if (sum != tiles) refuse(file, kFamiliesKey, fmt::format("{} tiles", sum), fmt::format("{}", tiles));
}

}  // namespace mmaudit::corpus
