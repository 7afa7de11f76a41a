#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "check/load.cuh"
#include "mmaudit/device/exact_run.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kPoison = 0xA5;
constexpr std::size_t kGuard = 4096;  ///< bytes before and behind an operand

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

/// Raw bits of a number that the format has.
MMAUDIT_HD std::uint64_t bits_of(const FormatSpec& format, double x) {
  if (format.integer()) return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
  if (x == 0) return 0;
  int exponent = 0;
  const double size = frexp(fabs(x), &exponent);  // in [0.5, 1)
  --exponent;
  const int least = 1 - format.bias;
  const bool subnormal = exponent < least;
  const auto whole =
      static_cast<std::uint64_t>(ldexp(size, 1 + format.fraction_bits + (subnormal ? exponent - least : 0)));
  const std::uint64_t hidden = std::uint64_t{1} << format.fraction_bits;
  const auto field = static_cast<std::uint64_t>(subnormal ? 0 : exponent + format.bias);
  return field << format.fraction_bits | (subnormal ? whole : whole - hidden) |
         (x < 0 ? format.sign_bit() : 0);
}

__global__ void __launch_bounds__(kThreads)
    expect_kernel(void* base, const Lie lie, const FormatSpec format, const exact::Product product,
                  const exact::Words words) {
  const std::uint64_t all = product.elements();
  for (std::uint64_t e = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; e < all;
       e += std::uint64_t{gridDim.x} * kThreads) {
    const std::uint64_t column = e % lie.columns, row = e / lie.columns % lie.rows,
                        matrix = e / lie.columns / lie.rows;
    store(base, lie.bytes, lie.first + matrix * lie.stride + row * lie.ld + column,
          bits_of(format, element_of(product, words, e)));
  }
}

struct Counts {
  Counter::Number wrong, outside;
};

/// Compares memory word by word; only where it differs it is looked at what stands there. `clears`: poison
/// stands there afterwards, for the next product.
__global__ void __launch_bounds__(kThreads)
    judge_kernel(void* base, const void* should, const Lie lie, std::uint64_t chunks, const FormatSpec format,
                 bool clears, Counts* counts) {
  constexpr unsigned kFour = kPoison * 0x01010101U;
  auto* const found = static_cast<uint4*>(base);
  const auto* const right = static_cast<const uint4*>(should);
  const auto in_chunk = static_cast<int>(sizeof(uint4)) / lie.bytes;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < chunks;
       i += std::uint64_t{gridDim.x} * kThreads) {
    const uint4 x = found[i], y = right[i];
    const bool same = x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w;
    for (int j = 0; j < in_chunk && !same; ++j) {
      const std::uint64_t p = i * in_chunk + j, bits = load(base, lie.bytes, p);
      const std::uint64_t wanted = load(should, lie.bytes, p);
      if (bits == wanted) continue;
      if (element_at(lie, p) == kNone)
        atomicAdd(&counts->outside, Counter::Number{1});
      else if (number_of(format, bits) != number_of(format, wanted))  // -0 is 0
        atomicAdd(&counts->wrong, Counter::Number{1});
    }
    if (clears) found[i] = {kFour, kFour, kFour, kFour};
  }
}

Lie lie_of(std::uint64_t rows, std::uint64_t columns, bool transposed, std::uint64_t ld, std::uint64_t offset,
           std::uint64_t count, std::uint64_t stride, std::size_t bytes) {
  const std::uint64_t stored_rows = transposed ? columns : rows, stored_columns = transposed ? rows : columns;
  return {stored_rows, stored_columns, ld == 0 ? stored_columns : ld, offset + kGuard / bytes,
          count,       stride,         static_cast<int>(bytes)};
}

void fill(void* base, const Lie& lie, const exact::Words& words, Side side, bool transposed, Format format) {
  fill_kernel<<<blocks_for(lie.count * lie.rows * lie.columns, kThreads), kThreads>>>(
      base, lie, words, side, transposed, codes_of(spec_of(format)));
  cuda_check(cudaGetLastError(), "making an operand");
}

