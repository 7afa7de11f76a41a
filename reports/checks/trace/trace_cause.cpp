// Why an operation of two traces gives other bits from equal inputs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gemm/compare.hpp"
#include "gemm/decisions.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/model/architecture.hpp"
#include "trace/trace_side.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::uint64_t kMostDropped = 256;  ///< elements of K that are tried where values are there

const Architecture& architecture_of(const Side& side) {
  const Architecture* found = side.of.gemm && !side.of.gemm->architecture.empty()
                                  ? find_architecture(side.of.gemm->architecture)
                                  : nullptr;
  const std::string capability = side.said("capability");
  if (found == nullptr && capability.size() >= 2) found = find_architecture(std::atoi(capability.c_str()));
  return found == nullptr ? *find_architecture(kDefaultArchitecture) : *found;
}

/// The slices of an nvjet kernel: its blocks over tiles of D, of which its name has columns, then rows, and
/// the clusters that stand over the edge count whole. Source: samples of corpus/plans with their split_k.
std::int64_t slices_of(const GemmProblem& problem, const KernelLaunch& launch) {
  const std::uint64_t blocks = std::uint64_t{launch.grid[0]} * launch.grid[1] * launch.grid[2];
  unsigned columns = 0, rows = 0, tile_k = 0, stages = 0, across = 1, down = 1;
  const std::size_t at = launch.name.find("nvjet_sm90_");
  if (at == std::string::npos) return std::max<std::int64_t>(launch.grid[2], 1);
  const std::size_t tile = launch.name.find('_', at + std::strlen("nvjet_sm90_"));
  if (tile == std::string::npos ||
      std::sscanf(launch.name.c_str() + tile, "_%ux%u_%ux%u_%ux%u", &columns, &rows, &tile_k, &stages,
                  &across, &down) != 6 ||
      columns == 0 || rows == 0 || across == 0 || down == 0)
    return 1;
  const auto up = [](std::uint64_t size, std::uint64_t by) { return (size + by - 1) / by; };
  const std::uint64_t of_d =
      up(up(problem.n, columns), across) * across * up(up(problem.m, rows), down) * down;
  return std::max<std::int64_t>(static_cast<std::int64_t>(blocks / of_d), 1);
}

/// The kernels that compute a product: not those of torch that copy a bias into D first.
LibraryCall call_of(const Side& side) {
  LibraryCall call;
  for (const KernelLaunch& kernel : side.of.kernels)
    if (kernel.name.find("at::native") == std::string::npos) call.kernels.push_back(kernel);
  if (!call.kernels.empty()) {
    const std::int64_t slices =
        call.kernels.size() > 1 || call.kernels[0].name.find("splitK") != std::string::npos
            ? slices_of(side.of.gemm->problem, call.kernels[0])
            : 1;
    call.algorithm.emplace_back("split_k", slices);
  }
  return call;
}

std::optional<GemmPlan> plan_of(const Side& side) {
  if (side.of.gemm->plan) return side.of.gemm->plan;
  if (side.of.kernels.empty() && side.trace.decisions != nullptr) {
    const DecidedPlan decided = plan_decided(*side.trace.decisions, side.of.gemm->problem);
    return decided.source == "recorded" ? decided.plan : std::nullopt;
  }
  return mmaudit::plan_of(side.of.gemm->problem, call_of(side), nullptr, architecture_of(side));
}

/// The values of a product that a trace kept.
struct Kept {
  const corpus::Tensor *a = nullptr, *b = nullptr, *d = nullptr, *c = nullptr, *bias = nullptr;
};
std::optional<Kept> kept_of(const Side& side) {
  const TraceGemm& gemm = *side.of.gemm;
  Kept out{side.value("a"), side.value("b"), side.value("d"), side.value("c"), side.value("bias")};
  const auto fits = [](const corpus::Tensor* one, Format format, std::uint64_t elements) {
    return one != nullptr && one->data.size() == elements * spec_of(format).storage_bytes();
  };
  const std::uint64_t m = gemm.rows.size(), n = gemm.columns.size(), k = gemm.problem.k;
  if (m * n == 0 || !gemm.scaling.empty() || !fits(out.a, gemm.problem.type, m * k) ||
      !fits(out.b, b_type_of(gemm.problem), k * n) || !fits(out.d, output_of(gemm.problem), m * n) ||
      (gemm.problem.beta != 0 && !fits(out.c, output_of(gemm.problem), m * n)) ||
      (gemm.problem.bias && !fits(out.bias, bias_type_of(gemm.problem), n)))
    return std::nullopt;
  return out;
}

