#include "mmaudit/screen/fault_simulation.hpp"

#include <algorithm>
#include <bit>

#include "mmaudit/dot_case.hpp"

namespace mmaudit::screen {
namespace {

constexpr int kExponentBits = 9;  // -256 to 255: every floor and every sum of two exponents below f64

/// `value` of `width` bits, two's complement, as `fault` leaves it at its site.
class Stuck {
 public:
  explicit Stuck(const Fault* fault) : fault_(fault) {}

  [[nodiscard]] std::uint64_t bits(Site site, int lane, std::uint64_t value) const {
    if (fault_ == nullptr || fault_->site != site || fault_->lane != lane) return value;
    const std::uint64_t bit = std::uint64_t{1} << fault_->bit;
    return fault_->stuck ? value | bit : value & ~bit;
  }
  [[nodiscard]] std::int64_t twos_complement(Site site, int width, std::int64_t value) const {
    const std::uint64_t raw = bits(site, 0, static_cast<std::uint64_t>(value));
    const int unused = 64 - width;
    return static_cast<std::int64_t>(raw << unused) >> unused;
  }
  /// The sign is bit `width`.
  [[nodiscard]] std::int64_t sign_magnitude(Site site, int lane, int width, std::int64_t value) const {
    const std::uint64_t sign = std::uint64_t{1} << width;
    const std::uint64_t raw = bits(site, lane, magnitude(value) | (value < 0 ? sign : 0));
    const auto size = static_cast<std::int64_t>(raw & (sign - 1));
    return (raw & sign) != 0 ? -size : size;
  }

 private:
  const Fault* fault_;
};

int product_width(const DotPlan& plan) {
  if (plan.integer) return plan.a.value_bits() + plan.b.value_bits();
  const FormatSpec& a = plan.wide.id == Format::none ? plan.a : plan.wide;
  return 2 * (a.fraction_bits + 1);
}
int addend_width(const DotPlan& plan) { return plan.datapath.fraction_bits + 2; }
int sum_width(const DotPlan& plan) {
  if (plan.integer) return 32;
  const auto addends = static_cast<unsigned>(plan.datapath.products_per_step + 1);
  return addend_width(plan) + static_cast<int>(std::bit_width(addends)) + 1;
}
int lanes_of_step(const DotPlan& plan) {
  return plan.unpacks() ? std::min<int>(plan.datapath.products_per_step, plan.k) : plan.k;
}

/// fused_dot_add() of the rule that every tensor core follows, with a fault in it.
std::uint64_t faulty_step(const DotPlan& plan, const Operand* a, const Operand* b, int count,
                          const Operand& c, const StepSpec& spec, const Stuck& stuck) {
  const Datapath& datapath = plan.datapath;
  unsigned kinds = static_cast<unsigned>(c.kind);
  int most = std::max<int>(datapath.min_alignment_exponent, c.exponent);
  for (int k = 0; k < count; ++k) {
    kinds |= static_cast<unsigned>(a[k].kind) | static_cast<unsigned>(b[k].kind);
    most = std::max(most, product_exponent(a[k], b[k], spec.product_fraction_bits, datapath.product));
  }
  if (kinds != 0) return special_result(a, b, count, c, datapath, spec.output);
  most = static_cast<int>(stuck.twos_complement(Site::exponent, kExponentBits, most));
  const auto aligned = [&](int lane, std::int64_t significand, int fraction_bits, int exponent) {
    const int shift = datapath.fraction_bits - fraction_bits + std::min(exponent - most, 0);
    return stuck.sign_magnitude(Site::addend, lane, addend_width(plan),
                                align(significand, shift, datapath.alignment));
  };
  std::int64_t sum =
      aligned(datapath.products_per_step, c.significand, spec.addend.fraction_bits, c.exponent);
  for (int k = 0; k < count; ++k) {
    const std::int64_t product = stuck.sign_magnitude(Site::product, k, product_width(plan),
                                                      std::int64_t{a[k].significand} * b[k].significand);
    sum += aligned(k, product, spec.product_fraction_bits, a[k].exponent + b[k].exponent);
  }
  sum = stuck.twos_complement(Site::sum, sum_width(plan), sum);
  return round_to_output(magnitude(sum), sum < 0, most - datapath.fraction_bits, datapath.output, spec.output,
                         false);
}

/// One instruction.
std::uint64_t faulty_dot(const DotPlan& plan, const DotCase& dot, std::uint64_t c, const Stuck& stuck) {
  const int lanes = lanes_of_step(plan);
  Operand a[kMaxK], b[kMaxK];
  auto total = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(c)));
  for (int i = 0; i < plan.k; ++i) {
    const int k = evaluation_k(plan.datapath.order, plan.k, i);
    const auto at = static_cast<std::size_t>(k);
    const std::uint64_t x = stuck.bits(Site::operand_a, i % lanes, dot.a[at]),
                        y = stuck.bits(Site::operand_b, i % lanes, dot.b[at]);
    if (plan.integer) {
      const int width = product_width(plan);
      const std::int64_t product = integer_product(plan.integers, x, y);
      const std::uint64_t raw = stuck.bits(Site::product, i % lanes, static_cast<std::uint64_t>(product));
      const int unused = 64 - width;
      total += product < 0 || plan.integers.a.sign != 0 ? static_cast<std::int64_t>(raw << unused) >> unused
                                                        : static_cast<std::int64_t>(raw << unused >> unused);
    } else if (plan.binary64) {
      c = fused_multiply_add(x, y, c, plan.datapath);
    } else {
      a[i] = unpack_factor(plan.a, plan, x, false);
      b[i] = unpack_factor(plan.b, plan, y, false);
    }
  }
  if (plan.integer)
    c = static_cast<std::uint32_t>(static_cast<std::uint64_t>(stuck.twos_complement(Site::sum, 32, total)));
  if (plan.unpacks())
    for_each_step(plan, [&](int start, int count) {
      StepSpec spec = plan.step;
      if (start > 0) spec.addend = spec.output;
      c = stuck.bits(Site::result, 0,
                     faulty_step(plan, a + start, b + start, count,
                                 unpack_addend(spec.addend, plan.datapath, c), spec, stuck));
    });
  else
    c = stuck.bits(Site::result, 0, c);
  return c;
}

