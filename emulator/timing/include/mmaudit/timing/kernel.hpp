#pragma once
// A whole kernel: the blocks that one multiprocessor gets run in detail (walk.hpp says what they execute),
// and the second-level cache and memory are queues. Deterministic.
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mmaudit/timing/machine.hpp"
#include "mmaudit/timing/sass.hpp"
#include "mmaudit/timing/simulate.hpp"
#include "mmaudit/timing/walk.hpp"

namespace mmaudit::timing {

/// A buffer that the kernel reads or writes: the address in a parameter, the bits above 2^32 its number.
struct Buffer {
  std::uint64_t column = 0, row = 0;  ///< bytes from what a block reads to what the next column and row read
};

/// What a block finds in the second-level cache in one trip of its loop.
struct TripMemory {
  struct Operand {
    float share = 0;  ///< of its lines that come from memory
    float since = 0;  ///< cycles since another block asked memory for them; -1: this block asks
  };
  Operand a, b;  ///< the buffers 1 and 2: the bits of their addresses above 2^32
};

/// How one multiprocessor runs its share of a grid.
struct GridLaunch {
  int blocks = 1;           ///< that this multiprocessor gets, one after the other
  int resident = 1;         ///< at most so many at once
  int multiprocessors = 1;  ///< at work: they share the second-level cache and memory
  int columns = 1;          ///< of blocks in a row of the grid
  std::array<Buffer, 8> operands{};
  std::span<const TripMemory> trips{};  ///< one of them by chance in each trip; empty: all hit L2
  std::uint64_t pitch = 0;              ///< bytes of a row of A and B
  std::uint64_t piece = 0;              ///< bytes of a row that a trip reads
  std::uint64_t depth = 0;  ///< rows that it reads where k goes down the rows; 0: k goes along them
};

/// When a block began and ended.
struct BlockLife {
  std::uint64_t number = 0;  ///< in the order of their begin
  double begin = 0, end = 0;
};

struct KernelTiming {
  double cycles = 0;  ///< from the start of the first block to the end of the last
  double instructions = 0;
  Timing detail;                        ///< of the part that was simulated
  std::vector<BlockLife> blocks;        ///< that were simulated, in the order of their ends
  double l1_hits = 0;                   ///< share of the sectors that loads ask for
  double l2_bytes = 0, dram_bytes = 0;  ///< per cycle of this multiprocessor
};

/// Errors: InputError where the machine has no numbers of L2 and memory for whole kernels.
void require_memory(const Machine& machine);

/// What: `launch.blocks` times the block that was walked. Range: 1 to 64 warps at once. Errors:
/// InputError outside it; std::runtime_error where a warp waits for what never comes.
KernelTiming simulate_kernel(const Machine& machine, const sass::Function& function, const WalkedBlock& block,
                             const GridLaunch& launch);

/// A product D = A * B, m x n x k, by one of the kernels of docs/experiments/whole.
struct Product {
  std::string_view name, type;  ///< "mma128_stages", "f16_f32"
  std::string_view symbol;      ///< part of the name of the function that no other has
  int tile = 0, threads = 0, shared_bytes = 0, resident = 0;
  int bytes = 0, bytes_d = 0;  ///< of an element of A and B, and of D
  bool fitted = true;          ///< numbers of the model may be fitted to it
};
std::span<const Product> products();
/// The function of a product, from the listing that is compiled in (kernels/sm_90a.listing).
const sass::Function& function_of(const Product& product);

struct ProductSize {
  int m = 0, n = 0, k = 0;
};

/// What: the time of a whole product on all multiprocessors, A and B as the product before left them in L2.
/// The kernel knows one size: it is given k, so rows of D lie k apart. Source: docs/timing.md. Errors: as
/// simulate_kernel; InputError where m or n is no multiple of the tile, or k of 128.
KernelTiming time_product(const Machine& machine, const sass::Function& function, const Product& product,
                          const ProductSize& size);

}  // namespace mmaudit::timing
