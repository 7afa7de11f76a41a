#pragma once
// The one loop on the host that makes elements, scales and factors of numbers. device/model/quantize.cu has
// the one of a GPU.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/quantize_tile.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/quantize.hpp"

namespace mmaudit::detail {

/// One number and what it became, for those who count.
struct QuantizedElement {
  std::uint64_t row = 0, k = 0, at = 0;  ///< lane of (batch, lanes); and where the element lies
  double x = 0, scale = 1, factor = 1;
  double scaled = 0;  ///< x over both
  std::uint64_t bits = 0;
};

/// For run(): nobody counts, so vector code may do what it can.
struct NobodyCounts {
  void operator()(const QuantizedElement&) const {}
};

class QuantizeLoop {
 public:
  /// `rows`: vector code for what nobody counts; null: none.
  explicit QuantizeLoop(const Quantization& work, const RowFunctions* rows = nullptr)
      : work_(work),
        decode_(work.from),
        scale_decode_(work.rule.scale),
        cast_(work.rule.element, work.rule.cast),
        tile_(work, rows),
        // Lanes that lie beside each other in memory belong to one thread, and those that share a scale.
        group_(quotient_up(kLanes, std::max<std::uint64_t>(work.rule.covers.lanes, 1)) *
               std::max<std::uint64_t>(work.rule.covers.lanes, 1)),
        groups_(quotient_up(work.lanes, group_)) {}

  /// `each`: called for every element, of a lane in the order of k and by one thread.
  template <typename Each>
  void run(unsigned threads, const Each& each) const {
    float factor = 1;
    if (work_.rule.one_factor()) {
      factor = factor_of_tensor(work_.rule, largest_of_tensor(threads));
      work_.factors[0] = finished_factor(work_.rule, factor);
    }
    for_each_group(threads, [&](std::uint64_t matrix, std::uint64_t first, std::uint64_t last) {
      scale(matrix, first, last, factor);
      if (std::is_same_v<Each, NobodyCounts> && tile_.serves())
        convert_parts(matrix, first, last, factor);
      else
        convert(matrix, first, last, factor, each);
      if (work_.rule.factor_per_lane() && work_.rule.finishes()) {
        const std::uint64_t blocks = work_.factor_blocks(), row = matrix * work_.lanes;
        for (std::uint64_t i = (row + first) * blocks; i < (row + last) * blocks; ++i)
          work_.factors[i] = finished_factor(work_.rule, work_.factors[i]);
      }
    });
  }

  /// Groups of lanes, each of which one thread has; and that of a row of (batch, lanes).
  [[nodiscard]] std::uint64_t groups() const { return work_.batch * groups_; }
  [[nodiscard]] std::uint64_t group_of(std::uint64_t row) const {
    return row / work_.lanes * groups_ + row % work_.lanes / group_;
  }

 private:
  static constexpr std::uint64_t kLanes = 16, kPiece = 32;

  template <typename Work>
  void for_each_group(unsigned threads, const Work& work) const {
    parallel_for(groups(), threads, [&](std::uint64_t i) {
      const std::uint64_t first = i % groups_ * group_;
      work(i / groups_, first, std::min(first + group_, work_.lanes));
    });
  }

  [[nodiscard]] double number(std::uint64_t matrix, std::uint64_t lane, std::uint64_t k) const {
    return decode_.at(work_.x, matrix * work_.batch_stride + lane * work_.lane_stride + k * work_.k_stride);
  }

  /// The larger one, where a NaN is the largest.
  static double larger(double x, double y) { return y > x || y != y ? y : x; }

