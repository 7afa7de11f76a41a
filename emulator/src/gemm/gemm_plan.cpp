#include "mmaudit/gemm_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>

#include "gemm/epilogue.hpp"
#include "gemm/fma_products.hpp"
#include "mmaudit/arithmetic/accumulate.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

std::uint64_t step_of(const GemmPlan& plan) {
  return plan.scalar ? 1 : static_cast<std::uint64_t>(plan.instruction.k);
}
std::uint64_t tile_of(const GemmPlan& plan) { return plan.tile_k != 0 ? plan.tile_k : step_of(plan); }

/// A slice as one chain takes it: `head` elements of K, +0 up to whole instructions, then the others.
struct Packing {
  std::vector<KRange> ranges;
  std::uint64_t head = 0, padding = 0, elements = 0;

  Packing(const GemmPlan& plan, std::vector<KRange> slice) : ranges(std::move(slice)) {
    for (const KRange& range : ranges) elements += range.last - range.first;
    head = plan.head_tile == 0 ? 0 : elements % plan.head_tile;
    if (head == 0) return;
    padding = (step_of(plan) - head % step_of(plan)) % step_of(plan);
    KRange& first = ranges.front();  // the head is a range of its own
    const std::uint64_t cut = first.first + head;
    if (cut < first.last) {
      ranges.insert(ranges.begin(), {first.first, cut});
      ranges[1].first = cut;
    }
  }
  [[nodiscard]] std::uint64_t length() const { return elements + padding; }
  /// Copies the slice; `unit` bytes belong to one element of K.
  void copy(const std::byte* from, std::byte* to, std::size_t unit) const {
    std::uint64_t done = 0;
    for (const KRange& range : ranges) {
      const std::uint64_t count = range.last - range.first;
      std::memcpy(to + (done + (head != 0 && done >= head ? padding : 0)) * unit, from + range.first * unit,
                  count * unit);
      done += count;
    }
  }
};

/// The columns of a slice of a (rows, k) matrix, contiguous.
std::vector<std::byte> columns_of(const void* a, std::uint64_t rows, std::uint64_t k, const Packing& slice,
                                  std::size_t bytes) {
  std::vector<std::byte> out(rows * slice.length() * bytes);
  for (std::uint64_t row = 0; row < rows; ++row)
    slice.copy(static_cast<const std::byte*>(a) + row * k * bytes, out.data() + row * slice.length() * bytes,
               bytes);
  return out;
}

/// The rows of a slice of every (k, n) matrix of a batch.
std::vector<std::byte> rows_of(const Matmul& problem, const Packing& slice, std::size_t bytes) {
  const std::size_t row = problem.n * bytes;
  std::vector<std::byte> out(problem.batch * slice.length() * row);
  for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix)
    slice.copy(static_cast<const std::byte*>(problem.b) + matrix * problem.k * row,
               out.data() + matrix * slice.length() * row, row);
  return out;
}

constexpr CastRounding kCast[] = {CastRounding::toward_zero, CastRounding::nearest_even,
                                  CastRounding::nearest_away};

std::vector<std::byte> rounded_to_tf32(const void* from, std::uint64_t count, InputRounding rounding) {
  const FormatSpec f32 = spec_of(Format::f32), tf32 = spec_of(Format::tf32);
  std::vector<std::byte> out(count * 4);
  const CastRule rule{kCast[static_cast<std::size_t>(rounding)], false};
  for (std::uint64_t i = 0; i < count; ++i)
    store_word(out.data(), 4, i, cast_bits(load_word(from, 4, i), f32, tf32, rule));
  return out;
}

/// Of a scalar plan only A's and B's formats count.
bool in_binary64(const GemmPlan& plan) {
  return (plan.scalar ? plan.instruction.a : plan.instruction.d) == Format::f64;
}

/// Whether fma of a short format take these operands: their finite numbers are numbers of it.
bool holds(const FormatSpec& running, const FormatSpec& operand) {
  return operand.fraction_bits <= running.fraction_bits && operand.max_exponent() <= running.max_exponent() &&
         operand.min_exponent() - operand.fraction_bits >= running.min_exponent() - running.fraction_bits;
}

