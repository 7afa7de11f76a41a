#include "mmaudit/screen/fault_simulation.hpp"

#include <algorithm>
#include <bit>
#include <utility>

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
    const std::uint64_t mask = ((std::uint64_t{1} << fault_->width) - 1) << fault_->bit;
    return fault_->stuck ? value | mask : value & ~mask;
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

int product_width(const DotSpec& spec) {
  if (spec.integer) return spec.a.value_bits() + spec.b.value_bits();
  const FormatSpec& a = spec.wide.id == Format::none ? spec.a : spec.wide;
  return 2 * (a.fraction_bits + 1);
}
int addend_width(const DotSpec& spec) { return spec.datapath.fraction_bits + 2; }
int sum_width(const DotSpec& spec) {
  if (spec.integer) return 32;
  const auto addends = static_cast<unsigned>(spec.datapath.products_per_step + 1);
  return addend_width(spec) + static_cast<int>(std::bit_width(addends)) + 1;
}
int lanes_of_step(const DotSpec& spec) {
  return spec.unpacks() ? std::min<int>(spec.datapath.products_per_step, spec.k) : spec.k;
}

/// One instruction with a fault in it, as a function of C. What C does not change is computed once.
class FaultyInstruction {
 public:
  FaultyInstruction(const DotSpec& spec, const DotCase& dot, const Fault* fault)
      : spec_(spec), stuck_(fault) {
    const int lanes = lanes_of_step(spec);
    for (int i = 0; i < spec.k; ++i) {
      const auto at = static_cast<std::size_t>(evaluation_k(spec.datapath.order, spec.k, i));
      const std::uint64_t x = stuck_.bits(Site::operand_a, i % lanes, dot.a[at]),
                          y = stuck_.bits(Site::operand_b, i % lanes, dot.b[at]);
      if (spec.integer) {
        products_sum_ += integer_with_fault(i % lanes, x, y);
      } else if (spec.binary64) {
        raw_[i] = {x, y};
      } else {
        a_[i] = unpack_factor(spec.a, spec, x, false);
        b_[i] = unpack_factor(spec.b, spec, y, false);
      }
    }
    if (spec.unpacks()) for_each_step(spec, [this](int start, int count) { prepare_step(start, count); });
  }

  std::uint64_t operator()(std::uint64_t c) const {
    if (spec_.integer) {
      const auto addend = static_cast<std::int32_t>(static_cast<std::uint32_t>(c));
      c = static_cast<std::uint32_t>(
          static_cast<std::uint64_t>(stuck_.twos_complement(Site::sum, 32, products_sum_ + addend)));
    } else if (spec_.binary64) {
      for (int i = 0; i < spec_.k; ++i)
        c = fused_multiply_add(raw_[i].first, raw_[i].second, c, spec_.datapath);
    }
    if (!spec_.unpacks()) return stuck_.bits(Site::result, 0, c);
    for (std::size_t i = 0; i < steps_; ++i) c = stuck_.bits(Site::result, 0, step(step_[i], c));
    return c;
  }

 private:
  struct Step {
    int start = 0, count = 0;
    unsigned kinds = 0;  ///< of the factors, together
    int most = 0;        ///< exponent maximum of the products
  };

  [[nodiscard]] std::int64_t integer_with_fault(int lane, std::uint64_t x, std::uint64_t y) const {
    const std::int64_t product = integer_product(spec_.integers, x, y);
    const std::uint64_t raw = stuck_.bits(Site::product, lane, static_cast<std::uint64_t>(product));
    const int unused = 64 - product_width(spec_);
    return product < 0 || spec_.integers.a.sign != 0 ? static_cast<std::int64_t>(raw << unused) >> unused
                                                     : static_cast<std::int64_t>(raw << unused >> unused);
  }

  void prepare_step(int start, int count) {
    Step one{start, count, 0, spec_.datapath.min_alignment_exponent};
    for (int k = start; k < start + count; ++k) {
      one.kinds |= static_cast<unsigned>(a_[k].kind) | static_cast<unsigned>(b_[k].kind);
      one.most = std::max<int>(
          one.most, product_exponent(a_[k], b_[k], spec_.step.product_fraction_bits, spec_.datapath.product));
      product_[k] = stuck_.sign_magnitude(Site::product, k - start, product_width(spec_),
                                          std::int64_t{a_[k].significand} * b_[k].significand);
    }
    step_[steps_++] = one;
  }

  /// fused_dot_add() of the rule that every tensor core follows.
  [[nodiscard]] std::uint64_t step(const Step& one, std::uint64_t bits) const {
    const Datapath& datapath = spec_.datapath;
    const FormatSpec& output = spec_.step.output;
    const FormatSpec& addend = one.start > 0 ? output : spec_.step.addend;
    const Operand c = unpack_addend(addend, datapath, bits);
    if ((one.kinds | static_cast<unsigned>(c.kind)) != 0)
      return special_result(a_ + one.start, b_ + one.start, one.count, c, datapath, output);
    const int most = static_cast<int>(
        stuck_.twos_complement(Site::exponent, kExponentBits, std::max<int>(one.most, c.exponent)));
    const int width = addend_width(spec_);
    const auto aligned = [&](int lane, std::int64_t significand, int fraction_bits, int exponent) {
      const int shift = datapath.fraction_bits - fraction_bits + std::min(exponent - most, 0);
      return stuck_.sign_magnitude(Site::addend, lane, width, align(significand, shift, datapath.alignment));
    };
    std::int64_t sum = aligned(datapath.products_per_step, c.significand, addend.fraction_bits, c.exponent);
    for (int k = one.start; k < one.start + one.count; ++k)
      sum += aligned(k - one.start, product_[k], spec_.step.product_fraction_bits,
                     a_[k].exponent + b_[k].exponent);
    sum = stuck_.twos_complement(Site::sum, sum_width(spec_), sum);
    return round_to_output(magnitude(sum), sum < 0, most - datapath.fraction_bits, datapath.output, output,
                           false);
  }

