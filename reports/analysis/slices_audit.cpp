#include "mmaudit/report/slices_audit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "file_matrix.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/whole_number.hpp"
#include "slices_exact.hpp"

namespace mmaudit::report {
namespace {

template <typename Of>
SliceErrors errors_of(const std::vector<ExactElement>& exact, Format number, const Of& result) {
  using Wide = long double;  // for its exponents: squares of 2^-2150
  static_assert(std::numeric_limits<Wide>::max_exponent > 8192);
  const Wide unavoidable = number == Format::f64 ? 0x1p-1075L : 0x1p-150L;  // half the least subnormal number
  SliceErrors out;
  Wide off = 0, whole = 0;
  for (std::uint64_t e = 0; e < exact.size(); ++e) {
    const ExactElement& x = exact[e];
    const double d = result(e);
    const double value = x.infinite ? std::copysign(HUGE_VAL, x.high) : x.high;
    if (!std::isfinite(value) || !std::isfinite(d)) {
      out.lost += std::isnan(value) ? !std::isnan(d) : value != d;
      continue;
    }
    const Wide error = std::ldexp((std::ldexp(Wide{d}, -x.scale) - x.high) - x.low, x.scale);
    const Wide here = std::ldexp(Wide{x.high} + x.low, x.scale);
    off += error * error;
    whole += here * here;
    if (x.size == 0 || std::abs(error) <= unavoidable) continue;
    const Wide relative = (std::abs(error) - unavoidable) / std::ldexp(Wide{x.size}, x.scale);
    out.element = std::max(out.element, static_cast<double>(relative));
  }
  out.norm = whole > 0 ? static_cast<double>(std::sqrt(off / whole)) : off > 0 ? HUGE_VAL : 0;
  return out;
}

template <typename Number>
SliceFacts facts_of(const Number* from, std::uint64_t lanes, std::uint64_t k, std::uint64_t lane_stride,
                    std::uint64_t k_stride) {
  SliceFacts out;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    int most = std::numeric_limits<int>::min(), least = std::numeric_limits<int>::max();
    bool finite = true;
    for (std::uint64_t i = 0; i < k; ++i) {
      const Number x = from[lane * lane_stride + i * k_stride];
      finite = finite && std::isfinite(x);
      out.subnormal += std::fpclassify(x) == FP_SUBNORMAL;
      out.negative_zero += x == 0 && std::signbit(x);
      if (!std::isfinite(x) || x == 0) continue;
      most = std::max(most, std::ilogb(x));
      least = std::min(least, std::ilogb(x));
    }
    out.not_finite += finite ? 0 : 1;
    if (least <= most && most - least > out.widest) out.widest = most - least, out.widest_lane = lane;
  }
  return out;
}

bool within(const SliceAudit& audit, const SliceRow& row) {
  const SliceErrors& errors = row.errors;
  if (errors.lost > audit.native.lost || row.falls_back) return false;
  if (audit.limit > 0 || audit.element_limit > 0)
    return (audit.limit <= 0 || errors.norm <= audit.limit) &&
           (audit.element_limit <= 0 || errors.element <= audit.element_limit);
  return errors.norm <= audit.native.norm && errors.element <= audit.native.element;
}

/// Within, and on a sample without a limit with one slice fewer too.
bool passes(const SliceAudit& audit, std::size_t at) {
  const SliceRow& row = audit.rows[at];
  if (!within(audit, row)) return false;
  if (!audit.one_more() || !row.slicing.scheme->integer()) return true;
  return at > 0 && audit.rows[at - 1].slicing.scheme == row.slicing.scheme &&
         within(audit, audit.rows[at - 1]);
}

void advise(SliceAudit& audit) {
  audit.use.reset();
  if (audit.not_finite == audit.compared || audit.beyond > 0) return;
  for (std::size_t i = 0; i < audit.rows.size(); ++i)
    if (passes(audit, i) && (!audit.use || audit.rows[i].products < audit.rows[*audit.use].products))
      audit.use = i;
}

template <typename Number>
SliceAudit study(Format number, const Number* a, const Number* b, Matmul problem,
                 const Architecture& architecture, unsigned threads, double limit, double element_limit,
                 bool sampled) {
  SliceAudit out;
  out.sampled = sampled;
  out.number = number;
  out.m = problem.m, out.n = problem.n, out.k = problem.k;
  out.limit = limit, out.element_limit = element_limit;
  out.architecture = architecture.name;
  out.a = facts_of(a, problem.m, problem.k, problem.k, 1);
  out.b = facts_of(b, problem.n, problem.k, 1, problem.n);
  const std::vector<ExactElement> exact = exact_of(a, b, problem.m, problem.n, problem.k);
  out.compared = exact.size();
  for (const ExactElement& x : exact) {
    out.not_finite += std::isfinite(x.high) ? 0 : 1;
    out.beyond += x.infinite ? 1 : 0;
  }
  out.native = errors_of(exact, number, [&](std::uint64_t e) { return exact[e].chain; });
  std::vector<Number> d(exact.size());
  problem.a = a, problem.b = b, problem.d = d.data();
  MatmulOptions how;
  how.threads = threads;
  const Product product = [&](const Instruction& inst, const Datapath& by, const Matmul& part) {
    matmul(inst, by, part, how);
  };
  for (const SliceScheme& scheme : slice_schemes()) {
    if (scheme.input != number) continue;
    const SlicePath path = slice_path(scheme, architecture);
    if (!path.why_not.empty()) {
      out.refused.push_back(
          fmt::format("--arch: found {} ({}), allowed: one with an instruction of {} for {}",
                      architecture.name, path.why_not, scheme.dtype, scheme.name));
      continue;
    }
    const bool falls_back = scheme.fma_where_not_finite && out.a.not_finite + out.b.not_finite > 0;
    const auto add = [&](int parts, const SliceErrors& errors) {
      SliceRow row{.slicing = {&scheme, parts},
                   .name = {},
                   .instruction = name_of(path.instruction),
                   .evidence = std::string(scheme.evidence),
                   .products = 0,
                   .errors = errors,
                   .falls_back = falls_back};
      row.name = name_of(row.slicing);
      row.products = products_of(row.slicing);
      out.rows.push_back(std::move(row));
    };
    Slicing all{&scheme, scheme.integer() ? scheme.most : scheme.parts};
    if (const std::string why = why_no_slices(all, path.instruction, path.entry->datapath, problem);
        !why.empty()) {
      out.refused.push_back(why);
      continue;
    }
    if (!scheme.integer()) {
      sliced_matmul(all, path.instruction, path.entry->datapath, problem, product);
      add(all.parts, errors_of(exact, number, [&](std::uint64_t e) { return static_cast<double>(d[e]); }));
      continue;
    }
    bool found = false;
    int idle = 0;  // numbers of slices in a row that helped neither error
    SliceErrors best{HUGE_VAL, HUGE_VAL};
    const auto helps_still = [&](int sum, const double* of) {
      const SliceErrors errors = errors_of(exact, number, [&](std::uint64_t e) { return of[e]; });
      add(sum + 1, errors);
      found = found || passes(out, out.rows.size() - 1);
      constexpr double kHelps = 0.9;
      const bool helps = errors.norm < kHelps * best.norm || errors.element < kHelps * best.element;
      idle = helps ? 0 : idle + 1;
      best.norm = std::min(best.norm, errors.norm), best.element = std::min(best.element, errors.element);
      return !falls_back && (idle < 2 || !found);
    };
    if (!scheme.balanced) {  // fewer slices are the first bands
      sliced_matmul(all, path.instruction, path.entry->datapath, problem, product, helps_still);
      continue;
    }
    for (int parts = 1; parts <= scheme.most; ++parts) {
      sliced_matmul({&scheme, parts}, path.instruction, path.entry->datapath, problem, product);
      const std::vector<double> of(d.begin(), d.end());
      if (!helps_still(parts - 1, of.data())) break;
    }
  }
  advise(out);
  if (out.rows.empty()) throw InputError(out.refused.front());
  return out;
}

/// The rows or columns of a sample, ascending: all where `count` has them, else drawn.
std::vector<std::uint64_t> drawn(std::uint64_t all, std::uint64_t count, std::uint64_t seed) {
  std::vector<std::uint64_t> out(all);
  std::iota(out.begin(), out.end(), 0);
  std::uint64_t state = seed;
  for (std::uint64_t i = 0; i < std::min(count, all); ++i)
    std::swap(out[i], out[i + splitmix64(state) % (all - i)]);
  out.resize(std::min(count, all));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

SliceAudit study_slices(Format number, const void* a, const void* b, std::uint64_t m, std::uint64_t n,
                        std::uint64_t k, const Architecture& architecture, unsigned threads, double limit,
                        double element_limit, bool sampled) {
  Matmul problem;
  problem.m = m, problem.n = n, problem.k = k;
  if (number == Format::f64)
    return study(number, static_cast<const double*>(a), static_cast<const double*>(b), problem, architecture,
                 threads, limit, element_limit, sampled);
  return study(number, static_cast<const float*>(a), static_cast<const float*>(b), problem, architecture,
               threads, limit, element_limit, sampled);
}

SliceAudit audit_slices(const TensorAuditRequest& request, Format number, double element_limit) {
  const bool transposed = request.b_transposed.value_or(false);
  const FileMatrix a("--a", request.a, "A", false), b("--b", request.b, "B", transposed);
  require_known_side(request, b);
  if (a.columns() != b.rows() && !request.b_transposed && a.columns() == b.columns())
    refuse("--b: found ({}, {}), allowed: (K = {}, N); --b-transposed for a file of (N, K)", b.rows(),
           b.columns(), a.columns());
  if (a.columns() != b.rows())
    refuse("--b: found ({}, {}), allowed: (K = {}, N)", b.rows(), b.columns(), a.columns());
  if (a.rows() == 0 || a.columns() == 0 || b.columns() == 0)
    refuse("--a, --b: found no element of D, allowed: some");
  constexpr std::uint64_t kElements = 65536, kProducts = std::uint64_t{1} << 28;
  std::uint64_t most =
      request.sample == "all" ? a.rows() * b.columns() : std::min(kElements, kProducts / a.columns());
  if (request.sample != "all" && request.sample != "auto") {
    const auto count = whole_number<std::uint64_t>(request.sample);
    if (!count || *count == 0) refuse("--sample: found {}, allowed: auto, all, or a number", request.sample);
    most = *count;
  }
  std::uint64_t m = a.rows(), n = b.columns();
  if (m * n > most) {
    const auto side =
        static_cast<std::uint64_t>(std::sqrt(static_cast<double>(std::max<std::uint64_t>(most, 1))));
    m = std::max<std::uint64_t>(
        1, std::min(m, std::max(side, most / std::max<std::uint64_t>(1, std::min(n, side)))));
    n = std::max<std::uint64_t>(1, std::min(n, most / m));
  }
  std::vector<std::uint64_t> depth(a.columns());
  std::iota(depth.begin(), depth.end(), 0);
  const std::vector<double> of_a = a.part(drawn(a.rows(), m, request.seed), depth),
                            of_b = b.part(depth, drawn(b.columns(), n, request.seed + 1));
  const Architecture& architecture = *request.architectures.front();
  const bool sampled = m < a.rows() || n < b.columns();
  const double margin = sampled ? kSampleMargin : 1, limit = request.limit / margin,
               of_element = element_limit / margin;
  SliceAudit out;
  if (number == Format::f64) {
    out = study_slices(number, of_a.data(), of_b.data(), m, n, depth.size(), architecture, request.threads,
                       limit, of_element, sampled);
  } else {
    const std::vector<float> single_a(of_a.begin(), of_a.end()), single_b(of_b.begin(), of_b.end());
    for (std::size_t i = 0; i < of_a.size(); ++i)
      if (std::isfinite(of_a[i]) && static_cast<double>(single_a[i]) != of_a[i])
        refuse("--a: found a number that binary32 has not, allowed: numbers of binary32, or --dtype f64");
    for (std::size_t i = 0; i < of_b.size(); ++i)
      if (std::isfinite(of_b[i]) && static_cast<double>(single_b[i]) != of_b[i])
        refuse("--b: found a number that binary32 has not, allowed: numbers of binary32, or --dtype f64");
    out = study_slices(number, single_a.data(), single_b.data(), m, n, depth.size(), architecture,
                       request.threads, limit, of_element, sampled);
  }
  out.a.tensor = a.facts(), out.b.tensor = b.facts();
  const TensorFacts& whole_a = out.a.tensor;
  const TensorFacts& whole_b = out.b.tensor;
  if (whole_a.nan + whole_a.infinite + whole_b.nan + whole_b.infinite > 0)  // in the sample or not
    for (SliceRow& row : out.rows) row.falls_back = row.slicing.scheme->fma_where_not_finite;
  advise(out);
  out.limit = request.limit, out.element_limit = element_limit;
  out.m = a.rows(), out.n = b.columns();
  out.provenance.backend = "model";
  out.provenance.architecture = architecture.name;
  return out;
}

}  // namespace mmaudit::report
