#include "timing/machine_file.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::timing {
namespace {

using Json = nlohmann::json;
constexpr double kMost = 1e6, kMostBits = 4294967295;
/// Per cycle: no instruction takes its unit a million cycles then.
constexpr double kLeastRate = 0.1;

[[noreturn]] void refuse(const std::string& file, const std::string& field, const Json& found,
                         const std::string& allowed) {
  const std::string shown = found.dump(-1, ' ', true, Json::error_handler_t::replace);
  throw InputError(fmt::format("{}: {}: found {}, allowed: {}", file, field, shown.substr(0, 60), allowed));
}

}  // namespace

std::string machine_list() {
  std::string names;
  for (const Machine& machine : machines()) names += (names.empty() ? "" : ", ") + std::string(machine.name);
  return names;
}

Machine machine_of_file(const std::string& path) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  const Json json =
      corpus::parse_bounded(corpus::text_of_file(path, kMostBytes), path,
                            "{\"like\": \"ga100\", \"numbers\": {\"tensor.rate.f16_f32\": 128}}");
  if (!json.is_object()) refuse(path, "file", json, "an object with \"like\" and \"numbers\"");
  for (const auto& [key, value] : json.items())
    if (key != "like" && key != "numbers") refuse(path, "key", key, "like, numbers");
  const Json like = json.value("like", Json());
  const Machine* base = like.is_string() ? find_machine(like.get<std::string>()) : nullptr;
  if (base == nullptr) refuse(path, "like", like, machine_list());
  Machine machine = *base;
  machine.name = "own";
  const Json numbers = json.value("numbers", Json());
  if (!numbers.is_object()) refuse(path, "numbers", numbers, "an object of names and numbers");
  for (const auto& [name, value] : numbers.items()) {
    const auto parameter = find_parameter(name);
    if (!parameter) {
      std::vector<std::string> names;
      for (const ParameterText& text : parameter_texts()) names.emplace_back(text.name);
      const std::string nearest = nearest_word(name, names);
      refuse(path, "numbers", name,
             "a name that `mmaudit time machines` prints" +
                 (nearest.empty() ? "" : " (the nearest is " + nearest + ")"));
    }
    const std::string_view unit = parameter_texts()[static_cast<std::size_t>(*parameter)].unit;
    const bool bits = unit == "bits";
    if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > (bits ? kMostBits : kMost) ||
        (bits && !value.is_number_unsigned()))
      refuse(path, name, value, bits ? "a whole number from 0 to 4294967295" : "a number from 0 to 1e6");
    const bool rate = unit.find("/clk/") != std::string_view::npos;
    if (rate && value.get<double>() != 0 && value.get<double>() < kLeastRate)
      refuse(path, name, value, "0 where there is no such unit, or a rate from 0.1 to 1e6");
    machine.overridden[static_cast<std::size_t>(*parameter)] = value.get<double>();
    machine.is_overridden[static_cast<std::size_t>(*parameter)] = true;
  }
  return machine;
}

}  // namespace mmaudit::timing
