// A report as JSON and back: for results without a type of their own, and for reports that other programs
// make.
#include <algorithm>
#include <iterator>

#include "figure_json.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

constexpr std::string_view kSchema = "mmaudit.report/1";
constexpr std::string_view kLayouts[] = {"grid", "small", "wide", "beside"};
constexpr ProvenanceKey kKeys[] = {{"version", &Provenance::version}, {"git_revision", &Provenance::revision},
                                   {"date", &Provenance::date},       {"gpu", &Provenance::gpu},
                                   {"driver", &Provenance::driver},   {"cuda", &Provenance::cuda},
                                   {"command", &Provenance::command}};

Json tone_of(Tone tone) { return kToneNames[static_cast<std::size_t>(tone)]; }

/// Where a section is shown: bits of Section::shown by name.
constexpr std::pair<std::string_view, unsigned> kPlaces[] = {
    {"text", kOnTerminal}, {"markdown", kInMarkdown}, {"page", kOnPage}};

void put(Json& out, std::string_view key, const std::string& text) {
  if (!text.empty()) out[key] = text;
}
void put(Json& out, std::string_view key, const std::vector<std::string>& lines) {
  if (!lines.empty()) out[key] = lines;
}

Json json_of(const Table& table) {
  Json out = Json::object();
  put(out, "title", table.title);
  put(out, "remark", table.remark);
  if (table.folded) out["folded"] = true;
  out["columns"] = Json::array();
  for (const Column& column : table.columns)
    out["columns"].push_back({{"header", column.header}, {"number", column.number}});
  out["rows"] = Json::array();
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row) {
      if (cell.tone == Tone::plain && cell.hint.empty()) {
        cells.push_back(cell.text);
        continue;
      }
      Json each = {{"text", cell.text}, {"tone", tone_of(cell.tone)}};
      put(each, "hint", cell.hint);
      cells.push_back(std::move(each));
    }
    out["rows"].push_back(std::move(cells));
  }
  return out;
}

Json json_of(const Section& section) {
  Json out = Json::object();
  put(out, "title", section.title);
  put(out, "remark", section.remark);
  if (section.folded) out["folded"] = true;
  if (section.layout != Layout::grid) out["layout"] = name_in(kLayouts, section.layout);
  if (section.shown != kEverywhere) {
    out["shown"] = Json::array();
    for (const auto& [name, bit] : kPlaces)
      if ((section.shown & bit) != 0) out["shown"].push_back(name);
  }
  if (!section.plots.empty()) out["figures"] = Json::array();
  for (const Figure& plot : section.plots) out["figures"].push_back(json_of(plot));
  if (!section.tables.empty()) out["tables"] = Json::array();
  for (const Table& table : section.tables) out["tables"].push_back(json_of(table));
  put(out, "lines", section.lines);
  put(out, "block", section.block);
  put(out, "notes", section.notes);
  return out;
}

/// The objects of a list.
template <typename Use>
void for_each_item(JsonFields& from, std::string_view field, const Use& use) {
  if (from.take(field) == nullptr) return;
  for (const JsonNode& each : from[field].list()) {
    JsonFields fields(each.json(), each.where());
    use(fields);
    fields.refuse_unknown();
  }
}

Cell cell_of(const JsonNode& from) {
  if (from.json().is_string()) return {from.text()};
  if (!from.json().is_object()) from.refuse("text, or an object with text");
  JsonFields fields(from.json(), from.where());
  fields.require({"text"});
  Cell out("");
  fields.text("text", out.text);
  fields.choice("tone", kToneNames, out.tone);
  fields.text("hint", out.hint);
  fields.refuse_unknown();
  return out;
}

Table table_from(JsonFields& from) {
  Table out;
  from.require({"columns", "rows"});
  from.text("title", out.title);
  from.text("remark", out.remark);
  from.boolean("folded", out.folded);
  for_each_item(from, "columns", [&](JsonFields& fields) {
    fields.require({"header"});
    Column column("");
    fields.text("header", column.header);
    fields.boolean("number", column.number);
    out.columns.push_back(std::move(column));
  });
  static_cast<void>(from.take("rows"));
  for (const JsonNode& row : from["rows"].list()) {
    const std::vector<JsonNode> cells = row.list();
    if (cells.size() != out.columns.size())
      row.refuse(Json(cells.size()), std::to_string(out.columns.size()) + " cells, one per column");
    std::transform(cells.begin(), cells.end(), std::back_inserter(out.rows.emplace_back()), cell_of);
  }
  return out;
}

