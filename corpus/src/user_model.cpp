// --model: an architecture from a JSON file, beside the built-in ones.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json_fields.hpp"

namespace mmaudit::corpus {
namespace {

constexpr JsonWording kWording = {.quoted = true, .missing = "null"};

std::string checked_name(const JsonNode& found) {
  std::string name = found.given() && found.json().is_string() ? found.json().get<std::string>() : "";
  if (const std::string allowed = why_no_model_name(name); !allowed.empty()) found.refuse(allowed);
  return name;
}

/// The architecture of all that `list --json` prints, where it is one. Its name may be a built-in one's: the
/// file's is "own-hopper" then, so that no result of it can pass for the built-in's.
Json chosen_architecture(const std::string& file, Json json) {
  const JsonNode whole(json, file, kWording), listed = whole["architectures"];
  if (!listed.given()) return json;
  if (const JsonNode schema = whole["schema"]; !schema.given() || schema.json() != "mmaudit.list/1")
    schema.refuse("mmaudit.list/1");
  if (!listed.json().is_array() || listed.json().size() != 1)
    listed.refuse(listed.json().is_array() ? Json(listed.json().size()) : listed.json(),
                  "one (`mmaudit list --arch A --json`)");
  Json one = listed.json().front();
  if (const Json* const name = one.find("name"); name != nullptr && name->is_string())
    if (const auto text = name->get<std::string>(); find_architecture(text) != nullptr)
      one["name"] = "own-" + text;
  return one;
}

/// The list of instructions is not read: one that was edited would be without effect. One that follows
/// from the rows, or came with them from a built-in architecture, is let through.
void require_derived(const std::string& file, const Json& json, const Architecture& architecture) {
  const Json* const given = json.find("instructions");
  if (given == nullptr || *given == to_json(architecture).at("instructions")) return;
  for (const Architecture& built_in : architectures())
    if (*given == to_json(built_in).at("instructions")) return;
  throw InputError(
      fmt::format("{}: instructions: found entries that no rows give, allowed: none, or as `mmaudit list "
                  "--json` prints them (rows alone are read)",
                  file));
}

}  // namespace

std::string why_no_model_name(std::string_view name) {
  const auto allowed_character = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  constexpr std::size_t kMost = 40;
  if (name.empty() || name.size() > kMost || !std::all_of(name.begin(), name.end(), allowed_character))
    return "1 to 40 of a-z, 0-9, _, - and .";
  return find_architecture(name) == nullptr ? "" : "a name that no built-in architecture has";
}

std::shared_ptr<const UserModel> load_model(const std::string& file) {
  constexpr std::uint64_t kMost = std::uint64_t{8} << 20;  // `list --json`, all of it, takes 2 MiB
  const std::string text = text_of_file(file, kMost);
  const Json json = chosen_architecture(
      file, parse_bounded(text, file, "an architecture as `mmaudit list --json` prints it"));
  const JsonNode model(json, file, kWording);
  if (!json.is_object())
    JsonNode(json, file + ": model", kWording).refuse("an object with name, compute_capability and rows");
  for (const auto& [key, value] : json.items()) {
    constexpr std::string_view kFields[] = {"name", "compute_capability", "rows", "aliases", "instructions"};
    if (std::find(std::begin(kFields), std::end(kFields), key) == std::end(kFields))
      model["model"].refuse(key, fmt::format("the fields {}", fmt::join(kFields, ", ")));
  }
  auto owned = std::make_shared<UserModel>();
  owned->name = checked_name(model["name"]);
  owned->file = file;
  const int capability = model["compute_capability"].number(70, 999, "ten times major plus minor, 70 to 999");
  const JsonNode listed = model["rows"];
  if (!listed.given() || !listed.json().is_array() || listed.json().empty())
    listed.refuse("a list of at least one row");
  std::vector<std::tuple<MatrixUnit, Format, Format>> seen;
  for (const JsonNode& row : listed.list()) {
    owned->datapaths.push_back(row_from_json(row.json(), row.where(), owned->file));
    const DatapathEntry& entry = owned->datapaths.back();
    const std::tuple key{entry.unit, entry.output, entry.addend};
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      JsonNode(row.json(), row.where() + ".datapath", kWording)
          .refuse(std::string(name_of(entry.unit)), "one row a datapath, output_format and addend_format");
    seen.push_back(key);
  }
  owned->architecture = {owned->name, {}, capability, owned->datapaths};
  require_derived(file, json, owned->architecture);
  Checksum sum;
  sum.update(text);
  owned->bytes = text.size();
  owned->checksum = sum.hex();
  return owned;
}

}  // namespace mmaudit::corpus