/// Device memory from one piece, given back all at once. Another piece is taken where it does not suffice.
class Arena {
 public:
  void clear() {
    used_ = 0;
    // A product of the piece may still run; freeing waits for it.
    older_.clear();
  }
  [[nodiscard]] std::size_t used() const { return used_; }
  void* take(std::size_t bytes) {
    constexpr std::size_t kAlignment = 4096, kLeast = std::size_t{256} << 20;
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    if (used_ + bytes > size_) {
      if (size_ != 0) older_.push_back(std::move(memory_));
      size_ = 0;
      memory_ = Buffer(std::max(kLeast, 2 * bytes));
      size_ = std::max(kLeast, 2 * bytes);
      used_ = 0;
    }
    used_ += bytes;
    return memory_.data<char>() + (used_ - bytes);
  }

 private:
  Buffer memory_;
  std::vector<Buffer> older_;
  std::size_t size_ = 0, used_ = 0;
};

/// A problem's operands in memory, with guards.
struct Laid {
  explicit Laid(const GemmProblem& x)
      : a(lie_of(x.m, x.k, x.transposed_a, x.lda, x.offset_a, matrices_of_a(x), strides_of(x).a,
                 spec_of(x.type).storage_bytes())),
        b(lie_of(x.k, x.n, x.transposed_b, x.ldb, x.offset_b, matrices_of_b(x), strides_of(x).b,
                 spec_of(b_type_of(x)).storage_bytes())),
        d(lie_of(x.m, x.n, false, x.ldd, x.offset_d, x.batch, strides_of(x).d,
                 spec_of(output_of(x)).storage_bytes())) {
    const GemmExtents extents = extents_of(x).value_or(GemmExtents{});
    const auto with_guards = [](std::uint64_t elements, const Lie& lie) {
      constexpr std::size_t kChunk = 256;
      return (elements * static_cast<std::size_t>(lie.bytes) + 2 * kGuard + kChunk - 1) / kChunk * kChunk;
    };
    a_bytes = with_guards(extents.a, a), b_bytes = with_guards(extents.b, b),
    d_bytes = with_guards(extents.d, d);
  }
  Lie a, b, d;
  std::size_t a_bytes, b_bytes, d_bytes;
};

/// What was made for one round of words.
struct Made {
  exact::Words words;
  void *a, *b, *bias;
  void *before, *should;  ///< D's memory before and after the product; `before` null: poison
};

}  // namespace

struct ExactSession::State {
  explicit State(const DeviceInfo& device) : session(device) {}
  LibrarySession session;
  Arena arena;
  std::optional<GemmProblem> problem;  ///< with algorithm 0
  std::vector<Made> made;
  void* d = nullptr;
  bool clean = false;  ///< D is poison
  Buffer counts{sizeof(Counts)};
  bool counted = true;  ///< the counts are not zero

  const Made& make(const GemmProblem& x, const Laid& laid, const exact::Product& product,
                   const exact::Words& words);
};