  /// Largest magnitudes of every `length` of k (0: all) of some lanes: (lanes, blocks), where lanes
  /// that share a scale have the same. In the order of memory.
  [[nodiscard]] std::vector<double> largest_of(std::uint64_t matrix, std::uint64_t first, std::uint64_t last,
                                               std::uint64_t length, std::uint64_t blocks) const {
    std::vector<double> out((last - first) * blocks, 0.0);
    const std::uint64_t together = std::max<std::uint64_t>(work_.rule.covers.lanes, 1);
    const auto lead = [&](std::uint64_t lane) { return (lane - first) / together * together; };
    const auto take = [&](std::uint64_t lane, std::uint64_t k) {
      const double size = std::fabs(number(matrix, lane, k));
      double& largest = out[lead(lane) * blocks + (length == 0 ? 0 : k / length)];
      if (!(size <= largest) && work_.rule.counts(size)) largest = larger(largest, size);
    };
    if (tile_.serves() && length % kRowLength == 0) {
      for_each_part(matrix, first, last, [&](QuantizeTile::Part& part) {
        tile_.largest(part);
        for_each_row(part, [&](int row, std::uint64_t lane, std::uint64_t k, std::uint64_t end) {
          const auto size = static_cast<double>(std::bit_cast<float>(part.out[row]));
          double& largest = out[lead(lane) * blocks + (length == 0 ? 0 : k / length)];
          if (std::isfinite(size))
            largest = size > largest ? size : largest;  // a NaN stays
          else
            for (; k < end; ++k) take(lane, k);
        });
      });
    } else if (work_.k_stride < work_.lane_stride) {
      for (std::uint64_t lane = first; lane < last; ++lane)
        for (std::uint64_t k = 0; k < work_.k; ++k) take(lane, k);
    } else {
      for (std::uint64_t k = 0; k < work_.k; ++k)
        for (std::uint64_t lane = first; lane < last; ++lane) take(lane, k);
    }
    for (std::uint64_t lane = first; lane < last; ++lane)
      if (lead(lane) != lane - first)
        std::copy_n(&out[lead(lane) * blocks], blocks, &out[(lane - first) * blocks]);
    return out;
  }
  [[nodiscard]] double narrowed(double largest) const {
    return work_.exact_largest ? largest : static_cast<double>(static_cast<float>(largest));
  }

  [[nodiscard]] double largest_of_tensor(unsigned threads) const {
    if (work_.tensor_largest != nullptr) return static_cast<double>(*work_.tensor_largest);
    std::vector<double> of_groups(groups(), 0.0);
    for_each_group(threads, [&](std::uint64_t matrix, std::uint64_t first, std::uint64_t last) {
      for (const double each : largest_of(matrix, first, last, 0, 1)) {
        double& largest = of_groups[matrix * groups_ + first / group_];
        largest = larger(largest, each);
      }
    });
    double largest = work_.whole_largest;
    for (const double each : of_groups) largest = larger(largest, each);
    return narrowed(largest);
  }

  /// Scales under `factor`, and factors of lanes where there are any.
  void scale(std::uint64_t matrix, std::uint64_t first, std::uint64_t last, float factor) const {
    if (work_.largest_count() == 0) return;
    const QuantizeRule& rule = work_.rule;
    const std::uint64_t blocks = rule.scaled() ? work_.scale_blocks() : work_.factor_blocks();
    std::vector<double> sizes;
    if (work_.largest == nullptr) sizes = largest_of(matrix, first, last, rule.covers.k, blocks);
    for (std::uint64_t lane = first; lane < last; ++lane) {
      const std::uint64_t row = matrix * work_.lanes + lane;
      for (std::uint64_t i = 0; i < blocks; ++i) {
        const double largest = work_.largest != nullptr ? static_cast<double>(work_.largest[row * blocks + i])
                                                        : narrowed(sizes[(lane - first) * blocks + i]);
        if (rule.scaled())
          work_.scales[work_.scale_at(row, i)] = scale_byte(rule, largest, factor);
        else
          work_.factors[row * blocks + i] = factor_for(rule, largest, rule.most);
      }
    }
  }

  /// Some lanes, part by part, each with its numbers.
  template <typename Work>
  void for_each_part(std::uint64_t matrix, std::uint64_t first, std::uint64_t last, const Work& work) const {
    QuantizeTile::Part part;
    part.matrix = matrix;
    for (part.lane = first; part.lane < last; part.lane += QuantizeTile::kLanes) {
      part.lanes = static_cast<int>(std::min<std::uint64_t>(QuantizeTile::kLanes, last - part.lane));
      for (part.k = 0; part.k < work_.k; part.k += QuantizeTile::kDepth) {
        part.depth = static_cast<int>(std::min<std::uint64_t>(QuantizeTile::kDepth, work_.k - part.k));
        tile_.gather(part);
        work(part);
      }
    }
  }

  /// row(index in the part, lane, first k, end of k) for every row of a part that is there.
  template <typename Row>
  static void for_each_row(const QuantizeTile::Part& part, const Row& row) {
    for (int lane = 0; lane < part.lanes; ++lane)
      for (int half = 0; half * kRowLength < part.depth; ++half)
        row(lane * QuantizeTile::kHalves + half, part.lane + static_cast<std::uint64_t>(lane),
            part.k + static_cast<std::uint64_t>(half * kRowLength),
            part.k + static_cast<std::uint64_t>(std::min(part.depth, (half + 1) * kRowLength)));
  }

