// --model: an architecture from a JSON file, beside the built-in ones.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/corpus/user_model.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::corpus {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& file, const std::string& field, const Json& found,
                         const std::string& allowed) {
  std::string shown = found.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t kMost = 60;
  if (shown.size() > kMost) shown = shown.substr(0, kMost) + "...";
  throw InputError(fmt::format("{}: {}: found {}, allowed: {}", file, field, shown, allowed));
}

std::string checked_name(const std::string& file, const Json& json) {
  const Json found = json.value("name", Json());
  std::string name = found.is_string() ? found.get<std::string>() : std::string();
  if (const std::string allowed = why_no_model_name(name); !allowed.empty())
    refuse(file, "name", found, allowed);
  return name;
}

/// The architecture of all that `list --json` prints, where it is one. Its name may be a built-in one's: the
/// file's is "own-hopper" then, so that no result of it can pass for the built-in's.
Json chosen_architecture(const std::string& file, Json json) {
  const auto listed = json.is_object() ? json.find("architectures") : json.end();
  if (listed == json.end()) return json;
  if (json.value("schema", Json()) != "mmaudit.list/1")
    refuse(file, "schema", json.value("schema", Json()), "mmaudit.list/1");
  if (!listed->is_array() || listed->size() != 1)
    refuse(file, "architectures", listed->is_array() ? Json(listed->size()) : *listed,
           "one (`mmaudit list --arch A --json`)");
  Json one = listed->front();
  const Json name = one.is_object() ? one.value("name", Json()) : Json();
  if (name.is_string() && find_architecture(name.get<std::string>()) != nullptr)
    one["name"] = "own-" + name.get<std::string>();
  return one;
}

/// The list of instructions is not read: one that was edited would be without effect. One that follows
/// from the rows, or came with them from a built-in architecture, is let through.
void require_derived(const std::string& file, const Json& json, const Architecture& architecture) {
  const auto given = json.find("instructions");
  if (given == json.end() || *given == to_json(architecture).at("instructions")) return;
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
  if (!json.is_object()) refuse(file, "model", json, "an object with name, compute_capability and rows");
  for (const auto& [key, value] : json.items()) {
    constexpr std::string_view kFields[] = {"name", "compute_capability", "rows", "aliases", "instructions"};
    if (std::find(std::begin(kFields), std::end(kFields), key) == std::end(kFields))
      refuse(file, "model", key, fmt::format("the fields {}", fmt::join(kFields, ", ")));
  }
  auto owned = std::make_shared<UserModel>();
  owned->name = checked_name(file, json);
  owned->file = file;
  const Json capability = json.value("compute_capability", Json());
  if (!capability.is_number_unsigned() || capability.get<std::uint64_t>() < 70 ||
      capability.get<std::uint64_t>() > 999)
    refuse(file, "compute_capability", capability, "ten times major plus minor, 70 to 999");
  const Json rows = json.value("rows", Json());
  if (!rows.is_array() || rows.empty()) refuse(file, "rows", rows, "a list of at least one row");
  std::vector<std::tuple<MatrixUnit, Format, Format>> seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string where = fmt::format("{}: rows[{}]", file, i);
    owned->datapaths.push_back(row_from_json(rows[i], where, owned->file));
    const DatapathEntry& entry = owned->datapaths.back();
    const std::tuple key{entry.unit, entry.output, entry.addend};
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      refuse(file, fmt::format("rows[{}].datapath", i), std::string(name_of(entry.unit)),
             "one row a datapath, output_format and addend_format");
    seen.push_back(key);
  }
  owned->architecture = {owned->name, {}, capability.get<int>(), owned->datapaths};
  require_derived(file, json, owned->architecture);
  Checksum sum;
  sum.update(text);
  owned->bytes = text.size();
  owned->checksum = sum.hex();
  return owned;
}

}  // namespace mmaudit::corpus