/// What matmul() does by itself: slices as it cuts and adds them, padding at the end.
bool in_one_piece(const GemmPlan& plan, std::uint64_t k) {
  if (plan.scalar || (plan.head_tile != 0 && k % plan.head_tile != 0)) return false;
  return plan.slices == 1 ||
         (plan.c_place == CPlace::epilogue && !in_binary64(plan) && plan.slice_rule == SliceRule::even &&
          plan.partial == Format::f32 && plan.total == Format::f32 && plan.head_tile == 0 &&
          plan.tile_k % step_of(plan) == 0 && plan.slice_order == SliceOrder::ascending);
}

/// The product as matmul() takes it, with everything of the plan that matmul() can say.
Matmul whole(const GemmPlan& plan, const Matmul& problem) {
  Matmul out = problem;
  out.promote = plan.promote;
  if (plan.slices > 1 && in_one_piece(plan, problem.k)) {
    out.split_k = plan.slices;
    out.slice_tile = plan.tile_k;
  }
  if (!out.epilogue && plan.output != plan.instruction.d) out.epilogue = Epilogue{1, 0, plan.output};
  return out;
}

/// What sums are kept in: binary64 of f64, else binary32.
template <typename Number>
struct SumsOf;
template <>
struct SumsOf<float> {
  using Bits = std::uint32_t;
  static constexpr Format kFormat = Format::f32;
  static constexpr Bits kNan = 0x7FFFFFFF;
};
template <>
struct SumsOf<double> {
  using Bits = std::uint64_t;
  static constexpr Format kFormat = Format::f64;
  static constexpr Bits kNan = 0xFFF8000000000000;
};

/// The number that bits of a format spell; tf32 with all its bits.
template <typename Number>
Number value_of(const void* base, const FormatSpec& format, std::uint64_t index) {
  const std::uint64_t bits = load_word(base, format.storage_bytes(), index);
  return static_cast<Number>(decode_value(bits, format.id == Format::tf32 ? spec_of(Format::f32) : format));
}

/// A matrix as numbers.
template <typename Number>
std::vector<Number> values_of(const void* base, Format format, std::uint64_t first, std::uint64_t count) {
  std::vector<Number> out(count);
  const bool same = spec_of(format).storage_bytes() == sizeof(Number);  // tf32 too: all bits count
  if (same) std::memcpy(out.data(), static_cast<const Number*>(base) + first, count * sizeof(Number));
  for (std::uint64_t e = 0; e < count && !same; ++e)
    out[e] = value_of<Number>(base, spec_of(format), first + e);
  return out;
}

/// sums = a chain of fma per element, from C's where there is one; every `promote` of k it is added to a
/// total and starts again. The chain is rounded to plan.running, the total is not.
template <typename Number>
void scalar_product(const GemmPlan& plan, const Matmul& part, typename SumsOf<Number>::Bits* sums) {
  const std::uint64_t stride = plan.promote == 0 ? part.k : plan.promote;
  std::vector<Number> totals(part.m * part.n);
  constexpr double kOneThread = 1 << 22;  // below it a thread costs more than it does
  const double work = static_cast<double>(part.m) * static_cast<double>(part.n) * static_cast<double>(part.k);
  for (std::uint64_t matrix = 0; matrix < part.batch; ++matrix) {
    const auto a = values_of<Number>(part.a, plan.instruction.a, matrix * part.m * part.k, part.m * part.k),
               b = values_of<Number>(part.b, plan.instruction.b, matrix * part.k * part.n, part.k * part.n);
    std::vector<Number> start;
    if (part.c != nullptr)
      start = values_of<Number>(part.c, SumsOf<Number>::kFormat, matrix * totals.size(), totals.size());
    const auto multiply = [&](auto... running) {
      fma_product(a.data(), b.data(), part.m, part.n, part.k, stride, start.empty() ? nullptr : start.data(),
                  totals.data(), work < kOneThread ? 1 : 0, running...);
    };
    if constexpr (sizeof(Number) == sizeof(float)) {
      const FormatSpec running = spec_of(plan.running);
      if (stride >= part.k)  // C starts a chain, not a total
        for (float& each : start)
          each = static_cast<float>(decode_value(encode_value(each, running), running));
      multiply(plan.running);
    } else {
      multiply();
    }
    for (std::uint64_t e = 0; e < totals.size(); ++e)
      sums[matrix * totals.size() + e] = std::isnan(totals[e])
                                             ? SumsOf<Number>::kNan
                                             : std::bit_cast<typename SumsOf<Number>::Bits>(totals[e]);
  }
}

