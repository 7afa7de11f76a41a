#include "mmaudit/report/gemm_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/fast.hpp"

namespace mmaudit::report {
namespace {

constexpr std::string_view kAccumulations[] = {"plain",       "promote:32",  "promote:64",
                                               "promote:128", "promote:256", "split-k:2",
                                               "split-k:4",   "split-k:8",   "half"};

struct PlannedCurve {
  GemmCombination combination;
  GemmPath path;
  std::size_t curve = 0;  ///< of the first distribution; the others follow
};

/// All accumulations of one dtype under one scaling.
struct Group {
  GemmDtype dtype;
  Scaling scaling = Scaling::none;
  bool fast = true;
  std::vector<PlannedCurve> planned;
};

/// With binary16 sums the largest numbers of FP8 would overflow at once: no scaling then.
Scaling scaling_for(const GemmDtype& dtype, const Accumulation& how) {
  return how.half && usual_scaling(dtype) == Scaling::tensor ? Scaling::none : usual_scaling(dtype);
}

void add_curves(GemmStudy& study, const PlannedCurve& planned) {
  for (const Distribution distribution : kDistributions) {
    GemmCurve curve;
    static_cast<GemmSubject&>(curve) = subject_of(planned.combination, planned.path);
    curve.distribution = distribution;
    study.curves.push_back(std::move(curve));
  }
}

std::vector<Group> plan(const Architecture& architecture, GemmStudy& study) {
  std::vector<Group> groups;
  for (const GemmDtype& dtype : gemm_dtypes()) {
    if (dtype.cast.rounding == CastRounding::toward_zero) continue;  // TF32 again, but for the conversion
    GemmCombination plainest = settled({&architecture, dtype, Scaling::none, {}, Format::none, {}});
    if (const std::string why = find_path(plainest).why_not; !why.empty()) {
      study.left_out.push_back(fmt::format("{}: {}", dtype.title, why));
      continue;
    }
    for (const std::string_view name : kAccumulations) {
      const Accumulation how = *find_accumulation(name);
      PlannedCurve planned;
      planned.combination = settled({&architecture, dtype, scaling_for(dtype, how), how, Format::none, {}});
      planned.path = find_path(planned.combination);
      if (!planned.path.why_not.empty()) {
        study.left_out.push_back(fmt::format("{}, {}: {}", dtype.title, name, planned.path.why_not));
        continue;
      }
      const Scaling scaling = planned.combination.scaling;
      auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
        return group.dtype.name == dtype.name && group.scaling == scaling;
      });
      if (at == groups.end()) at = groups.insert(at, {dtype, scaling, true, {}});
      at->fast = at->fast && fast_serves(planned.path.instruction, planned.path.entry->datapath);
      planned.curve = study.curves.size();
      add_curves(study, planned);
      at->planned.push_back(std::move(planned));
    }
  }
  return groups;
}

/// One K, and distributions that share their B.
struct Task {
  std::vector<std::size_t> distributions;  ///< indices
  std::size_t depth = 0;                   ///< index
};

/// Distributions whose B is that of the first.
std::vector<std::vector<std::size_t>> families() {
  std::vector<std::vector<std::size_t>> out = {{}};
  for (std::size_t d = 0; d < std::size(kDistributions); ++d) {
    const Distribution each = kDistributions[d];
    const bool of_normal =
        each == Distribution::normal || each == Distribution::outlier_channels || each == Distribution::relu;
    if (of_normal) {
      out.front().push_back(d);
    } else {
      out.push_back({d});
    }
  }
  return out;
}

/// What every task reads, and the study it writes to: each its own points.
class Measurement {
 public:
  Measurement(GemmStudy& study, const GemmStudyOptions& options, const std::vector<Group>& groups)
      : study_(study), options_(options), groups_(groups) {}

  /// `b` holds at least k rows.
  void run(const Task& task, std::uint64_t k, std::span<const double> b) {
    std::vector<std::vector<double>> a, exact;
    std::vector<GemmOperands> operands;
    for (const std::size_t d : task.distributions)
      a.push_back(draw_a(kDistributions[d], options_.rows, k, options_.seed));
    for (const std::vector<double>& each : a) {
      operands.push_back({options_.rows, options_.columns, k, each, b.first(k * options_.columns), {}, 0, 0});
      exact.push_back(exact_product(operands.back()));
    }
    for (const Group& group : groups_) {
      if (!group.fast && k > options_.slow_depth) continue;
      ConvertedOperands converted;
      for (std::size_t i = 0; i < task.distributions.size(); ++i) {
        ConvertedOperand same_b = std::move(converted.b);
        converted = convert_operands(group.dtype, group.scaling, operands[i], {}, i == 0 ? nullptr : &same_b);
        for (const PlannedCurve& planned : group.planned)
          measure(planned, study_.curves[planned.curve + task.distributions[i]].points[task.depth], converted,
                  exact[i]);
      }
    }
  }

 private:
  static void measure(const PlannedCurve& planned, GemmPoint& point, const ConvertedOperands& converted,
                      const std::vector<double>& exact) {
    const GemmElements elements = compute_elements(planned.combination, planned.path, converted, {});
    point.errors = errors_of(exact, converted, elements, planned.combination.output);
    point.cast_a = converted.a.counts;
    point.cast_b = converted.b.counts;
  }

  GemmStudy& study_;
  const GemmStudyOptions& options_;
  const std::vector<Group>& groups_;
};

}  // namespace

GemmStudy study_gemm(const Architecture& architecture, const GemmStudyOptions& options) {
  GemmStudy study;
  study.rows = options.rows;
  study.columns = options.columns;
  study.seed = options.seed;
  study.method = fmt::format(
      "{} x {} elements of D for every K, by the model; A, B and their scales as binary32 programs make "
      "them; errors "
      "relative to the exact product (Frobenius norms). D is BF16 for FP8 and BF16, FP16 for FP16, FP32 for "
      "TF32. "
      "FP8 is scaled by one factor a tensor, with binary16 accumulators not at all.",
      options.rows, options.columns);
  const std::vector<Group> groups = plan(architecture, study);
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
  std::vector<Task> tasks;
  std::uint64_t done = 0, total = 0;
  for (std::size_t depth = depths.size(); depth-- > 0;) {  // the long ones first
    for (const auto& family : sharing) tasks.push_back({family, depth});
    total += depths[depth] * sharing.size();
  }
  std::mutex mutex;
  Measurement measurement(study, options, groups);
  detail::parallel_for(tasks.size(), options.threads, [&](std::uint64_t t) {
    const std::uint64_t k = depths[tasks[t].depth];
    measurement.run(tasks[t], k, b[t % sharing.size()]);
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
