// Baselines and their differences as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "baseline.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/value_text.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::checks {
namespace {

std::string hex_of(const std::vector<std::byte>& bytes) {
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte each : bytes) out += hex_text(std::to_integer<std::uint64_t>(each), 8);
  return out;
}

std::vector<std::byte> bytes_of_hex(const JsonNode& reader, std::size_t count) {
  const std::string text = reader.text();
  if (text.size() != 2 * count)
    reader.refuse(fmt::format("{} digits", text.size()), fmt::format("{}", 2 * count));
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = whole_number<std::uint8_t>(std::string_view(text).substr(2 * i, 2), 16);
    if (!byte) reader.refuse("another character", "0-9 and a-f");
    out[i] = std::byte{*byte};
  }
  return out;
}

/// The bits of D, of which there are `bytes`.
BaselineBits bits_of(const JsonNode& reader, std::size_t bytes) {
  BaselineBits out{reader.at("inputs").text(), reader.at("hash").text(), bytes_of_hex(reader.at("d"), bytes)};
  if (const std::string sum = corpus::checksum_of(out.d); out.hash != sum)
    reader.at("hash").refuse("the hash of other bits", sum);
  return out;
}

BaselineFamily family_of(const JsonNode& reader, const Instruction& instruction, std::uint64_t tiles) {
  const auto area = static_cast<std::size_t>(instruction.m) * static_cast<std::size_t>(instruction.n);
  std::string family = reader.at("family").text();
  return {bits_of(reader, tiles * area * spec_of(instruction.d).storage_bytes()), std::move(family)};
}

constexpr ProvenanceKey kProvenanceKeys[] = {
    {"gpu", &Provenance::gpu},         {"compute_capability", &Provenance::compute_capability},
    {"driver", &Provenance::driver},   {"cuda", &Provenance::cuda},
    {"version", &Provenance::version}, {"git_revision", &Provenance::revision},
    {"date", &Provenance::date}};

Json json_of(const BaselineProduct& product) {
  Json algorithm = Json::object();
  for (const auto& [name, value] : product.algorithm) algorithm[name] = value;
  return {{"problem", product.problem}, {"algorithm", std::move(algorithm)},      {"inputs", product.inputs},
          {"hash", product.hash},       {"element_bytes", product.element_bytes}, {"d", hex_of(product.d)},
          {"plan", product.plan}};
}

BaselineProduct product_of(const JsonNode& reader) {
  std::string problem = reader.at("problem").text();
  auto algorithm = reader.at("algorithm").integers();
  std::string plan = reader["plan"].given() ? reader.at("plan").text() : "";
  return {bits_of(reader, reader.at("d").text().size() / 2), std::move(problem), std::move(plan),
          std::move(algorithm), reader.at("element_bytes").count(8)};
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
  Json provenance = {{"on", baseline.on}, {"architecture", baseline.architecture}};
  for (const ProvenanceKey& key : kProvenanceKeys)
    provenance[std::string(key.key)] = text_of(baseline.provenance, key);
  return ordered_document({{"schema", kBaselineSchema},
                           {"provenance", std::move(provenance)},
                           {"generator", baseline.generator},
                           {"seed", baseline.provenance.seed},
                           {"tiles", baseline.tiles},
                           {"instructions", std::move(instructions)},
                           {"cublaslt",
                            {{"version", baseline.cublaslt},
                             {"why_not", baseline.why_no_products},
                             {"products", std::move(products)}}},
                           {"left_out", baseline.left_out}},
                          1);
}

Baseline baseline_of_json(std::string_view text, const std::string& file) {
  const Json json = corpus::parse_bounded(text, file, "what `mmaudit baseline record` writes");
  const JsonNode top(json, file + ": ", {.separator = ".", .types = true, .most = 80});
  top.at("schema").expect(kBaselineSchema);
  Baseline out;
  const JsonNode from = top.at("provenance");
  out.on = from.at("on").text();
  out.architecture = from.at("architecture").text();
  for (const ProvenanceKey& key : kProvenanceKeys) {
    const JsonNode field = from.at(key.key);
    const std::string found = field.text();
    if (const std::string_view allowed = set_text(out.provenance, key, found); !allowed.empty())
      field.refuse(found.substr(0, 40), allowed);
  }
  out.generator = top.at("generator").text();
  out.provenance.seed = top.at("seed").count(UINT64_MAX);
  out.tiles = top.at("tiles").count(kMostBaselineTiles);
  for (const JsonNode& each : top.at("instructions").list()) {
    const std::string name = each.at("instruction").text();
    const auto instruction = find_instruction(name);
    if (!instruction) each.at("instruction").refuse(name, "a name of `mmaudit list`");
    BaselineInstruction one{*instruction, {}};
    const std::string found = name_of(*instruction);
    if (std::any_of(out.instructions.begin(), out.instructions.end(),
                    [&](const BaselineInstruction& other) { return name_of(other.instruction) == found; }))
      each.at("instruction").refuse(found + " twice", "every instruction once");
    for (const JsonNode& family : each.at("families").list()) {
      one.families.push_back(family_of(family, *instruction, out.tiles));
      const std::string& last = one.families.back().family;
      if (std::any_of(one.families.begin(), one.families.end() - 1,
                      [&](const BaselineFamily& other) { return other.family == last; }))
        family.at("family").refuse(last + " twice", "every input class once");
    }
    if (one.families.empty()) each.at("families").refuse("nothing", "an input class or more");
    out.instructions.push_back(std::move(one));
  }
  const JsonNode library = top.at("cublaslt");
  out.cublaslt = library.at("version").text();
  out.why_no_products = library.at("why_not").text();
  for (const JsonNode& each : library.at("products").list()) out.products.push_back(product_of(each));
  for (const JsonNode& line : top.at("left_out").list()) out.left_out.push_back(line.text());
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
  Json causes = Json::array();
  for (const BaselineCause& each : diff.causes)
    causes.push_back(
        {{"cause", each.text}, {"explained", each.explained}, {"instructions", each.instructions}});
  Json products = Json::array();
  for (const BaselineProductChange& each : diff.product_changes)
    products.push_back({{"problem", each.problem},
                        {"algorithm", each.algorithm},
                        {"plan", each.plan},
                        {"elements", each.elements},
                        {"differing", each.differing}});
  return ordered_document({{"schema", "mmaudit.baseline.diff/1"},
                           {"same", diff.same()},
                           {"instructions", diff.instructions},
                           {"dots", diff.dots},
                           {"products", diff.products},
                           {"provenance", diff.provenance},
                           {"gone", diff.gone},
                           {"added", diff.added},
                           {"causes", std::move(causes)},
                           {"changes", std::move(changes)},
                           {"product_changes", std::move(products)}});
}

}  // namespace mmaudit::checks
