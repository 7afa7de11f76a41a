// A tile of a matrix product by vector code.
#include <algorithm>
#include <bit>
#include <vector>

#include "../tile_sums.hpp"
#include "mmaudit/raw_words.hpp"
#include "rules.hpp"

namespace mmaudit {
namespace {

/// About so much of K is packed at once: a panel of B of that depth stays in the first cache.
constexpr int kDepth = 256;

const fast::Level& table_of(SimdLevel level) {
#ifdef MMAUDIT_FAST_X86
  if (level == SimdLevel::avx512) return fast::kAvx512;
  if (level == SimdLevel::avx2) return fast::kAvx2;
#endif
  static_cast<void>(level);
  return fast::kPortable;
}

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

static_assert(kRowUnit == fast::kRows && kColumnUnit == fast::kPanel);

class FastTile final : public TileSums {
 public:
  FastTile(const DotPlan& plan, const fast::FastPlan& fast, const Matmul& problem, SimdLevel level)
      : plan_(plan),
        fast_(fast),
        problem_(problem),
        rows_(tile_rows(problem)),
        columns_(tile_columns(problem)),
        level_(table_of(level)) {
    make_steps();
    const bool used[kSums] = {true, problem.promote != 0, problem.split_k > 1};
    for (int i = 0; i < kSums; ++i) sums_[i].resize(used[i] ? rows_ * columns_ : 0);
    a_value_.resize(rows_ * depth_);
    a_exponent_.resize(rows_ * depth_);
    b_value_.resize(columns_ * depth_);
    b_exponent_.resize(columns_ * depth_);
    a_bounds_.resize(rows_ / fast::kRows * steps_.size());
    b_bounds_.resize(columns_ / fast::kPanel * steps_.size());
    for (int j = 0; j < fast::kPanel; ++j) place_[j] = level_.place(j);
  }

  void start(const Tile& tile) override {
    tile_ = tile;
    for (auto& sum : sums_) std::fill(sum.begin(), sum.end(), 0.0F);
  }

  void set_row(int sum, std::uint64_t i, const std::uint64_t* bits) override {
    for (std::uint64_t j = 0; j < tile_.columns; ++j)
      sums_[sum][at(i, j)] = fast::to_sum(bits[j], plan_.step.output);
  }

  void get_row(int sum, std::uint64_t i, std::uint64_t* bits) const override {
    const FormatSpec& format = plan_.step.output;
    const float* row = &sums_[sum][i * columns_];
    const bool as_is = format.id == Format::f32;
    for (std::uint64_t j = 0; j < tile_.columns; ++j) {
      const float x =
          row[j / fast::kPanel * fast::kPanel + static_cast<std::uint64_t>(place_[j % fast::kPanel])];
      bits[j] = as_is ? std::bit_cast<std::uint32_t>(x) : fast::from_sum(x, format, plan_.datapath.output);
    }
  }

  void run(std::uint64_t first, std::uint64_t last) override {
    const auto k = static_cast<std::uint64_t>(plan_.k);
    last = first + (last - first + k - 1) / k * k;
    for (std::uint64_t start = first; start < last; start += depth_)
      one_chunk(start, std::min<std::uint64_t>(depth_, last - start));
  }

  void fold(int from, int into) override {
    level_.fold(sums_[into].begin(), sums_[from].begin(), sums_[into].size(), fast_.rules.nan);
  }

 private:
  [[nodiscard]] std::size_t at(std::uint64_t i, std::uint64_t j) const {
    return i * columns_ + j / fast::kPanel * fast::kPanel +
           static_cast<std::size_t>(place_[j % fast::kPanel]);
  }

  void make_steps() {
    const int k = plan_.k;
    const int instructions = std::max(1, kDepth / k);
    depth_ = static_cast<std::size_t>(instructions) * static_cast<std::size_t>(k);
    for (int t = 0; t < instructions; ++t) {
      for_each_step(plan_, [&](int start, int count) {
        steps_.push_back({static_cast<std::int16_t>(t * k + start), static_cast<std::int16_t>(count), false});
      });
      steps_.back().closes = true;
      for (int p = 0; p < k; ++p) order_.push_back(t * k + evaluation_k(plan_.datapath.order, k, p));
    }
    ascending_ = plan_.datapath.order == KOrder::ascending || plan_.datapath.order == KOrder::halves;
  }