/// D of the values that `side` kept by a plan; the last `dropped` of K are zeros. None where the model can't.
std::optional<std::vector<std::byte>> predicted_from(const Side& side, const Kept& kept, const GemmPlan& plan,
                                                     std::uint64_t dropped = 0) {
  GemmProblem problem = side.of.gemm->problem;
  problem.m = side.of.gemm->rows.size();
  problem.n = side.of.gemm->columns.size();
  problem.lda = problem.ldb = problem.ldd = 0;
  problem.batch = 1;
  std::vector<std::byte> a = kept.a->data;
  const std::size_t bytes = spec_of(problem.type).storage_bytes();
  for (std::uint64_t row = 0; dropped != 0 && row < problem.m; ++row)
    std::fill_n(a.begin() + static_cast<std::ptrdiff_t>(((row + 1) * problem.k - dropped) * bytes),
                dropped * bytes, std::byte{0});
  try {
    return predicted(architecture_of(side), problem, plan,
                     {a.data(), kept.b->data.data(), kept.c != nullptr ? kept.c->data.data() : nullptr,
                      kept.bias != nullptr ? kept.bias->data.data() : nullptr},
                     nullptr);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Whether a plan gives the D that a trace kept.
bool gives(const Side& side, const std::optional<Kept>& kept, const std::optional<GemmPlan>& plan) {
  if (!kept || !plan) return false;
  const auto d = predicted_from(side, *kept, *plan);
  return d && *d == kept->d->data;
}

/// The plan of a kernel whose name says none, found by the values that a trace kept: one chain per element.
/// Triton's tl.dot is wgmma or mma.m16n8k16, whatever its tiles and stages (MMAv3 and MMAv2 of its
/// AccelerateMatmul.cpp); torch's grouped products are CUTLASS's wgmma.
std::optional<GemmPlan> plan_by_values(const Side& side, const std::optional<Kept>& kept) {
  static constexpr std::pair<Format, std::string_view> kChains[] = {
      {Format::bf16, "wgmma.m64n64k16.f32.bf16.bf16"}, {Format::bf16, "mma.m16n8k16.f32.bf16.bf16.f32"},
      {Format::bf16, "mma.m16n8k8.f32.bf16.bf16.f32"}, {Format::f16, "wgmma.m64n64k16.f32.f16.f16"},
      {Format::f16, "mma.m16n8k16.f32.f16.f16.f32"},   {Format::f16, "mma.m16n8k8.f32.f16.f16.f32"},
      {Format::tf32, "wgmma.m64n64k8.f32.tf32.tf32"},  {Format::tf32, "mma.m16n8k8.f32.tf32.tf32.f32"}};
  if (!kept) return std::nullopt;
  if (side.of.gemm->problem.type == Format::f32) {
    GemmPlan plan;  // one chain of fma, as kernels without tensor cores have it
    plan.scalar = true;
    plan.instruction = scalar_instruction(Format::f32, Format::f32);
    plan.output = output_of(side.of.gemm->problem);
    return gives(side, kept, plan) ? std::optional(plan) : std::nullopt;
  }
  for (const auto& [type, name] : kChains) {
    const auto instruction = type == side.of.gemm->problem.type ? find_instruction(name) : std::nullopt;
    if (!instruction || find_datapath(architecture_of(side), *instruction) == nullptr) continue;
    GemmPlan plan;
    plan.instruction = *instruction;
    plan.output = output_of(side.of.gemm->problem);
    if (gives(side, kept, plan)) return plan;
    if (type != Format::tf32) continue;
    plan.input = InputRounding::nearest_even;  // as cuBLAS's kernels round binary32, and Triton's do not
    if (gives(side, kept, plan)) return plan;
  }
  return std::nullopt;
}

/// Kernels that have no plan here, and how they sum by their name.
/// Source: github.com/deepseek-ai/DeepGEMM 54e2261, deep_gemm/include/deep_gemm/impls, a file per row.
struct NamedKernel {
  std::string_view part, sums;
};
constexpr NamedKernel kNamedKernels[] = {
    {"sm90_fp8_gemm_1d2d_impl", "DeepGEMM: 128 of K by wgmma, times scales, added in binary32"},
    {"sm90_fp8_gemm_1d1d_impl", "DeepGEMM: 128 of K by wgmma, times scales, added in binary32"},
    {"sm90_bf16_gemm_impl", "DeepGEMM: one chain of wgmma"},
    {"sm90_bmn_bnk_mn_gemm_impl", "DeepGEMM: chains of wgmma, added in any order by atomics"},
    {"sm100_fp8_fp4_gemm_1d1d_impl", "DeepGEMM: one chain of tcgen05.mma with block scales"},
    {"sm100_bf16_gemm_impl", "DeepGEMM: one chain of tcgen05.mma"}};

std::string kernels_text(const Side& side) {
  std::string out;
  for (const KernelLaunch& each : side.of.kernels) {
    constexpr std::size_t kMost = 72;
    out += (out.empty() ? "" : " + ") +
           (each.name.size() > kMost ? each.name.substr(0, kMost) + "..." : each.name);
    for (const NamedKernel& known : kNamedKernels)
      if (each.name.find(known.part) != std::string::npos) out += fmt::format(" ({})", known.sums);
  }
  return out;
}

bool same_kernels(const Side& a, const Side& b) {
  return std::equal(a.of.kernels.begin(), a.of.kernels.end(), b.of.kernels.begin(), b.of.kernels.end(),
                    [](const KernelLaunch& x, const KernelLaunch& y) { return x.name == y.name; });
}

std::string kernel_change(const Side& a, const Side& b) {
  return fmt::format("{} -> {}", kernels_text(a), kernels_text(b));
}

/// Where D is not what the plan of its side gives: what is wrong with it.
std::optional<TraceCause> wrong_library(const char* name, const Side& side, const std::optional<Kept>& kept,
                                        const std::optional<GemmPlan>& plan) {
  if (!kept || !plan) return std::nullopt;
  for (std::uint64_t dropped = 1; dropped <= std::min(kMostDropped, side.of.gemm->problem.k - 1); ++dropped)
    if (predicted_from(side, *kept, *plan, dropped) == kept->d->data)
      return TraceCause{"wrong product",
                        fmt::format("the last {} elements of K are in no sum of {}", dropped, name),
                        TraceProof::proven};
  return TraceCause{"wrong product",
                    fmt::format("{}'s D is not what its plan gives, the other one's is", name),
                    TraceProof::suspected};
}

std::optional<TraceCause> gemm_cause(const Side& a, const Side& b, bool values) {
  if (!a.of.gemm || !b.of.gemm) return std::nullopt;
  const GemmProblem &x = a.of.gemm->problem, &y = b.of.gemm->problem;
  std::optional<GemmPlan> of_a = plan_of(a), of_b = plan_of(b);
  const auto kept_a = values ? kept_of(a) : std::nullopt, kept_b = values ? kept_of(b) : std::nullopt;
  if (!of_a) of_a = plan_by_values(a, kept_a);
  if (!of_b) of_b = plan_by_values(b, kept_b);
  const bool right_a = gives(a, kept_a, of_a), right_b = gives(b, kept_b, of_b);
  const auto proof = [&] {
    if (!right_a || !right_b) return TraceProof::suspected;
    const auto other = predicted_from(a, *kept_a, *of_b);
    return other && *other != kept_a->d->data ? TraceProof::proven : TraceProof::suspected;
  };
  if (x.type != y.type)
    return TraceCause{"tf32", fmt::format("{} -> {}", name_of(x.type), name_of(y.type)),
                      right_a && right_b ? TraceProof::proven : TraceProof::seen};
  if (of_a && of_b && *of_a != *of_b) return TraceCause{"gemm plan", change_of(*of_a, *of_b), proof()};
  if (of_a && of_b && right_a != right_b)
    return right_a ? wrong_library("B", b, kept_b, of_b) : wrong_library("A", a, kept_a, of_a);
  if (a.of.gemm->scaling != b.of.gemm->scaling)
    return TraceCause{"recipe", fmt::format("scaling {} -> {}", a.of.gemm->scaling, b.of.gemm->scaling),
                      TraceProof::seen};
  if (!same_kernels(a, b)) return TraceCause{"gemm kernel", kernel_change(a, b), TraceProof::suspected};
  if (layout_of(x) != layout_of(y))
    return TraceCause{"layout", fmt::format("operands are stored as {} -> {}", layout_of(x), layout_of(y)),
                      TraceProof::suspected};
  return std::nullopt;
}

std::optional<TraceCause> attention_cause(const Side& a, const Side& b) {
  if (a.of.name.find("attention") == std::string::npos || b.of.name.find("attention") == std::string::npos)
    return std::nullopt;
  if (a.of.name != b.of.name)
    return TraceCause{"attention kernel", fmt::format("{} -> {}", a.of.name, b.of.name), TraceProof::seen};
  if (!same_kernels(a, b)) return TraceCause{"attention kernel", kernel_change(a, b), TraceProof::seen};
  return std::nullopt;
}

/// Operators in the order in which they come first, each with how often it runs.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 6;
  if (names.empty()) return "nothing seen";
  std::string out;
  std::size_t shown = 0, told = 0;
  for (auto at = names.begin(); at != names.end() && shown < kShown; ++at) {
    if (std::find(names.begin(), at, *at) != at) continue;
    const auto count = static_cast<std::size_t>(std::count(at, names.end(), *at));
    out += (shown++ == 0 ? "" : ", ") + (count == 1 ? *at : fmt::format("{} {}", count, *at));
    told += count;
  }
  return told < names.size() ? fmt::format("{} and {} more", out, names.size() - told) : out;
}

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

/// Arguments that differ; sizes and lists of them follow from the batch. One that a side lacks is the
/// default.
std::string arguments_changed(const Side& a, const Side& b) {
  std::string out;
  const Json none = Json::object();
  const Json &of_a = a.of.arguments.is_object() ? a.of.arguments : none,
             &of_b = b.of.arguments.is_object() ? b.of.arguments : none;
  const auto tell = [&](const std::string& name, const Json* x, const Json* y) {
    if ((x == nullptr || y == nullptr) && a.of.name != b.of.name) return;
    const Json& one = x != nullptr ? *x : *y;
    if ((x != nullptr && y != nullptr && *x == *y) || one.is_array() || name == "device") return;
    out += fmt::format("{}{} {} -> {}", out.empty() ? "" : ", ", name,
                       x != nullptr ? shown(*x) : "by default", y != nullptr ? shown(*y) : "by default");
  };
  for (const auto& [name, value] : of_a.items()) tell(name, &value, of_b.find(name));
  for (const auto& [name, value] : of_b.items())
    if (!of_a.contains(name)) tell(name, nullptr, &value);
  return out;
}

/// Whether a flag of torch has a say in an operation.
bool concerns(std::string_view flag, const Side& side) {
  static constexpr std::pair<std::string_view, Format> kProducts[] = {
      {"allow_tf32", Format::f32},
      {"reduced_precision_bf16", Format::bf16},
      {"reduced_precision_fp16", Format::f16}};
  for (const auto& [name, type] : kProducts)
    if (flag == name) return side.of.gemm && side.of.gemm->problem.type == type;
  if (flag == "flash" || flag == "efficient" || flag == "math")
    return side.of.name.find("attention") != std::string::npos;
  if (flag.rfind("cudnn", 0) == 0)
    return side.of.name.find("conv") != std::string::npos || side.of.name.find("cudnn") != std::string::npos;
  return flag != "blas" || side.of.gemm.has_value();
}

/// Flags that differ, of those that have a say.
std::string flags_changed(const Side& a, const Side& b) {
  std::string out;
  if (a.of.flags == kNone || b.of.flags == kNone) return out;
  const Json &x = a.trace.flags[a.of.flags], &y = b.trace.flags[b.of.flags];
  for (const auto& [name, value] : x.items())
    if (const Json* const other = y.find(name); other != nullptr && value != *other && concerns(name, a))
      out += fmt::format("{}{} {} -> {}", out.empty() ? "" : ", ", name, shown(value), shown(*other));
  return out;
}

}  // namespace