/// The slices apart, each a product of its own, and their sums added. C of the problem has the format of the
/// sums; it starts the first chain or the total.
template <typename Number>
class SlicedProduct {
  using Bits = typename SumsOf<Number>::Bits;
  using Sums = std::vector<Bits>;

 public:
  SlicedProduct(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem, const Product& product)
      : plan_(plan),
        datapath_(datapath),
        problem_(problem),
        product_(product),
        rule_(make_dot_spec(plan.instruction, datapath).datapath.output),
        slices_(slice_ranges_of(plan, problem.k)) {
    if (rule_.format != SumsOf<Number>::kFormat) rule_ = OutputRule{};
  }
  [[nodiscard]] Sums total() const {
    const std::size_t count = slices_.size();
    const bool from_c = problem_.c != nullptr && (plan_.c_place == CPlace::total || count == 0);
    if (count == 1 && (plan_.slices == 1 || (plan_.lanes > 1 && !from_c)))
      return sum_of(0);  // no add: -0 stays
    if (plan_.slice_order == SliceOrder::bisected && count > 0) return bisected(0, count);
    if (plan_.slice_order == SliceOrder::halved && count > 0) return halved();
    Sums out(problem_.batch * problem_.m * problem_.n);
    if (from_c) std::memcpy(out.data(), problem_.c, out.size() * sizeof(Bits));
    if (plan_.slice_order == SliceOrder::paired) {
      for (const auto& pair : paired_slices(std::max<std::uint64_t>(plan_.slices, count))) {
        Sums both(out.size());  // slices without elements add nothing
        for (const std::uint64_t s : pair)
          if (s < count) add(both, sum_of(s));
        add(out, both);
      }
      return out;
    }
    for (std::size_t s = 0; s < count; ++s)
      add(out, sum_of(plan_.slice_order == SliceOrder::descending ? count - 1 - s : s));
    return out;
  }

