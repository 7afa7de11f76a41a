#pragma once
// The sums of a tile as vector code keeps them, and single steps of it by the plain core.
#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "mmaudit/raw_words.hpp"
#include "rules.hpp"
#include "tile/product_reader.hpp"
#include "tile/tile_sums.hpp"

namespace mmaudit::fast {

/// About so much of K is packed at once: a panel of B of that depth stays in the first cache.
inline constexpr int kDepth = 256;

static_assert(kRowUnit == kRows && kColumnUnit == kPanel);

/// An array that starts on a cache line: a vector across two lines costs two loads.
template <typename T>
class Aligned {
 public:
  void resize(std::size_t count) {
    store_.assign(count * sizeof(T) + kLine, 0);
    void* from = store_.data();
    std::size_t space = store_.size();
    data_ = static_cast<T*>(std::align(kLine, count * sizeof(T), from, space));
    size_ = count;
  }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kLine = 64;
  std::vector<char> store_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The steps of an instruction, and where they end.
struct StepList {
  std::vector<Step> steps;
  std::size_t depth = 0;  ///< positions of all of them

  StepList(const DotSpec& spec, int instructions) : depth(static_cast<std::size_t>(instructions * spec.k)) {
    for (int t = 0; t < instructions; ++t) {
      for_each_step(spec, [&](int start, int count) {
        steps.push_back(
            {static_cast<std::int16_t>(t * spec.k + start), static_cast<std::int16_t>(count), false});
      });
      steps.back().closes = true;
    }
  }
  /// Steps before position `end`.
  [[nodiscard]] int before(std::uint64_t end) const {
    int count = 0;
    for (const Step& step : steps) count += static_cast<std::uint64_t>(step.start) < end ? 1 : 0;
    return count;
  }
};

/// The functions of a level, which must be there.
const Level& table_of(SimdLevel level);

class VectorSums : public TileSums {
 public:
  void start(const TilePlace& tile) override;
  void set_row(int sum, std::uint64_t i, const std::uint64_t* bits) override;
  void get_row(int sum, std::uint64_t i, std::uint64_t* bits) const override;
  void fold(int from, int into) override;

 protected:
  VectorSums(const DotSpec& spec, const Matmul& problem, SimdLevel level);

  /// Where element (i, j) of the tile stands in a sum.
  [[nodiscard]] std::size_t at(std::uint64_t i, std::uint64_t j) const {
    return i * columns_ + j / kPanel * kPanel + static_cast<std::size_t>(place_[j % kPanel]);
  }

  /// One step of element (row, column) by the plain core, from `sum`: `count` positions of evaluation order,
  /// the p-th of them the stored element first + order[p] of K, or first + p without an order.
  [[nodiscard]] float plain_step(std::uint64_t row, std::uint64_t column, std::uint64_t first,
                                 const std::int32_t* order, int count, float sum) const;

  DotSpec spec_;
  Matmul problem_;
  ProductReader reader_;
  std::uint64_t stored_k_, blocks_;  ///< of a row of the whole problem
  std::uint64_t rows_, columns_;
  const Level& level_;
  TilePlace tile_;
  int place_[kPanel] = {};
  Aligned<float> sums_[kSums];
};

/// Whether integer_tile() computes this spec: exact sums of bytes that wrap, or clamp at an instruction's
/// end.
bool serves_integers(const DotSpec& spec);
std::unique_ptr<TileSums> integer_tile(const DotSpec& spec, const Matmul& problem, SimdLevel level);

/// The same of binary64_tile(): chains of multiply-adds to nearest even.
bool serves_binary64(const DotSpec& spec);
std::unique_ptr<TileSums> binary64_tile(const DotSpec& spec, const Matmul& problem, SimdLevel level);

std::unique_ptr<TileSums> grouped_tile(const DotSpec& spec, const GroupRules& rules, const Matmul& problem,
                                       SimdLevel level);

}  // namespace mmaudit::fast
