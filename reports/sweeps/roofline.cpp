#include "sweeps/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "mmaudit/error.hpp"
#include "mmaudit/report/figures.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/fields.hpp"

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

std::string type_text(const Ceiling& one) {
  return fmt::format("{}{}", name_of(one.type), one.sparse ? ", sparse" : "");
}

std::string megahertz(const Ceiling& one) { return number_text(one.clock, 0, 1e-6); }

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
  Ceilings out;
  std::map<std::pair<Format, bool>, std::optional<Ceiling>> types;
  const auto add = [&](const SweepResult& sweep) {
    for (const Point& point : sweep.points) {
      if (point.axis("scope") != "gpu" || point.get(tag::kDiffering).value_or(0) > 0) continue;
      const bool reads = std::find(std::begin(kReads), std::end(kReads), point.subject) != std::end(kReads);
      if (const auto rate = point.get(tag::kBytesPerSecond); rate && reads) {
        if (point.axis("level") == "memory") raise(out.memory, ceiling_at(sweep, point, *rate));
        if (point.axis("level") == "l2") raise(out.second_level, ceiling_at(sweep, point, *rate));
      }
      const auto rate = point.get(tag::kFlops);
      const Benchmark* benchmark = find_benchmark(point.subject);
      if (!rate || benchmark == nullptr || !benchmark->instruction) continue;
      Ceiling one = ceiling_at(sweep, point, *rate);
      one.type = benchmark->instruction->a;
      one.sparse = is_sparse(benchmark->instruction->op);
      std::optional<Ceiling>& best = types[{one.type, one.sparse}];
      raise(best, std::move(one));
    }
  };
  add(result);
  for (const SweepResult& other : others) add(other);
  for (auto& [key, one] : types) out.types.push_back(std::move(*one));
  std::stable_sort(out.types.begin(), out.types.end(), [](const Ceiling& x, const Ceiling& y) {
    return std::tuple(x.sparse, -x.rate) < std::tuple(y.sparse, -y.rate);
  });
  return out;
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
    return [read](const Ceiling& one) { return read ? std::optional(one.rate / read->rate) : std::nullopt; };
  };
  report::Table table =
      report::table_of<Ceiling>("Roofline of each data type", any ? ceilings.types : std::vector<Ceiling>{},
                                {{"type of A", type_text},
                                 number_column("TFLOPS", &Ceiling::rate, 1, 1e-12),
                                 number_column("FLOP/B of memory", per_byte(ceilings.memory)),
                                 number_column("FLOP/B of L2", per_byte(ceilings.second_level)),
                                 {{"MHz held", true}, megahertz},
                                 share_column("of peak held", &Ceiling::share),
                                 {{"operands", false, true}, &Ceiling::operands},
                                 {"instruction", &Ceiling::subject},
                                 {{"sweep", false, true}, &Ceiling::swept}});
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