 private:
  [[nodiscard]] Bits rounded(Bits bits, Format format) const {
    if (format == Format::f32) return bits;  // as the sums are
    const FormatSpec own = spec_of(SumsOf<Number>::kFormat), to = spec_of(format);
    return static_cast<Bits>(cast_bits(cast_bits(bits, own, to, {}), to, own, {}));
  }
  void add(Sums& total, const Sums& sums) const {
    if constexpr (sizeof(Number) == sizeof(double)) {
      for (std::size_t e = 0; e < total.size(); ++e) {
        const double sum = std::bit_cast<double>(total[e]) + std::bit_cast<double>(sums[e]);
        total[e] = std::isnan(sum) ? SumsOf<double>::kNan : std::bit_cast<Bits>(sum);
      }
      return;
    }
    const FormatSpec f32 = spec_of(Format::f32);
    for (std::size_t e = 0; e < total.size(); ++e)
      total[e] = rounded(
          static_cast<Bits>(add_rounded(total[e], sums[e], f32, Rounding::nearest_even, rule_)), plan_.total);
  }
  [[nodiscard]] Sums sum_of(std::size_t slice) const {
    const Packing packing(plan_, slices_[slice]);
    Sums sums(problem_.batch * problem_.m * problem_.n);
    Matmul part = problem_;
    part.k = packing.length();
    const auto a = columns_of(problem_.a, problem_.batch * problem_.m, problem_.k, packing,
                              spec_of(plan_.instruction.a).storage_bytes());
    const auto b = rows_of(problem_, packing, spec_of(plan_.instruction.b).storage_bytes());
    part.a = a.data();
    part.b = b.data();
    const bool starts = slice == 0 && (plan_.c_place == CPlace::chain || plan_.slices == 1);
    part.c = starts ? problem_.c : nullptr;
    part.d = sums.data();
    part.promote = plan_.promote;
    part.epilogue.reset();
    if (plan_.lanes > 1)
      sums = SlicedProduct(lanes_of(plan_), datapath_, part, product_).total();
    else if (plan_.scalar)
      scalar_product<Number>(plan_, part, sums.data());
    else
      product_(plan_.instruction, datapath_, part);
    for (Bits& each : sums) each = rounded(each, plan_.partial);
    return sums;
  }
  [[nodiscard]] Sums bisected(std::size_t first, std::size_t last) const {
    if (last - first == 1) return sum_of(first);
    const std::size_t middle = last - std::bit_floor(last - first - 1);
    Sums out = bisected(first, middle);
    add(out, bisected(middle, last));
    return out;
  }
  /// Lanes without a slice have +0.
  [[nodiscard]] Sums halved() const {
    std::vector<Sums> lanes(plan_.slices, Sums(problem_.batch * problem_.m * problem_.n));
    for (std::size_t s = 0; s < slices_.size(); ++s) lanes[s] = sum_of(s);
    for (std::size_t half = lanes.size() / 2; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) add(lanes[i], lanes[i + half]);
    return lanes[0];
  }

  const GemmPlan& plan_;
  const Datapath& datapath_;
  const Matmul& problem_;
  const Product& product_;
  OutputRule rule_;
  std::vector<std::vector<KRange>> slices_;
};

}  // namespace

GemmPlan lanes_of(const GemmPlan& plan) {
  GemmPlan out;
  out.instruction = plan.instruction;
  out.scalar = plan.scalar;
  out.running = plan.running;
  out.tile_k = plan.lane_tile;
  out.slices = plan.lanes;
  out.slice_rule = SliceRule::cyclic;
  out.slice_order = plan.lane_order;
  out.promote = plan.promote;
  out.c_place = plan.c_place;
  return out;
}

Instruction scalar_instruction(Format a, Format b) {
  Instruction out{};
  out.a = a;
  out.b = b;
  out.c = out.d = a == Format::f64 ? Format::f64 : Format::f32;
  out.m = out.n = out.k = 1;
  return out;
}

std::vector<std::vector<std::uint64_t>> paired_slices(std::uint64_t count) {
  std::vector<std::vector<std::uint64_t>> out;
  const std::uint64_t half = detail::quotient_up(count, 2), last = count - 1;
  for (std::uint64_t i = 0; i < half; ++i) {
    out.push_back({i});
    if (i + half < count && (i == 0 || i + half != last)) out.back().push_back(i + half);
    if (i == 0 && last > half) out.push_back({last});
  }
  return out;
}

std::vector<std::vector<KRange>> slice_ranges_of(const GemmPlan& plan, std::uint64_t k) {
  const std::uint64_t tile = tile_of(plan), tiles = detail::quotient_up(k, tile);
  const std::uint64_t slices = std::min(std::max<std::uint64_t>(plan.slices, 1), tiles);
  std::vector<std::vector<KRange>> out;
  out.reserve(slices);
  const auto range = [&](std::uint64_t first, std::uint64_t last) {
    return KRange{first * tile, std::min(last * tile, k)};
  };
  if (plan.slice_rule == SliceRule::cyclic) {
    out.resize(slices);
    for (std::uint64_t t = 0; t < tiles; ++t) out[t % slices].push_back(range(t, t + 1));
    return out;
  }
  for (std::uint64_t slice = 0, first = 0; slice < slices && first < tiles; ++slice) {
    const std::uint64_t rest = tiles % slices;
    const bool one_more = plan.slice_rule == SliceRule::balanced ? slice < rest : slice >= slices - rest;
    std::uint64_t count = tiles / slices + (one_more ? 1 : 0);
    if (plan.slice_rule == SliceRule::even) count = detail::quotient_up(tiles, slices);
    if (plan.slice_rule == SliceRule::truncated)
      count =
          std::max<std::uint64_t>(detail::quotient_up(k / std::max<std::uint64_t>(plan.slices, 1), tile), 1);
    out.push_back({range(first, std::min(first + count, tiles))});
    first += count;
  }
  return out;
}