const Made& ExactSession::State::make(const GemmProblem& x, const Laid& laid, const exact::Product& product,
                                      const exact::Words& words) {
  constexpr std::size_t kMost = std::size_t{2} << 30;  // rounds that are kept
  GemmProblem key = x;
  key.algorithm = 0;
  if (problem != key || arena.used() > kMost) {
    arena.clear();
    made.clear();
    problem.reset();
    d = arena.take(laid.d_bytes);
    clean = false;
    problem = key;
  }
  for (const Made& each : made)
    if (each.words == words) return each;
  Made out{words, arena.take(laid.a_bytes), arena.take(laid.b_bytes), nullptr, nullptr, nullptr};
  constexpr int kNan = 0xFF;  // of every float format
  const auto set = [](void* memory, int byte, std::size_t bytes) {
    cuda_check(cudaMemsetAsync(memory, byte, bytes), "filling memory");
  };
  set(out.a, (words.padding & 1) != 0 ? kNan : 0, laid.a_bytes);
  set(out.b, (words.padding & 2) != 0 ? kNan : 0, laid.b_bytes);
  fill(out.a, laid.a, words, Side::a, x.transposed_a, x.type);
  fill(out.b, laid.b, words, Side::b, x.transposed_b, b_type_of(x));
  if (x.beta != 0) {
    out.before = arena.take(laid.d_bytes);
    set(out.before, kPoison, laid.d_bytes);
    fill(out.before, laid.d, words, Side::c, false, output_of(x));
  }
  if (x.bias) {
    const Format of_bias = bias_type_of(x);
    const auto bytes = static_cast<int>(spec_of(of_bias).storage_bytes());
    out.bias = arena.take(x.n * static_cast<std::size_t>(bytes));
    fill(out.bias, {1, x.n, x.n, 0, 1, 0, bytes}, words, Side::bias, false, of_bias);
  }
  out.should = arena.take(laid.d_bytes);
  set(out.should, kPoison, laid.d_bytes);
  expect_kernel<<<blocks_for(product.elements(), kThreads), kThreads>>>(
      out.should, laid.d, spec_of(output_of(x)), product, words);
  cuda_check(cudaGetLastError(), "making the exact D");
  made.push_back(out);
  return made.back();
}

ExactSession::ExactSession(const DeviceInfo& device) : state_(std::make_unique<State>(device)) {}
ExactSession::~ExactSession() = default;

ExactAnswer ExactSession::run(const GemmProblem& x, const exact::Product& product, const exact::Words& words,
                              const ExactAsk& ask) {
  const Laid laid(x);
  const FormatSpec of_d = spec_of(output_of(x));
  const Made& made = state_->make(x, laid, product, words);
  if (made.before != nullptr)
    cuda_check(cudaMemcpyAsync(state_->d, made.before, laid.d_bytes, cudaMemcpyDeviceToDevice), "copying C");
  else if (!state_->clean)
    cuda_check(cudaMemsetAsync(state_->d, kPoison, laid.d_bytes), "clearing D");
  state_->clean = false;
  if (state_->counted)
    cuda_check(cudaMemsetAsync(state_->counts.data(), 0, sizeof(Counts)), "clearing the counts");
  state_->counted = true;
  const auto at = [](void* first) { return static_cast<char*>(first) + kGuard; };
  const LibraryMemory memory{at(made.a), at(made.b), at(state_->d), made.bias};
  LibraryRun how;
  how.memory = &memory;
  how.launch = ask.launch;
  LibraryAnswer answer = state_->session.run(x, nullptr, nullptr, how);
  const std::uint64_t chunks = laid.d_bytes / sizeof(uint4);
  const bool clears = made.before == nullptr && !ask.with_d && ask.timed == 0;
  judge_kernel<<<blocks_for(chunks, kThreads), kThreads>>>(state_->d, made.should, laid.d, chunks, of_d,
                                                           clears, state_->counts.data<Counts>());
  cuda_check(cudaGetLastError(), "judging D");
  Counts counts{};
  copy_out(&counts, state_->counts.data(), sizeof counts);
  state_->clean = clears;
  state_->counted = counts.wrong != 0 || counts.outside != 0;
  ExactAnswer out;
  out.product_seconds = state_->session.last_seconds();
  out.verdict = {counts.wrong, counts.outside != 0};
  out.call = std::move(answer.call);
  if (ask.with_d) {
    std::vector<std::byte> whole(laid.d_bytes);
    copy_out(whole.data(), state_->d, whole.size());
    out.run.outside = out.verdict.outside;
    out.run.d.assign(product.elements(), 0);
    for (std::uint64_t p = 0; p < laid.d_bytes / static_cast<unsigned>(laid.d.bytes); ++p)
      if (const std::uint64_t e = element_at(laid.d, p); e != kNone)
        out.run.d[e] = number_of(of_d, load(whole.data(), laid.d.bytes, p));
  }
  if (ask.timed != 0) {
    how.launch = LaunchKind::plain;
    how.repeats = ask.timed;
    out.seconds = state_->session.run(x, nullptr, nullptr, how).seconds;
  }
  return out;
}

}  // namespace mmaudit::device