  const DotSpec& spec_;
  Stuck stuck_;
  std::int64_t products_sum_ = 0;  ///< of an integer instruction
  std::pair<std::uint64_t, std::uint64_t> raw_[kMaxK];
  Operand a_[kMaxK], b_[kMaxK];
  std::int64_t product_[kMaxK] = {};
  Step step_[kMaxK];
  std::size_t steps_ = 0;
};

/// The operands that meet in an element: of a sparse instruction the elements of B that its metadata selects.
DotCase operands_of(const DotSpec& spec, const TileBatch& tiles, int tile, int row, int column) {
  DotCase dot = dot_at(tiles.instruction, tiles.filled(), static_cast<std::size_t>(tile), row, column);
  if (dot.metadata.empty()) return dot;
  std::vector<std::uint64_t> met;
  for (std::size_t i = 0; i < dot.a.size(); ++i) {
    const std::size_t group = i / static_cast<std::size_t>(spec.sparsity.kept);
    met.push_back(dot.b[group * static_cast<std::size_t>(spec.sparsity.group) + dot.metadata[i]]);
  }
  dot.b = met;
  return dot;
}

std::uint64_t chain_of(const DotSpec& spec, const DotCase& dot, int steps, const Fault* fault) {
  const FaultyInstruction instruction(spec, dot, fault);
  std::uint64_t c = 0;
  for (int i = 0; i < steps; ++i) {
    const std::uint64_t before = c;
    c = instruction(c);
    if (c == before) break;  // the remaining steps repeat it
  }
  return c;
}

}  // namespace

std::string_view name_of(Site site) {
  constexpr std::string_view kNames[] = {"operand a", "operand b", "product", "exponent",
                                         "addend",    "sum",       "result"};
  return kNames[static_cast<int>(site)];
}

std::vector<Fault> faults_of(const DotSpec& spec, int width) {
  std::vector<Fault> faults;
  const auto add = [&](Site site, int lanes, int first_bit, int bits) {
    for (int lane = 0; lane < lanes; ++lane)
      for (int bit = first_bit; bit + width <= first_bit + bits; ++bit)
        for (const bool stuck : {false, true}) faults.push_back({site, lane, bit, stuck, width});
  };
  const int lanes = lanes_of_step(spec);
  add(Site::operand_a, lanes, spec.a.ignored_low_bits, spec.a.value_bits());
  add(Site::operand_b, lanes, spec.b.ignored_low_bits, spec.b.value_bits());
  if (spec.integer) {
    add(Site::product, lanes, 0, spec.a.id == Format::b1 ? 1 : product_width(spec));
    add(Site::sum, 1, 0, sum_width(spec));
  }
  if (spec.unpacks()) {
    add(Site::product, lanes, 0, product_width(spec) + 1);
    add(Site::exponent, 1, 0, kExponentBits);
    add(Site::addend, spec.datapath.products_per_step + 1, 0, addend_width(spec) + 1);
    add(Site::sum, 1, 0, sum_width(spec));
  }
  if (!spec.integer) add(Site::result, 1, 0, spec.step.output.storage_bits);
  return faults;
}

bool undetectable(const DotSpec& spec, const Fault& fault) {
  if (fault.stuck) return false;
  if (fault.site == Site::addend)
    return fault.width == 1 && fault.lane == spec.datapath.products_per_step &&
           fault.bit == addend_width(spec) - 1;
  if (fault.site != Site::sum || !spec.integer || spec.integers.a.sign != 0 || spec.integers.b.sign != 0)
    return false;
  const auto largest = [](const FormatSpec& format) { return (std::uint64_t{1} << format.value_bits()) - 1; };
  const auto products = static_cast<std::uint64_t>(kSteps) * static_cast<std::uint64_t>(spec.k);
  return fault.bit >= static_cast<int>(std::bit_width(products * largest(spec.a) * largest(spec.b)));
}

std::uint64_t chain_with_fault(const DotSpec& spec, const TileBatch& tiles, int tile, int row, int column,
                               int steps, const Fault* fault) {
  return chain_of(spec, operands_of(spec, tiles, tile, row, column), steps, fault);
}

void add_shown(const DotSpec& spec, const TileBatch& tiles, const std::vector<Fault>& faults,
               std::vector<bool>& shown) {
  const int elements = tiles.instruction.m * tiles.instruction.n;
  for (int tile = 0; tile < static_cast<int>(tiles.tiles); ++tile)
    for (int i = 0; i < kElementsPerTile; ++i) {
      // An odd stride close to the golden ratio of the tile meets rows and columns of every parity.
      const int at = static_cast<int>(std::int64_t{i} * (elements * 5 / 8 | 1) % elements);
      const DotCase dot = operands_of(spec, tiles, tile, at / tiles.instruction.n, at % tiles.instruction.n);
      const std::uint64_t good = chain_of(spec, dot, kSteps, nullptr);
      for (std::size_t f = 0; f < faults.size(); ++f)
        if (!shown[f] && chain_of(spec, dot, kSteps, &faults[f]) != good) shown[f] = true;
    }
}

}  // namespace mmaudit::screen
