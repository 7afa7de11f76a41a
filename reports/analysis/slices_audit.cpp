#include "mmaudit/report/slices_audit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "file_matrix.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/whole_number.hpp"
#include "slices_exact.hpp"

namespace mmaudit::report {
namespace {

double norm_of(long double off, long double whole) {
  return whole > 0 ? static_cast<double>(std::sqrt(off / whole)) : off > 0 ? HUGE_VAL : 0;
}

template <typename Of>
SliceErrors errors_of(const std::vector<ExactElement>& exact, Format number, const Of& result) {
  using Wide = long double;  // for its exponents: squares of 2^-2150
  static_assert(std::numeric_limits<Wide>::max_exponent > 8192);
  const Wide unavoidable = number == Format::f64 ? 0x1p-1075L : 0x1p-150L;  // half the least subnormal number
  SliceErrors out;
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
    out.off += error * error;
    out.whole += here * here;
    if (x.size == 0 || std::abs(error) <= unavoidable) continue;
    const Wide relative = (std::abs(error) - unavoidable) / std::ldexp(Wide{x.size}, x.scale);
    out.element = std::max(out.element, static_cast<double>(relative));
  }
  out.norm = norm_of(out.off, out.whole);
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

bool within(const SliceAudit& audit, const SliceErrors& errors, const SliceErrors& native) {
  if (errors.lost > native.lost) return false;
  const double margin = audit.margin();
  if (audit.limited())
    return (audit.limit <= 0 || errors.norm * margin <= audit.limit) &&
           (audit.element_limit <= 0 || errors.element * margin <= audit.element_limit);
  return errors.norm * margin <= native.norm && errors.element * margin <= native.element;
}

/// Rows of A, columns of B, and what their product is.
template <typename Number>
struct Tile {
  std::uint64_t m = 0, n = 0;
  std::vector<Number> a, b;
  std::vector<ExactElement> exact;
  SliceErrors native;
};

/// Some rows of A, or columns of B.
template <typename Number>
std::vector<Number> lanes_of(const char* option, const FileMatrix& of, bool rows,
                             std::span<const std::uint64_t> lanes) {
  std::vector<std::uint64_t> some(lanes.begin(), lanes.end()), depth(rows ? of.columns() : of.rows());
  std::sort(some.begin(), some.end());
  std::iota(depth.begin(), depth.end(), 0);
  const std::vector<double> numbers = rows ? of.part(some, depth) : of.part(depth, some);
  std::vector<Number> out(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (std::isfinite(numbers[i]) && static_cast<double>(out[i]) != numbers[i])
      refuse("{}: found a number that binary32 has not, allowed: numbers of binary32, or --dtype f64",
             option);
  return out;
}

/// All rows of A, or columns of B, in a random order; behind the first `tile` come as many others whose
/// largest number is the furthest above their norm: digits lose most there.
std::vector<std::uint64_t> drawn(const FileMatrix& of, bool rows, std::uint64_t tile, std::uint64_t seed) {
  std::vector<std::uint64_t> out(rows ? of.rows() : of.columns());
  std::iota(out.begin(), out.end(), 0);
  for (auto at = out.begin(); at != out.end(); ++at)
    std::iter_swap(
        at, at + static_cast<std::ptrdiff_t>(splitmix64(seed) % static_cast<std::uint64_t>(out.end() - at)));
  if (out.size() <= 2 * tile) return out;
  std::vector<double> peaks(out.size());
  for (std::uint64_t lane = 0; lane < out.size(); ++lane) {
    double most = 0, squares = 0;
    const std::vector<double> numbers = lanes_of<double>("", of, rows, std::span(&lane, 1));
    for (const double x : numbers)
      if (std::isfinite(x)) most = std::max(most, std::abs(x));
    for (const double x : numbers)
      if (most > 0 && std::isfinite(x)) squares += std::pow(x / most, 2);
    peaks[lane] = squares > 0 ? 1 / squares : 0;
  }
  const auto next = out.begin() + static_cast<std::ptrdiff_t>(tile);
  std::partial_sort(next, next + static_cast<std::ptrdiff_t>(tile), out.end(),
                    [&](std::uint64_t x, std::uint64_t y) { return peaks[x] > peaks[y]; });
  return out;
}

template <typename Number>
SliceAudit study(const TensorAuditRequest& request, Format number, const FileMatrix& a, const FileMatrix& b,
                 double element_limit) {
  constexpr std::uint64_t kElements = 65536, kProducts = std::uint64_t{1} << 28, kMore = 8;
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
  const Architecture& architecture = *request.architectures.front();
  SliceAudit out;
  out.number = number, out.architecture = architecture.name;
  out.m = a.rows(), out.n = b.columns(), out.k = a.columns();
  out.limit = request.limit, out.element_limit = element_limit;
  // D in tiles of m x n, whose rows and columns are drawn; the first has all schemes, some others the
  // advised.
  const std::uint64_t down = detail::quotient_up(out.m, m), across = detail::quotient_up(out.n, n),
                      tiles = std::min(down * across, 1 + kMore);
  out.sampled = down * across > 1, out.whole = tiles == down * across;
  const std::vector<std::uint64_t> rows = drawn(a, true, m, request.seed),
                                   columns = drawn(b, false, n, request.seed + 1);
  const auto tile = [&](std::uint64_t at) {
    const std::uint64_t i = at % down * m, j = (at % down + at / down) % across * n;
    Tile<Number> made{std::min(m, out.m - i), std::min(n, out.n - j), {}, {}, {}, {}};
    made.a = lanes_of<Number>("--a", a, true, std::span(rows).subspan(i, made.m));
    made.b = lanes_of<Number>("--b", b, false, std::span(columns).subspan(j, made.n));
    made.exact = exact_of(made.a.data(), made.b.data(), made.m, made.n, out.k);
    made.native = errors_of(made.exact, number, [&](std::uint64_t e) { return made.exact[e].chain; });
    return made;
  };
  MatmulOptions how;
  how.threads = request.threads;
  std::vector<Number> d;
  const auto multiply = [&](const Slicing& slicing, const SlicePath& path, const Tile<Number>& of,
                            const OnBand& on_band) {
    d.resize(of.exact.size());
    Matmul problem;
    problem.m = of.m, problem.n = of.n, problem.k = out.k;
    problem.a = of.a.data(), problem.b = of.b.data(), problem.d = d.data();
    sliced_matmul(
        slicing, path.instruction, path.entry->datapath, problem,
        [&](const Instruction& inst, const Datapath& by, const Matmul& part) { matmul(inst, by, part, how); },
        on_band);
    return errors_of(of.exact, number, [&](std::uint64_t e) { return static_cast<double>(d[e]); });
  };
  const Tile<Number> first = tile(0);
  out.a = facts_of(first.a.data(), first.m, out.k, out.k, 1);
  out.b = facts_of(first.b.data(), first.n, out.k, 1, first.n);
  out.a.tensor = a.facts(), out.b.tensor = b.facts();
  out.compared = out.checked = first.exact.size();
  out.native = first.native;
  for (const ExactElement& x : first.exact) {
    out.not_finite += std::isfinite(x.high) ? 0 : 1;
    out.beyond += x.infinite ? 1 : 0;
  }
  const bool finite = a.facts().nan + a.facts().infinite + b.facts().nan + b.facts().infinite == 0;
  for (const SliceScheme& scheme : slice_schemes()) {
    if (scheme.input != number) continue;
    const SlicePath path = slice_path(scheme, architecture);
    if (!path.why_not.empty()) {
      out.refused.push_back(
          fmt::format("--arch: found {} ({}), allowed: one with an instruction of {} for {}",
                      architecture.name, path.why_not, scheme.dtype, scheme.name));
      continue;
    }
    const bool falls_back = scheme.fma_where_not_finite && !finite;
    const Slicing all{&scheme, scheme.integer() ? scheme.most : scheme.parts};
    Matmul problem;
    problem.m = first.m, problem.n = first.n, problem.k = out.k;
    if (const std::string why = why_no_slices(all, path.instruction, path.entry->datapath, problem);
        !why.empty()) {
      out.refused.push_back(why);
      continue;
    }
    bool found = false;
    int idle = 0;  // numbers of slices in a row that helped neither error
    SliceErrors best{HUGE_VAL, HUGE_VAL};
    const auto add = [&](int parts, const SliceErrors& errors) {  // false: more slices don't help
      const Slicing slicing{&scheme, parts};
      out.rows.push_back({slicing, name_of(slicing), name_of(path.instruction), std::string(scheme.evidence),
                          products_of(slicing), errors, falls_back});
      found = found || (out.measures() && within(out, errors, out.native));
      constexpr double kHelps = 0.9;
      const bool helps = errors.norm < kHelps * best.norm || errors.element < kHelps * best.element;
      idle = helps ? 0 : idle + 1;
      best.norm = std::min(best.norm, errors.norm), best.element = std::min(best.element, errors.element);
      return !falls_back && (idle < 2 || !found);
    };
    const int least = scheme.integer() ? scheme.fewest : scheme.parts;
    if (scheme.digit_bits != 0 && !scheme.balanced) {  // fewer slices are the first bands
      multiply(all, path, first, [&](int sum, const double* of) {
        return add(sum + 1, errors_of(first.exact, number, [&](std::uint64_t e) { return of[e]; }));
      });
      continue;
    }
    for (int parts = least; parts <= all.parts; ++parts)
      if (!add(parts, multiply({&scheme, parts}, path, first, {}))) break;
  }
  if (out.rows.empty()) throw InputError(out.refused.front());
  if (out.not_finite == out.compared || out.beyond > 0 || !out.measures() || out.zero()) return out;
  std::vector<std::size_t> order(out.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return out.rows[x].products < out.rows[y].products; });
  std::vector<Tile<Number>> more;
  const auto holds = [&](SliceRow& row) {
    SliceErrors all = row.errors, native = first.native;
    if (row.falls_back || !within(out, all, native)) return false;
    for (std::uint64_t at = 1; at < tiles; ++at) {
      if (more.size() < at) {
        more.push_back(tile(at));
        out.checked += more.back().exact.size();
      }
      all.add(multiply(row.slicing, slice_path(*row.slicing.scheme, architecture), more[at - 1], {}));
      native.add(more[at - 1].native);
    }
    if (!within(out, all, native)) return false;
    row.errors = all;
    return true;
  };
  const auto use =
      std::find_if(order.begin(), order.end(), [&](std::size_t i) { return holds(out.rows[i]); });
  if (use != order.end()) out.use = *use;
  return out;
}

}  // namespace

void SliceErrors::add(const SliceErrors& other) {
  off += other.off, whole += other.whole, lost += other.lost;
  norm = norm_of(off, whole);
  element = std::max(element, other.element);
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
  SliceAudit out = number == Format::f64 ? study<double>(request, number, a, b, element_limit)
                                         : study<float>(request, number, a, b, element_limit);
  out.provenance.backend = "model";
  out.provenance.architecture = out.architecture;
  return out;
}

}  // namespace mmaudit::report
