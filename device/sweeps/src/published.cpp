#include "mmaudit/sweeps/published.hpp"

namespace mmaudit::sweeps {
namespace {

bool same_subject(const PublishedRow& row, const State& state) {
  const std::string_view name = state.subject;
  return name.starts_with(row.subject) &&
         (name.size() == row.subject.size() || name[row.subject.size()] == '.') &&
         // "ldmatrix.x1" is not "ldmatrix.x1.trans".
         !(name.ends_with(".trans") && !row.subject.ends_with(".trans"));
}

bool agrees(int printed, const State& state, std::string_view axis) {
  return printed == 0 || state.axis(axis).empty() || state.number(axis) == printed;
}

bool agrees(std::string_view printed, const State& state, std::string_view axis) {
  return printed.empty() || state.axis(axis).empty() || state.axis(axis) == printed;
}

bool same_point(const PublishedRow& row, const State& state) {
  return same_subject(row, state) && agrees(row.n, state, "n") && agrees(row.ways, state, "ways") &&
         agrees(row.a, state, "a") && agrees(row.init, state, "init");
}

std::string text_of(const std::vector<PublishedRow>& rows, std::string_view PublishedRow::*value) {
  std::string text;
  for (const PublishedRow& row : rows) {
    if (!text.empty()) text += ", ";
    text += std::string(row.*value) + " (" + std::string(row.gpu) + ", " + std::string(row.table) + ")";
  }
  return text;
}

}  // namespace

std::vector<PublishedRow> published_rows() {
  std::vector<PublishedRow> rows;
  for (const auto& paper : {published_luo2025(), published_sun2023()})
    rows.insert(rows.end(), paper.begin(), paper.end());
  return rows;
}

std::vector<PublishedRow> published_cycles(const State& state) {
  std::vector<PublishedRow> found;
  if (state.axis("scope") != "sm") return found;
  for (const PublishedRow& row : published_rows())
    if (!row.cycles.empty() && same_point(row, state) && agrees(row.warps, state, "warps") &&
        agrees(row.ilp, state, "ilp"))
      found.push_back(row);
  return found;
}

std::vector<PublishedRow> published_rates(const State& state) {
  std::vector<PublishedRow> found;
  if (state.axis("scope") != "gpu") return found;
  for (const PublishedRow& row : published_rows())
    if (!row.rate.empty() && row.unit == Unit::tera && row.mhz.empty() && same_point(row, state))
      found.push_back(row);
  return found;
}

std::vector<PublishedRow> published_energy(const State& state) {
  std::vector<PublishedRow> found;
  if (state.axis("scope") != "energy") return found;
  for (const PublishedRow& row : published_rows())
    if (!row.per_watt.empty() && same_point(row, state)) found.push_back(row);
  return found;
}

std::string cycles_text(const std::vector<PublishedRow>& rows) {
  return text_of(rows, &PublishedRow::cycles);
}
std::string efficiency_text(const std::vector<PublishedRow>& rows) {
  return text_of(rows, &PublishedRow::per_watt);
}
std::string rates_text(const std::vector<PublishedRow>& rows) { return text_of(rows, &PublishedRow::rate); }

}  // namespace mmaudit::sweeps
