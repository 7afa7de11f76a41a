#pragma once
// Some lanes by some of k of an operand as vector code takes them: gathered, what they are divided by, and
// their elements put where they belong.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "mmaudit/detail/quantize_rows.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/quantize.hpp"

namespace mmaudit::detail {

class QuantizeTile {
 public:
  static constexpr int kLanes = 16, kDepth = kMostRows / kLanes * kRowLength, kHalves = kDepth / kRowLength;

  QuantizeTile(const Quantization& work, const RowFunctions* rows)
      : work_(work), decode_(work.from), rows_(rows) {
    const FormatSpec& to = work.rule.element;
    const bool number = has_ordered_codes(to) && to.fraction_bits < kDoubleFraction;
    const auto whole_rows = [](std::uint64_t block) { return block % kRowLength == 0; };
    const bool source =
        work.from.id == Format::f32 || work.from.id == Format::bf16 || work.from.id == Format::f16;
    if (!number || !source || work.rule.cast.rounding != CastRounding::nearest_even ||
        !whole_rows(work.rule.scale_block()) || !whole_rows(work.rule.factor_block()))
      rows_ = nullptr;
    how_.fraction_bits = to.fraction_bits, how_.ignored = to.ignored_low_bits;
    how_.integer = to.integer(), how_.saturate = work.rule.cast.saturate;
    how_.plain_zero = work.rule.plain_zero;
    if (rows_ == nullptr) return;
    how_.most = how_.integer ? 127 : decode_value(to.max_finite_bits(), to);
    if (how_.integer) return;
    how_.least = static_cast<std::uint64_t>(to.min_exponent() + kDoubleBias) << kDoubleFraction;
    how_.most_code = static_cast<std::uint32_t>(to.max_finite_bits() >> to.ignored_low_bits);
    how_.sign = static_cast<std::uint32_t>(to.sign_bit());
  }

  [[nodiscard]] bool serves() const { return rows_ != nullptr; }

  /// A part of the operand: (lanes, k) from (lane, k) on, as far as it exists, zeros behind it.
  struct Part {
    std::uint64_t matrix = 0, lane = 0, k = 0;
    int lanes = 0, depth = 0;
    alignas(64) float x[kLanes * kDepth];  ///< (lanes, kDepth)
    double by[kLanes * kHalves];
    std::uint32_t out[kLanes * kDepth];
  };

  void gather(Part& part) const {
    const std::uint64_t first =
        part.matrix * work_.batch_stride + part.lane * work_.lane_stride + part.k * work_.k_stride;
    if (part.depth < kDepth) std::fill_n(part.x, kLanes * kDepth, 0.0F);
    if (work_.from.id == Format::f32)
      gather_as<float>(part, first, [](float x) { return x; });
    else if (work_.from.id == Format::bf16)
      gather_as<std::uint16_t>(part, first,
                               [](std::uint16_t x) { return std::bit_cast<float>(std::uint32_t{x} << 16); });
    else
      gather_as<std::uint16_t>(part, first, [&](std::uint16_t x) { return static_cast<float>(decode_(x)); });
  }

  /// Largest magnitudes of rows, into the first part.lanes * kHalves of `out`: bits of binary32.
  void largest(Part& part) const { rows_->largest(part.x, part.lanes * kHalves, part.out); }

  /// Elements of a part whose `by` says what its rows are divided by: true, or multiplied or divided by in
  /// binary32. A bit for each row that has no elements yet.
  [[nodiscard]] std::uint32_t convert(Part& part, bool divided) const {
    RowWork rows;
    rows.x = part.x, rows.rows = part.lanes * kHalves, rows.by = part.by, rows.codes = part.out;
    rows.how = divided                ? RowScale::divided
               : work_.rule.divides() ? RowScale::divided_f32
                                      : RowScale::multiplied_f32;
    if (divided && std::all_of(part.by, part.by + rows.rows, is_power_of_two)) {
      rows.how = RowScale::multiplied;
      for (int i = 0; i < rows.rows; ++i) part.by[i] = 1 / part.by[i];
    }
    const std::uint32_t left = rows_->cast(rows, how_);
    switch (work_.rule.element.storage_bits) {
      case 8:
        put<std::uint8_t>(part);
        break;
      case 16:
        put<std::uint16_t>(part);
        break;
      default:
        put<std::uint32_t>(part);
    }
    return left;
  }

 private:
  /// Of a number above zero whose reciprocal is exact; or infinity.
  static bool is_power_of_two(double x) { return x > 0 && (std::bit_cast<std::uint64_t>(x) << 12) == 0; }

  template <typename Stored, typename Number>
  void gather_as(Part& part, std::uint64_t first, const Number& number) const {
    const auto* from = static_cast<const Stored*>(work_.x) + first;
    const std::uint64_t of_lane = work_.lane_stride, of_k = work_.k_stride;
    const auto lanes = static_cast<std::uint64_t>(part.lanes), depth = static_cast<std::uint64_t>(part.depth);
    const auto take = [&](std::uint64_t lane, std::uint64_t k, const Stored& stored) {
      Stored x;
      std::memcpy(&x, &stored, sizeof x);  // it may lie anywhere
      part.x[lane * kDepth + k] = number(x);
    };
    if (of_k == 1) {
      for (std::uint64_t lane = 0; lane < lanes; ++lane) {
        Stored some[kDepth];
        std::memcpy(some, from + lane * of_lane, depth * sizeof(Stored));
        for (std::uint64_t k = 0; k < depth; ++k) part.x[lane * kDepth + k] = number(some[k]);
      }
    } else {
      for (std::uint64_t k = 0; k < depth; ++k)
        for (std::uint64_t lane = 0; lane < lanes; ++lane) take(lane, k, from[lane * of_lane + k * of_k]);
    }
  }

  template <typename Stored>
  void put(const Part& part) const {
    const auto lanes = static_cast<std::uint64_t>(part.lanes), depth = static_cast<std::uint64_t>(part.depth);
    auto* const out = static_cast<unsigned char*>(work_.elements);
    if (work_.k_outside) {
      const std::uint64_t first = (part.matrix * work_.k + part.k) * work_.lanes + part.lane;
      for (std::uint64_t k = 0; k < depth; ++k) {
        Stored some[kLanes];
        for (std::uint64_t lane = 0; lane < kLanes; ++lane)
          some[lane] = static_cast<Stored>(part.out[lane * kDepth + k]);
        std::memcpy(out + (first + k * work_.lanes) * sizeof(Stored), some, lanes * sizeof(Stored));
      }
    } else {
      const std::uint64_t first = (part.matrix * work_.lanes + part.lane) * work_.k + part.k;
      for (std::uint64_t lane = 0; lane < lanes; ++lane) {
        Stored some[kDepth];
        for (std::uint64_t k = 0; k < kDepth; ++k) some[k] = static_cast<Stored>(part.out[lane * kDepth + k]);
        std::memcpy(out + (first + lane * work_.k) * sizeof(Stored), some, depth * sizeof(Stored));
      }
    }
  }

  const Quantization& work_;
  FastDecode decode_;
  const RowFunctions* rows_;
  RowCast how_;
};

}  // namespace mmaudit::detail
