#include "timing/machine_file.hpp"

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::timing {
namespace {

constexpr double kMost = 1e6, kMostBits = 4294967295;
/// Per cycle: no instruction takes its unit a million cycles then.
constexpr double kLeastRate = 0.1;

}  // namespace

std::string machine_list() { return with_commas(names_of(machines())); }

Machine machine_of_file(const std::string& path) {
  constexpr std::uint64_t kMostBytes = 1 << 20;
  const Json json =
      corpus::parse_bounded(corpus::text_of_file(path, kMostBytes), path,
                            "{\"like\": \"ga100\", \"numbers\": {\"tensor.rate.f16_f32\": 128}}");
  const JsonNode file(json, path, {.quoted = true, .missing = "null"});
  if (!json.is_object()) file["file"].refuse(json, "an object with \"like\" and \"numbers\"");
  for (const auto& [key, value] : json.items())
    if (key != "like" && key != "numbers") file["key"].refuse(key, "like, numbers");
  const JsonNode like = file["like"], numbers = file["numbers"];
  const bool named = like.given() && like.json().is_string();
  const Machine* base = named ? find_machine(like.json().get<std::string>()) : nullptr;
  if (base == nullptr) like.refuse(machine_list());
  Machine machine = *base;
  machine.name = "own";
  if (!numbers.given() || !numbers.json().is_object()) numbers.refuse("an object of names and numbers");
  for (const auto& [name, value] : numbers.json().items()) {
    const auto parameter = find_parameter(name);
    if (!parameter)
      numbers.refuse(name, "a name that `mmaudit time machines` prints" +
                               did_you_mean(name, names_of(parameter_texts())));
    const std::string_view unit = parameter_texts()[static_cast<std::size_t>(*parameter)].unit;
    const bool bits = unit == "bits";
    if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > (bits ? kMostBits : kMost) ||
        (bits && !value.is_number_unsigned()))
      file[name].refuse(value, bits ? "a whole number from 0 to 4294967295" : "a number from 0 to 1e6");
    const bool rate = unit.find("/clk/") != std::string_view::npos;
    if (rate && value.get<double>() != 0 && value.get<double>() < kLeastRate)
      file[name].refuse(value, "0 where there is no such unit, or a rate from 0.1 to 1e6");
    machine.overridden[static_cast<std::size_t>(*parameter)] = value.get<double>();
    machine.is_overridden[static_cast<std::size_t>(*parameter)] = true;
  }
  return machine;
}

}  // namespace mmaudit::timing
