#include "mmaudit/gemm_plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>

#include "epilogue.hpp"
#include "gemm_refusal.hpp"
#include "mmaudit/arithmetic/accumulate.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/raw_words.hpp"

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

/// What matmul() does by itself: slices as it cuts and adds them, padding at the end.
bool in_one_piece(const GemmPlan& plan, std::uint64_t k) {
  if (plan.scalar || (plan.head_tile != 0 && k % plan.head_tile != 0)) return false;
  return plan.slices == 1 || (plan.slice_rule == SliceRule::even && plan.partial == Format::f32 &&
                              plan.total == Format::f32 && plan.head_tile == 0 &&
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

/// The binary32 number that bits of a format spell; tf32 with all its bits.
float value_of(const void* base, const FormatSpec& format, std::uint64_t index) {
  const std::uint64_t bits = load_word(base, format.storage_bytes(), index);
  return static_cast<float>(decode_value(bits, format.id == Format::tf32 ? spec_of(Format::f32) : format));
}

/// sums = a chain of binary32 fma per element; every `promote` of k it is added to a total and starts again.
void scalar_product(const GemmPlan& plan, const Matmul& part, std::uint32_t* sums) {
  const FormatSpec a = spec_of(plan.instruction.a), b = spec_of(plan.instruction.b);
  const std::uint64_t stride = plan.promote == 0 ? part.k : plan.promote;
  std::vector<float> of_b(part.k * part.n);
  constexpr double kOneThread = 1 << 22;  // below it a thread costs more than it does
  const double work = static_cast<double>(part.m) * static_cast<double>(part.n) * static_cast<double>(part.k);
  for (std::uint64_t matrix = 0; matrix < part.batch; ++matrix) {
    for (std::uint64_t e = 0; e < of_b.size(); ++e) of_b[e] = value_of(part.b, b, matrix * of_b.size() + e);
    detail::parallel_by_thread(part.m, work < kOneThread ? 1 : 0, [&] {
      return [&, row = std::vector<float>(part.n),
              total = std::vector<float>(part.n)](std::uint64_t of_m) mutable {
        const std::uint64_t i = matrix * part.m + of_m;
        std::fill(total.begin(), total.end(), 0.0F);
        for (std::uint64_t first = 0; first < part.k; first += stride) {
          std::fill(row.begin(), row.end(), 0.0F);
          for (std::uint64_t k = first; k < std::min(part.k, first + stride); ++k) {
            const float x = value_of(part.a, a, i * part.k + k);
            for (std::uint64_t j = 0; j < part.n; ++j) row[j] = std::fma(x, of_b[k * part.n + j], row[j]);
          }
          for (std::uint64_t j = 0; j < part.n; ++j) total[j] += row[j];
        }
        for (std::uint64_t j = 0; j < part.n; ++j)
          sums[i * part.n + j] = std::isnan(total[j]) ? 0x7FFFFFFF : std::bit_cast<std::uint32_t>(total[j]);
      };
    });
  }
}

using Sums = std::vector<std::uint32_t>;

/// The lanes of one slice, as slices of it.
GemmPlan lanes_of(const GemmPlan& plan) {
  GemmPlan out;
  out.instruction = plan.instruction;
  out.scalar = plan.scalar;
  out.tile_k = plan.lane_tile;
  out.slices = plan.lanes;
  out.slice_rule = SliceRule::cyclic;
  out.slice_order = plan.lane_order;
  out.promote = plan.promote;
  return out;
}

/// The slices apart, each a product of its own, and their sums added.
class SlicedProduct {
 public:
  SlicedProduct(const GemmPlan& plan, const Datapath& datapath, const Matmul& problem, const Product& product)
      : plan_(plan),
        datapath_(datapath),
        problem_(problem),
        product_(product),
        rule_(make_plan(plan.instruction, datapath).datapath.output),
        slices_(slice_ranges_of(plan, problem.k)) {
    if (rule_.format != Format::f32) rule_ = OutputRule{};
  }
  [[nodiscard]] Sums total() const {
    const std::size_t count = slices_.size();
    if (count == 1 && plan_.lanes > 1) return sum_of(0);
    if (plan_.slice_order == SliceOrder::bisected && count > 0) return bisected(0, count);
    if (plan_.slice_order == SliceOrder::halved && count > 0) return halved();
    Sums out(problem_.batch * problem_.m * problem_.n);
    for (std::size_t s = 0; s < count; ++s)
      add(out, sum_of(plan_.slice_order == SliceOrder::descending ? count - 1 - s : s));
    return out;
  }

 private:
  [[nodiscard]] std::uint32_t rounded(std::uint32_t bits, Format format) const {
    if (format == Format::f32) return bits;
    const FormatSpec f32 = spec_of(Format::f32), to = spec_of(format);
    return static_cast<std::uint32_t>(cast_bits(cast_bits(bits, f32, to, {}), to, f32, {}));
  }
  void add(Sums& total, const Sums& sums) const {
    const FormatSpec f32 = spec_of(Format::f32);
    for (std::size_t e = 0; e < total.size(); ++e)
      total[e] = rounded(
          static_cast<std::uint32_t>(add_rounded(total[e], sums[e], f32, Rounding::nearest_even, rule_)),
          plan_.total);
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
    part.c = nullptr;
    part.d = sums.data();
    part.promote = plan_.promote;
    part.epilogue.reset();
    if (plan_.lanes > 1)
      sums = SlicedProduct(lanes_of(plan_), datapath_, part, product_).total();
    else if (plan_.scalar)
      scalar_product(plan_, part, sums.data());
    else
      product_(plan_.instruction, datapath_, part);
    for (std::uint32_t& each : sums) each = rounded(each, plan_.partial);
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

Instruction scalar_instruction(Format a, Format b) {
  Instruction out{};
  out.a = a;
  out.b = b;
  out.c = out.d = Format::f32;
  out.m = out.n = out.k = 1;
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
    return refusal("promote", std::to_string(problem.promote), "the plan's, not a product's");
  if (problem.split_k != 1)
    return refusal("split_k", std::to_string(problem.split_k), "the plan's, not a product's");
  if (problem.epilogue && problem.epilogue->output != plan.output)
    return refusal("epilogue output", std::string(name_of(problem.epilogue->output)),
                   std::string(name_of(plan.output)) + ", the plan's output");
  for (const auto& [field, format] : {std::pair{"partial", plan.partial}, {"total", plan.total}})
    if (format != Format::f32 && format != Format::f16 && format != Format::bf16)
      return refusal(field, std::string(name_of(format)), "f32, f16, bf16");
  constexpr std::uint64_t kMostSlices = 1 << 20;
  for (const auto& [field, count, order] :
       {std::tuple{"slices", plan.slices, plan.slice_order}, {"lanes", plan.lanes, plan.lane_order}}) {
    if (order == SliceOrder::halved && !std::has_single_bit(count))
      return refusal(field, std::to_string(count), "a power of two where their sums are halved");
    if (count == 0 || count > kMostSlices)
      return refusal(field, std::to_string(count), "1 to " + std::to_string(kMostSlices));
  }
  if (!plan.scalar && plan.lanes != 1)
    return refusal("lanes", std::to_string(plan.lanes), "1 but with scalar");
  if (plan.lane_tile == 0) return refusal("lane_tile", "0", "1 or more");
  if (plan.scalar) return plan.head_tile != 0 ? refusal("scalar", "true with head_tile", "without it") : "";
  if (plan.head_tile % static_cast<std::uint64_t>(plan.instruction.k) != 0)
    return refusal("head_tile", std::to_string(plan.head_tile),
                   "a multiple of k = " + std::to_string(plan.instruction.k) + " of the instruction");
  if (problem.c != nullptr && !problem.epilogue)
    return refusal("c", "some", "with an epilogue, which adds it");
  Matmul work = whole(plan, problem);
  if (plan.slices > 1) work.split_k = plan.slices;  // refuses sums that can't be added
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
  if (in_one_piece(plan, problem.k)) return product(plan.instruction, datapath, whole(plan, work));
  const Sums total = SlicedProduct(plan, datapath, work, product).total();
  const std::size_t bytes = spec_of(plan.output).storage_bytes();
  const Epilogue epilogue = problem.epilogue.value_or(Epilogue{1, 0, plan.output});
  for (std::uint64_t e = 0; e < total.size(); ++e) {
    const std::uint64_t c = problem.c != nullptr ? load_word(problem.c, bytes, e) : 0;
    store_word(problem.d, bytes, e, finished(epilogue, total[e], spec_of(Format::f32), c));
  }
}

}  // namespace mmaudit
