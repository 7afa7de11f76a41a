#include "mmaudit/report/result.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace mmaudit::report {

std::uint64_t Verification::dots() const {
  std::uint64_t sum = 0;
  for (const VerificationRow& row : rows) sum += row.dots;
  return sum;
}

std::uint64_t Verification::mismatches() const {
  std::uint64_t sum = 0;
  for (const VerificationRow& row : rows) sum += row.mismatches;
  return sum;
}

std::size_t Verification::instructions() const {
  std::set<std::string_view> names;
  for (const VerificationRow& row : rows) names.insert(row.instruction);
  return names.size();
}

std::size_t Verification::failing_instructions() const {
  std::set<std::string_view> names;
  for (const VerificationRow& row : rows)
    if (row.mismatches != 0) names.insert(row.instruction);
  return names.size();
}

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
  switch (verdict) {
    case Verdict::agrees:
      return "agrees";
    case Verdict::disagrees:
      return "disagrees";
    case Verdict::not_checked:
      return "not checked";
  }
  return "unknown";
}

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::multiplication:
      return "multiplication";
    case Operation::inner_product_add:
      return "inner-product add";
    case Operation::accumulation:
      return "accumulation";
  }
  return "unknown";
}

std::string_view name_of(Initialisation init) {
  switch (init) {
    case Initialisation::low:
      return "low precision";
    case Initialisation::low_raw_c:
      return "low precision, C in FP32";
    case Initialisation::fp32:
      return "FP32";
  }
  return "unknown";
}

std::string_view name_of(Reference reference) {
  switch (reference) {
    case Reference::fp32:
      return "CPU FP32";
    case Reference::fp32_as_output:
      return "CPU FP32 as D's type";
  }
  return "unknown";
}

std::string_view name_of(Agreement agreement) {
  switch (agreement) {
    case Agreement::unpublished:
      return "not published";
    case Agreement::same_digits:
      return "same digits";
    case Agreement::explained:
      return "explained";
    case Agreement::differs:
      return "differs";
  }
  return "unknown";
}

std::string_view name_of(ChainDraws draws) {
  switch (draws) {
    case ChainDraws::one_chain:
      return "one chain";
    case ChainDraws::every_length:
      return "reseeded for every length";
  }
  return "unknown";
}

std::string_view title_of(Format format) {
  switch (format) {
    case Format::f64:
      return "FP64";
    case Format::f32:
      return "FP32";
    case Format::tf32:
      return "TF32";
    case Format::bf16:
      return "BF16";
    case Format::f16:
      return "FP16";
    case Format::e5m2:
      return "FP8 E5M2";
    case Format::e4m3:
      return "FP8 E4M3";
    case Format::e3m2:
      return "FP6 E3M2";
    case Format::e2m3:
      return "FP6 E2M3";
    case Format::e2m1:
      return "FP4 E2M1";
    case Format::ue8m0:
      return "scale UE8M0";
    case Format::ue4m3:
      return "scale UE4M3";
    case Format::s32:
      return "INT32";
    case Format::s8:
      return "INT8";
    case Format::u8:
      return "UINT8";
    case Format::s4:
      return "INT4";
    case Format::u4:
      return "UINT4";
    case Format::b1:
      return "binary";
    case Format::none:
      break;
  }
  return "none";
}

}  // namespace mmaudit::report
