#include "mmaudit/device/decisions.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "library/kernel_log.hpp"
#include "library/request.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {

struct DecisionMemory {
  Buffer a, b, d, bias, scales, workspace;
};

std::shared_ptr<const DecisionMemory> decision_memory(const DeviceInfo& device,
                                                      const std::vector<GemmProblem>& problems) {
  cuda_check(cudaSetDevice(device.ordinal), "choosing the device");
  std::uint64_t a = 0, b = 0, d = 0, bias = 0, workspace = 0;
  for (const GemmProblem& x : problems) {
    const GemmExtents extents = extents_of(x).value_or(GemmExtents{});
    const auto most = [](std::uint64_t& so_far, std::uint64_t count, Format format) {
      so_far = std::max(so_far, count * spec_of(format).storage_bytes());
    };
    most(a, extents.a, x.type);
    most(b, extents.b, b_type_of(x));
    most(d, extents.d, output_of(x));
    most(bias, x.n, bias_type_of(x));
    workspace = std::max(workspace, x.workspace);
  }
  return std::make_shared<const DecisionMemory>(DecisionMemory{Buffer(a), Buffer(b), Buffer(d), Buffer(bias),
                                                               Buffer((kScaleGap + 1) * sizeof(float)),
                                                               Buffer(workspace)});
}

AlgorithmsLogged::AlgorithmsLogged(GemmApi api) : on_(api == GemmApi::cublas) {
  if (!on_) return;
  listen_to_log();
  cublas::api().log_level(cublas::kLogTrace);
}
AlgorithmsLogged::~AlgorithmsLogged() {
  if (on_) cublas::api().log_level(0);
}

struct DecisionSession::State {
  /// Outlives the handle that uses it.
  struct Stream {
    cudaStream_t stream = nullptr;
    Stream() { cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"); }
    ~Stream() { cudaStreamDestroy(stream); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
  } const owned;
  cudaStream_t stream = owned.stream;
  std::shared_ptr<const DecisionMemory> memory;
  cublas::Owned lt{cublas::api().lt_destroy}, blas{cublas::api().destroy};
  /// Of `layer`, whose m is 0: kernels by algorithm.
  struct Known {
    cublas::Algo algo;
    LibraryCall call;
  };
  GemmProblem layer;
  std::vector<Known> known;

  std::vector<KernelLaunch> kernels_of(const std::function<int()>& start) const;
};

/// The launches of `start`, captured; what can't be captured runs. None where the library refuses.
std::vector<KernelLaunch> DecisionSession::State::kernels_of(const std::function<int()>& start) const {
  cuda_check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capturing");
  std::vector<KernelLaunch> out;
  int status = 0;
  {
    KernelLog log;
    status = start();
    out = log.take();
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (status == 0 && ended == cudaSuccess) return out;
  cudaGetLastError();
  KernelLog log;
  status = start();
  cuda_check(cudaStreamSynchronize(stream), "the product");
  out = log.take();
  return status == 0 ? out : std::vector<KernelLaunch>{};
}

DecisionSession::DecisionSession(const DeviceInfo& device, std::shared_ptr<const DecisionMemory> memory) {
  if (const std::string why = why_no_library(); !why.empty()) throw EnvironmentError(why);
  if (const std::string why = why_no_kernel_names(); !why.empty()) throw EnvironmentError(why);
  if (cublas::api().create == nullptr) throw EnvironmentError("no libcublas.so.13 or .12 on this machine");
  cuda_check(cudaSetDevice(device.ordinal), "choosing the device");
  state_ = std::make_unique<State>();
  state_->memory = std::move(memory);
  require_success(cublas::api().lt_create(state_->lt.put()), "cublasLtCreate");
  require_success(cublas::api().create(state_->blas.put()), "cublasCreate");
  require_success(cublas::api().set_stream(state_->blas.get(), state_->stream), "cublasSetStream");
}
DecisionSession::~DecisionSession() = default;

LibraryCall DecisionSession::decide(const GemmProblem& problem) {
  State& state = *state_;
  const DecisionMemory& memory = *state.memory;
  GemmProblem x = problem;
  if (is_fp8(x.type)) x.scale_a = x.scale_b = 2;  // any but 1: the library is told where scales are
  Request request(x);
  request.finish(x, memory.bias.data(), memory.scales.data<float>());
  const Operands operands{memory.a.data<char>(), memory.b.data<char>(), memory.d.data<char>(),
                          memory.workspace.data(), state.stream};
  cublas::HeuristicResult chosen{};
  const auto start = [&] { return multiply(state.lt.get(), state.blas.get(), x, request, chosen, operands); };
  if (problem.api == GemmApi::cublas) {
    const AlgorithmLog logged;
    LibraryCall call;
    call.kernels = state.kernels_of(start);
    call.algorithm = logged.algorithm();
    return call;
  }
  try {
    chosen = request.chosen(state.lt.get(), x);
  } catch (const EnvironmentError&) {
    return {};
  }
  GemmProblem layer = problem;
  layer.m = 0;
  if (layer != state.layer) state.known.clear();
  state.layer = layer;
  for (const State::Known& each : state.known)
    if (std::memcmp(&each.algo, &chosen.algo, sizeof chosen.algo) == 0) return each.call;
  LibraryCall call;
  call.algorithm = attributes_of(chosen);
  std::erase_if(call.algorithm, [](const auto& each) { return each.first == "workspace"; });
  call.kernels = state.kernels_of(start);
  state.known.push_back({chosen.algo, call});
  return call;
}

}  // namespace mmaudit::device