  /// Everything of `rows` x `columns` elements of A or B from (row, column) on, as far as it exists.
  [[nodiscard]] fast::PackSource source(const void* matrices, const FormatSpec& format,
                                        const fast::Decode& decode, std::uint64_t index, std::uint64_t rows,
                                        std::uint64_t columns, std::uint64_t row, std::uint64_t column,
                                        std::uint64_t most_rows, std::uint64_t most_columns) const {
    const std::size_t bytes = format.storage_bytes();
    fast::PackSource part;
    part.base = static_cast<const char*>(matrices) + ((index * rows + row) * columns + column) * bytes;
    part.stride = columns;
    part.element_bytes = static_cast<int>(bytes);
    part.rows = row < rows ? static_cast<int>(std::min(most_rows, rows - row)) : 0;
    part.columns = column < columns ? static_cast<int>(std::min(most_columns, columns - column)) : 0;
    part.decode = decode;
    part.pairs = fast_.rules.pairs;
    return part;
  }

  void one_chunk(std::uint64_t start, std::uint64_t depth) {
    fast::Chunk chunk;
    chunk.steps = steps_.data();
    chunk.depth = static_cast<int>(depth);
    for (const fast::Step& step : steps_) chunk.step_count += step.start < chunk.depth ? 1 : 0;
    chunk.order = ascending_ ? nullptr : order_.data();
    chunk_start_ = start;
    const auto panels = (tile_.columns + fast::kPanel - 1) / fast::kPanel;
    const auto groups = (tile_.rows + fast::kRows - 1) / fast::kRows;
    level_.pack_b(source(problem_.b, plan_.b, fast_.b, tile_.matrix, problem_.k, problem_.n, start,
                         tile_.column, depth, panels * fast::kPanel),
                  chunk, {b_value_.begin(), b_exponent_.begin()}, fast::kPanel * depth_,
                  static_cast<int>(panels), b_bounds_.data(), static_cast<int>(steps_.size()));
    for (std::uint64_t g = 0; g < groups; ++g) {
      const std::uint64_t row = g * fast::kRows;
      level_.pack_a(source(problem_.a, plan_.a, fast_.a, tile_.matrix, problem_.m, problem_.k,
                           tile_.row + row, start, fast::kRows, depth),
                    chunk, {&a_value_[row * depth_], &a_exponent_[row * depth_]}, depth_,
                    &a_bounds_[g * steps_.size()]);
    }
    multiply_chunk(chunk, groups, panels);
  }

  void multiply_chunk(const fast::Chunk& chunk, std::uint64_t groups, std::uint64_t panels) {
    fast::Multiply work;
    work.rules = &fast_.rules;
    work.chunk = chunk;
    work.a_stride = depth_;
    work.sum_stride = columns_;
    work.plain = plain_step;
    work.context = this;
    for (std::uint64_t p = 0; p < panels; ++p) {  // rows innermost: the panel of B stays in the first cache
      const std::uint64_t column = p * fast::kPanel;
      work.b_value = &b_value_[column * depth_];
      work.b_exponent = &b_exponent_[column * depth_];
      work.b_bounds = &b_bounds_[p * steps_.size()];
      work.column = static_cast<int>(column);
      for (std::uint64_t g = 0; g < groups; ++g) {
        const std::uint64_t row = g * fast::kRows;
        work.a_value = &a_value_[row * depth_];
        work.a_exponent = &a_exponent_[row * depth_];
        work.a_bounds = &a_bounds_[g * steps_.size()];
        work.sum = &sums_[0][row * columns_ + column];
        work.row = static_cast<int>(row);
        level_.multiply(work);
      }
    }
  }

