#include <cuda_runtime.h>

#include <algorithm>
#include <optional>

#include "library/cublas_abi.hpp"
#include "library/data_types.hpp"
#include "library/kernel_log.hpp"
#include "mmaudit/device/library.hpp"
#include "mmaudit/library_log.hpp"
#include "run/cuda_check.hpp"
#include "run/cuda_event.hpp"

namespace mmaudit::device {
namespace {

void require_success(int status, const char* what) {
  if (status != 0) throw EnvironmentError(std::string(what) + ": cuBLAS status " + std::to_string(status));
}

/// Largest power of two, at most 256, that divides an address of cudaMalloc plus these bytes.
std::uint32_t alignment_of(std::uint64_t bytes) {
  std::uint32_t out = 256;
  while (bytes % out != 0) out /= 2;
  return out;
}

std::uint64_t or_tight(std::uint64_t ld, std::uint64_t tight) { return ld == 0 ? tight : ld; }

/// cuBLASLt refuses a pointer to a scale that is not aligned to 16 bytes.
constexpr std::size_t kScaleGap = 4;

bool is_scaled(const GemmProblem& x) { return x.scale_a != 1 || x.scale_b != 1; }

using cublas::Owned;

/// A problem as the column-major library is asked: its first operand is B, its second A.
struct Request {
  Owned desc, first, second, c, d, preference;
  std::uint64_t ld_first, ld_second, ld_d;
  int op_first, op_second;
  bool c_is_d = true;  ///< C is read from D; else no C is read, but the library wants a pointer

  explicit Request(const GemmProblem& x)
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

  /// Pointers to the GPU: the bias, and the scales of the first and the second operand, kScaleGap apart. Null
  /// ones do for questions about the algorithm.
  void finish(const GemmProblem& x, const void* bias, const float* scales) {
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

  [[nodiscard]] cublas::HeuristicResult chosen(cublas::Handle handle, const GemmProblem& problem) const {
    std::vector<cublas::HeuristicResult> out(problem.algorithm + 1);
    int found = 0;
    const int status =
        cublas::api().lt_heuristic(handle, desc.get(), first.get(), second.get(), c.get(), d.get(),
                                   preference.get(), static_cast<int>(out.size()), out.data(), &found);
    if (status != 0 || found != static_cast<int>(out.size()))
      throw EnvironmentError("cuBLASLt has " + std::to_string(found) + " algorithms for " + name_of(problem) +
                             " (status " + std::to_string(status) + ")");
    return out.back();
  }

 private:
  static void set_batch(const Owned& layout, std::uint64_t count, std::uint64_t stride) {
    const auto matrices = static_cast<std::int32_t>(count);
    const auto elements = static_cast<std::int64_t>(stride);
    require_success(
        cublas::api().layout_set(layout.get(), cublas::kBatchCount, &matrices, sizeof matrices) |
            cublas::api().layout_set(layout.get(), cublas::kBatchStride, &elements, sizeof elements),
        "the batch of a layout");
  }
  template <typename T>
  void set(int attribute, T value) {
    require_success(cublas::api().desc_set(desc.get(), attribute, &value, sizeof value),
                    "cublasLtMatmulDesc");
  }
  template <typename T>
  void prefer(int attribute, T value) {
    require_success(cublas::api().preference_set(preference.get(), attribute, &value, sizeof value),
                    "cublasLtMatmulPreference");
  }
};

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

thread_local std::string* log_text = nullptr;
/// Keeps the last message that names an algorithm.
void on_log(int /*level*/, const char* /*function*/, const char* message) {
  if (log_text != nullptr && std::string_view(message).find("algo=[") != std::string_view::npos)
    *log_text = message;
}

}  // namespace

std::string why_no_library() { return cublas::api().why; }
std::string library_version() {
  return cublas::api().why.empty() ? std::to_string(cublas::api().lt_version()) : "";
}
std::string why_no_kernel_names() { return why_no_kernel_log(); }

struct LibrarySession::State {
  Owned lt{cublas::api().lt_destroy}, blas{cublas::api().destroy};
  Buffer workspace;
  std::uint64_t workspace_bytes = 0;
  std::optional<cublas::HeuristicResult> pinned;
  struct Held {
    const void* from = nullptr;
    std::size_t bytes = 0;
    Buffer copy;
  } held_a, held_b;

  static void hold(Held& held, const void* from, std::size_t bytes) {
    held.copy = uploaded(from, bytes);
    held.from = from;
    held.bytes = bytes;
  }
  /// The operand on the GPU: a held copy, or `buffer`, made now.
  static const char* on_gpu(const Held& held, const void* from, std::size_t bytes, Buffer& buffer) {
    if (held.from == from && bytes <= held.bytes) return held.copy.data<char>();
    buffer = uploaded(from, bytes);
    return buffer.data<char>();
  }

