#include "mmaudit/report/result.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "mmaudit/comparison.hpp"
#include "mmaudit/name_in.hpp"

namespace mmaudit::report {
namespace {

std::size_t distinct_instructions(const std::vector<VerificationRow>& rows, bool only_failing) {
  std::set<std::string_view> names;
  for (const VerificationRow& row : rows)
    if (!only_failing || row.mismatches != 0) names.insert(row.instruction);
  return names.size();
}

}  // namespace

std::uint64_t Verification::dots() const { return sum_of(rows, &VerificationRow::dots); }
std::uint64_t Verification::mismatches() const { return sum_of(rows, &VerificationRow::mismatches); }
std::size_t Verification::instructions() const { return distinct_instructions(rows, false); }
std::size_t Verification::failing_instructions() const { return distinct_instructions(rows, true); }

Verdict Verification::verdict() const {
  if (mismatches() != 0) return Verdict::disagrees;
  return dots() != 0 ? Verdict::agrees : Verdict::not_checked;
}

void ErrorStatistics::add(double result, double reference) {
  const double error = result - reference;
  const double magnitude = std::abs(error);
  ++count;
  if (error == 0) ++exact;
  mean_absolute += magnitude;
  max_absolute = std::max(max_absolute, magnitude);
  bias += error;
  magnitude_bias += std::abs(result) - std::abs(reference);
  if (reference == 0) return;
  ++relative_count_;
  mean_relative += magnitude / std::abs(reference);
  max_relative = std::max(max_relative, magnitude / std::abs(reference));
}

void ErrorStatistics::finish() {
  if (count == 0) return;
  mean_absolute /= count;
  bias /= count;
  magnitude_bias /= count;
  if (relative_count_ != 0) mean_relative /= relative_count_;
}

int AuditResult::count(Agreement agreement) const {
  return static_cast<int>(std::count_if(
      cells.begin(), cells.end(), [&](const ProfileCell& cell) { return cell.agreement == agreement; }));
}

int AuditResult::published_cells() const {
  return static_cast<int>(cells.size()) - count(Agreement::unpublished);
}

std::string_view name_of(Verdict verdict) {
  constexpr std::string_view kNames[] = {"agrees", "disagrees", "not checked"};
  return name_in(kNames, verdict);
}

std::string_view name_of(Operation operation) {
  constexpr std::string_view kNames[] = {"multiplication", "inner-product add", "accumulation"};
  return name_in(kNames, operation);
}

std::string_view name_of(Initialisation init) {
  constexpr std::string_view kNames[] = {"low precision", "low precision, C in FP32", "FP32"};
  return name_in(kNames, init);
}

std::string_view name_of(Reference reference) {
  constexpr std::string_view kNames[] = {"CPU FP32", "CPU FP32 as D's type"};
  return name_in(kNames, reference);
}

std::string_view name_of(Agreement agreement) {
  constexpr std::string_view kNames[] = {"not published", "same digits", "explained", "differs"};
  return name_in(kNames, agreement);
}

std::string_view name_of(ChainDraws draws) {
  constexpr std::string_view kNames[] = {"one chain", "reseeded for every length"};
  return name_in(kNames, draws);
}

}  // namespace mmaudit::report
