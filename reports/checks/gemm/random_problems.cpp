#include <algorithm>
#include <cmath>
#include <string_view>

#include "gemm/compare.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::uint64_t kPowers[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr std::uint64_t kLayers[] = {1536, 2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192, 11008, 14336};
constexpr std::uint64_t kTokens[] = {1,   2,   3,   4,   8,   16,  17,   32,   48,  64,
                                     100, 128, 200, 256, 512, 777, 1024, 2048, 4096};
constexpr std::uint64_t kFew[] = {16, 32, 64, 128, 256, 512};
constexpr std::uint64_t kLong[] = {8192, 16384, 32768, 65536};

void draw_sizes(Draws& draw, GemmProblem& x) {
  switch (draw.below(6)) {
    case 0:
      x.m = draw.between(1, 64), x.n = draw.between(1, 64), x.k = draw.between(16, 256);
      break;
    case 1:
      x.m = draw.of(kPowers), x.n = draw.of(kPowers), x.k = draw.of(kPowers);
      break;
    case 2:
      x.m = draw.between(1, 16), x.n = draw.between(16, 8192),
      x.k = draw.between(16, draw.one_in(3) ? 65536 : 8192);
      if (draw.one_in(2)) std::swap(x.m, x.n);
      break;
    case 3:
      x.m = draw.between(1, 2500), x.n = draw.between(1, 2500), x.k = draw.between(16, 5000);
      break;
    case 4:
      x.m = draw.of(kTokens), x.n = draw.of(kLayers), x.k = draw.of(kLayers);
      break;
    default:
      x.m = draw.between(1, 512), x.n = draw.between(1, 512), x.k = draw.between(8192, 65536);
      if (draw.one_in(2)) x.m = draw.of(kFew), x.n = draw.of(kFew), x.k = draw.of(kLong);
  }
}

