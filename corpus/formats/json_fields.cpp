#include "mmaudit/json_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mmaudit/error.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit {
namespace {

[[noreturn]] void refuse_at(std::string_view where, std::string_view found, std::string_view allowed) {
  throw InputError(fmt::format("{}: found {}, allowed: {}", where, found, allowed));
}

std::string shown(const Json& found, const JsonWording& wording) {
  const bool bare = found.is_string() && !wording.quoted;
  return printable(bare ? found.get<std::string>() : found.ascii(), wording.most);
}

}  // namespace

std::string JsonNode::way_to(std::string_view field) const {
  if (field.empty()) return where_;
  return fmt::format("{}{}{}", where_, where_.ends_with(": ") ? "" : wording_.separator, field);
}

JsonNode JsonNode::operator[](std::string_view name) const {
  return {json_ == nullptr ? nullptr : json_->find(name), way_to(name), wording_};
}

JsonNode JsonNode::at(std::string_view name) const {
  JsonNode found = (*this)[name];
  if (!found.given()) found.refuse("a value");
  return found;
}

std::string JsonNode::text(std::string_view allowed) const {
  if (json_ == nullptr || !json_->is_string()) refuse_type(allowed);
  return json_->get<std::string>();
}

void JsonNode::expect(std::string_view allowed) const {
  if (const std::string found = text(); found != allowed) refuse(found, allowed);
}

int JsonNode::number(int least, int most, std::string_view allowed) const {
  if (json_ == nullptr || !json_->is_number_integer() || json_->get<std::int64_t>() < least ||
      json_->get<std::int64_t>() > most)
    refuse(allowed.empty() ? fmt::format("{} to {}", least, most) : std::string(allowed));
  return json_->get<int>();
}

std::uint64_t JsonNode::count(std::uint64_t most) const {
  if (!json_->is_number_unsigned() || json_->get<std::uint64_t>() > most)
    refuse(json_->dump().substr(0, 40), fmt::format("an integer from 0 to {}", most));
  return json_->get<std::uint64_t>();
}

std::uint64_t JsonNode::hex() const {
  constexpr std::string_view kAllowed = "hexadecimal digits after 0x";
  const std::string digits = text(kAllowed);
  if (!digits.starts_with("0x")) refuse(kAllowed);
  const auto value = whole_number<std::uint64_t>(std::string_view(digits).substr(2), 16);
  if (!value) refuse(kAllowed);
  return *value;
}

std::vector<JsonNode> JsonNode::list(std::string_view allowed) const {
  if (json_ == nullptr || !json_->is_array()) refuse_type(allowed);
  std::vector<JsonNode> out;
  // The constructor is private. NOLINTNEXTLINE(modernize-use-emplace)
  for (const Json& each : *json_) out.push_back({&each, fmt::format("{}[{}]", where_, out.size()), wording_});
  return out;
}

std::vector<std::pair<std::string, std::int64_t>> JsonNode::integers() const {
  if (!json_->is_object()) refuse_type("names with integers");
  std::vector<std::pair<std::string, std::int64_t>> out;
  for (const auto& [name, value] : json_->items()) {
    if (!value.is_number_integer()) (*this)[printable(name, wording_.most)].refuse_type("an integer");
    out.emplace_back(name, value.get<std::int64_t>());
  }
  return out;
}

void JsonNode::refuse(std::string_view allowed) const {
  if (json_ != nullptr) refuse(*json_, allowed);
  refuse_at(where_, wording_.missing, allowed);
}

void JsonNode::refuse(const Json& found, std::string_view allowed) const {
  refuse_at(where_, shown(found, wording_), allowed);
}

void JsonNode::refuse_type(std::string_view allowed) const {
  if (json_ == nullptr || !wording_.types) refuse(allowed);
  refuse_at(where_, json_->type_name(), allowed);
}

JsonFields::JsonFields(const Json& json, std::string where, JsonWording wording)
    : JsonNode(&json, std::move(where), wording) {
  if (!json.is_object()) refuse("", json, "an object");
}

const Json* JsonFields::take(std::string_view field) {
  known_.emplace_back(field);
  return json_->find(field);
}

std::optional<std::string> JsonFields::text(std::string_view field) {
  const Json* const found = take(field);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string()) refuse(field, *found, "text");
  return found->get<std::string>();
}

void JsonFields::text(std::string_view field, std::string& value) {
  if (auto found = text(field)) value = std::move(*found);
}

void JsonFields::texts(std::string_view field, std::vector<std::string>& values) {
  if (take(field) == nullptr) return;
  values.clear();
  for (const JsonNode& each : (*this)[field].list("a list of texts")) values.push_back(each.text());
}

void JsonFields::boolean(std::string_view field, bool& value) {
  const Json* const found = take(field);
  if (found == nullptr) return;
  if (!found->is_boolean()) refuse(field, *found, "true or false");
  value = found->get<bool>();
}

void JsonFields::count(std::string_view field, std::uint64_t& value, std::uint64_t least) {
  const Json* const found = take(field);
  if (found == nullptr) return;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() < least)
    refuse(field, *found, fmt::format("an integer from {}", least));
  value = found->get<std::uint64_t>();
}

std::optional<int> JsonFields::whole(std::string_view field, int low, int high) {
  const Json* const found = take(field);
  if (found == nullptr) return std::nullopt;
  const bool fits = found->is_number_integer() && found->get<double>() >= low && found->get<double>() <= high;
  if (!fits) refuse(field, *found, fmt::format("a whole number from {} to {}", low, high));
  return found->get<int>();
}

std::string JsonFields::joined(const std::vector<std::string_view>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

void JsonFields::require(std::initializer_list<const char*> fields) const {
  for (const char* field : fields)
    if (!json_->contains(field)) refuse_at(way_to(field), "nothing", "this field is required");
}

void JsonFields::refuse_unknown() const {
  for (const auto& [key, value] : json_->items())
    if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
      const std::string near = nearest_word(key, known_);
      refuse("", key, near.empty() ? fmt::format("the fields {}", fmt::join(known_, ", ")) : near + "?");
    }
}

void JsonFields::refuse(std::string_view field, const Json& found, std::string_view allowed) const {
  refuse_at(way_to(field), shown(found, wording_), allowed);
}

}  // namespace mmaudit
