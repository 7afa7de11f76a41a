#include <cmath>

#include "check/load.cuh"
#include "mmaudit/device/exact_run.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kPoison = 0xA5A5A5A5A5A5A5A5U;

/// Matrices in memory: `count` of them, `stride` apart, rows `ld` apart; the first element is at `first`,
/// with the guard. Stored rows: of a transposed matrix its columns.
struct Lie {
  std::uint64_t rows, columns, ld, first, count, stride;
  int bytes;
};

enum class Side : std::uint8_t { a, b, c, bias };

/// Raw bits of the small integers from -kMostWord to kMostWord.
constexpr int kMostWord = 8;
struct Codes {
  std::uint64_t bits[2 * kMostWord + 1];
};

Codes codes_of(const FormatSpec& format) {
  Codes out{};
  for (int x = -kMostWord; x <= kMostWord; ++x) {
    std::uint64_t& bits = out.bits[x + kMostWord];
    if (x == 0) continue;
    if (format.integer()) {
      bits = static_cast<std::uint64_t>(std::int64_t{x});
      continue;
    }
    const int size = std::abs(x), exponent = std::ilogb(size);
    const std::uint64_t fraction = (static_cast<std::uint64_t>(size) << format.fraction_bits >> exponent) &
                                   ((std::uint64_t{1} << format.fraction_bits) - 1);
    const auto field = static_cast<std::uint64_t>(exponent + format.bias);
    bits = (((field << format.fraction_bits) | fraction) << format.ignored_low_bits) |
           (x < 0 ? format.sign_bit() : 0);
  }
  return out;
}

__global__ void __launch_bounds__(kThreads) fill_kernel(void* base, const Lie lie, const exact::Words words,
                                                        Side side, bool transposed, const Codes codes) {
  const std::uint64_t all = lie.count * lie.rows * lie.columns;
  for (std::uint64_t e = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; e < all;
       e += std::uint64_t{gridDim.x} * kThreads) {
    const std::uint64_t column = e % lie.columns, row = e / lie.columns % lie.rows,
                        matrix = e / lie.columns / lie.rows;
    const std::uint64_t i = transposed ? column : row, j = transposed ? row : column;
    int word = 0;
    if (side == Side::a) word = word_of_a(words, matrix * (transposed ? lie.columns : lie.rows) + i, j);
    if (side == Side::b) word = word_of_b(words, i, matrix * (transposed ? lie.rows : lie.columns) + j);
    if (side == Side::c) word = word_of_c(words, e);
    if (side == Side::bias) word = word_of_bias(words, column);
    store(base, lie.bytes, lie.first + matrix * lie.stride + row * lie.ld + column,
          codes.bits[word + kMostWord]);
  }
}

MMAUDIT_HD double number_of(const FormatSpec& format, std::uint64_t bits) {
  if (format.integer()) return static_cast<std::int32_t>(bits);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << format.fraction_bits) - 1);
  const int field = static_cast<int>(bits >> format.fraction_bits & ((1U << format.exponent_bits) - 1));
  const bool special = format.specials == Specials::ieee
                           ? field == (1 << format.exponent_bits) - 1
                           : (bits & format.magnitude_mask()) == format.magnitude_mask();
  if (special) return NAN;  // an infinity is as wrong
  const std::uint64_t whole = field == 0 ? fraction : fraction | std::uint64_t{1} << format.fraction_bits;
  const double size =
      ldexp(static_cast<double>(whole), (field == 0 ? 1 : field) - format.bias - format.fraction_bits);
  return (bits & format.sign_bit()) != 0 ? -size : size;
}

/// The element of D at a place of its memory; `none` beside it.
constexpr std::uint64_t kNone = ~std::uint64_t{0};
MMAUDIT_HD std::uint64_t element_at(const Lie& lie, std::uint64_t place) {
  if (place < lie.first) return kNone;
  place -= lie.first;
  const std::uint64_t matrix = lie.count == 1 ? 0 : place / lie.stride;
  if (matrix >= lie.count) return kNone;
  place -= matrix * lie.stride;
  const std::uint64_t row = place / lie.ld, column = place % lie.ld;
  return row < lie.rows && column < lie.columns ? (matrix * lie.rows + row) * lie.columns + column : kNone;
}
MMAUDIT_HD bool untouched(std::uint64_t bits, int bytes) { return bits == kPoison >> (64 - 8 * bytes); }

