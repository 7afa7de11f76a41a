#pragma once
// Where numbers come from. Every result carries one, and every file format writes and reads it by a table of
// ProvenanceKey.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace mmaudit {

/// Free text; an empty field is unknown or does not apply.
struct Provenance {
  std::string gpu, driver, cuda;  ///< "NVIDIA H200", "580.159.04", "13.0"
  int compute_capability = 0;     ///< ten times major plus minor; 0: no GPU took part
  int multiprocessors = 0;
  double nominal_hz = 0;                ///< highest clock of the multiprocessors
  std::string version, revision, date;  ///< of this program; ISO 8601
  std::uint64_t seed = 0;
  std::vector<std::string> command;  ///< the command line, word for word as a shell reads it

  bool operator==(const Provenance&) const = default;
};

/// One field of a file format.
struct ProvenanceKey {
  std::string_view key;
  std::variant<std::string Provenance::*, int Provenance::*, double Provenance::*,
               std::uint64_t Provenance::*, std::vector<std::string> Provenance::*>
      field;
  int scale = 1;  ///< of an int: the file holds so many times the field
};

/// "9.0" for 90, empty for 0.
std::string capability_text(int compute_capability);

/// One field as text: an int as capability_text(), the seed in decimal; empty for a double and for the
/// command.
std::string text_of(const Provenance& from, const ProvenanceKey& key);
/// The inverse of text_of(). Returns what is allowed when `text` is not what text_of() gives; empty: it is.
std::string_view set_text(Provenance& to, const ProvenanceKey& key, std::string_view text);

/// Adds the fields to a JSON object, in order.
template <typename Json>
void write_fields(const Provenance& from, std::span<const ProvenanceKey> keys, Json& to) {
  for (const ProvenanceKey& key : keys)
    std::visit(
        [&](auto field) {
          Json& value = to[std::string(key.key)] = from.*field;
          if (key.scale != 1) value = key.scale * value.template get<int>();
        },
        key.field);
}

/// The inverse. Errors: Json's own exceptions for a field that is missing or of another type.
template <typename Json>
void read_fields(const Json& from, std::span<const ProvenanceKey> keys, Provenance& to) {
  for (const ProvenanceKey& key : keys)
    std::visit(
        [&](auto field) {
          const Json& value = from.at(std::string(key.key));
          if constexpr (std::is_same_v<decltype(field), int Provenance::*>) {
            // As text it is refused by Json: a number that no int holds.
            if (const auto number = value.template get<double>(); !(number >= 0 && number <= INT32_MAX))
              static_cast<void>(value.template get<std::string>());
          }
          value.get_to(to.*field);
          if constexpr (std::is_same_v<decltype(field), int Provenance::*>) to.*field /= key.scale;
        },
        key.field);
}

}  // namespace mmaudit
