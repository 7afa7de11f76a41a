#include "special_functions.hpp"

#include <cmath>
#include <vector>

#include "check/hardware_function.cuh"
#include "model/functions.hpp"
#include "model/near_tables.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

namespace fn = functions;

constexpr int kBlocks = 1024, kThreads = 256;
constexpr std::uint32_t kChunk = 1U << 26;

template <typename Word>
__global__ void fill(bool quotient, std::uint64_t first, std::uint32_t count, Word* x, Word* y) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const Pair at = operands_of(quotient, first + i);
    x[i] = static_cast<Word>(at.x), y[i] = static_cast<Word>(at.y);
  }
}

template <typename Word>
__global__ void compare_with_model(const fn::Tables* tables, fn::Id id, const Word* x, const Word* y,
                                   std::uint32_t count, const Word* given, unsigned long long* differ) {
  __shared__ fn::Tables near;
  load_tables(near, *tables);
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    if (given[i] != fn::evaluate(id, x[i], y[i], near)) atomicAdd(differ, 1ULL);
}

template <typename Word>
KernelCheck check(const fn::Function& function, const fn::Function& asked) {
  const Buffer tables = uploaded(&fn::kUnit, sizeof(fn::Tables));
  const Buffer x(kChunk * sizeof(Word)), y(kChunk * sizeof(Word)), result(kChunk * sizeof(Word));
  const Counter differ;
  const bool quotient = function.operands == 2;
  const std::uint64_t all = std::uint64_t{1} << function.bits;
  for (std::uint64_t first = 0; first < all; first += kChunk) {
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(all - first, kChunk));
    fill<<<kBlocks, kThreads>>>(quotient, first, count, x.data<Word>(), y.data<Word>());
    poison(result.data(), count * sizeof(Word));
    launch_function(asked, x.data(), quotient ? y.data() : nullptr, count, result.data(), nullptr);
    compare_with_model<<<kBlocks, kThreads>>>(tables.data<fn::Tables>(), function.id, x.data<Word>(),
                                              y.data<Word>(), count, result.data<Word>(), differ.place());
  }
  return {all, differ.read()};
}

enum class Exact : int {
  exp2,
  exp,
  exp10,
  log2,
  log,
  log1p,
  log10,
  reciprocal,
  rsqrt,
  sqrt,
  sin,
  cos,
  tanh,
  erf
};
constexpr std::string_view kExact[] = {"exp2", "exp",    "exp10", "log2", "log", "log1p", "log10",
                                       "1/x",  "1/sqrt", "sqrt",  "sin",  "cos", "tanh",  "erf"};

struct Law {
  fn::Id id;
  Exact exact;
  int bits, fraction;
  bool half, bfloat, flush, odd, even;
  int trend;  // 1 rises, -1 falls
  fn::BoundKind kind[2];
  double most[2], low[2], high[2], per_x[2], least, largest;
};

struct Partial {
  double error[2];
  std::uint32_t at[2], first[4];
  unsigned long long count[4];
};

__device__ double exact_of(Exact of, double x) {
  switch (of) {
    case Exact::exp2:
      return exp2(x);
    case Exact::exp:
      return exp(x);
    case Exact::exp10:
      return exp10(x);
    case Exact::log2:
      return log2(x);
    case Exact::log:
      return log(x);
    case Exact::log1p:
      return log1p(x);
    case Exact::log10:
      return log10(x);
    case Exact::reciprocal:
      return 1 / x;
    case Exact::rsqrt:
      return 1 / sqrt(x);
    case Exact::sqrt:
      return sqrt(x);
    case Exact::sin:
      return sin(x);
    case Exact::cos:
      return cos(x);
    case Exact::tanh:
      return tanh(x);
    case Exact::erf:
      return erf(x);
  }
  return NAN;
}

__device__ double number(const Law& law, std::uint32_t bits) {
  if (law.bfloat) return __uint_as_float(bits << 16);
  if (!law.half) return __uint_as_float(bits);
  float x = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(static_cast<unsigned short>(bits)));
  return x;
}
__device__ long long place(std::uint32_t bits) {
  const long long size = bits & 0x7FFFFFFFU;
  return (bits >> 31) != 0 ? -size : size;
}
__device__ void note(Partial& mine, int law, std::uint32_t x) {
  if (mine.count[law]++ == 0) mine.first[law] = x;
}