/// The operands that meet in an element: of a sparse instruction the elements of B that its metadata selects.
DotCase operands_of(const DotPlan& plan, const TileBatch& tiles, int tile, int row, int column) {
  DotCase dot = dot_at(tiles.instruction, tiles.filled(), static_cast<std::size_t>(tile), row, column);
  if (dot.metadata.empty()) return dot;
  std::vector<std::uint64_t> met;
  for (std::size_t i = 0; i < dot.a.size(); ++i) {
    const std::size_t group = i / static_cast<std::size_t>(plan.sparsity.kept);
    met.push_back(dot.b[group * static_cast<std::size_t>(plan.sparsity.group) + dot.metadata[i]]);
  }
  dot.b = met;
  return dot;
}

std::uint64_t chain_of(const DotPlan& plan, const DotCase& dot, int steps, const Fault* fault) {
  std::uint64_t c = 0;
  for (int i = 0; i < steps; ++i) c = faulty_dot(plan, dot, c, Stuck(fault));
  return c;
}

}  // namespace

std::string_view name_of(Site site) {
  constexpr std::string_view kNames[] = {"operand a", "operand b", "product", "exponent",
                                         "addend",    "sum",       "result"};
  return kNames[static_cast<int>(site)];
}

std::vector<Fault> faults_of(const DotPlan& plan) {
  std::vector<Fault> faults;
  const auto add = [&](Site site, int lanes, int first_bit, int bits) {
    for (int lane = 0; lane < lanes; ++lane)
      for (int bit = first_bit; bit < first_bit + bits; ++bit)
        for (const bool stuck : {false, true}) faults.push_back({site, lane, bit, stuck});
  };
  const int lanes = lanes_of_step(plan);
  add(Site::operand_a, lanes, plan.a.ignored_low_bits, plan.a.value_bits());
  add(Site::operand_b, lanes, plan.b.ignored_low_bits, plan.b.value_bits());
  if (plan.integer) {
    add(Site::product, lanes, 0, plan.a.id == Format::b1 ? 1 : product_width(plan));
    add(Site::sum, 1, 0, sum_width(plan));
  }
  if (plan.unpacks()) {
    add(Site::product, lanes, 0, product_width(plan) + 1);
    add(Site::exponent, 1, 0, kExponentBits);
    add(Site::addend, plan.datapath.products_per_step + 1, 0, addend_width(plan) + 1);
    add(Site::sum, 1, 0, sum_width(plan));
  }
  if (!plan.integer) add(Site::result, 1, 0, plan.step.output.storage_bits);
  return faults;
}

std::uint64_t chain_with_fault(const DotPlan& plan, const TileBatch& tiles, int tile, int row, int column,
                               int steps, const Fault* fault) {
  return chain_of(plan, operands_of(plan, tiles, tile, row, column), steps, fault);
}

std::vector<bool> shown_faults(const DotPlan& plan, const TileBatch& tiles,
                               const std::vector<Fault>& faults) {
  std::vector<bool> shown(faults.size());
  const int elements = tiles.instruction.m * tiles.instruction.n;
  for (int tile = 0; tile < static_cast<int>(tiles.tiles); ++tile)
    for (int i = 0; i < kElementsPerTile; ++i) {
      // An odd stride close to the golden ratio of the tile meets rows and columns of every parity.
      const int at = static_cast<int>(std::int64_t{i} * (elements * 5 / 8 | 1) % elements);
      const DotCase dot = operands_of(plan, tiles, tile, at / tiles.instruction.n, at % tiles.instruction.n);
      const std::uint64_t good = chain_of(plan, dot, kSteps, nullptr);
      for (std::size_t f = 0; f < faults.size(); ++f)
        if (!shown[f] && chain_of(plan, dot, kSteps, &faults[f]) != good) shown[f] = true;
    }
  return shown;
}

}  // namespace mmaudit::screen
