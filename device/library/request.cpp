#include "library/request.hpp"

#include <algorithm>
#include <cstdio>

#include "library/data_types.hpp"
#include "mmaudit/device/library.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/library_log.hpp"

namespace mmaudit::device {
namespace {

/// Largest power of two, at most 256, that divides an address of cudaMalloc plus these bytes.
std::uint32_t alignment_of(std::uint64_t bytes) {
  std::uint32_t out = 256;
  while (bytes % out != 0) out /= 2;
  return out;
}

std::uint64_t or_tight(std::uint64_t ld, std::uint64_t tight) { return ld == 0 ? tight : ld; }

thread_local std::string* log_text = nullptr;
/// Keeps the last message that names an algorithm.
void on_log(int /*level*/, const char* /*function*/, const char* message) {
  if (log_text != nullptr && std::string_view(message).find("algo=[") != std::string_view::npos)
    *log_text = message;
}

}  // namespace

void require_success(int status, const char* what) {
  if (status != 0) throw EnvironmentError(std::string(what) + ": cuBLAS status " + std::to_string(status));
}

Request::Request(const GemmProblem& x)
    : desc(cublas::api().desc_destroy),
      first(cublas::api().layout_destroy),
      second(cublas::api().layout_destroy),
      c(cublas::api().layout_destroy),
      d(cublas::api().layout_destroy),
      preference(cublas::api().preference_destroy),
      ld_first(or_tight(x.ldb, x.transposed_b ? x.k : x.n)),
      ld_second(or_tight(x.lda, x.transposed_a ? x.m : x.k)),
      ld_d(or_tight(x.ldd, x.n)),
      op_first(x.transposed_b ? cublas::kTransposed : cublas::kNormal),
      op_second(x.transposed_a ? cublas::kTransposed : cublas::kNormal) {
  const cublas::Api& lt = cublas::api();
  const bool fp8 = is_fp8(x.type);
  const Compute compute = compute_of(x);
  require_success(lt.desc_create(desc.put(), compute.of_lt, compute.scale), "cublasLtMatmulDescCreate");
  set(cublas::kTransA, op_first);
  set(cublas::kTransB, op_second);
  if (fp8) set(cublas::kFastAccum, static_cast<std::int8_t>(x.fast_accum ? 1 : 0));
  const auto signed_of = [](std::uint64_t ld) { return static_cast<std::int64_t>(ld); };
  require_success(lt.layout_create(first.put(), data_type(b_type_of(x)), x.transposed_b ? x.k : x.n,
                                   x.transposed_b ? x.n : x.k, signed_of(ld_first)),
                  "layout of B");
  require_success(lt.layout_create(second.put(), data_type(x.type), x.transposed_a ? x.m : x.k,
                                   x.transposed_a ? x.k : x.m, signed_of(ld_second)),
                  "layout of A");
  require_success(lt.layout_create(d.put(), data_type(output_of(x)), x.n, x.m, signed_of(ld_d)),
                  "layout of D");
  const Format of_d = output_of(x);  // C of a D in FP8, which beta leaves out, is a bf16 matrix
  c_is_d = spec_of(of_d).storage_bytes() != 1;
  const Format of_c = c_is_d ? of_d : Format::bf16;
  require_success(lt.layout_create(c.put(), data_type(of_c), x.n, x.m, signed_of(ld_d)), "layout of C");
  if (x.batch != 1) {
    const GemmStrides strides = strides_of(x);
    set_batch(first, x.batch, strides.b);
    set_batch(second, x.batch, strides.a);
    set_batch(c, x.batch, strides.d);
    set_batch(d, x.batch, strides.d);
  }
  require_success(lt.preference_create(preference.put()), "cublasLtMatmulPreferenceCreate");
  prefer(cublas::kMaxWorkspace, x.workspace);
  const auto bytes = [](Format format, std::uint64_t count) {
    return count * spec_of(format).storage_bytes();
  };
  const GemmStrides strides = strides_of(x);
  const auto alignment = [&](Format format, std::uint64_t offset, std::uint64_t stride) {
    return std::min(alignment_of(bytes(format, offset)), alignment_of(bytes(format, stride)));
  };
  prefer(cublas::kAlignA, alignment(b_type_of(x), x.offset_b, strides.b));
  prefer(cublas::kAlignB, alignment(x.type, x.offset_a, strides.a));
  prefer(cublas::kAlignC, alignment(output_of(x), x.offset_d, strides.d));
  prefer(cublas::kAlignD, alignment(output_of(x), x.offset_d, strides.d));
}

void Request::finish(const GemmProblem& x, const void* bias, const float* scales) {
  if (is_scaled(x)) {
    set(cublas::kScaleA, scales);
    set(cublas::kScaleB, scales == nullptr ? nullptr : scales + kScaleGap);
  }
  const int activation = x.activation == GemmActivation::relu   ? cublas::kRelu
                         : x.activation == GemmActivation::gelu ? cublas::kGelu
                                                                : 0;
  const int what = activation + (x.bias ? cublas::kAddBias : 0);
  if (what == 0) return;
  set(cublas::kEpilogue, what);
  if (!x.bias) return;
  set(cublas::kBias, bias);
  set(cublas::kBiasType, static_cast<int>(data_type(bias_type_of(x))));
}

std::vector<cublas::HeuristicResult> Request::list(cublas::Handle handle, std::uint64_t most,
                                                   int& status) const {
  std::vector<cublas::HeuristicResult> out(most);
  int found = 0;
  status = cublas::api().lt_heuristic(handle, desc.get(), first.get(), second.get(), c.get(), d.get(),
                                      preference.get(), static_cast<int>(most), out.data(), &found);
  out.resize(status == 0 ? static_cast<std::size_t>(found) : 0);
  return out;
}

cublas::HeuristicResult Request::chosen(cublas::Handle handle, const GemmProblem& problem) const {
  int status = 0;
  const std::vector<cublas::HeuristicResult> found = list(handle, problem.algorithm + 1, status);
  if (found.size() <= problem.algorithm) throw_no_algorithm(problem, found.size(), status);
  return found.back();
}

void throw_no_algorithm(const GemmProblem& problem, std::size_t found, int status) {
  throw NoAlgorithm("cuBLASLt has " + std::to_string(found) + " algorithms for " + name_of(problem) +
                    " (status " + std::to_string(status) + ")");
}

int math_mode_of(const GemmProblem& x) {
  return (x.type == Format::tf32 ? cublas::kTf32Math : cublas::kDefaultMath) |
         (x.reduced_reduction ? 0 : cublas::kNoReducedReduction);
}

void Request::set_batch(const cublas::Owned& layout, std::uint64_t count, std::uint64_t stride) {
  const auto matrices = static_cast<std::int32_t>(count);
  const auto elements = static_cast<std::int64_t>(stride);
  require_success(
      cublas::api().layout_set(layout.get(), cublas::kBatchCount, &matrices, sizeof matrices) |
          cublas::api().layout_set(layout.get(), cublas::kBatchStride, &elements, sizeof elements),
      "the batch of a layout");
}

std::vector<std::pair<std::string, std::int64_t>> attributes_of(const cublas::HeuristicResult& chosen) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  for (const cublas::AlgoAttribute& each : cublas::kAlgoAttributes) {
    std::int32_t value = 0;
    std::size_t written = 0;
    if (cublas::api().lt_attribute(&chosen.algo, each.id, &value, each.bytes, &written) == 0)
      out.emplace_back(each.name, value);
  }
  std::int64_t flags = 0;
  std::size_t written = 0;
  if (cublas::api().lt_capability(&chosen.algo, cublas::kNumericalFlags, &flags, sizeof flags, &written) == 0)
    out.emplace_back("flags", flags);
  out.emplace_back("workspace", static_cast<std::int64_t>(chosen.workspace));
  return out;
}

