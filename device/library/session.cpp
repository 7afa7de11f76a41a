#include <cuda_runtime.h>

#include <algorithm>
#include <optional>

#include "library/kernel_log.hpp"
#include "library/request.hpp"
#include "mmaudit/device/library.hpp"
#include "run/cuda_check.hpp"
#include "run/cuda_event.hpp"

namespace mmaudit::device {
namespace {

using cublas::Owned;

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
               const char* a, const char* b, char* d) const {
    return device::multiply(lt.get(), blas.get(), x, request, chosen, {a, b, d, workspace.data<char>()},
                            nullptr);
  }
};

LibrarySession::LibrarySession(const DeviceInfo& device) {
  if (const std::string why = why_no_library(); !why.empty()) throw EnvironmentError(why);
  cuda_check(cudaSetDevice(device.ordinal), "choosing the device");
  state_ = std::make_unique<State>();
  require_success(cublas::api().lt_create(state_->lt.put()), "cublasLtCreate");
  if (cublas::api().create != nullptr)
    require_success(cublas::api().create(state_->blas.put()), "cublasCreate");
  listen_to_log();
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
  {
    KernelLog kernels;
    const AlgorithmLog logged;
    if (!lt) cublas::api().log_level(cublas::kLogTrace);
    const int status = state_->multiply(problem, request, chosen, first_a, first_b, first_d);
    if (!lt) cublas::api().log_level(0);
    require_success(status, lt ? "cublasLtMatmul" : "cublasGemmEx");
    answer.call.kernels = kernels.take();
    answer.call.algorithm = lt ? attributes_of(chosen) : logged.algorithm();
  }
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