void draw_deep(Draws& draw, GemmProblem& x) {
  const bool few = draw.one_in(2);
  const int most = few ? 64 : 512, deepest = few ? 400'000 : 65'536;
  x.m = draw.between(1, most), x.n = draw.between(1, most), x.k = draw.between(16'000, deepest);
}

GemmProblem draw_problem(Draws& draw, Format type, bool fast, bool deep) {
  GemmProblem x;
  x.type = type;
  x.fast_accum = fast;
  const bool fp8 = is_fp8(type), integer = type == Format::s8;
  if (deep)
    draw_deep(draw, x);
  else
    draw_sizes(draw, x);
  const std::uint64_t whole = fp8 ? 16 : integer ? 4 : draw.one_in(2) ? 8 : 1;  // what alignment asks for
  const auto rounded = [&](std::uint64_t size) { return detail::quotient_up(size, whole) * whole; };
  x.k = rounded(x.k);
  if (fp8 || integer || !draw.one_in(3)) x.n = rounded(x.n);
  x.transposed_a = !fp8 && draw.one_in(2);
  x.transposed_b = fp8 || draw.one_in(2);
  if (integer && x.transposed_a) x.m = rounded(x.m);
  if (draw.one_in(12)) x.lda = (x.transposed_a ? x.m : x.k) + whole;
  if (draw.one_in(12)) x.ldd = x.n + whole;
  if (!fp8 && !integer && draw.one_in(12)) x.offset_a = draw.below(2), x.offset_b = draw.below(5);
  const bool narrow = type == Format::f16 || type == Format::bf16;
  if (narrow && draw.one_in(5)) x.d = Format::f32;
  if (fp8 && draw.one_in(3)) x.d = draw.one_in(2) ? Format::f16 : Format::f32;
  x.api = !fp8 && draw.one_in(2) ? GemmApi::cublas : GemmApi::cublaslt;
  x.reduced_reduction = x.api == GemmApi::cublaslt || !draw.one_in(6);
  return x;
}

/// A batch of these matrices, cut down so that the whole stays about as large as one product.
void draw_batch(Draws& draw, GemmProblem& x) {
  constexpr std::uint64_t kBatches[] = {2, 3, 4, 7, 8, 16, 32, 64};
  constexpr std::uint64_t kMost = 1 << 22;  // elements of A, of B and of D
  x.batch = draw.of(kBatches);
  const auto largest = [&] { return std::max({x.m * x.k, x.k * x.n, x.m * x.n}) * x.batch; };
  const auto halved = [](std::uint64_t size) { return std::max<std::uint64_t>(size / 2 / 16 * 16, 16); };
  while (largest() > kMost && (x.m > 16 || x.n > 16 || x.k > 16)) {
    std::uint64_t& size = x.k >= x.m && x.k >= x.n ? x.k : x.m >= x.n ? x.m : x.n;
    size = halved(size);
  }
  x.lda = x.ldd = 0;
  const GemmStrides tight = strides_of(x);
  switch (draw.below(5)) {
    case 0:
      x.stride_a = 0;
      break;
    case 1:
      x.stride_b = 0;
      break;
    case 2:
      x.stride_a = tight.a + 64, x.stride_b = tight.b + 32, x.stride_d = tight.d + 16;
      break;
    default:
      break;
  }
}

/// Most factors are no power of two, so the order of two factors shows in D.
void draw_epilogue(Draws& draw, GemmProblem& x) {
  if (x.type == Format::s8) return;  // the library has none
  constexpr double kAlphas[] = {1, 1, 0.5, -2, 0.3, 1.7e-3}, kBetas[] = {0, 0, 1, -0.5, 0.7};
  const auto factor = [&] {
    return static_cast<float>(1 + static_cast<double>(draw.below(1 << 23)) / (1 << 23)) *
           static_cast<float>(std::ldexp(1.0, static_cast<int>(draw.below(16)) - 12));
  };
  x.alpha = static_cast<float>(draw.of(kAlphas));
  x.beta = static_cast<float>(draw.of(kBetas));
  if (is_fp8(x.type)) {
    x.scale_a = factor(), x.scale_b = factor();
    if (draw.one_in(6)) x.d = x.type, x.beta = 0;
  }
  if (x.api == GemmApi::cublas || x.type == Format::f64) return;
  x.bias = draw.one_in(3);
  if (draw.one_in(3)) x.activation = draw.one_in(2) ? GemmActivation::relu : GemmActivation::gelu;
}

struct Kind {
  std::string_view name;
  Format type;
  bool fast;
};
constexpr Kind kKinds[] = {
    {"f16", Format::f16, false},   {"bf16", Format::bf16, false},     {"tf32", Format::tf32, false},
    {"e4m3", Format::e4m3, false}, {"e4m3-fast", Format::e4m3, true}, {"e5m2-fast", Format::e5m2, true},
    {"s8", Format::s8, false},     {"f32", Format::f32, false},       {"f64", Format::f64, false}};

}  // namespace

std::vector<GemmProblem> random_problems(std::uint64_t seed, std::uint64_t count,
                                         const std::vector<std::string>& types, RandomForms forms) {
  constexpr std::uint64_t kMostWork = 600'000'000'000;  // multiply-adds
  std::vector<GemmProblem> out;
  for (const std::string& name : types) {
    const Kind* const kind = find_named(kKinds, name);
    if (kind == nullptr) refuse("--type: found {}, allowed: {}", name, names_of(kKinds));
    Draws draw{seed ^ (static_cast<std::uint64_t>(kind - kKinds) << 32)};
    for (std::uint64_t drawn = 0; drawn < count;) {
      GemmProblem x = draw_problem(draw, kind->type, kind->fast, forms.deep);
      if (forms.batches) draw_batch(draw, x);
      if (forms.epilogues) draw_epilogue(draw, x);
      const std::uint64_t most = kind->type == Format::f64 ? kMostWork / 8 : kMostWork;
      if (x.m * x.n * x.k > most || !why_no_problem(x).empty()) continue;
      out.push_back(x);
      ++drawn;
    }
  }
  return out;
}

}  // namespace mmaudit::checks
