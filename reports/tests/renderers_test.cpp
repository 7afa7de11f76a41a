#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "mmaudit/report/audit.hpp"
#include "render_result.hpp"

namespace mmaudit::report {
namespace {

constexpr char kHostile[] = "<script>alert(\"x\")</script>&'|`*[a](b)";

AuditResult small_result() {
  AuditResult result;
  result.provenance.version = "1.2.3";
  result.provenance.revision = "abc";
  result.provenance.date = "2026-01-02T03:04:05Z";
  result.provenance.backend = "NVIDIA H200 (driver 580.1)";
  result.provenance.architecture = "hopper";
  result.provenance.command = {"mmaudit", "audit"};
  result.verification.against = "recordings of NVIDIA H200";
  result.verification.rows = {{"mma.m16n8k8.f32.f16.f16.f32", 1234567, 0, "recorded"},
                              {"wgmma.m64n8k32.f32.e4m3.e4m3", 1000, 0, "recorded"}};
  ProfileCell cell;
  cell.dtype = Format::bf16;
  cell.output = Format::f32;
  cell.instruction = "mma.m16n8k8.f32.bf16.bf16.f32";
  cell.operation = Operation::accumulation;
  cell.init = Initialisation::low_raw_c;
  cell.error.add(1.0, 1.5);
  cell.error.finish();
  cell.published = "1.89E-08";
  cell.agreement = Agreement::explained;
  cell.note = "because";
  result.cells = {cell};
  DtypeSummary summary;
  summary.dtype = Format::bf16;
  summary.output = Format::f32;
  summary.instruction = cell.instruction;
  summary.conversion = cell.error;
  result.dtypes = {summary};
  ChainCurve curve;
  curve.dtype = Format::f16;
  curve.init = Initialisation::fp32;
  curve.rounds = 10;
  curve.points = {{1, 1e-4, 0}, {2, 2e-4, 0}, {3, std::nullopt, 4}};
  curve.first_infinity = 3;
  result.chains = {curve};
  GemmCurve depth;
  depth.dtype = "f16", depth.title = "FP16", depth.scaling = "none", depth.accumulation = "plain";
  depth.instruction = "wgmma.m64n64k16.f32.f16.f16";
  for (const std::uint64_t k : {16U, 64U}) {
    GemmPoint point;
    point.k = k;
    point.errors.compared = 1;
    point.errors.accumulation = 1e-6 * static_cast<double>(k);
    depth.points.push_back(point);
  }
  result.gemm.curves = {depth};
  result.formats = format_facts();
  result.not_covered = {"the moon"};
  return result;
}

AuditResult hostile_result() {
  AuditResult result = small_result();
  Origin& from = result.provenance;
  from.version = from.revision = from.date = from.backend = from.architecture = kHostile;
  from.command = {kHostile};
  result.verification.against = kHostile;
  for (VerificationRow& row : result.verification.rows) row.instruction = row.evidence = kHostile;
  for (ProfileCell& cell : result.cells)
    cell.instruction = cell.published = cell.source = cell.note = kHostile;
  for (DtypeSummary& row : result.dtypes) row.instruction = row.accumulator = row.evidence = kHostile;
  for (FormatFacts& row : result.formats) row.name = kHostile;
  result.chain_method = kHostile;
  result.gemm.method = kHostile;
  for (GemmCurve& curve : result.gemm.curves) curve.title = curve.scaling = curve.evidence = kHostile;
  result.not_covered = {kHostile};
  return result;
}

TEST(Verdict, NothingComparedIsNotAgreement) {
  Verification verification;
  EXPECT_EQ(verification.verdict(), Verdict::not_checked);
  verification.rows = {{"x", 0, 0, ""}};
  EXPECT_EQ(verification.verdict(), Verdict::not_checked);
  verification.rows = {{"x", 10, 0, ""}};
  EXPECT_EQ(verification.verdict(), Verdict::agrees);
  verification.rows.push_back({"y", 10, 1, ""});
  EXPECT_EQ(verification.verdict(), Verdict::disagrees);
  EXPECT_EQ(verification.failing_instructions(), 1U);
  verification.rows.push_back({"y", 10, 1, "another GPU"});
  EXPECT_EQ(verification.failing_instructions(), 1U);
  EXPECT_EQ(verification.instructions(), 2U);
}

TEST(Json, HasItsSchemaAndFields) {
  const auto json = nlohmann::json::parse(to_json(small_result()));
  EXPECT_EQ(json.at("schema"), "mmaudit.audit/2");
  EXPECT_EQ(json.at("provenance").at("backend"), "NVIDIA H200 (driver 580.1)");
  EXPECT_EQ(json.at("verification").at("verdict"), "agrees");
  EXPECT_EQ(json.at("verification").at("dots"), 1235567);
  EXPECT_EQ(json.at("verification").at("instructions").size(), 2U);
  EXPECT_EQ(json.at("published_agreement").at("explained"), 1);
  const auto& cell = json.at("cells").at(0);
  EXPECT_EQ(cell.at("dtype"), "bf16");
  EXPECT_EQ(cell.at("error").at("mean_absolute"), 0.5);
  EXPECT_EQ(cell.at("published").at("printed"), "1.89E-08");
  EXPECT_TRUE(json.at("dtypes").at(0).at("accumulator_alone").is_null());
  const auto& chain = json.at("chains").at(0);
  EXPECT_EQ(chain.at("first_infinity"), 3);
  EXPECT_TRUE(chain.at("points").at(2).at("error").is_null());
  EXPECT_EQ(json.at("formats").size(), format_facts().size());
  EXPECT_EQ(json.at("not_covered").at(0), "the moon");
}

TEST(Json, SurvivesHostileAndBrokenText) {
  AuditResult result = hostile_result();
  result.provenance.backend = "\xff\xfe";
  EXPECT_EQ(nlohmann::json::parse(to_json(result)).at("provenance").at("version"), kHostile);
}

TEST(Html, EscapesEverything) {
  const std::string html = to_html(hostile_result());
  EXPECT_EQ(html.find("<script>"), html.rfind("<script"));  // its own, and admitted by its digest
  EXPECT_EQ(html.find("alert(\"x\")"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
}

TEST(Html, LoadsNothing) {
  const std::string html = to_html(small_result());
  for (const char* forbidden : {"http://", "https://", "src=", "url(", "@import", "<iframe", "<img", "<link",
                                " onload", " onclick", "style=\"", "eval(", "innerHTML"})
    EXPECT_EQ(html.find(forbidden), std::string::npos) << forbidden;
  for (std::size_t at = html.find("href="); at != std::string::npos; at = html.find("href=", at + 1))
    EXPECT_EQ(html.substr(at, 7), "href=\"#") << "links stay on the page";
  EXPECT_NE(html.find("default-src 'none'; style-src 'sha256-"), std::string::npos);
}

TEST(Html, PolicyNamesADigestForStyleAndScript) {
  const std::string html = to_html(small_result());
  for (const std::string_view start : {"style-src 'sha256-", "script-src 'sha256-"}) {
    const std::size_t at = html.find(start);
    ASSERT_NE(at, std::string::npos);
    // 32 bytes in base64.
    EXPECT_EQ(html.substr(at + start.size() + 43, 3), "=';");
  }
  EXPECT_EQ(html.find("<style>"), html.rfind("<style>"));
}

TEST(Html, IsReadableWithoutEyes) {
  const std::string html = to_html(small_result());
  EXPECT_NE(html.find("<html lang=\"en\">"), std::string::npos);
  EXPECT_NE(html.find("role=\"img\""), std::string::npos);
  EXPECT_NE(html.find("<desc id=\"chain-desc\">"), std::string::npos);
  EXPECT_NE(html.find("First infinity at N = 3."), std::string::npos);
  EXPECT_NE(html.find("<desc id=\"depth-desc\">"), std::string::npos);
  EXPECT_NE(html.find("FP16, plain: 1.60e-05 at K = 16, 6.40e-05 at K = 64."), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"col\""), std::string::npos);
  EXPECT_NE(html.find("<th scope=\"row\""), std::string::npos);
  EXPECT_NE(html.find("name=\"viewport\""), std::string::npos);
}

TEST(Html, EveryTagIsClosed) {
  std::string html = to_html(small_result());
  html.erase(html.find("<script>"), html.find("</script>") + 9 - html.find("<script>"));
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const std::string tag = html.substr(at + 1, html.find('>', at) - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.ends_with('/') || name == "meta" || name == "!DOCTYPE") continue;
    if (name.starts_with('/')) {
      ASSERT_FALSE(open.empty()) << name;
      ASSERT_EQ('/' + open.back(), name);
      open.pop_back();
    } else {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

TEST(Console, FitsItsColumnsAndColoursOnlyWhenAsked) {
  AuditResult result = run_audit(*find_architecture("hopper"), model_backend(*find_architecture("hopper")),
                                 {.rounds = 3, .max_length = 3});
  result.provenance.version = "0.1.0";
  const std::string plain = to_console(result);
  std::istringstream lines(plain);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110U) << line;
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(to_console(result, true).find("\x1b["), std::string::npos);
  EXPECT_NE(plain.find("Nothing was compared with hardware"), std::string::npos);
  EXPECT_NE(plain.find("Not covered"), std::string::npos);
}

TEST(Console, ShowsMismatches) {
  AuditResult result = small_result();
  result.verification.rows[1].mismatches = 7;
  const std::string text = to_console(result);
  EXPECT_NE(text.find("differs from recordings of NVIDIA H200 in 7 of 1,235,567"), std::string::npos);
  EXPECT_NE(text.find("wgmma.m64n8k32.f32.e4m3.e4m3"), std::string::npos);
}

TEST(Markdown, KeepsHostileTextInItsCell) {
  const std::string text = to_markdown(hostile_result());
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_NE(text.find("\\|\\`\\*\\[a\\](b)"), std::string::npos);
}

constexpr char kCells[] = "a,b\r\n\"<c>\"|d";

TEST(OneTable, IsWrittenInEveryFormatWithoutLeavingItsCell) {
  const Table table{
      .title = "t", .columns = {"name", {"number", true}}, .rows = {{kCells, "1"}, {"x", "22"}}};
  EXPECT_EQ(to_csv(table), "name,number\r\n\"a,b\r\n\"\"<c>\"\"|d\",1\r\nx,22\r\n");
  EXPECT_EQ(to_markdown(table), "| name | number |\n|---|---:|\n| a,b  \"&lt;c\\>\"\\|d | 1 |\n| x | 22 |\n");
  EXPECT_NE(to_html(table).find("&quot;&lt;c&gt;&quot;|d"), std::string::npos);
  const Table short_one{.title = "t", .columns = {"name", {"number", true}}, .rows = {{"long name", "1"}}};
  EXPECT_EQ(to_text(short_one), "  name       number\n  long name       1\n");
}

TEST(Text, ColumnsAreWideInCharactersAndLinesEndAtTheirColumn) {
  const Table table{
      .title = "t", .columns = {"name", "b"}, .rows = {{"\u00B5\u2260\u00E4xxxxxxx", "1"}, {"x", "2"}}};
  EXPECT_EQ(to_text(table), "  name        b\n  \u00B5\u2260\u00E4xxxxxxx  1\n  x           2\n");
  Report report{.title = "t", .headline = std::string(54, 'a') + " " + std::string(55, 'b') + " c"};
  const std::string text = rendered(report, "text");
  EXPECT_NE(text.find(std::string(55, 'b') + "\nc\n"), std::string::npos) << text;
  report.headline.erase(0, 2);
  EXPECT_NE(rendered(report, "text").find(std::string(55, 'b') + " c\n"), std::string::npos);
}

TEST(Text, TheLastColumnGoesOverLinesWhereATableIsTooWide) {
  const std::string fifty(50, 'a'), sixty(60, 'b');
  Table table{.columns = {"name", "text"}, .rows = {{"x", fifty + " " + sixty}, {"y", "c"}}};
  EXPECT_EQ(to_text(table), "  name  text\n  x     " + fifty + "\n        " + sixty + "\n  y     c\n");
  table.columns = {"name", {"text", true}};  // numbers stand as they are
  EXPECT_NE(to_text(table).find(fifty + " " + sixty), std::string::npos);
  table = {.columns = {"name", "text"}, .rows = {{sixty + sixty, "short text"}}};  // no room is left
  EXPECT_NE(to_text(table).find("short text\n"), std::string::npos);
}

TEST(JUnit, CountsFailuresAndErrorsApart) {
  using Outcome = TestCase::Outcome;
  Report report{.title = "t", .suite = "s"};
  for (const Outcome outcome : {Outcome::failure, Outcome::passed, Outcome::error, Outcome::failure})
    report.cases.push_back({"group", "<name>", outcome, "message", "text"});
  const std::string text = rendered(report, "junit");
  EXPECT_NE(text.find("<testsuite name=\"s\" tests=\"4\" failures=\"2\" errors=\"1\" skipped=\"0\">"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("name=\"&lt;name&gt;\"/>"), std::string::npos) << text;
  EXPECT_NE(text.find("<error message=\"message\">text</error>"), std::string::npos) << text;
}

/// Text goes through print(), and JSON is read by programs.
TEST(Renderers, NothingHiddenIsInAFile) {
  const std::string turned{'\xe2', '\x80', '\xae'};  // U+202E; no literal of C++ may hold it
  const std::string hidden = "a\x1b[31m" + turned + "b";
  Report report{.title = hidden, .headline = hidden, .suite = "s"};
  report.cases.push_back({hidden, hidden, TestCase::Outcome::failure, hidden, hidden});
  report.sections.push_back(
      {.title = hidden, .tables = {{.title = hidden, .columns = {hidden}, .rows = {{hidden}}}}});
  for (const Renderer& one : renderers()) {
    if (one.name == "text" || one.name == "json") continue;
    const std::string drawn = one.draw(report, false);
    EXPECT_EQ(drawn.find('\x1b'), std::string::npos) << one.name;
    EXPECT_EQ(drawn.find(turned), std::string::npos) << one.name;
    EXPECT_NE(drawn.find("\\u202e"), std::string::npos) << one.name;
  }
}

TEST(Renderers, DrawEveryReportAndAreFoundByName) {
  const Report report{.title = "only a title"};
  for (const Renderer& one : renderers()) {
    EXPECT_EQ(find_renderer(one.name), &one);
    EXPECT_FALSE(one.extension.empty());
    one.draw(report, false);
  }
  for (const char* name : {"text", "markdown", "html", "json", "csv", "junit"})
    EXPECT_NE(find_renderer(name), nullptr) << name;
  EXPECT_EQ(find_renderer("pdf"), nullptr);
}

}  // namespace
}  // namespace mmaudit::report