  /// convert() by vector code, and what that can't do by itself.
  void convert_parts(std::uint64_t matrix, std::uint64_t first, std::uint64_t last, float factor) const {
    const QuantizeRule& rule = work_.rule;
    const bool divided = rule.division == Division::exact;
    const double of_tensor = rule.one_factor() ? static_cast<double>(work_.factors[0]) : 1.0;
    for_each_part(matrix, first, last, [&](QuantizeTile::Part& part) {
      std::fill(part.by, std::end(part.by), 1.0);
      for_each_row(part, [&](int at, std::uint64_t lane, std::uint64_t k, std::uint64_t) {
        const std::uint64_t row = matrix * work_.lanes + lane;
        const double scale =
            rule.scaled() ? scale_decode_(work_.scales[work_.scale_at(row, k / rule.scale_block())]) : 1.0;
        const float own = rule.factor_per_lane() ? work_.factors[factor_at(row, k)] : factor;
        if (!divided)
          part.by[at] = static_cast<double>(multiplier(rule, scale, own));
        else
          part.by[at] =
              scale == 0 ? INFINITY : scale * (rule.factor_per_lane() ? static_cast<double>(own) : of_tensor);
      });
      const std::uint32_t left = tile_.convert(part, divided);
      for_each_row(part, [&](int at, std::uint64_t lane, std::uint64_t k, std::uint64_t end) {
        if ((left >> at & 1) != 0) convert_piece(matrix, lane, k, end, factor, NobodyCounts());
      });
    });
  }

  [[nodiscard]] std::uint64_t factor_at(std::uint64_t row, std::uint64_t k) const {
    const std::uint64_t block = work_.rule.factor_block();
    return row * work_.factor_blocks() + (block == 0 ? 0 : k / block);
  }

  template <typename Each>
  void convert(std::uint64_t matrix, std::uint64_t first, std::uint64_t last, float factor,
               const Each& each) const {
    for (std::uint64_t piece = 0; piece < work_.k; piece += kPiece)
      for (std::uint64_t lane = first; lane < last; ++lane)
        convert_piece(matrix, lane, piece, std::min(piece + kPiece, work_.k), factor, each);
  }

  /// Of one lane, k from `piece` up to `end`.
  template <typename Each>
  void convert_piece(std::uint64_t matrix, std::uint64_t lane, std::uint64_t piece, std::uint64_t end,
                     float factor, const Each& each) const {
    const QuantizeRule& rule = work_.rule;
    const std::uint64_t scale_block = rule.scale_block(), factor_block = rule.factor_block();
    QuantizedElement e;
    if (rule.one_factor()) e.factor = static_cast<double>(work_.factors[0]);
    float times = 1;
    e.row = matrix * work_.lanes + lane;
    for (e.k = piece; e.k < end; ++e.k) {
      if (scale_block != 0 && (e.k == piece || e.k % scale_block == 0))
        e.scale = scale_decode_(work_.scales[work_.scale_at(e.row, e.k / scale_block)]);
      if (rule.factor_per_lane() && (e.k == piece || (factor_block != 0 && e.k % factor_block == 0))) {
        factor = work_.factors[factor_at(e.row, e.k)];
        e.factor = static_cast<double>(finished_factor(rule, factor));
      }
      e.x = number(matrix, lane, e.k);
      if (rule.division == Division::exact) {
        e.scaled = scaled_down(e.x, e.scale, e.factor);
      } else {
        if (e.k == piece || (factor_block != 0 && e.k % factor_block == 0) ||
            (scale_block != 0 && e.k % scale_block == 0))
          times = multiplier(rule, e.scale, factor);
        e.scaled = multiplied(rule, e.x, times);
      }
      e.bits = cast_(e.scaled);
      e.at = work_.k_outside ? (matrix * work_.k + e.k) * work_.lanes + lane : e.row * work_.k + e.k;
      store(e.at, e.bits);
      each(e);
    }
  }

  void store(std::uint64_t at, std::uint64_t bits) const {
    switch (work_.rule.element.storage_bits) {  // of a known width the copy is fast
      case 8:
        return store_word(work_.elements, 1, at, bits);
      case 16:
        return store_word(work_.elements, 2, at, bits);
      default:
        return store_word(work_.elements, 4, at, bits);
    }
  }

  const Quantization& work_;
  FastDecode decode_, scale_decode_;
  FastCast cast_;
  QuantizeTile tile_;
  std::uint64_t group_, groups_;
};

}  // namespace mmaudit::detail