std::vector<KRange> slices_of(const GemmPlan& plan, std::uint64_t k) {
  const std::vector<std::vector<KRange>> ranges = slice_ranges_of(plan, k);
  std::vector<KRange> out;
  out.reserve(ranges.size());
  for (const std::vector<KRange>& slice : ranges) out.push_back({slice.front().first, slice.back().last});
  return out;
}

std::string why_no_prediction(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem) {
  if (problem.promote != 0)
    return refusal("promote: found {}, allowed: the plan's, not a product's", problem.promote);
  if (problem.split_k != 1)
    return refusal("split_k: found {}, allowed: the plan's, not a product's", problem.split_k);
  if (problem.epilogue && problem.epilogue->output != plan.output)
    return refusal("epilogue output: found {}, allowed: {}, the plan's output",
                   name_of(problem.epilogue->output), name_of(plan.output));
  if (plan.c_place != CPlace::epilogue && problem.epilogue)
    return refusal("c_place: found {}, allowed: epilogue where there is one",
                   names::kCPlace[static_cast<std::size_t>(plan.c_place)]);
  if (const SliceOrder order = plan.slices > 1 ? plan.slice_order : plan.lane_order;
      plan.c_place == CPlace::total &&
      ((plan.slices == 1 && plan.lanes == 1) || order == SliceOrder::bisected || order == SliceOrder::halved))
    return refusal(
        "c_place: found total, allowed: epilogue, chain but with slices or lanes added to a total");
  const bool wide = in_binary64(plan);
  for (const auto& [field, format] :
       {std::pair{"running", plan.running}, {"partial", plan.partial}, {"total", plan.total}})
    if (format != Format::f32 && (wide || (format != Format::f16 && format != Format::bf16)))
      return refusal("{}: found {}, allowed: {}", field, name_of(format),
                     wide ? "f32 (as the sums are: binary64)" : "f32, f16, bf16");
  if (plan.running != Format::f32 && !plan.scalar)
    return refusal("running: found {}, allowed: f32 but with scalar", name_of(plan.running));
  if (wide && (plan.output != Format::f64 || problem.epilogue))
    return refusal("output: found {}, allowed: f64 alone where the sums are f64",
                   problem.epilogue ? "an epilogue" : std::string(name_of(plan.output)));
  if (wide && plan.promote != 0 && !plan.scalar)
    return refusal("promote: found {}, allowed: 0, or scalar, where the sums are f64", plan.promote);
  constexpr std::uint64_t kMostSlices = 1 << 20;
  for (const auto& [field, count, order] :
       {std::tuple{"slices", plan.slices, plan.slice_order}, {"lanes", plan.lanes, plan.lane_order}}) {
    if (order == SliceOrder::halved && !std::has_single_bit(count))
      return refusal("{}: found {}, allowed: a power of two where their sums are halved", field, count);
    if (count == 0 || count > kMostSlices)
      return refusal("{}: found {}, allowed: 1 to {}", field, count, kMostSlices);
  }
  if (!plan.scalar && plan.lanes != 1)
    return refusal("lanes: found {}, allowed: 1 but with scalar", plan.lanes);
  if (plan.lane_tile == 0) return refusal("lane_tile: found 0, allowed: 1 or more");
  if (plan.scalar) {
    for (const Format format : {plan.instruction.a, plan.instruction.b}) {
      const FormatSpec spec = spec_of(format);
      if (spec.integer() || spec.signless || (format == Format::f64) != wide)
        return refusal("a, b: found {} and {}, allowed: floating-point formats, f64 only with f64",
                       name_of(plan.instruction.a), name_of(plan.instruction.b));
      if (plan.running != Format::f32 && !holds(spec_of(plan.running), spec))
        return refusal("running: found {}, allowed: f32, or a format that has every number of {}",
                       name_of(plan.running), name_of(format));
    }
    return plan.head_tile != 0 ? refusal("scalar: found true with head_tile, allowed: without it") : "";
  }
  if (plan.head_tile % static_cast<std::uint64_t>(plan.instruction.k) != 0)
    return refusal("head_tile: found {}, allowed: a multiple of k = {} of the instruction", plan.head_tile,
                   plan.instruction.k);
  if (problem.c != nullptr && !problem.epilogue && plan.c_place == CPlace::epilogue)
    return refusal("c: found some, allowed: with an epilogue, which adds it");
  Matmul work = whole(plan, problem);
  if (wide) work.epilogue.reset();
  if (plan.slices > 1 && !wide) work.split_k = plan.slices;  // refuses sums that can't be added
  return why_no_matmul(plan.instruction, datapath, work);
}

