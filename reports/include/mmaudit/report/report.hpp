#pragma once
// What a person reads of any result, as data. Every renderer draws every report.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/provenance.hpp"
#include "mmaudit/report/figures.hpp"
#include "mmaudit/report/table.hpp"

namespace mmaudit::report {

/// Which renderers show a section. Text is short, pages have room for figures.
inline constexpr unsigned kOnTerminal = 1, kInMarkdown = 2, kOnPage = 4, kInDocuments = kInMarkdown | kOnPage,
                          kEverywhere = kOnTerminal | kInDocuments;

/// How a page lays out the figures of a section.
enum class Layout : std::uint8_t {
  grid,   ///< two per line
  small,  ///< as many per line as fit
  wide,   ///< each as wide as the page
  beside  ///< left of the table
};

/// One part of a report. Renderers leave out sections without content.
struct Section {
  std::string title = {}, remark = {};    ///< without a title: no heading
  std::vector<std::string> figures = {};  ///< markup that our own code drew; pages only
  std::vector<Figure> plots = {};         ///< figures as data, drawn behind the others
  std::vector<Table> tables = {};         ///< a title is printed where it is not the section's
  std::vector<std::string> lines = {};    ///< a list
  std::string block = {};                 ///< text whose columns stand under one another, shown as it is
  std::vector<std::string> notes = {};    ///< paragraphs below
  unsigned shown = kEverywhere;
  bool folded = false;  ///< pages show the content on demand
  Layout layout = Layout::grid;
};

/// One number of a page's first screen.
struct Highlight {
  std::string value = {}, label = {};
};

/// Of TestCase::Outcome; JUnit has an element of this name for each but the first.
inline constexpr std::string_view kOutcomeNames[] = {"passed", "failure", "error", "skipped"};

/// One test case, for JUnit.
struct TestCase {
  enum class Outcome : std::uint8_t { passed, failure, error, skipped };
  std::string group = {}, name = {};
  Outcome outcome = Outcome::passed;
  std::string message = {}, text = {};
};

struct Report {
  std::string title = {};
  std::string text_title = {};             ///< first line on a terminal; empty: none
  std::vector<std::string> meta = {};      ///< lines under a page's title
  std::string headline = {};               ///< the verdict in one sentence; empty: nothing is judged
  Tone tone = Tone::plain;                 ///< of the headline; the exit code says the same
  bool headline_last = false;              ///< on a terminal it follows the sections, which are long
  std::vector<std::string> lead = {};      ///< paragraphs that go with the headline
  Section warnings = {};                   ///< what is wrong with the input
  std::vector<Highlight> highlights = {};  ///< pages only
  std::vector<Section> sections = {};
  std::function<std::string()> json = {};  ///< the typed result; null: the report has no JSON
  Table records = {};                      ///< the typed result as a flat table, for CSV
  std::string suite = {};                  ///< the name of the test suite
  std::vector<TestCase> cases = {};
  Provenance provenance = {};  ///< of the run; no version: not said
  bool origin_told = false;    ///< a section says it, with more: the program adds nothing
};

/// What a program that shows the report returns: 1 where something did not pass (Tone::bad), else 0.
int exit_code(const Report& report);
/// The report itself as JSON, for results that have no type of their own; schema mmaudit.report/1.
std::string to_json(const Report& report);
/// The inverse, for reports that were made elsewhere: text stays text, figures are data. `where` names the
/// text in refusals. Errors: InputError.
Report report_of_json(std::string_view text, const std::string& where);
/// `provenance` as rows of two columns, empty fields left out.
Table provenance_table(const Provenance& provenance);

/// A section of one table, with the table's title and remark.
Section section_of(Table table, unsigned shown = kEverywhere);

/// Whether the table has another title than the section that holds it.
bool has_own_title(const Table& table, const Section& section);
/// Whether there is something to show besides figures.
bool has_text(const Section& section);

/// One format in which reports are written. Each is one file of reports/render/, which CMake lists.
struct Renderer {
  std::string_view name, extension;
  std::string_view option = {};  ///< of commands that write a report: "--html"; empty: what they print
  std::string_view what = {};    ///< of the option's help: "one self-contained page"
  std::string (*draw)(const Report& report, bool colour) = nullptr;  ///< `colour`: terminals only
};
std::span<const Renderer> renderers();
/// Null: there is none of that name.
const Renderer* find_renderer(std::string_view name);
/// Errors: InputError for a name that is not in renderers().
std::string rendered(const Report& report, std::string_view format, bool colour = false);

}  // namespace mmaudit::report
