#include "mmaudit/report/gemm_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/fast.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

constexpr std::string_view kAccumulations[] = {"plain",       "promote:32",  "promote:64",
                                               "promote:128", "promote:256", "split-k:2",
                                               "split-k:4",   "split-k:8",   "half"};

struct Measured : PathedCombination {
  std::size_t curve = 0;  ///< of the first distribution; the others follow
};

/// All accumulations of one dtype under one scaling.
struct Group {
  GemmDtype dtype;
  Scaling scaling = scalings::none;
  bool fast = true;
  std::vector<Measured> curves;
};

/// With binary16 sums the largest numbers of FP8 would overflow at once: no scaling then.
Scaling scaling_for(const GemmDtype& dtype, const Accumulation& how) {
  return how.half && dtype.usual->by_software() ? scalings::none : *dtype.usual;
}

void add_curves(GemmStudy& study, const Measured& one) {
  for (const Distribution distribution : kDistributions) {
    GemmCurve curve;
    static_cast<GemmSubject&>(curve) = subject_of(one.combination, one.path);
    curve.distribution = distribution;
    study.curves.push_back(std::move(curve));
  }
}

std::vector<Group> groups_of(const Architecture& architecture, GemmStudy& study) {
  std::vector<Group> groups;
  for (const GemmDtype& dtype : gemm_dtypes()) {
    if (dtype.cast.rounding == CastRounding::toward_zero) continue;  // TF32 again, but for the conversion
    if (dtype.integer()) continue;                                   // sums are exact
    if (dtype.of_recipe) continue;                                   // a type again, with others' scales
    GemmCombination plainest = settled({&architecture, dtype, scalings::none, {}, Format::none, {}});
    if (const std::string why = find_path(plainest).why_not; !why.empty()) {
      study.left_out.push_back(fmt::format("{}: {}", dtype.title, why));
      continue;
    }
    for (const std::string_view name : kAccumulations) {
      const Accumulation how = *find_accumulation(name);
      Measured one;
      one.combination = settled({&architecture, dtype, scaling_for(dtype, how), how, Format::none, {}});
      one.path = find_path(one.combination);
      if (!one.path.why_not.empty()) {
        study.left_out.push_back(fmt::format("{}, {}: {}", dtype.title, name, one.path.why_not));
        continue;
      }
      const Scaling scaling = one.combination.scaling;
      auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
        return group.dtype.name == dtype.name && group.scaling == scaling;
      });
      if (at == groups.end()) at = groups.insert(at, {dtype, scaling, true, {}});
      at->fast = at->fast && fast_serves(one.path.instruction, one.path.entry->datapath);
      one.curve = study.curves.size();
      add_curves(study, one);
      at->curves.push_back(std::move(one));
    }
  }
  return groups;
}

/// Distributions, by index; those that draw the same B share a list.
std::vector<std::vector<std::size_t>> families() {
  std::vector<std::vector<std::size_t>> out = {{}};
  for (std::size_t d = 0; d < std::size(kDistributions); ++d)
    if (const Distribution each = kDistributions[d];
        each == Distribution::normal || each == Distribution::outlier_channels || each == Distribution::relu)
      out.front().push_back(d);
    else
      out.push_back({d});
  return out;
}

/// Measures every curve of these distributions, which share `b` (k rows of it), at one depth.
void measure(GemmStudy& study, const GemmStudyOptions& options, const std::vector<Group>& groups,
             const std::vector<std::size_t>& distributions, std::size_t depth, std::uint64_t k,
             std::span<const double> b) {
  std::vector<std::vector<double>> a, exact;
  std::vector<GemmOperands> operands;
  for (const std::size_t d : distributions)
    a.push_back(draw_a(kDistributions[d], options.rows, k, options.seed));
  for (const std::vector<double>& each : a) {
    operands.push_back({options.rows, options.columns, k, each, b, {}, 0, 0});
    exact.push_back(exact_product(operands.back()));
  }
  for (const Group& group : groups) {
    if (!group.fast && k > options.slow_depth) continue;
    ConvertedOperands converted;
    for (std::size_t i = 0; i < distributions.size(); ++i) {
      const ConvertedOperand same_b = std::move(converted.b);
      converted = convert_operands(group.dtype, group.scaling, operands[i], {}, i == 0 ? nullptr : &same_b);
      for (const Measured& one : group.curves) {
        GemmPoint& point = study.curves[one.curve + distributions[i]].points[depth];
        point.errors =
            errors_of(exact[i], converted, compute_elements(one.combination, one.path, converted, {}),
                      one.combination.output);
        point.cast_a = converted.a.counts;
        point.cast_b = converted.b.counts;
      }
    }
  }
}

}  // namespace

GemmStudy study_gemm(const Architecture& architecture, const GemmStudyOptions& options) {
  GemmStudy study;
  study.rows = options.rows;
  study.columns = options.columns;
  study.seed = options.seed;
  study.method = fmt::format(
      "{} x {} elements of D for every K, by the model; A, B and their scales as binary32 programs make "
      "them; errors relative to the exact product (Frobenius norms). D is BF16 for FP8 and BF16, FP16 for "
      "FP16, FP32 for TF32. FP8 is scaled by one factor a tensor, with binary16 accumulators not at all.",
      options.rows, options.columns);
  const std::vector<Group> groups = groups_of(architecture, study);
  std::vector<std::uint64_t> depths = options.depths;
  std::sort(depths.begin(), depths.end());
  for (GemmCurve& curve : study.curves)
    for (const std::uint64_t k : depths) curve.points.push_back({k, {}, {}, {}});

  const std::uint64_t deepest = depths.empty() ? 0 : depths.back();
  const std::vector<std::vector<std::size_t>> sharing = families();
  std::vector<std::vector<double>> b(sharing.size());
  detail::parallel_for(b.size(), options.threads, [&](std::uint64_t f) {
    b[f] = draw_b(kDistributions[sharing[f].front()], deepest, options.columns, options.seed);
  });
  std::mutex mutex;
  std::uint64_t done = 0;
  const std::uint64_t total =
      std::accumulate(depths.begin(), depths.end(), std::uint64_t{0}) * sharing.size();
  detail::parallel_for(depths.size() * sharing.size(), options.threads, [&](std::uint64_t task) {
    const std::size_t depth = depths.size() - 1 - task / sharing.size();  // the long ones first
    const std::uint64_t k = depths[depth], family = task % sharing.size();
    measure(study, options, groups, sharing[family], depth, k,
            std::span(b[family]).first(k * options.columns));
    if (!options.progress) return;
    const std::lock_guard lock(mutex);
    done += k;
    options.progress(done, total);
  });
  for (GemmCurve& curve : study.curves)
    std::erase_if(curve.points, [](const GemmPoint& point) { return point.errors.elements == 0; });
  return study;
}

}  // namespace mmaudit::report