std::string one_name(const std::string& name) {
  return name == "mmaudit.attention" || name.find("scaled_dot_product") != std::string::npos ? "attention"
                                                                                             : name;
}

TraceCause operators_cause(const std::vector<std::string>& of_a, const std::vector<std::string>& of_b,
                           bool compiled) {
  TraceCause out{compiled ? "compiled region" : "operators",
                 fmt::format("{} -> {}", listed(of_a), listed(of_b)), TraceProof::seen};
  const auto attends = [](const std::vector<std::string>& all) {
    return std::any_of(all.begin(), all.end(),
                       [](const std::string& each) { return one_name(each) == "attention"; });
  };
  const auto roundings = [](const std::vector<std::string>& all) {
    return std::count_if(all.begin(), all.end(), [](const std::string& each) {
      const std::string type = each.substr(each.find(" to ") + 1);
      return type == "to bfloat16" || type == "to float16" || type.rfind("to float8", 0) == 0;
    });
  };
  if (attends(of_a) != attends(of_b)) {
    out.kind = "attention kernel";
    out.text += fmt::format("; {} takes attention apart", attends(of_a) ? "B" : "A");
  } else if (std::min(of_a.size(), of_b.size()) == 1) {
    out.text += "; one of both is fused, and rounds at other places";
  } else if (roundings(of_a) != roundings(of_b)) {
    out.text += fmt::format("; {} rounds once more", roundings(of_a) > roundings(of_b) ? "A" : "B");
  }
  return out;
}

