// The model against itself: one tile product per batch, or several of a narrow instruction. The host draws
// them, or a GPU does and the host repeats those in which something differs.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "campaign/workers.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/device/product_check.hpp"
#include "mmaudit/fast.hpp"
#include "mmaudit/generators/tiles.hpp"

namespace mmaudit::campaign {
namespace {

constexpr std::uint64_t kBatchDots = std::uint64_t{1} << 12, kItemProducts = std::uint64_t{1} << 21;
constexpr std::uint64_t kKernelDots = std::uint64_t{1} << 20, kKernelItemDots = std::uint64_t{1} << 25;
constexpr const char* kKernels = "kernels";  // the engine of those that a GPU runs

/// A tile product: `side` tiles each of A, B and C, where every tile of A meets every tile of B. It is one
/// tile of a wider instruction, whose rows and columns fill the vectors of the fast path.
struct TileProduct {
  TileProduct(const Instruction& inst, bool kernels)
      : narrow(inst), wide(inst), side(inst.m * inst.n < 1024 ? 4 : 2) {
    const auto of_tile = static_cast<std::uint64_t>(inst.m) * static_cast<std::uint64_t>(inst.n);
    while (kernels && of_tile * static_cast<std::uint64_t>(4 * side * side) <= kKernelDots) side *= 2;
    wide.m = static_cast<std::int16_t>(inst.m * side);
    wide.n = static_cast<std::int16_t>(inst.n * side);
  }
  [[nodiscard]] std::uint64_t dots() const {
    return static_cast<std::uint64_t>(wide.m) * static_cast<std::uint64_t>(wide.n);
  }
  [[nodiscard]] std::uint64_t per_batch() const { return std::max<std::uint64_t>(1, kBatchDots / dots()); }

  Instruction narrow, wide;
  int side;
};

/// Tile product `number` of an input class. Tiles that meet share what the input class decides per tile.
TileBatch generate(const TileProduct& product, const gen::GeneratorSpec& generator,
                   gen::InputClass input_class, std::uint64_t seed, std::uint64_t number) {
  const auto [narrow, wide, side] = product;
  const unsigned threads = side > 4 ? 0 : 1;
  TileBatch batch(wide, 1);
  const auto shape = gen::tile_shape(generator, input_class, seed, number);
  const auto first = number * static_cast<std::uint64_t>(side);
  // `tile(row, column)` is the number of the tile among the `side` of its matrix; tiles are `m` by `n`.
  const auto fill = [&](gen::Matrix which, std::vector<std::byte>& buffer, Format format, int rows,
                        int columns, int m, int n, const auto& tile) {
    const std::size_t bytes = spec_of(format).storage_bytes();
    ::mmaudit::detail::parallel_for(static_cast<std::uint64_t>(rows), threads, [&](std::uint64_t row) {
      const int i = static_cast<int>(row);
      for (int j = 0; j < columns; ++j)
        store_bits(buffer, bytes, row * static_cast<std::uint64_t>(columns) + static_cast<std::uint64_t>(j),
                   gen::generate(generator, input_class, seed, which,
                                 first + static_cast<std::uint64_t>(tile(i / m, j / n)), i % m, j % n, number,
                                 shape));
    });
  };
  const auto of_row = [](int row, int) { return row; };
  const auto of_column = [](int, int column) { return column; };
  const auto of_both = [side = side](int row, int column) { return device::tile_of_c(row, column, side); };
  const int stored = narrow.stored_k();
  fill(gen::Matrix::a, batch.a, narrow.a, wide.m, stored, narrow.m, stored, of_row);
  fill(gen::Matrix::b, batch.b, narrow.b, narrow.k, wide.n, narrow.k, narrow.n, of_column);
  fill(gen::Matrix::c, batch.c, narrow.c, wide.m, wide.n, narrow.m, narrow.n, of_both);
  const int blocks = narrow.scale_block == 0 ? 0 : narrow.k / narrow.scale_block;
  const auto fill_scales = [&](gen::Matrix which, std::vector<std::uint8_t>& scales, int rows, int columns,
                               int m, int n, const auto& tile) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        scales[static_cast<std::size_t>(i) * static_cast<std::size_t>(columns) +
               static_cast<std::size_t>(j)] =
            static_cast<std::uint8_t>(gen::generate(generator, input_class, seed, which,
                                                    first + static_cast<std::uint64_t>(tile(i / m, j / n)),
                                                    i % m, j % n, number, shape));
  };
  if (blocks != 0) {
    fill_scales(gen::Matrix::scale_a, batch.scale_a, wide.m, blocks, narrow.m, blocks, of_row);
    fill_scales(gen::Matrix::scale_b, batch.scale_b, blocks, wide.n, blocks, narrow.n, of_column);
  }
  for (std::size_t at = 0; at < batch.metadata.size(); ++at) {
    const int row = static_cast<int>(at) / stored, column = static_cast<int>(at) % stored;
    batch.metadata[at] = gen::generate_metadata(generator, input_class, seed,
                                                first + static_cast<std::uint64_t>(row / narrow.m),
                                                row % narrow.m, column, number);
  }
  return batch;
}

/// Adds what differs in D; a mismatch names the tile, row and column of the narrow instruction.
void compare(const TileProduct& product, const TileView& expected, const void* found,
             gen::InputClass input_class, std::uint64_t number, device::WorkResult& result) {
  const auto [narrow, wide, side] = product;
  Comparison compared{wide, {}, {}};
  compare_tiles(expected, found, std::string(gen::name_of(input_class)), 0, 1,
                device::kMostMismatchesKept - result.first.size(), compared);
  result.dots += compared.dots();
  result.mismatches += compared.mismatches();
  const auto tiles = static_cast<std::uint64_t>(side);
  for (Mismatch& one : compared.examples) {
    one.dot.tile = (number * tiles + static_cast<std::uint64_t>(one.dot.row / narrow.m)) * tiles +
                   static_cast<std::uint64_t>(one.dot.column / narrow.n);
    one.dot.row %= narrow.m;
    one.dot.column %= narrow.n;
    result.first.push_back(std::move(one));
  }
}

}  // namespace

