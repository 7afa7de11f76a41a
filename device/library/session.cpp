#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "library/cublas_abi.hpp"
#include "library/data_types.hpp"
#include "library/kernel_log.hpp"
#include "library/request.hpp"
#include "mmaudit/device/library.hpp"
#include "run/cuda_check.hpp"
#include "run/cuda_event.hpp"

namespace mmaudit::device {
namespace {

using cublas::Owned;

/// A problem with all that was learnt by asking for it, for each of its algorithms.
struct Asked {
  explicit Asked(const GemmProblem& x) : problem(x), request(x) {}

  /// The algorithm at this place of the list; NoAlgorithm where the list is shorter.
  cublas::HeuristicResult chosen(cublas::Handle handle, std::uint64_t algorithm) {
    constexpr std::uint64_t kListed = 8;  // who asks for a second one asks for more
    if (algorithm >= list.size() && list.size() == most) {
      most = algorithm == 0 ? 1 : std::max(kListed, algorithm + 1);
      list = request.list(handle, most, status);
    }
    if (algorithm >= list.size()) throw_no_algorithm(problem, list.size(), status);
    return list[algorithm];
  }

  GemmProblem problem;  ///< with algorithm 0
  Request request;
  std::vector<cublas::HeuristicResult> list;
  std::uint64_t most = 0;  ///< algorithms that were asked for
  int status = 0;
  std::map<std::uint64_t, LibraryCall> calls;
};

/// Device memory that only grows.
struct Grown {
  Buffer buffer;
  std::uint64_t bytes = 0;
  void* at_least(std::uint64_t wanted) {
    if (wanted > bytes) {
      buffer = Buffer(wanted);
      bytes = wanted;
    }
    return buffer.data();
  }
};

}  // namespace

std::string why_no_library() { return cublas::api().why; }
std::string library_version() {
  return cublas::api().why.empty() ? std::to_string(cublas::api().lt_version()) : "";
}
std::string why_no_kernel_names() { return why_no_kernel_log(); }

struct LibrarySession::State {
  Owned lt{cublas::api().lt_destroy}, blas{cublas::api().destroy};
  Grown workspace, beside_workspace, beside_d, group_pointers;
  Buffer scales{(kScaleGap + 1) * sizeof(float)};
  float factors[2] = {0, 0};  ///< what the scales hold
  std::optional<cublas::HeuristicResult> pinned;
  std::unique_ptr<Asked> asked;
  OwnStream own, other;
  Event ready, begin, end, other_end;
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