void predict(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem, const Product& product) {
  Matmul work = problem;
  std::vector<std::byte> a, b;
  if (!plan.scalar && plan.input != InputRounding::toward_zero && plan.instruction.a == Format::tf32) {
    a = rounded_to_tf32(problem.a, problem.batch * problem.m * problem.k, plan.input);
    b = rounded_to_tf32(problem.b, problem.batch * problem.k * problem.n, plan.input);
    work.a = a.data();
    work.b = b.data();
  }
  // C as the sums are; what comes of them is rounded at the end.
  const bool starts = plan.c_place != CPlace::epilogue && problem.c != nullptr;
  const Format of_sums = plan.scalar ? (in_binary64(plan) ? Format::f64 : Format::f32) : plan.instruction.d;
  if (starts && plan.output != of_sums) {
    const std::uint64_t count = problem.batch * problem.m * problem.n;
    const FormatSpec from = spec_of(plan.output), to = spec_of(of_sums);
    std::vector<std::byte> c(count * to.storage_bytes()), d(c.size());
    for (std::uint64_t e = 0; e < count; ++e)
      store_word(c.data(), to.storage_bytes(), e,
                 cast_bits(load_word(problem.c, from.storage_bytes(), e), from, to, {}));
    GemmPlan sums = plan;
    sums.output = of_sums;
    work.c = c.data();
    work.d = d.data();
    predict(sums, datapath, work, product);
    for (std::uint64_t e = 0; e < count; ++e)
      store_word(problem.d, from.storage_bytes(), e,
                 finished({1, 0, plan.output}, load_word(d.data(), to.storage_bytes(), e), to, 0));
    return;
  }
  if (in_binary64(plan)) {
    if (in_one_piece(plan, problem.k)) return product(plan.instruction, datapath, work);
    if (!starts) work.c = nullptr;
    const std::vector<std::uint64_t> total = SlicedProduct<double>(plan, datapath, work, product).total();
    std::memcpy(problem.d, total.data(), total.size() * sizeof(double));
    return;
  }
  if (in_one_piece(plan, problem.k)) return product(plan.instruction, datapath, whole(plan, work));
  if (!starts) work.c = nullptr;
  const std::vector<std::uint32_t> total = SlicedProduct<float>(plan, datapath, work, product).total();
  const std::size_t bytes = spec_of(plan.output).storage_bytes();
  const Epilogue epilogue = problem.epilogue.value_or(Epilogue{1, 0, plan.output});
  for (std::uint64_t e = 0; e < total.size(); ++e) {
    const std::uint64_t c = problem.epilogue && problem.c != nullptr ? load_word(problem.c, bytes, e) : 0;
    store_word(problem.d, bytes, e, finished(epilogue, total[e], spec_of(Format::f32), c));
  }
}

}  // namespace mmaudit