device::WorkResult check_model(const Backend& reference, const Backend& model, const Schedule& schedule,
                               const WorkItem& item, const CountDiffering& count) {
  const ScheduledInstruction& one = schedule.instructions[item.instruction];
  const gen::InputClass input_class = schedule.input_classes[item.input_class];
  const TileProduct product(one.instruction, one.engine == kKernels);
  const gen::GeneratorSpec generator = gen::make_generator_spec(one.instruction, one.entry->datapath);
  device::WorkResult result;
  for (std::uint64_t i = item.first_batch * product.per_batch();
       i < (item.first_batch + item.batches) * product.per_batch(); ++i) {
    const std::uint64_t differing = count ? count(input_class, schedule.seed, i) : 1,
                        before = result.mismatches;
    if (differing == 0) {
      result.dots += product.dots();
      continue;
    }
    TileBatch batch = generate(product, generator, input_class, schedule.seed, i);
    const TileView expected = batch.view();
    // Different poison on both sides, so an unwritten element shows up as a mismatch.
    std::vector<std::byte> modelled(batch.d.size(), std::byte{0x5A});
    std::fill(batch.d.begin(), batch.d.end(), std::byte{0xA5});
    TileView found = expected;
    found.d = modelled.data();
    reference.run(product.wide, expected);
    model.run(product.wide, found);
    compare(product, expected, modelled.data(), input_class, i, result);
    if (count && result.mismatches - before != differing)
      throw std::logic_error("the GPU counts " + std::to_string(differing) + " differences in " +
                             name_of(one.instruction) + " " + std::string(gen::name_of(input_class)) + " " +
                             std::to_string(i) + ", the host " + std::to_string(result.mismatches - before));
  }
  return result;
}

CountDiffering count_on_gpu(const device::DeviceInfo& gpu, const ScheduledInstruction& one) {
  const TileProduct product(one.instruction, true);
  const auto check = std::make_shared<device::ProductCheck>(gpu, one.instruction, product.side,
                                                            one.reference->datapath, one.entry->datapath);
  return [check](gen::InputClass input_class, std::uint64_t seed, std::uint64_t number) {
    return check->differing(input_class, seed, number);
  };
}

ScheduledInstruction plan_of_model(const Instruction& instruction, const DatapathEntry& entry,
                                   const DatapathEntry& reference, bool kernels) {
  const TileProduct product(instruction, kernels);
  return {.instruction = instruction,
          .entry = &entry,
          .engine = kernels                                        ? kKernels
                    : fast_serves(instruction, reference.datapath) ? "vectors"
                                                                   : "tiles",
          .batch_dots = product.dots() * product.per_batch(),
          .item_dots = kernels ? kKernelItemDots : kItemProducts / static_cast<std::uint64_t>(instruction.k),
          .reference = &reference};
}

}  // namespace mmaudit::campaign
