#include "sweeps/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "mmaudit/error.hpp"
#include "mmaudit/report/figures.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/point_groups.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kReads[] = {"stream.ld.v4.u32", "cp.async.bulk+inflight"};

std::string swept_text(const Provenance& from) { return fmt::format("{}, {}", from.date, from.revision); }

/// What a point of a sweep says of its rate.
Ceiling ceiling_at(const SweepResult& sweep, const Point& point, double rate) {
  return {.rate = rate,
          .clock = point.get(tag::kClock),
          .share = point.get(tag::kShareHeld),
          .subject = point.subject,
          .operands = std::string(point.axis("init")),
          .swept = swept_text(sweep.provenance)};
}

void raise(std::optional<Ceiling>& best, Ceiling one) {
  if (!best || one.rate > best->rate) best = std::move(one);
}

/// The best of a sweep and of what is already there.
class Best {
 public:
  void add(const SweepResult& sweep) {
    for (const Point& point : sweep.points) {
      if (point.axis("scope") != "gpu" || point.get(tag::kDiffering).value_or(0) > 0) continue;
      add_read(sweep, point);
      add_type(sweep, point);
    }
  }

  [[nodiscard]] Ceilings ceilings() const {
    Ceilings out{memory_, second_level_, {}};
    for (const auto& [key, one] : types_) out.types.push_back(*one);
    std::stable_sort(out.types.begin(), out.types.end(), [](const Ceiling& x, const Ceiling& y) {
      return std::tuple(x.sparse, -x.rate) < std::tuple(y.sparse, -y.rate);
    });
    return out;
  }

 private:
  void add_read(const SweepResult& sweep, const Point& point) {
    const auto rate = point.get(tag::kBytesPerSecond);
    if (!rate || std::find(std::begin(kReads), std::end(kReads), point.subject) == std::end(kReads)) return;
    if (point.axis("level") == "memory") raise(memory_, ceiling_at(sweep, point, *rate));
    if (point.axis("level") == "l2") raise(second_level_, ceiling_at(sweep, point, *rate));
  }

  void add_type(const SweepResult& sweep, const Point& point) {
    const auto rate = point.get(tag::kFlops);
    const Benchmark* benchmark = find_benchmark(point.subject);
    if (!rate || benchmark == nullptr || !benchmark->instruction) return;
    Ceiling one = ceiling_at(sweep, point, *rate);
    one.type = benchmark->instruction->a;
    one.sparse = is_sparse(benchmark->instruction->op);
    std::optional<Ceiling>& best = types_[{one.type, one.sparse}];
    raise(best, std::move(one));
  }

  std::optional<Ceiling> memory_, second_level_;
  std::map<std::pair<Format, bool>, std::optional<Ceiling>> types_;
};

std::string type_text(const Ceiling& one) {
  return fmt::format("{}{}", name_of(one.type), one.sparse ? ", sparse" : "");
}

std::string megahertz(const Ceiling& one) { return number_text(one.clock, 0, 1e-6); }

/// "4.62 TB/s".
std::string bytes_text(double rate) {
  return rate >= 1e12 ? fmt::format("{:.2f} TB/s", 1e-12 * rate) : fmt::format("{:.0f} GB/s", 1e-9 * rate);
}

std::string read_text(std::string_view level, const std::optional<Ceiling>& one) {
  return one ? fmt::format("{}: {} ({}, {} MHz held, {}). ", level, bytes_text(one->rate), one->subject,
                           megahertz(*one), one->swept)
             : "";
}

std::string gpu_text(const Provenance& from) {
  return fmt::format("{} ({} multiprocessors)", from.gpu, from.multiprocessors);
}

}  // namespace

Ceilings ceilings_of(const SweepResult& result, std::span<const SweepResult> others) {
  Best best;
  best.add(result);
  for (const SweepResult& other : others) best.add(other);
  return best.ceilings();
}

void require_ceilings(const SweepResult& result, const SweepResult& other, const std::string& label) {
  const Provenance &found = other.provenance, &allowed = result.provenance;
  const auto model = [](const Provenance& of) {
    return std::tie(of.gpu, of.compute_capability, of.multiprocessors);
  };
  if (model(found) != model(allowed))
    refuse("{}: GPU: found {}, allowed: {}", label, gpu_text(found), gpu_text(allowed));
  const Ceilings own = ceilings_of(other);
  if (own.types.empty() && !own.memory && !own.second_level)
    refuse("{}: found no ceiling, allowed: a sweep with scope=gpu of matrix instructions or of {}", label,
           fmt::format("{}", fmt::join(kReads, " or ")));
}

report::Table roofline_table(const Ceilings& ceilings) {
  const bool any = ceilings.memory || ceilings.second_level;
  const auto per_byte = [](const std::optional<Ceiling>& read) {
    return [read](const Ceiling& one) { return read ? fmt::format("{:.0f}", one.rate / read->rate) : "-"; };
  };
  report::Table table = report::table_of<Ceiling>(
      "Roofline of each data type", any ? ceilings.types : std::vector<Ceiling>{},
      {{"type of A", type_text},
       {{"TFLOPS", true}, [](const Ceiling& one) { return number_text(one.rate, 1, 1e-12); }},
       {{"FLOP/B of memory", true}, per_byte(ceilings.memory)},
       {{"FLOP/B of L2", true}, per_byte(ceilings.second_level)},
       {{"MHz held", true}, megahertz},
       {{"of peak held", true}, [](const Ceiling& one) { return share_text(one.share); }},
       {{"operands", false, true}, [](const Ceiling& one) { return one.operands; }},
       {"instruction", [](const Ceiling& one) { return one.subject; }},
       {{"sweep", false, true}, [](const Ceiling& one) { return one.swept; }}});
  table.remark =
      "FLOP per byte at which the best rate of a type meets the best reads: a kernel with fewer is bound by "
      "them. All rates are of the whole GPU by CUDA events, each at the clock that its own run held. " +
      read_text("Memory", ceilings.memory) + read_text("L2", ceilings.second_level) +
      "Sparse rates count k in full, zeros of A included.";
  return table;
}

std::string roofline_figure(const Ceilings& ceilings) {
  report::Roofline plot{"roofline", "Roofline of each data type", {}, {}};
  for (const auto& [name, read] : {std::pair("memory", &ceilings.memory), {"L2", &ceilings.second_level}})
    if (*read) plot.slopes.push_back({name, bytes_text((*read)->rate), (*read)->rate});
  const bool any_peak = std::any_of(ceilings.types.begin(), ceilings.types.end(),
                                    [](const Ceiling& one) { return !one.sparse && one.share; });
  for (const Ceiling& one : ceilings.types)
    if (!one.sparse && (one.share || !any_peak))
      plot.roofs.push_back({std::string(name_of(one.type)), one.type, one.rate});
  return report::roofline(plot);
}

report::Section roofline_section(const SweepResult& result, std::span<const SweepResult> others) {
  const Ceilings ceilings = ceilings_of(result, others);
  report::Section section = report::section_of(roofline_table(ceilings));
  if (std::string figure = roofline_figure(ceilings); !figure.empty())
    section.figures.push_back(std::move(figure));
  return section;
}

}  // namespace mmaudit::sweeps