int multiply(cublas::Handle lt, cublas::Handle blas, const GemmProblem& x, const Request& request,
             const cublas::HeuristicResult& chosen, const Operands& operands) {
  const Compute compute = compute_of(x);
  const Factor of_sum(x.alpha, compute.scale), of_c(x.beta, compute.scale);
  const void *const alpha = of_sum.get(), *const beta = of_c.get();
  const cublas::Api& api = cublas::api();
  if (x.api == GemmApi::cublaslt)
    return api.lt_matmul(lt, request.desc.get(), alpha, operands.b, request.first.get(), operands.a,
                         request.second.get(), beta, request.c_is_d ? operands.d : operands.workspace,
                         request.c.get(), operands.d, request.d.get(), &chosen.algo, operands.workspace,
                         x.workspace, operands.stream);
  require_success(api.set_stream(blas, operands.stream), "cublasSetStream");
  require_success(api.set_workspace(blas, operands.workspace, x.workspace), "cublasSetWorkspace");
  require_success(api.set_math_mode(blas, math_mode_of(x)), "cublasSetMathMode");
  const auto whole = [](std::uint64_t value) { return static_cast<int>(value); };
  if (x.batch == 1)
    return api.gemm_ex(blas, request.op_first, request.op_second, whole(x.n), whole(x.m), whole(x.k), alpha,
                       operands.b, data_type(b_type_of(x)), whole(request.ld_first), operands.a,
                       data_type(x.type), whole(request.ld_second), beta, operands.d, data_type(output_of(x)),
                       whole(request.ld_d), compute.of_ex, cublas::kDefaultTensorOp);
  const GemmStrides strides = strides_of(x);
  const auto apart = [](std::uint64_t value) { return static_cast<long long>(value); };
  return api.gemm_batched(blas, request.op_first, request.op_second, whole(x.n), whole(x.m), whole(x.k),
                          alpha, operands.b, data_type(b_type_of(x)), whole(request.ld_first),
                          apart(strides.b), operands.a, data_type(x.type), whole(request.ld_second),
                          apart(strides.a), beta, operands.d, data_type(output_of(x)), whole(request.ld_d),
                          apart(strides.d), whole(x.batch), compute.of_ex, cublas::kDefaultTensorOp);
}

void listen_to_log() {
  require_success(cublas::api().log_callback(on_log), "cublasLtLoggerSetCallback");
  // Without a file of its own the log also goes to standard output.
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  if (nowhere != nullptr) require_success(cublas::api().log_file(nowhere), "cublasLtLoggerSetFile");
}

AlgorithmLog::AlgorithmLog() { log_text = &text_; }
AlgorithmLog::~AlgorithmLog() { log_text = nullptr; }
std::vector<std::pair<std::string, std::int64_t>> AlgorithmLog::algorithm() const {
  return algorithm_of_log(text_);
}

}  // namespace mmaudit::device