  void need_workspace(std::uint64_t bytes) {
    if (bytes <= workspace_bytes) return;
    workspace = Buffer(bytes);
    workspace_bytes = bytes;
  }
  int multiply(const GemmProblem& x, const Request& request, const cublas::HeuristicResult& chosen,
               const char* a, const char* b, char* d) const;
};

int LibrarySession::State::multiply(const GemmProblem& x, const Request& request,
                                    const cublas::HeuristicResult& chosen, const char* a, const char* b,
                                    char* d) const {
  const Compute compute = compute_of(x);
  const Factor of_sum(x.alpha, compute.scale), of_c(x.beta, compute.scale);
  const void *const alpha = of_sum.get(), *const beta = of_c.get();
  const cublas::Api& api = cublas::api();
  if (x.api == GemmApi::cublaslt)
    return api.lt_matmul(lt.get(), request.desc.get(), alpha, b, request.first.get(), a, request.second.get(),
                         beta, request.c_is_d ? d : workspace.data<char>(), request.c.get(), d,
                         request.d.get(), &chosen.algo, workspace.data(), x.workspace, nullptr);
  const int mode = (x.type == Format::tf32 ? cublas::kTf32Math : cublas::kDefaultMath) |
                   (x.reduced_reduction ? 0 : cublas::kNoReducedReduction);
  require_success(api.set_workspace(blas.get(), workspace.data(), x.workspace), "cublasSetWorkspace");
  require_success(api.set_math_mode(blas.get(), mode), "cublasSetMathMode");
  const auto whole = [](std::uint64_t value) { return static_cast<int>(value); };
  if (x.batch == 1)
    return api.gemm_ex(blas.get(), request.op_first, request.op_second, whole(x.n), whole(x.m), whole(x.k),
                       alpha, b, data_type(b_type_of(x)), whole(request.ld_first), a, data_type(x.type),
                       whole(request.ld_second), beta, d, data_type(output_of(x)), whole(request.ld_d),
                       compute.of_ex, cublas::kDefaultTensorOp);
  const GemmStrides strides = strides_of(x);
  const auto apart = [](std::uint64_t value) { return static_cast<long long>(value); };
  return api.gemm_batched(blas.get(), request.op_first, request.op_second, whole(x.n), whole(x.m), whole(x.k),
                          alpha, b, data_type(b_type_of(x)), whole(request.ld_first), apart(strides.b), a,
                          data_type(x.type), whole(request.ld_second), apart(strides.a), beta, d,
                          data_type(output_of(x)), whole(request.ld_d), apart(strides.d), whole(x.batch),
                          compute.of_ex, cublas::kDefaultTensorOp);
}

LibrarySession::LibrarySession(const DeviceInfo& device) {
  if (const std::string why = why_no_library(); !why.empty()) throw EnvironmentError(why);
  cuda_check(cudaSetDevice(device.ordinal), "choosing the device");
  state_ = std::make_unique<State>();
  require_success(cublas::api().lt_create(state_->lt.put()), "cublasLtCreate");
  if (cublas::api().create != nullptr)
    require_success(cublas::api().create(state_->blas.put()), "cublasCreate");
  require_success(cublas::api().log_callback(on_log), "cublasLtLoggerSetCallback");
  // Without a file of its own the log also goes to standard output.
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  if (nowhere != nullptr) require_success(cublas::api().log_file(nowhere), "cublasLtLoggerSetFile");
}
LibrarySession::~LibrarySession() = default;

void LibrarySession::pin(const GemmProblem& problem) {
  Request request(problem);
  request.finish(problem, nullptr, nullptr);
  state_->pinned = request.chosen(state_->lt.get(), problem);
}

void LibrarySession::unpin() { state_->pinned.reset(); }

void LibrarySession::hold(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  State::hold(state_->held_a, a, a_bytes);
  State::hold(state_->held_b, b, b_bytes);
}

LibraryAnswer LibrarySession::run(const GemmProblem& problem, const void* a, const void* b,
                                  const LibraryRun& how) {
  if (const std::string why = why_no_problem(problem); !why.empty()) throw InputError(why);
  if (problem.api == GemmApi::cublas && state_->blas.get() == nullptr)
    throw EnvironmentError("no libcublas.so.13 or .12 on this machine");
  Request request(problem);
  const std::size_t bias_bytes =
      problem.bias ? problem.n * spec_of(bias_type_of(problem)).storage_bytes() : 0;
  const bool given = how.prepare == nullptr;
  if (given && ((problem.beta != 0 && how.c == nullptr) || (bias_bytes != 0 && how.bias == nullptr)))
    refuse("c, bias: found none, allowed: those that {} reads", name_of(problem));
  const Buffer bias(bias_bytes);
  if (given && bias_bytes != 0) copy_in(bias.data(), how.bias, bias_bytes);
  float factors[kScaleGap + 1] = {problem.scale_b};
  factors[kScaleGap] = problem.scale_a;
  const Buffer scales(is_scaled(problem) ? sizeof factors : 0);
  if (is_scaled(problem)) copy_in(scales.data(), factors, sizeof factors);
  request.finish(problem, bias.data(), scales.data<float>());
  const bool lt = problem.api == GemmApi::cublaslt;
  const cublas::HeuristicResult chosen = !lt              ? cublas::HeuristicResult{}
                                         : state_->pinned ? *state_->pinned
                                                          : request.chosen(state_->lt.get(), problem);
  state_->need_workspace(problem.workspace);
  const GemmExtents extents = extents_of(problem).value_or(GemmExtents{});
  const std::size_t element = spec_of(output_of(problem)).storage_bytes(),
                    a_bytes = extents.a * spec_of(problem.type).storage_bytes(),
                    b_bytes = extents.b * spec_of(b_type_of(problem)).storage_bytes(),
                    d_bytes = extents.d * element;
  const std::size_t guard = given ? 0 : kLibraryGuard;
  Buffer buffer_a(given ? 0 : a_bytes + 2 * guard), buffer_b(given ? 0 : b_bytes + 2 * guard);
  const Buffer on_d(d_bytes + 2 * guard);
  poison(on_d.data(), d_bytes + 2 * guard);  // an element that is not written shows
  const LibraryMemory memory{buffer_a.data(),     buffer_b.data(),     on_d.data(),        bias.data(),
                             a_bytes + 2 * guard, b_bytes + 2 * guard, d_bytes + 2 * guard};
  if (!given) how.prepare(memory);
  const char* const first_a =
      (given ? State::on_gpu(state_->held_a, a, a_bytes, buffer_a) : buffer_a.data<char>() + guard) +
      problem.offset_a * spec_of(problem.type).storage_bytes();
  const char* const first_b =
      (given ? State::on_gpu(state_->held_b, b, b_bytes, buffer_b) : buffer_b.data<char>() + guard) +
      problem.offset_b * spec_of(b_type_of(problem)).storage_bytes();
  char* const first_d = on_d.data<char>() + guard + problem.offset_d * element;
  const std::uint64_t stride_d = strides_of(problem).d * element;
  const auto matrix_d = [&](std::uint64_t matrix) { return first_d + matrix * stride_d; };
  for (std::uint64_t matrix = 0; matrix < problem.batch && given && problem.beta != 0;
       ++matrix)  // C and D are one
    cuda_check(cudaMemcpy2D(matrix_d(matrix), request.ld_d * element,
                            static_cast<const char*>(how.c) + matrix * problem.m * problem.n * element,
                            problem.n * element, problem.n * element, problem.m, cudaMemcpyHostToDevice),
               "copying C");
  LibraryAnswer answer;
  std::string logged;
  {
    KernelLog kernels;
    if (!lt) {
      log_text = &logged;
      cublas::api().log_level(cublas::kLogTrace);
    }
    const int status = state_->multiply(problem, request, chosen, first_a, first_b, first_d);
    log_text = nullptr;
    if (!lt) cublas::api().log_level(0);
    require_success(status, lt ? "cublasLtMatmul" : "cublasGemmEx");
    answer.call.kernels = kernels.take();
  }
  answer.call.algorithm = lt ? attributes_of(chosen) : algorithm_of_log(logged);
  cuda_check(cudaDeviceSynchronize(), "the product");
  if (!given) how.judge(memory);
  const std::uint64_t rows = how.rows == 0 ? problem.m : std::min(how.rows, problem.m);
  const std::uint64_t of_matrix = rows * problem.n * element;
  if (given) answer.d.resize(problem.batch * of_matrix);
  for (std::uint64_t matrix = 0; matrix < problem.batch && given; ++matrix)
    cuda_check(cudaMemcpy2D(answer.d.data() + matrix * of_matrix, problem.n * element, matrix_d(matrix),
                            request.ld_d * element, problem.n * element, rows, cudaMemcpyDeviceToHost),
               "copying D");
  if (how.repeats > 0) {
    Event begin, end;
    begin.record();
    for (int i = 0; i < how.repeats; ++i)
      require_success(state_->multiply(problem, request, chosen, first_a, first_b, first_d),
                      "the product again");
    end.record();
    cuda_check(cudaEventSynchronize(end.get()), "timing the product");
    answer.seconds = Event::seconds(begin, end) / how.repeats;
  }
  return answer;
}

}  // namespace mmaudit::device