  static float plain_step(const void* context, int row, int column, int step, float sum) {
    return static_cast<const FastTile*>(context)->plain_step(static_cast<std::uint64_t>(row),
                                                             static_cast<std::uint64_t>(column), step, sum);
  }

  [[nodiscard]] float plain_step(std::uint64_t row, std::uint64_t column, int step, float sum) const {
    if (row >= tile_.rows || column >= tile_.columns) return 0;
    const FormatSpec& format = plan_.step.output;
    const std::uint64_t c =
        fast::to_sum(0, format) == sum ? 0 : fast::from_sum(sum, format, plan_.datapath.output);
    const Operand addend = unpack_addend(format, plan_.datapath, c);
    const fast::Step& here = steps_[static_cast<std::size_t>(step)];
    Operand a[kMaxK], b[kMaxK];
    for (int p = 0; p < here.count; ++p) {
      const std::uint64_t k =
          chunk_start_ + static_cast<std::uint64_t>(
                             order_[static_cast<std::size_t>(here.start) + static_cast<std::size_t>(p)]);
      std::uint64_t bits_a = 0, bits_b = 0;
      if (k < problem_.k) {
        bits_a = load_word(problem_.a, plan_.a.storage_bytes(),
                           (tile_.matrix * problem_.m + tile_.row + row) * problem_.k + k);
        bits_b = load_word(problem_.b, plan_.b.storage_bytes(),
                           (tile_.matrix * problem_.k + k) * problem_.n + tile_.column + column);
      }
      a[p] = unpack_factor(plan_.a, plan_, bits_a, false);
      b[p] = unpack_factor(plan_.b, plan_, bits_b, false);
    }
    StepSpec spec = plan_.step;
    spec.addend = format;
    return fast::to_sum(fused_dot_add(a, b, here.count, addend, spec, plan_.datapath), format);
  }

  DotPlan plan_;
  fast::FastPlan fast_;
  Matmul problem_;
  std::uint64_t rows_, columns_;
  const fast::Level& level_;
  Tile tile_;
  std::size_t depth_ = 0;  ///< of a whole chunk
  bool ascending_ = true;
  std::uint64_t chunk_start_ = 0;
  std::vector<fast::Step> steps_;
  std::vector<std::int32_t> order_;
  int place_[fast::kPanel] = {};
  Aligned<float> sums_[kSums];
  Aligned<float> a_value_, b_value_;
  Aligned<std::int32_t> a_exponent_;
  Aligned<std::int16_t> b_exponent_;
  std::vector<fast::Bounds> a_bounds_, b_bounds_;
};

}  // namespace

std::unique_ptr<TileSums> fast_tile(const Instruction& instruction, const Datapath& datapath,
                                    const Matmul& problem, SimdLevel level) {
  const DotPlan plan = make_plan(instruction, datapath);
  return std::make_unique<FastTile>(plan, *fast::fast_plan(plan), problem, level);
}

bool fast_serves(const Instruction& instruction, const Datapath& datapath) {
  return !is_sparse(instruction.op) && fast::fast_plan(make_plan(instruction, datapath)).has_value();
}

std::string_view name_of(SimdLevel level) {
  switch (level) {
    case SimdLevel::portable:
      return "portable";
    case SimdLevel::avx2:
      return "avx2";
    case SimdLevel::avx512:
      return "avx512";
  }
  return "unknown";
}

std::optional<SimdLevel> find_simd_level(std::string_view name) {
  for (const SimdLevel level : kSimdLevels)
    if (name_of(level) == name) return level;
  return std::nullopt;
}

bool has_simd_level(SimdLevel level) {
#ifdef MMAUDIT_FAST_X86
  switch (level) {
    case SimdLevel::portable:
      return true;
    case SimdLevel::avx2:
      return __builtin_cpu_supports("avx2") != 0;
    case SimdLevel::avx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  }
#endif
  return level == SimdLevel::portable;
}

SimdLevel best_simd_level() {
  SimdLevel best = SimdLevel::portable;
  for (const SimdLevel level : kSimdLevels)
    if (has_simd_level(level)) best = level;
  return best;
}

}  // namespace mmaudit