__global__ void __launch_bounds__(kThreads)
    judge_kernel(const void* base, const Lie lie, std::uint64_t places, const FormatSpec format,
                 const exact::Product product, const exact::Words words, Counter::Number* wrong,
                 Counter::Number* outside) {
  for (std::uint64_t p = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; p < places;
       p += std::uint64_t{gridDim.x} * kThreads) {
    const std::uint64_t e = element_at(lie, p), bits = load(base, lie.bytes, p);
    if (e == kNone) {
      if (!untouched(bits, lie.bytes)) atomicAdd(outside, Counter::Number{1});
    } else if (number_of(format, bits) != element_of(product, words, e)) {
      atomicAdd(wrong, Counter::Number{1});
    }
  }
}

Lie lie_of(std::uint64_t rows, std::uint64_t columns, bool transposed, std::uint64_t ld, std::uint64_t offset,
           std::uint64_t count, std::uint64_t stride, std::size_t bytes) {
  const std::uint64_t stored_rows = transposed ? columns : rows, stored_columns = transposed ? rows : columns;
  return {stored_rows, stored_columns, ld == 0 ? stored_columns : ld, offset + kLibraryGuard / bytes,
          count,       stride,         static_cast<int>(bytes)};
}

void fill(void* base, const Lie& lie, const exact::Words& words, Side side, bool transposed, Format format) {
  fill_kernel<<<blocks_for(lie.count * lie.rows * lie.columns, kThreads), kThreads>>>(
      base, lie, words, side, transposed, codes_of(spec_of(format)));
  cuda_check(cudaGetLastError(), "making an operand");
}

}  // namespace

ExactAnswer run_exact(LibrarySession& session, const GemmProblem& x, const exact::Product& product,
                      const exact::Words& words, bool with_d, int timed) {
  const GemmStrides strides = strides_of(x);
  const FormatSpec of_d = spec_of(output_of(x));
  const Format b_type = b_type_of(x), of_bias = bias_type_of(x);
  const Lie a = lie_of(x.m, x.k, x.transposed_a, x.lda, x.offset_a, matrices_of_a(x), strides.a,
                       spec_of(x.type).storage_bytes()),
            b = lie_of(x.k, x.n, x.transposed_b, x.ldb, x.offset_b, matrices_of_b(x), strides.b,
                       spec_of(b_type).storage_bytes()),
            d = lie_of(x.m, x.n, false, x.ldd, x.offset_d, x.batch, strides.d, of_d.storage_bytes());
  const Lie bias{1, x.n, x.n, 0, 1, 0, static_cast<int>(spec_of(of_bias).storage_bytes())};
  ExactAnswer out;
  LibraryRun how;
  how.repeats = timed;
  how.prepare = [&](const LibraryMemory& memory) {
    constexpr int kNan = 0xFF;  // of every float format
    cuda_check(cudaMemset(memory.a, (words.padding & 1) != 0 ? kNan : 0, memory.a_bytes), "padding A");
    cuda_check(cudaMemset(memory.b, (words.padding & 2) != 0 ? kNan : 0, memory.b_bytes), "padding B");
    fill(memory.a, a, words, Side::a, x.transposed_a, x.type);
    fill(memory.b, b, words, Side::b, x.transposed_b, b_type);
    if (x.beta != 0) fill(memory.d, d, words, Side::c, false, output_of(x));
    if (x.bias) fill(memory.bias, bias, words, Side::bias, false, of_bias);
    cuda_check(cudaDeviceSynchronize(), "making the operands");  // before the names of kernels are noted
  };
  how.judge = [&](const LibraryMemory& memory) {
    const std::uint64_t places = memory.d_bytes / of_d.storage_bytes();
    const Counter wrong, outside;
    judge_kernel<<<blocks_for(places, kThreads), kThreads>>>(memory.d, d, places, of_d, product, words,
                                                             wrong.place(), outside.place());
    out.verdict = {wrong.read(), outside.read() != 0};
    if (!with_d) return;
    std::vector<std::byte> whole(memory.d_bytes);
    copy_out(whole.data(), memory.d, whole.size());
    out.run.outside = out.verdict.outside;
    out.run.d.assign(product.elements(), 0);
    for (std::uint64_t p = 0; p < places; ++p)
      if (const std::uint64_t e = element_at(d, p); e != kNone)
        out.run.d[e] = number_of(of_d, load(whole.data(), d.bytes, p));
  };
  LibraryAnswer answer = session.run(x, nullptr, nullptr, how);
  out.call = std::move(answer.call);
  out.seconds = answer.seconds;
  return out;
}

}  // namespace mmaudit::device
