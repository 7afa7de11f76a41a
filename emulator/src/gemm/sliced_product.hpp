#pragma once
// A product in slices of K, each summed by itself.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "gemm/fma_products.hpp"
#include "gemm/k_slices.hpp"
#include "mmaudit/arithmetic/accumulate.hpp"
#include "mmaudit/dot.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {

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

/// A matrix as numbers; tf32 with all its bits.
template <typename Number>
std::vector<Number> values_of(const void* base, Format format, std::uint64_t first, std::uint64_t count) {
  const FormatSpec spec = spec_of(format);
  std::vector<Number> out(count);
  const bool same = spec.storage_bytes() == sizeof(Number);
  if (same) std::memcpy(out.data(), static_cast<const Number*>(base) + first, count * sizeof(Number));
  for (std::uint64_t e = 0; e < count && !same; ++e)
    out[e] = static_cast<Number>(decode_value(load_word(base, spec.storage_bytes(), first + e), spec));
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
    const KSlice of_k(plan_, slices_[slice]);
    Sums sums(problem_.batch * problem_.m * problem_.n);
    Matmul part = problem_;
    part.k = of_k.length();
    const auto a = of_k.of_a(problem_, plan_.instruction.a), b = of_k.of_b(problem_, plan_.instruction.b);
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

}  // namespace mmaudit