bool needs_decisions(const Trace& trace) {
  return trace.machine.count("gpu") != 0 &&
         std::any_of(trace.operations.begin(), trace.operations.end(),
                     [](const TraceOperation& each) { return each.gemm && each.kernels.empty(); });
}

bool decides(const corpus::DecisionFile& file, const Trace& trace) {
  const auto gpu = trace.machine.find("gpu"), cublas = trace.machine.find("cublas");
  unsigned major = 0, minor = 0, patch = 0;  // 13.1.0 is 130100 in cuBLAS's own count
  return gpu != trace.machine.end() && gpu->second == file.gpu && cublas != trace.machine.end() &&
         std::sscanf(cublas->second.c_str(), "%u.%u.%u", &major, &minor, &patch) == 3 &&
         file.library == std::to_string(major * 10000 + minor * 100 + patch);
}

std::vector<std::string> machine_changes(const Trace& a, const Trace& b) {
  std::vector<std::string> out;
  for (const auto& [name, value] : a.machine) {
    const auto other = b.machine.find(name);
    if (other == b.machine.end() || other->second != value)
      out.push_back(
          fmt::format("{}: {} -> {}", name, value, other == b.machine.end() ? "none" : other->second));
  }
  return out;
}

TraceCause cause_of(const Trace& trace_a, const TraceOperation& in_a, const Trace& trace_b,
                    const TraceOperation& in_b, bool values) {
  const Side a{trace_a, in_a}, b{trace_b, in_b};
  const TraceTensor *const x = a.result(), *const y = b.result();
  if (x != nullptr && y != nullptr && x->dtype != y->dtype)
    return {"dtype", fmt::format("{} -> {}", x->dtype, y->dtype), TraceProof::seen};
  if (auto found = attention_plan_cause(a, b, values)) return *found;
  if (std::string changed = arguments_changed(a, b); !changed.empty())
    return {"argument", changed, TraceProof::seen};
  if (auto found = gemm_cause(a, b, values)) return *found;
  if (auto found = attention_cause(a, b)) return *found;
  if (auto found = row_cause(a, b, values)) return *found;
  if (!same_kernels(a, b)) return {"kernel", kernel_change(a, b), TraceProof::suspected};
  if (std::string changed = flags_changed(a, b); !changed.empty())
    return {"flags", changed, TraceProof::seen};
  for (std::size_t i = 0; i < std::min(in_a.in.size(), in_b.in.size()); ++i) {
    const TraceTensor &of_a = trace_a.tensors[in_a.in[i]], &of_b = trace_b.tensors[in_b.in[i]];
    if (of_a.shape == of_b.shape && of_a.stride != of_b.stride)
      return {"layout",
              fmt::format("operand {} has strides {} -> {}", i + 1,
                          of_a.stride.empty() ? "without gaps" : corpus::to_string(of_a.stride),
                          of_b.stride.empty() ? "without gaps" : corpus::to_string(of_b.stride)),
              TraceProof::suspected};
    if (of_a.shape != of_b.shape)
      return {"shape",
              fmt::format("its bits depend on the shape, {} -> {}", corpus::to_string(of_a.shape),
                          corpus::to_string(of_b.shape)),
              TraceProof::suspected};
  }
  if (const auto machine = machine_changes(trace_a, trace_b); !machine.empty())
    return {"machine", fmt::format("another library or GPU: {}", fmt::join(machine, "; ")),
            TraceProof::suspected};
  return {"non-determinism", "equal inputs, arguments, flags and kernels, other bits", TraceProof::suspected};
}

}  // namespace mmaudit::checks