__global__ void judge(Law law, const fn::Tables* tables, Partial* out) {
  __shared__ fn::Tables near;
  load_tables(near, *tables);
  const std::uint64_t all = std::uint64_t{1} << law.bits, threads = std::uint64_t{gridDim.x} * blockDim.x;
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint32_t sign = 1U << (law.bits - 1), fraction = (1U << law.fraction) - 1;
  Partial mine{};
  for (std::uint64_t i = thread; i < all; i += threads) {
    const auto x = static_cast<std::uint32_t>(i);
    const std::uint32_t result = fn::evaluate(law.id, x, 0, near);
    const double at = number(law, x), from = number(law, result);
    const int which = law.kind[0] != fn::BoundKind::none && at >= law.low[0] && at <= law.high[0]   ? 0
                      : law.kind[1] != fn::BoundKind::none && at >= law.low[1] && at <= law.high[1] ? 1
                                                                                                    : -1;
    if (which >= 0 && !isnan(from)) {
      const double exact = exact_of(law.exact, at);
      const bool flushed = law.flush && (fabs(at) < law.least || fabs(exact) < law.least);
      double away = 0;
      if (isnan(exact) || flushed)
        away = 0;
      else if (law.kind[which] == fn::BoundKind::ulps)
        away = static_cast<double>(llabs(place(__float_as_uint(static_cast<float>(exact))) - place(result)));
      else if (law.kind[which] == fn::BoundKind::absolute)
        away = fabs(from - exact);
      else if (fabs(exact) >= law.least && fabs(exact) <= law.largest)
        away = fabs(from - exact) / fabs(exact);
      if (away > 0) {
        if (away > mine.error[which]) mine.error[which] = away, mine.at[which] = x;
        const double more = law.per_x[which] == 0 ? 0 : floor(law.per_x[which] * fabs(at));
        if (away > law.most[which] + more) note(mine, 0, x);
      }
    }
    if (law.trend != 0 && ((x ^ (x + 1)) & sign) == 0 && i + 1 < all) {
      const double to = number(law, fn::evaluate(law.id, x + 1, 0, near));
      const bool rises = (law.trend > 0) == ((x & sign) == 0);
      if (!(rises ? from <= to : from >= to) && !isnan(from) && !isnan(to))
        note(mine, (x & fraction) == fraction ? 3 : 2, x);
    }
    if ((law.odd || law.even) && (x & sign) == 0 && !isnan(from))
      if (fn::evaluate(law.id, x | sign, 0, near) != (result ^ (law.odd ? sign : 0))) note(mine, 1, x);
  }
  out[thread] = mine;
}

}  // namespace

KernelCheck check_kernel(const fn::Function& function, bool spoil) {
  const fn::Function* other = &function;
  for (const fn::Function& one : fn::all())
    if (spoil && one.operands == function.operands && one.bits == function.bits &&
        one.value != function.value)
      other = &one;
  if (spoil && other == &function)  // the quotients are all of one value
    other = fn::find(function.name == "divide" ? "divide/fast" : "divide");
  return function.bits == 16 ? check<std::uint16_t>(function, *other)
                             : check<std::uint32_t>(function, *other);
}

fn::Found laws_on_gpu(const fn::Function& one) {
  const Buffer tables = uploaded(&fn::kUnit, sizeof(fn::Tables));
  std::vector<Partial> all(kBlocks * kThreads);
  const Buffer partials(all.size() * sizeof(Partial));
  const fn::Value& value = fn::value_of(one);
  const FormatSpec format = fn::format_of(one);
  Law law{};
  law.id = one.id, law.bits = one.bits, law.fraction = format.fraction_bits;
  for (std::size_t i = 0; i < std::size(kExact); ++i)
    if (value.name == kExact[i]) law.exact = static_cast<Exact>(i);
  law.bfloat = format.id == Format::bf16, law.half = format.id == Format::f16;
  law.flush = fn::flushes(one);
  law.odd = value.symmetry == fn::Symmetry::odd, law.even = value.symmetry == fn::Symmetry::even;
  law.trend = value.trend == fn::Trend::rises ? 1 : value.trend == fn::Trend::falls ? -1 : 0;
  law.least = law.half ? 0x1p-14 : 0x1p-126;
  law.largest = law.half ? 65504.0 : law.bfloat ? 0x1.fep127 : 0x1.fffffep127;
  const fn::Bound* bounds[2] = {&one.bound, &one.elsewhere};
  for (int i = 0; i < 2; ++i) {
    law.kind[i] = bounds[i]->kind, law.most[i] = bounds[i]->most, law.per_x[i] = bounds[i]->per_x;
    law.low[i] = bounds[i]->low, law.high[i] = bounds[i]->high;
  }
  judge<<<kBlocks, kThreads>>>(law, tables.data<fn::Tables>(), partials.data<Partial>());
  cuda_check(cudaGetLastError(), "starting the laws of a function");
  copy_out(all.data(), partials.data(), all.size() * sizeof(Partial));
  fn::Found found;
  fn::Worst* worst[2] = {&found.bound, &found.elsewhere};
  fn::Breaks* breaks[4] = {&found.above, &found.symmetry, &found.inside_binade, &found.past_binade};
  for (const Partial& part : all) {
    for (int i = 0; i < 2; ++i)
      if (part.error[i] > worst[i]->error ||
          (part.error[i] > 0 && part.error[i] == worst[i]->error && part.at[i] < worst[i]->x))
        *worst[i] = {part.error[i], part.at[i]};
    for (int i = 0; i < 4; ++i) {
      if (part.count[i] == 0) continue;
      if (breaks[i]->count == 0 || part.first[i] < breaks[i]->first) breaks[i]->first = part.first[i];
      breaks[i]->count += part.count[i];
    }
  }
  return found;
}

}  // namespace mmaudit::device
