// What shapes round a wrong product do, and which plain products show the same fault.
#include <algorithm>

#include "gemm/check.hpp"
#include "gemm/compare.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::checks {
namespace {

/// Shapes near the problem: each size smaller and larger by few steps that keep its alignment, and by much.
std::vector<GemmProblem> neighbours_of(const GemmProblem& x) {
  std::vector<GemmProblem> out = {x};
  for (std::uint64_t GemmProblem::*const size : {&GemmProblem::k, &GemmProblem::m, &GemmProblem::n}) {
    std::uint64_t unit = 16;
    while (x.*size % unit != 0) unit /= 2;
    const int steps = size == &GemmProblem::k ? 24 : 4;
    const auto add = [&](std::uint64_t changed) {
      GemmProblem near = x;
      near.*size = changed / unit * unit;
      near.lda = near.ldb = near.ldd = 0;
      near.stride_a = x.stride_a == 0 ? 0 : kTightStride;
      near.stride_b = x.stride_b == 0 ? 0 : kTightStride;
      near.stride_d = kTightStride;
      if (near.*size != 0 && why_no_problem(near).empty()) out.push_back(near);
    };
    for (int i = -steps; i <= steps; ++i)
      if (const auto changed = static_cast<std::int64_t>(x.*size) + i * static_cast<std::int64_t>(unit);
          i != 0 && changed > 0)
        add(static_cast<std::uint64_t>(changed));
    for (const std::uint64_t part : {1U, 2U, 3U, 5U, 6U}) add(x.*size * part / 4);
  }
  return out;
}

/// The beginning of the first kernel's name, which parts families of kernels: "nvjet_", "_ZN7cu".
std::string family_of(const LibraryCall& call) {
  return call.kernels.empty() ? "" : call.kernels.front().name.substr(0, 6);
}

/// The plain product, if it is wrong in K.
std::optional<Plain> plain_of(const GemmCheckRun& how, const ExactRunner& run, const GemmProblem& x) {
  const exact::Product product = exact_product_of(x);
  const auto multiply = [&](const exact::Words& words) {
    return run(x, product, words, {.with_d = true}).run;
  };
  try {
    exact::Finding found = exact::check(
        product, multiply, [&](const exact::Words& words) { return run(x, product, words, {}).verdict; }, 1,
        how.seed);
    if (!found.wrong_k.empty()) return Plain{x, std::move(found.wrong_k)};
  } catch (const GpuError&) {
    throw;
  } catch (const EnvironmentError&) {  // the plain product may have a shorter list
  }
  return std::nullopt;
}

/// Looks for plain products that show the fault: of the library's list, and by the calls of torch.mm, which
/// are cublasGemmEx and the list's first, in this shape, in those round it that fail and in random deep ones.
void find_plain(const GemmCheckRun& how, const ExactRunner& run, const std::vector<GemmProblem>& failing,
                GemmFault& fault) {
  if (fault.finding.wrong_k.empty() || fault.problem.batch != 1) return;
  const auto plain = [](GemmProblem x) {
    x.alpha = 1, x.beta = 0, x.scale_a = x.scale_b = 1, x.bias = false, x.activation = GemmActivation::none;
    x.offset_a = x.offset_b = x.offset_d = 0;
    if (is_fp8(output_of(x))) x.d = Format::none;
    return x;
  };
  GemmProblem x = plain(fault.problem);
  x.api = GemmApi::cublaslt, x.reduced_reduction = true;
  const std::uint64_t first = fault.problem.algorithm;
  for (std::uint64_t i = 0; i < how.algorithms && !fault.library && !how.stopped(); ++i) {
    x.algorithm = i == 0 ? first : i <= first ? i - 1 : i;  // its own place comes first
    fault.library = plain_of(how, run, x);
  }
  const Format type = fault.problem.type;
  if (type != Format::f16 && type != Format::bf16 && type != Format::tf32) return;  // of torch.mm
  std::vector<GemmProblem> shapes = {fault.problem};
  constexpr std::size_t kNear = 16, kRandom = 200;
  shapes.insert(shapes.end(), failing.begin(),
                failing.begin() + static_cast<std::ptrdiff_t>(std::min(kNear, failing.size())));
  for (const GemmProblem& each :
       random_problems(how.seed, kRandom, {std::string(name_of(type))}, {.deep = true}))
    shapes.push_back(each);
  for (const GemmProblem& shape : shapes)
    for (const auto& [api, reduced] :
         {std::pair{GemmApi::cublas, true}, {GemmApi::cublas, false}, {GemmApi::cublaslt, true}}) {
      if (fault.torch || how.stopped()) return;
      x = plain(shape);
      x.api = api, x.reduced_reduction = reduced, x.algorithm = 0, x.d = Format::none;
      x.lda = x.ldb = x.ldd = 0, x.workspace = GemmProblem{}.workspace;
      ++fault.torch_calls;
      fault.torch = plain_of(how, run, x);
    }
}

}  // namespace

void explore_fault(const GemmCheckRun& how, const ExactRunner& run, GemmFault& fault) {
  std::vector<exact::Trial> trials, same_kernel;
  std::vector<GemmProblem> failing;
  const bool wide = fault.finding.words.over_rows * fault.finding.words.over_columns == 1;
  for (const GemmProblem& x : neighbours_of(fault.problem)) {
    if (how.stopped()) break;
    const exact::Product product = exact_product_of(x);
    exact::Trial trial{x.batch, x.m, x.n, x.k};
    bool same = true, own = true;
    try {
      std::vector<exact::Words> rounds = exact::rounds_of(product, how.seed, wide);
      // Relu hides the elements of one sign: of so many signs it hides all once in 256 times.
      constexpr std::uint64_t kMostSigns = 8;
      for (std::uint64_t i = 1; product.relu && i < kMostSigns; ++i)
        for (const exact::Words& words : exact::rounds_of(product, how.seed + i, wide))
          rounds.push_back(words);
      for (const exact::Words& words : rounds) {
        const device::ExactAnswer answer = run(x, product, words, {});
        trial.slices = slices_of(answer.call);
        same = family_of(answer.call) == family_of(fault.call);
        own = answer.call.kernels == fault.call.kernels ||
              (!answer.call.kernels.empty() && !fault.call.kernels.empty() &&
               answer.call.kernels.front().name == fault.call.kernels.front().name);
        trial.failing = answer.verdict.wrong != 0 || answer.verdict.outside;
        if (!same || trial.failing) break;
      }
    } catch (const EnvironmentError&) {
      continue;  // another alignment may have fewer algorithms
    }
    if (!same) continue;  // another kernel says nothing of this one
    trials.push_back(trial);
    if (own) same_kernel.push_back(trial);
    if (trial.failing) failing.push_back(x);
  }
  fault.condition = exact::condition_of(trials);
  if (fault.condition.empty()) {  // tiles of other kernels may be of another size
    fault.condition = exact::condition_of(same_kernel);
    if (!fault.condition.empty()) trials = std::move(same_kernel);
  }
  fault.trials = trials.size();
  fault.failing = static_cast<std::uint64_t>(
      std::count_if(trials.begin(), trials.end(), [](const exact::Trial& each) { return each.failing; }));
  if (how.reproduce) find_plain(how, run, failing, fault);
}

}  // namespace mmaudit::checks