  Asked& ask(const GemmProblem& problem) {
    GemmProblem key = problem;
    key.algorithm = 0;
    if (!asked || asked->problem != key) asked = std::make_unique<Asked>(key);
    return *asked;
  }
  const float* scales_of(const GemmProblem& problem) {
    if (!is_scaled(problem)) return nullptr;
    if (factors[0] != problem.scale_b || factors[1] != problem.scale_a) {
      float apart[kScaleGap + 1] = {problem.scale_b};
      apart[kScaleGap] = problem.scale_a;
      copy_in(scales.data(), apart, sizeof apart);
      factors[0] = problem.scale_b;
      factors[1] = problem.scale_a;
    }
    return scales.data<float>();
  }
  int multiply(const GemmProblem& x, const Request& request, const cublas::HeuristicResult& chosen,
               const Operands& place) const {
    return device::multiply(lt.get(), blas.get(), x, request, chosen, place);
  }
  /// The same with what the library did, which is noted once.
  LibraryCall noted(const GemmProblem& x, Asked& from, const cublas::HeuristicResult& chosen,
                    const Operands& place) const;
  void beside(const GemmProblem& x, const Asked& from, const cublas::HeuristicResult& chosen, Operands place);
  void in_graph(const GemmProblem& x, const Asked& from, const cublas::HeuristicResult& chosen,
                Operands place);
  void grouped(const GemmProblem& x, const Asked& from, const Operands& place);
  void time(const GemmProblem& x, const Asked& from, const cublas::HeuristicResult& chosen,
            const Operands& place, int repeats, LibraryAnswer& answer);
};

LibraryCall LibrarySession::State::noted(const GemmProblem& x, Asked& from,
                                         const cublas::HeuristicResult& chosen, const Operands& place) const {
  const bool lt_asked = x.api == GemmApi::cublaslt;
  const char* const what = lt_asked ? "cublasLtMatmul" : "cublasGemmEx";
  if (const auto known = from.calls.find(x.algorithm); known != from.calls.end() && !pinned) {
    require_success(multiply(x, from.request, chosen, place), what);
    return known->second;
  }
  LibraryCall call;
  KernelLog kernels;
  const AlgorithmLog logged;
  if (!lt_asked) cublas::api().log_level(cublas::kLogTrace);
  const int status = multiply(x, from.request, chosen, place);
  if (!lt_asked) cublas::api().log_level(0);
  require_success(status, what);
  call.kernels = kernels.take();
  call.algorithm = lt_asked ? attributes_of(chosen) : logged.algorithm();
  if (!pinned) from.calls[x.algorithm] = call;
  return call;
}

void LibrarySession::State::beside(const GemmProblem& x, const Asked& from,
                                   const cublas::HeuristicResult& chosen, Operands place) {
  const std::uint64_t d_bytes =
      extents_of(x).value_or(GemmExtents{}).d * spec_of(output_of(x)).storage_bytes();
  Operands second = place;
  second.d =
      static_cast<char*>(beside_d.at_least(d_bytes)) + x.offset_d * spec_of(output_of(x)).storage_bytes();
  second.workspace = beside_workspace.at_least(x.workspace);
  second.stream = other.get();
  place.stream = own.get();
  ready.record();
  wait_for(own.get(), ready);
  wait_for(other.get(), ready);
  begin.record(own.get());
  const int first_status = multiply(x, from.request, chosen, second),
            status = multiply(x, from.request, chosen, place);
  end.record(own.get());
  other_end.record(other.get());
  wait_for(nullptr, end);
  wait_for(nullptr, other_end);
  require_success(first_status != 0 ? first_status : status, "two products at once");
}

void LibrarySession::State::in_graph(const GemmProblem& x, const Asked& from,
                                     const cublas::HeuristicResult& chosen, Operands place) {
  place.stream = own.get();
  ready.record();
  cuda_check(cudaStreamBeginCapture(own.get(), cudaStreamCaptureModeThreadLocal), "capturing a graph");
  int status = 0;
  try {
    status = multiply(x, from.request, chosen, place);
  } catch (const EnvironmentError&) {
    status = -1;
  }
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready_graph = nullptr;
  cudaError_t error = cudaStreamEndCapture(own.get(), &graph);
  if (error == cudaSuccess && status == 0) error = cudaGraphInstantiate(&ready_graph, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (error != cudaSuccess) cudaGetLastError();  // the next call is not to report it
  cuda_check(error, "making a graph");
  require_success(status, "the product in a graph");
  wait_for(own.get(), ready);
  begin.record(own.get());
  error = cudaGraphLaunch(ready_graph, own.get());
  end.record(own.get());
  wait_for(nullptr, end);
  cudaGraphExecDestroy(ready_graph);  // it may still run: it goes when it is done
  cuda_check(error, "launching a graph");
}

void LibrarySession::State::grouped(const GemmProblem& x, const Asked& from, const Operands& place) {
  const cublas::Api& api = cublas::api();
  const GemmStrides strides = strides_of(x);
  // Of a grouped call cuBLAS wants every matrix aligned, else its kernels read misaligned addresses.
  constexpr std::uint64_t kAlignment = 16;
  const auto aligned = [](Format format, std::initializer_list<std::uint64_t> elements) {
    return std::all_of(elements.begin(), elements.end(), [&](std::uint64_t each) {
      return each * spec_of(format).storage_bytes() % kAlignment == 0;
    });
  };
  if (x.api != GemmApi::cublas || api.gemm_grouped == nullptr ||
      !aligned(x.type, {x.offset_a, strides.a, from.request.ld_second}) ||
      !aligned(b_type_of(x), {x.offset_b, strides.b, from.request.ld_first}) ||
      !aligned(output_of(x), {x.offset_d, strides.d, from.request.ld_d}))
    throw EnvironmentError("no grouped call for " + name_of(x));
  const std::size_t count = x.batch;
  std::vector<void*> pointers(3 * count);  // B, A, D
  for (std::size_t i = 0; i < count; ++i) {
    const auto at = [i](const char* first, std::uint64_t stride, Format format) {
      return const_cast<char*>(first) + i * stride * spec_of(format).storage_bytes();
    };
    pointers[i] = at(place.b, strides.b, b_type_of(x));
    pointers[count + i] = at(place.a, strides.a, x.type);
    pointers[2 * count + i] = at(place.d, strides.d, output_of(x));
  }
  auto* const on_gpu = static_cast<void**>(group_pointers.at_least(pointers.size() * sizeof(void*)));
  copy_in(on_gpu, pointers.data(), pointers.size() * sizeof(void*));
  const Compute compute = compute_of(x);
  const auto all = [count](std::uint64_t value) { return std::vector<int>(count, static_cast<int>(value)); };
  const std::size_t of_scale = compute.scale == CUDA_R_64F ? sizeof(double) : sizeof(float);
  const Factor of_sum(x.alpha, compute.scale), of_c(x.beta, compute.scale);
  std::vector<char> alpha, beta;  // of each group
  for (std::size_t i = 0; i < count; ++i) {
    const auto *const a = static_cast<const char*>(of_sum.get()), *const b =
                                                                      static_cast<const char*>(of_c.get());
    alpha.insert(alpha.end(), a, a + of_scale);
    beta.insert(beta.end(), b, b + of_scale);
  }
  require_success(api.set_stream(blas.get(), nullptr), "cublasSetStream");
  require_success(api.set_workspace(blas.get(), place.workspace, x.workspace), "cublasSetWorkspace");
  require_success(api.set_math_mode(blas.get(), math_mode_of(x)), "cublasSetMathMode");
  begin.record();
  const int status = api.gemm_grouped(
      blas.get(), all(static_cast<unsigned>(from.request.op_first)).data(),
      all(static_cast<unsigned>(from.request.op_second)).data(), all(x.n).data(), all(x.m).data(),
      all(x.k).data(), alpha.data(), on_gpu, data_type(b_type_of(x)), all(from.request.ld_first).data(),
      on_gpu + count, data_type(x.type), all(from.request.ld_second).data(), beta.data(), on_gpu + 2 * count,
      data_type(output_of(x)), all(from.request.ld_d).data(), static_cast<int>(count), all(1).data(),
      compute.of_ex);
  end.record();
  require_success(status, "cublasGemmGroupedBatchedEx");
}

void LibrarySession::State::time(const GemmProblem& x, const Asked& from,
                                 const cublas::HeuristicResult& chosen, const Operands& place, int repeats,
                                 LibraryAnswer& answer) {
  if (repeats == 0) return;
  const Event first, last;
  first.record();
  for (int i = 0; i < repeats; ++i)
    require_success(multiply(x, from.request, chosen, place), "the product again");
  last.record();
  cuda_check(cudaEventSynchronize(last.get()), "timing the product");
  answer.seconds = Event::seconds(first, last) / repeats;
}

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
  Asked asked(problem);
  asked.request.finish(problem, nullptr, nullptr);
  state_->pinned = asked.chosen(state_->lt.get(), problem.algorithm);
}

void LibrarySession::unpin() { state_->pinned.reset(); }

double LibrarySession::last_seconds() const { return Event::seconds(state_->begin, state_->end); }

void LibrarySession::hold(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  State::hold(state_->held_a, a, a_bytes);
  State::hold(state_->held_b, b, b_bytes);
}

LibraryAnswer LibrarySession::run(const GemmProblem& problem, const void* a, const void* b,
                                  const LibraryRun& how) {
  if (const std::string why = why_no_problem(problem); !why.empty()) throw InputError(why);
  if (problem.api == GemmApi::cublas && state_->blas.get() == nullptr)
    throw EnvironmentError("no libcublas.so.13 or .12 on this machine");
  Asked& asked = state_->ask(problem);
  Request& request = asked.request;
  const std::size_t bias_bytes =
      problem.bias ? problem.n * spec_of(bias_type_of(problem)).storage_bytes() : 0;
  const bool given = how.memory == nullptr;
  if (given && ((problem.beta != 0 && how.c == nullptr) || (bias_bytes != 0 && how.bias == nullptr)))
    refuse("c, bias: found none, allowed: those that {} reads", name_of(problem));
  const Buffer bias(given ? bias_bytes : 0);
  if (given && bias_bytes != 0) copy_in(bias.data(), how.bias, bias_bytes);
  request.finish(problem, given ? bias.data() : how.memory->bias, state_->scales_of(problem));
  const cublas::HeuristicResult chosen = problem.api == GemmApi::cublas ? cublas::HeuristicResult{}
                                         : state_->pinned               ? *state_->pinned
                                                          : asked.chosen(state_->lt.get(), problem.algorithm);
  const std::size_t element = spec_of(output_of(problem)).storage_bytes(),
                    of_a = spec_of(problem.type).storage_bytes(),
                    of_b = spec_of(b_type_of(problem)).storage_bytes();
  Operands place{.workspace = state_->workspace.at_least(problem.workspace)};
  LibraryAnswer answer;
  if (!given) {
    place.a = static_cast<const char*>(how.memory->a) + problem.offset_a * of_a;
    place.b = static_cast<const char*>(how.memory->b) + problem.offset_b * of_b;
    place.d = static_cast<char*>(how.memory->d) + problem.offset_d * element;
    if (how.launch == LaunchKind::plain) {
      state_->begin.record();
      answer.call = state_->noted(problem, asked, chosen, place);
      state_->end.record();
    } else {
      if (const auto known = asked.calls.find(problem.algorithm); known != asked.calls.end())
        answer.call = known->second;
      if (how.launch == LaunchKind::beside) state_->beside(problem, asked, chosen, place);
      if (how.launch == LaunchKind::graph) state_->in_graph(problem, asked, chosen, place);
      if (how.launch == LaunchKind::grouped) state_->grouped(problem, asked, place);
    }
    state_->time(problem, asked, chosen, place, how.repeats, answer);
    return answer;
  }
  const GemmExtents extents = extents_of(problem).value_or(GemmExtents{});
  Buffer buffer_a, buffer_b;
  const Buffer on_d(extents.d * element);
  poison(on_d.data(), extents.d * element);  // an element that is not written shows
  place.a = State::on_gpu(state_->held_a, a, extents.a * of_a, buffer_a) + problem.offset_a * of_a;
  place.b = State::on_gpu(state_->held_b, b, extents.b * of_b, buffer_b) + problem.offset_b * of_b;
  place.d = on_d.data<char>() + problem.offset_d * element;
  const std::uint64_t stride_d = strides_of(problem).d * element;
  const auto matrix_d = [&](std::uint64_t matrix) { return place.d + matrix * stride_d; };
  for (std::uint64_t matrix = 0; matrix < problem.batch && problem.beta != 0; ++matrix)  // C and D are one
    cuda_check(cudaMemcpy2D(matrix_d(matrix), request.ld_d * element,
                            static_cast<const char*>(how.c) + matrix * problem.m * problem.n * element,
                            problem.n * element, problem.n * element, problem.m, cudaMemcpyHostToDevice),
               "copying C");
  answer.call = state_->noted(problem, asked, chosen, place);
  cuda_check(cudaDeviceSynchronize(), "the product");
  const std::uint64_t rows = how.rows == 0 ? problem.m : std::min(how.rows, problem.m);
  const std::uint64_t of_matrix = rows * problem.n * element;
  answer.d.resize(problem.batch * of_matrix);
  for (std::uint64_t matrix = 0; matrix < problem.batch; ++matrix)
    cuda_check(cudaMemcpy2D(answer.d.data() + matrix * of_matrix, problem.n * element, matrix_d(matrix),
                            request.ld_d * element, problem.n * element, rows, cudaMemcpyDeviceToHost),
               "copying D");
  state_->time(problem, asked, chosen, place, how.repeats, answer);
  return answer;
}

}  // namespace mmaudit::device
