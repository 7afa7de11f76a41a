#include "mmaudit/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "gemm/finisher.hpp"
#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/detail/slices.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/refusal.hpp"
#include "tile/tile_sums.hpp"

namespace mmaudit {
namespace {

Format output_of(const Instruction& instruction, const Matmul& problem) {
  return problem.epilogue ? problem.epilogue->output : instruction.d;
}

std::optional<std::uint64_t> product(std::initializer_list<std::uint64_t> factors) {
  std::uint64_t x = 1;
  for (const std::uint64_t factor : factors)
    if (__builtin_mul_overflow(x, factor, &x)) return std::nullopt;
  return x;
}

std::uint64_t tiles_of(const Matmul& problem) {
  return problem.batch * detail::quotient_up(problem.m, kTileRows) *
         detail::quotient_up(problem.n, kTileColumns);
}

/// Rows of a strip, the smallest piece that a thread takes.
constexpr std::uint64_t kStripRows = 64;
constexpr std::uint64_t kStrips = kTileRows / kStripRows;
static_assert(kTileRows % kStripRows == 0 && kStripRows % kRowUnit == 0);

unsigned threads_of(const Matmul& problem, const MatmulOptions& options) {
  const unsigned asked =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  // Every thread has one tile, and all tiles fit the workspace. A matrix with fewer rows than a tile has
  // fewer strips.
  const std::uint64_t strips = std::min(kStrips, detail::quotient_up(problem.m, kStripRows));
  const std::uint64_t most =
      std::min<std::uint64_t>(kMatmulWorkspace / kTileBytes, tiles_of(problem) * strips);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(most, 1, asked));
}

/// Everything about the product that a thread reads.
struct Job {
  const Instruction& instruction;
  const Datapath& datapath;
  const Matmul& problem;
  FormatSpec sum_format, output;
};

/// Index of element (i, j) of a tile in a (batch, m, n) array.
std::uint64_t element(const Matmul& problem, const TilePlace& tile, std::uint64_t i, std::uint64_t j) {
  return (tile.matrix * problem.m + tile.row + i) * problem.n + tile.column + j;
}

void load_c(const Job& job, const TilePlace& tile, int sum, TileSums& sums) {
  std::uint64_t bits[kTileColumns];
  for (std::uint64_t i = 0; i < tile.rows; ++i) {
    for (std::uint64_t j = 0; j < tile.columns; ++j)
      bits[j] = load_word(job.problem.c, job.output.storage_bytes(), element(job.problem, tile, i, j));
    sums.set_row(sum, i, bits);
  }
}

void store_d(const Job& job, const TilePlace& tile, int sum, const TileSums& sums) {
  const Matmul& problem = job.problem;
  const std::size_t bytes = job.output.storage_bytes();
  std::uint64_t bits[kTileColumns];
  const Finisher finished(problem.epilogue.value_or(Epilogue()), job.sum_format);
  for (std::uint64_t i = 0; i < tile.rows; ++i) {
    sums.get_row(sum, i, bits);
    const std::uint64_t first = element(problem, tile, i, 0);
    for (std::uint64_t j = 0; problem.epilogue && j < tile.columns; ++j) {
      const std::uint64_t c = problem.c != nullptr ? load_word(problem.c, bytes, first + j) : 0;
      bits[j] = finished(bits[j], c);
    }
    detail::with_width(bytes, [&](auto known) {
      for (std::uint64_t j = 0; j < tile.columns; ++j) store_word(problem.d, known, first + j, bits[j]);
    });
  }
}

void one_tile(const Job& job, const TilePlace& tile, TileSums& sums) {
  const Matmul& problem = job.problem;
  const bool promotes = problem.promote != 0, splits = problem.split_k > 1;
  const int of_slice = promotes ? 1 : 0;
  const int of_all = splits ? 2 : of_slice;
  sums.start(tile);
  if (problem.c != nullptr && !problem.epilogue) load_c(job, tile, of_slice, sums);
  const auto k = static_cast<std::uint64_t>(job.instruction.k);
  const std::uint64_t slice = detail::slice_length(problem, k);
  for (std::uint64_t first = 0; first < problem.k; first += slice) {
    const std::uint64_t last = std::min(problem.k, first + slice);
    const std::uint64_t stride = promotes ? problem.promote : slice;
    for (std::uint64_t start = first; start < last;) {
      const std::uint64_t end = start + std::min(stride, last - start);
      sums.run(start, end);
      if (promotes) sums.fold(0, 1);
      start = end;
    }
    if (splits) sums.fold(of_slice, of_all);
  }
  if (splits && problem.k == 0) sums.fold(of_slice, of_all);
  store_d(job, tile, of_all, sums);
}

/// The pieces that threads take one after another. The last tiles are cut into strips, so that all threads
/// finish at about the same time.
class Pieces {
 public:
  Pieces(const Matmul& problem, unsigned threads) : problem_(problem) {
    const std::uint64_t tiles = tiles_of(problem);
    const std::uint64_t in_strips = threads == 1 ? 0 : std::min(tiles, std::uint64_t{2} * threads);
    whole_ = tiles - in_strips;
    count_ = whole_ + in_strips * kStrips;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// No rows where a tile at the edge has fewer strips.
  [[nodiscard]] TilePlace at(std::uint64_t index) const {
    if (index < whole_) return tile_at(index);
    const std::uint64_t strip = (index - whole_) % kStrips * kStripRows;
    TilePlace tile = tile_at(whole_ + (index - whole_) / kStrips);
    tile.rows = strip < tile.rows ? std::min(kStripRows, tile.rows - strip) : 0;
    tile.row += strip;
    return tile;
  }

 private:
  [[nodiscard]] TilePlace tile_at(std::uint64_t index) const {
    const std::uint64_t down = detail::quotient_up(problem_.m, kTileRows),
                        across = detail::quotient_up(problem_.n, kTileColumns);
    TilePlace tile;
    tile.column = index % across * kTileColumns;
    tile.row = index / across % down * kTileRows;
    tile.matrix = index / across / down;
    tile.rows = std::min(kTileRows, problem_.m - tile.row);
    tile.columns = std::min(kTileColumns, problem_.n - tile.column);
    return tile;
  }

  const Matmul& problem_;
  std::uint64_t whole_, count_;
};

/// Scales and metadata: where they are and where they may be.
std::string why_no_side_data(const Instruction& instruction, const Matmul& problem) {
  for (const auto& [field, scales] : {std::pair{"scale_a", problem.scale_a}, {"scale_b", problem.scale_b}})
    if (scales != nullptr && instruction.scale == Format::none)
      return refusal("{}: found some, allowed: with block-scaled instructions only (kind_mx...)", field);
  const bool sparse = is_sparse(instruction.op);
  if (sparse != (problem.metadata != nullptr))
    return refusal("metadata: found {}, allowed: with sparse instructions, which need it",
                   sparse ? "none" : "some");
  const auto group = static_cast<std::uint64_t>(sparsity_of(instruction).group);
  if (problem.k % group != 0)
    return refusal("k: found {}, allowed: a multiple of {}, as many elements as one group of metadata places",
                   problem.k, group);
  return {};
}

}  // namespace

std::string why_no_matmul(const Instruction& instruction, const Datapath& /*datapath*/,
                          const Matmul& problem) {
  const bool f32_sums = instruction.d == Format::f32 && instruction.c == Format::f32;
  const std::string k = std::to_string(instruction.k);
  if (instruction.c != instruction.d) {
    return refusal(
        "instruction: found C of {} with D of {}, allowed: C and D of one format, which a chain needs",
        name_of(instruction.c), name_of(instruction.d));
  }
  if (std::string why = why_no_side_data(instruction, problem); !why.empty()) return why;
  if (problem.promote % static_cast<std::uint64_t>(instruction.k) != 0)
    return refusal("promote: found {}, allowed: a multiple of k = {} of the instruction", problem.promote, k);
  if (problem.split_k == 0) return refusal("split_k: found 0, allowed: 1 or more");
  if (problem.slice_tile % static_cast<std::uint64_t>(instruction.k) != 0)
    return refusal("slice_tile: found {}, allowed: a multiple of k = {} of the instruction",
                   problem.slice_tile, k);
  if ((problem.promote != 0 || problem.split_k > 1) && !f32_sums) {
    return refusal("{}: found sums of {}, allowed: sums of f32 (totals are binary32)",
                   problem.promote != 0 ? "promote" : "split_k", name_of(instruction.d));
  }
  if (problem.epilogue) {
    const Format to = problem.epilogue->output;
    if (std::find(std::begin(kEpilogueOutputs), std::end(kEpilogueOutputs), to) == std::end(kEpilogueOutputs))
      return refusal("epilogue output: found {}, allowed: {}", name_of(to), names_of(kEpilogueOutputs));
    if (instruction.d != Format::f32 && instruction.d != Format::f16)
      return refusal("epilogue: found sums of {}, allowed: sums of f32 or f16", name_of(instruction.d));
  }
  Matmul with_c = problem;
  with_c.c = &problem;  // any pointer: the largest case
  if (!matmul_bytes(instruction, with_c, {}))
    return refusal("sizes: found 2^64 bytes or more, allowed: less");
  return {};
}

std::optional<std::uint64_t> matmul_bytes(const Instruction& instruction, const Matmul& problem,
                                          const MatmulOptions& options) {
  const std::uint64_t d_bytes = spec_of(output_of(instruction, problem)).storage_bytes();
  const std::uint64_t stored = stored_k(instruction, problem), blocks = scale_blocks(instruction, problem);
  const auto a = product({problem.batch, problem.m, stored, spec_of(instruction.a).storage_bytes()});
  const auto b = product({problem.batch, problem.k, problem.n, spec_of(instruction.b).storage_bytes()});
  const auto d = product({problem.batch, problem.m, problem.n, d_bytes, problem.c != nullptr ? 2U : 1U});
  const auto scales_a = product({problem.batch, problem.m, blocks, problem.scale_a != nullptr ? 1U : 0U});
  const auto scales_b = product({problem.batch, blocks, problem.n, problem.scale_b != nullptr ? 1U : 0U});
  const auto metadata = product({problem.batch, problem.m, stored, problem.metadata != nullptr ? 1U : 0U});
  if (!a || !b || !d || !scales_a || !scales_b || !metadata) return std::nullopt;
  std::uint64_t total = 0;
  for (const std::uint64_t part :
       {*a, *b, *d, *scales_a, *scales_b, *metadata, kTileBytes * threads_of(problem, options)})
    if (__builtin_add_overflow(total, part, &total)) return std::nullopt;
  return total;
}

void matmul(const Instruction& instruction, const Datapath& datapath, const Matmul& problem,
            const MatmulOptions& options) {
  const Job job{instruction, datapath, problem, spec_of(instruction.d),
                spec_of(output_of(instruction, problem))};
  // Without a single step D is C as it is, which the floats of the fast path might not hold.
  const bool fast = options.fast && problem.k > 0 && fast_serves(instruction, datapath);
  const unsigned threads = threads_of(problem, options);
  const Pieces pieces(problem, threads);
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return;
  std::mutex mutex;
  detail::parallel_by_thread(pieces.count(), threads, [&] {
    const std::shared_ptr<TileSums> sums =
        fast ? fast_tile(instruction, datapath, problem, options.level.value_or(best_simd_level()))
             : plain_tile(instruction, datapath, problem);
    return [&, sums](std::uint64_t index) {
      const TilePlace tile = pieces.at(index);
      if (tile.rows == 0) return;
      one_tile(job, tile, *sums);
      if (!options.progress) return;
      const std::lock_guard lock(mutex);
      options.progress(tile.rows * tile.columns * problem.k);
    };
  });
}

}  // namespace mmaudit
