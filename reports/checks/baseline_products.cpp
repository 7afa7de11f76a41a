// The part of a baseline that a library answers, and what changed in it.
#include <fmt/format.h>

#include <algorithm>

#include "baseline.hpp"
#include "choice.hpp"
#include "gemm/compare.hpp"
#include "mmaudit/corpus/checksum.hpp"
#include "mmaudit/device/library.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/generators/tiles.hpp"

namespace mmaudit::checks {
namespace {

struct LibraryShape {
  std::uint64_t m, n, k;
};
/// A long sum of few elements, which libraries split; an ordinary product; a thin one.
constexpr LibraryShape kLibraryShapes[] = {{64, 64, 16384}, {128, 256, 4096}, {16, 512, 1024}};

struct LibraryKind {
  Format type;
  bool fast;
};
constexpr LibraryKind kLibraryKinds[] = {{Format::e4m3, false},
                                         {Format::e4m3, true},
                                         {Format::bf16, false},
                                         {Format::f16, false},
                                         {Format::tf32, false}};

std::vector<GemmProblem> usual_problems() {
  std::vector<GemmProblem> out;
  for (const LibraryKind& kind : kLibraryKinds)
    for (const LibraryShape& shape : kLibraryShapes) {
      GemmProblem& x = out.emplace_back();
      x.type = kind.type;
      x.fast_accum = kind.fast;
      x.m = shape.m;
      x.n = shape.n;
      x.k = shape.k;
      x.transposed_b = true;
    }
  return out;
}

std::string algorithm_change(const BaselineProduct& before, const BaselineProduct& after) {
  std::string out;
  const auto add = [&out](const std::string& line) { out += (out.empty() ? "" : ", ") + line; };
  for (const auto& [name, value] : before.algorithm) {
    const auto other = std::find_if(after.algorithm.begin(), after.algorithm.end(),
                                    [&name = name](const auto& each) { return each.first == name; });
    if (other == after.algorithm.end()) {
      add(fmt::format("{} {} -> none", name, value));
    } else if (other->second != value) {
      add(fmt::format("{} {} -> {}", name, value, other->second));
    }
  }
  for (const auto& [name, value] : after.algorithm)
    if (std::none_of(before.algorithm.begin(), before.algorithm.end(),
                     [&name = name](const auto& each) { return each.first == name; }))
      add(fmt::format("{} none -> {}", name, value));
  return out;
}

/// The fields of the plan that differ; both plans as they are where one is not known.
std::string plan_change(const std::string& before, const std::string& after) {
  if (before == after || before.empty() || after.empty()) return {};
  const std::optional<GemmPlan> was = gemm_plan_in(before), is = gemm_plan_in(after);
  return was && is ? change_of(*was, *is) : before + " -> " + after;
}

}  // namespace

void record_products(const device::DeviceInfo& gpu, const std::vector<GemmProblem>& problems, Baseline& out) {
  out.why_no_products = device::why_no_library();
  out.cublaslt = device::library_version();
  if (!out.why_no_products.empty()) return;
  const Architecture& architecture = architecture_of(gpu);
  device::LibrarySession session(gpu);
  for (const GemmProblem& problem : problems.empty() ? usual_problems() : problems) {
    const GemmInputs inputs = inputs_of(problem, out.provenance.seed);
    BaselineProduct product;
    product.problem = name_of(problem);
    try {
      device::LibraryAnswer answer = session.run(problem, inputs.library_a(), inputs.library_b(),
                                                 {.c = inputs.c.data(), .bias = inputs.bias.data()});
      const std::optional<GemmPlan> plan = plan_of(problem, answer.call, nullptr, architecture);
      product.plan = plan ? text_of(*plan) : "unknown";
      product.algorithm = std::move(answer.call.algorithm);
      product.d = std::move(answer.d);
    } catch (const EnvironmentError& error) {  // e4m3 needs a GPU that has it
      ++out.products_refused;
      out.left_out.push_back(fmt::format("cuBLASLt {}: {}", product.problem, error.what()));
      continue;
    }
    product.element_bytes = spec_of(output_of(problem)).storage_bytes();
    corpus::Checksum sums;
    sums.update(inputs.a);
    sums.update(inputs.b);
    product.inputs = sums.hex();
    product.hash = corpus::checksum_of(product.d);
    out.products.push_back(std::move(product));
  }
}

void diff_products(const Baseline& before, const Baseline& after, BaselineDiff& out) {
  for (const BaselineProduct& was : before.products) {
    const BaselineProduct* is = find_where(after.products, &BaselineProduct::problem, was.problem);
    if (is == nullptr) {
      out.gone.push_back("cuBLASLt " + was.problem);
      continue;
    }
    ++out.products;
    BaselineProductChange change{was.problem, algorithm_change(was, *is), 0, 0,
                                 plan_change(was.plan, is->plan)};
    const std::size_t bytes = std::max<std::size_t>(was.element_bytes, 1);
    change.elements = was.d.size() / bytes;
    const bool comparable = was.inputs == is->inputs && was.d.size() == is->d.size();
    for (std::size_t e = 0; comparable && e < change.elements; ++e)
      if (gen::load_bits(was.d, bytes, e) != gen::load_bits(is->d, bytes, e)) ++change.differing;
    if (!comparable) change.differing = change.elements;
    if (change.differing != 0 || !change.algorithm.empty() || !change.plan.empty())
      out.product_changes.push_back(std::move(change));
  }
  for (const BaselineProduct& is : after.products)
    if (find_where(before.products, &BaselineProduct::problem, is.problem) == nullptr)
      out.added.push_back("cuBLASLt " + is.problem);
}

}  // namespace mmaudit::checks
