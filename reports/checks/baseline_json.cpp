// Baselines and their differences as JSON.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "baseline.hpp"
#include "mmaudit/corpus/bounded_json.hpp"
#include "mmaudit/corpus/checksum.hpp"

namespace mmaudit::checks {
namespace {

using Json = nlohmann::ordered_json;

std::string hex_of(const std::vector<std::byte>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte each : bytes) {
    out += kDigits[std::to_integer<unsigned>(each) >> 4];
    out += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return out;
}

/// What a reader refuses, with the way to it.
class Reader {
 public:
  Reader(const nlohmann::json& value, std::string where) : value_(value), where_(std::move(where)) {}

  [[nodiscard]] Reader at(const char* key) const {
    if (!value_.is_object() || !value_.contains(key)) refuse(key, "nothing", "a value");
    return {value_.at(key), fmt::format("{}{}{}", where_, where_.ends_with(": ") ? "" : ".", key)};
  }
  [[nodiscard]] std::string text() const {
    if (!value_.is_string()) refuse(nullptr, value_.type_name(), "text");
    return value_.get<std::string>();
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t most) const {
    if (!value_.is_number_unsigned() || value_.get<std::uint64_t>() > most)
      refuse(nullptr, value_.dump().substr(0, 40), fmt::format("an integer from 0 to {}", most));
    return value_.get<std::uint64_t>();
  }
  [[nodiscard]] std::vector<Reader> list() const {
    if (!value_.is_array()) refuse(nullptr, value_.type_name(), "a list");
    std::vector<Reader> out;
    for (std::size_t i = 0; i < value_.size(); ++i)
      out.emplace_back(value_[i], fmt::format("{}[{}]", where_, i));
    return out;
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> numbers() const {
    if (!value_.is_object()) refuse(nullptr, value_.type_name(), "names with integers");
    std::vector<std::pair<std::string, std::int64_t>> out;
    for (const auto& [name, value] : value_.items()) {
      if (!value.is_number_integer()) refuse(name.c_str(), value.type_name(), "an integer");
      out.emplace_back(name, value.get<std::int64_t>());
    }
    return out;
  }
  [[noreturn]] void refuse(const char* key, std::string_view found, std::string_view allowed) const {
    throw InputError(fmt::format("{}{}{}: found {}, allowed: {}", where_,
                                 key == nullptr || where_.ends_with(": ") ? "" : ".",
                                 key == nullptr ? "" : key, found, allowed));
  }

 private:
  const nlohmann::json& value_;
  std::string where_;
};

std::vector<std::byte> bytes_of_hex(const Reader& reader, std::size_t count) {
  const std::string text = reader.text();
  if (text.size() != 2 * count)
    reader.refuse(nullptr, fmt::format("{} digits", text.size()), fmt::format("{}", 2 * count));
  std::vector<std::byte> out(count);
  const auto digit = [&](char c) {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    reader.refuse(nullptr, "another character", "0-9 and a-f");
  };
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<std::byte>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return out;
}

BaselineFamily family_of(const Reader& reader, const Instruction& instruction, std::uint64_t tiles) {
  const auto area = static_cast<std::size_t>(instruction.m) * static_cast<std::size_t>(instruction.n);
  BaselineFamily out{reader.at("family").text(), reader.at("inputs").text(), reader.at("hash").text(), {}};
  out.d = bytes_of_hex(reader.at("d"), tiles * area * spec_of(instruction.d).storage_bytes());
  corpus::Checksum sum;
  sum.update(out.d);
  if (out.hash != sum.hex()) reader.at("hash").refuse(nullptr, "the hash of other bits", sum.hex());
  return out;
}

/// "9.0"; nothing where no GPU took part.
int capability_of(const Reader& reader) {
  const std::string text = reader.text();
  if (text.empty()) return 0;
  int major = 0, minor = 0, end = 0;
  if (std::sscanf(text.c_str(), "%3d.%1d%n", &major, &minor, &end) != 2 ||
      text.size() != static_cast<std::size_t>(end))
    reader.refuse(nullptr, text.substr(0, 40), "a number like 9.0");
  return 10 * major + minor;
}

Json json_of(const BaselineProduct& product) {
  Json algorithm = Json::object();
  for (const auto& [name, value] : product.algorithm) algorithm[name] = value;
  return {{"problem", product.problem}, {"algorithm", std::move(algorithm)},      {"inputs", product.inputs},
          {"hash", product.hash},       {"element_bytes", product.element_bytes}, {"d", hex_of(product.d)}};
}

BaselineProduct product_of(const Reader& reader) {
  BaselineProduct out;
  out.problem = reader.at("problem").text();
  out.inputs = reader.at("inputs").text();
  out.hash = reader.at("hash").text();
  out.element_bytes = reader.at("element_bytes").count(8);
  out.algorithm = reader.at("algorithm").numbers();
  out.d = bytes_of_hex(reader.at("d"), reader.at("d").text().size() / 2);
  corpus::Checksum sum;
  sum.update(out.d);
  if (out.hash != sum.hex()) reader.at("hash").refuse(nullptr, "the hash of other bits", sum.hex());
  return out;
}

}  // namespace

std::string to_json(const Baseline& baseline) {
  Json instructions = Json::array();
  for (const BaselineInstruction& each : baseline.instructions) {
    Json families = Json::array();
    for (const BaselineFamily& family : each.families)
      families.push_back({{"family", family.family},
                          {"inputs", family.inputs},
                          {"hash", family.hash},
                          {"d", hex_of(family.d)}});
    instructions.push_back({{"instruction", name_of(each.instruction)}, {"families", std::move(families)}});
  }
  Json products = Json::array();
  for (const BaselineProduct& each : baseline.products) products.push_back(json_of(each));
  const Provenance& from = baseline.provenance;
  const Json out = {{"schema", kBaselineSchema},
                    {"provenance",
                     {{"on", baseline.on},
                      {"architecture", baseline.architecture},
                      {"gpu", from.gpu},
                      {"compute_capability", capability_text(from)},
                      {"driver", from.driver},
                      {"cuda", from.cuda},
                      {"version", from.version},
                      {"git_revision", from.revision},
                      {"date", from.date}}},
                    {"generator", baseline.generator},
                    {"seed", from.seed},
                    {"tiles", baseline.tiles},
                    {"instructions", std::move(instructions)},
                    {"cublaslt",
                     {{"version", baseline.cublaslt},
                      {"why_not", baseline.why_no_products},
                      {"products", std::move(products)}}},
                    {"left_out", baseline.left_out}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Baseline baseline_of_json(std::string_view text, const std::string& file) {
  nlohmann::json json;
  try {
    json = corpus::parse_bounded(text, file);
  } catch (const nlohmann::json::parse_error&) {
    throw InputError(fmt::format("{}: found no JSON, allowed: what `mmaudit baseline record` writes", file));
  }
  const Reader top(json, file + ": ");
  if (const std::string schema = top.at("schema").text(); schema != kBaselineSchema)
    top.at("schema").refuse(nullptr, schema, kBaselineSchema);
  Baseline out;
  const Reader from = top.at("provenance");
  for (const auto& [key, to] : {std::pair{"on", &out.on},
                                {"architecture", &out.architecture},
                                {"gpu", &out.provenance.gpu},
                                {"driver", &out.provenance.driver},
                                {"cuda", &out.provenance.cuda},
                                {"version", &out.provenance.version},
                                {"git_revision", &out.provenance.revision},
                                {"date", &out.provenance.date}})
    *to = from.at(key).text();
  out.provenance.compute_capability = capability_of(from.at("compute_capability"));
  out.generator = top.at("generator").text();
  out.provenance.seed = top.at("seed").count(UINT64_MAX);
  out.tiles = top.at("tiles").count(kMostBaselineTiles);
  for (const Reader& each : top.at("instructions").list()) {
    const std::string name = each.at("instruction").text();
    const auto instruction = find_instruction(name);
    if (!instruction) each.at("instruction").refuse(nullptr, name, "a name of `mmaudit list`");
    BaselineInstruction one{*instruction, {}};
    for (const Reader& family : each.at("families").list())
      one.families.push_back(family_of(family, *instruction, out.tiles));
    out.instructions.push_back(std::move(one));
  }
  const Reader library = top.at("cublaslt");
  out.cublaslt = library.at("version").text();
  out.why_no_products = library.at("why_not").text();
  for (const Reader& each : library.at("products").list()) out.products.push_back(product_of(each));
  for (const Reader& line : top.at("left_out").list()) out.left_out.push_back(line.text());
  return out;
}

std::string to_json(const BaselineDiff& diff) {
  Json changes = Json::array();
  for (const BaselineChange& each : diff.changes) {
    Json first = nullptr;
    if (each.differing != 0)
      first = {{"tile", each.first.dot.tile},
               {"row", each.first.dot.row},
               {"column", each.first.dot.column},
               {"old", fmt::format("{:#x}", each.first.expected)},
               {"new", fmt::format("{:#x}", each.first.found)},
               {"model", each.model},
               {"explain", each.explain}};
    changes.push_back({{"instruction", name_of(each.instruction)},
                       {"family", each.first.dot.input_class},
                       {"dots", each.dots},
                       {"differing", each.differing},
                       {"first", std::move(first)}});
  }
  Json products = Json::array();
  for (const BaselineProductChange& each : diff.product_changes)
    products.push_back({{"problem", each.problem},
                        {"algorithm", each.algorithm},
                        {"elements", each.elements},
                        {"differing", each.differing}});
  const Json out = {{"schema", "mmaudit.baseline.diff/1"},
                    {"same", diff.same()},
                    {"instructions", diff.instructions},
                    {"dots", diff.dots},
                    {"products", diff.products},
                    {"provenance", diff.provenance},
                    {"gone", diff.gone},
                    {"added", diff.added},
                    {"changes", std::move(changes)},
                    {"product_changes", std::move(products)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace mmaudit::checks