/// `figures`: how many the report has so far; a page tells them apart by their number.
Section section_of_json(JsonFields& from, std::size_t& figures) {
  Section out;
  from.text("title", out.title);
  from.text("remark", out.remark);
  from.boolean("folded", out.folded);
  from.choice("layout", kLayouts, out.layout);
  if (from.take("shown") != nullptr) {
    out.shown = 0;
    for (const JsonNode& each : from["shown"].list()) {
      const std::string name = each.text();
      const auto* const place = std::find_if(std::begin(kPlaces), std::end(kPlaces),
                                             [&](const auto& one) { return one.first == name; });
      if (place == std::end(kPlaces)) each.refuse(each.json(), "text, markdown, page");
      out.shown |= place->second;
    }
  }
  for_each_item(from, "figures", [&](JsonFields& fields) {
    out.plots.push_back(figure_of(fields, "figure-" + std::to_string(++figures)));
  });
  for_each_item(from, "tables", [&](JsonFields& fields) { out.tables.push_back(table_from(fields)); });
  from.texts("lines", out.lines);
  from.text("block", out.block);
  from.texts("notes", out.notes);
  return out;
}

}  // namespace

std::string to_json(const Report& report) {
  Json out = {{"schema", kSchema}, {"title", report.title}};
  put(out, "headline", report.headline);
  out["tone"] = tone_of(report.tone);
  put(out, "lead", report.lead);
  put(out, "meta", report.meta);
  put(out, "warnings", report.warnings.lines);
  if (!report.highlights.empty()) out["highlights"] = Json::array();
  for (const Highlight& one : report.highlights)
    out["highlights"].push_back({{"value", one.value}, {"label", one.label}});
  out["sections"] = Json::array();
  for (const Section& section : report.sections) out["sections"].push_back(json_of(section));
  put(out, "suite", report.suite);
  if (!report.cases.empty()) out["cases"] = Json::array();
  for (const TestCase& one : report.cases)
    out["cases"].push_back({{"group", one.group},
                            {"name", one.name},
                            {"outcome", kOutcomeNames[static_cast<std::size_t>(one.outcome)]},
                            {"message", one.message},
                            {"text", one.text}});
  out["provenance"] = Json::object();
  write_fields(report.provenance, kKeys, out["provenance"]);
  return ordered_document(out);
}

Report report_of_json(std::string_view text, const std::string& where) {
  const Json json = corpus::parse_bounded(text, where, "a report");
  JsonFields from(json, where);
  from.require({"schema", "title", "sections"});
  if (const auto schema = from.text("schema"); *schema != kSchema)
    from.refuse("schema", Json(*schema), kSchema);
  Report out;
  from.text("title", out.title);
  from.text("headline", out.headline);
  from.choice("tone", kToneNames, out.tone);
  from.texts("lead", out.lead);
  from.texts("meta", out.meta);
  out.warnings.title = "Look at this first";
  from.texts("warnings", out.warnings.lines);
  for_each_item(from, "highlights", [&](JsonFields& fields) {
    Highlight& one = out.highlights.emplace_back();
    fields.text("value", one.value);
    fields.text("label", one.label);
  });
  std::size_t figures = 0;
  for_each_item(from, "sections",
                [&](JsonFields& fields) { out.sections.push_back(section_of_json(fields, figures)); });
  from.text("suite", out.suite);
  for_each_item(from, "cases", [&](JsonFields& fields) {
    TestCase& one = out.cases.emplace_back();
    fields.text("group", one.group);
    fields.text("name", one.name);
    fields.choice("outcome", kOutcomeNames, one.outcome);
    fields.text("message", one.message);
    fields.text("text", one.text);
  });
  if (const Json* const found = from.take("provenance")) {
    JsonFields fields(*found, from.at("provenance"));
    fields.text("version", out.provenance.version);
    fields.text("git_revision", out.provenance.revision);
    fields.text("date", out.provenance.date);
    fields.text("gpu", out.provenance.gpu);
    fields.text("driver", out.provenance.driver);
    fields.text("cuda", out.provenance.cuda);
    fields.texts("command", out.provenance.command);
    fields.refuse_unknown();
  }
  from.refuse_unknown();
  return out;
}

}  // namespace mmaudit::report
