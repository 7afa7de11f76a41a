#pragma once
// What cuBLASLt and cublasGemmEx would start for a product, asked without running it.
#include <cstdint>
#include <memory>
#include <vector>

#include "mmaudit/device/library.hpp"

namespace mmaudit::device {

/// Device memory for the operands of these problems, one after another; it is never read.
struct DecisionMemory;
std::shared_ptr<const DecisionMemory> decision_memory(const DeviceInfo& device,
                                                      const std::vector<GemmProblem>& problems);

/// While it lives cublasGemmEx says which algorithm it takes. It does so for GemmApi::cublas alone: questions
/// to cuBLASLt would get slower.
class AlgorithmsLogged {
 public:
  explicit AlgorithmsLogged(GemmApi api);
  ~AlgorithmsLogged();
  AlgorithmsLogged(const AlgorithmsLogged&) = delete;
  AlgorithmsLogged& operator=(const AlgorithmsLogged&) = delete;

 private:
  bool on_;
};

/// Handles and a stream of one thread.
class DecisionSession {
 public:
  /// EnvironmentError where the library is absent or fails.
  DecisionSession(const DeviceInfo& device, std::shared_ptr<const DecisionMemory> memory);
  ~DecisionSession();
  DecisionSession(const DecisionSession&) = delete;
  DecisionSession& operator=(const DecisionSession&) = delete;

  /// What: the algorithm and the kernels that the library would take. Of cuBLASLt the heuristic is asked,
  /// with scales where the type is FP8, as torch does; the kernels of a layer's algorithm are looked up once,
  /// for the first M that takes it. cublasGemmEx has no heuristic to ask: its launches are captured into a
  /// graph that is thrown away. Returns: without "workspace", which depends on M alone; no kernels where the
  /// library refuses. Errors: EnvironmentError.
  LibraryCall decide(const GemmProblem& problem);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mmaudit::device
