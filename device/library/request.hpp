#pragma once
// A product as the column-major library is asked for it, and what of its answer is kept.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "library/cublas_abi.hpp"
#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::device {

void require_success(int status, const char* what);

/// Whether the library is told scales of FP8.
inline bool is_scaled(const GemmProblem& x) { return x.scale_a != 1 || x.scale_b != 1; }
/// cuBLASLt refuses a pointer to a scale that is not aligned to 16 bytes.
inline constexpr std::size_t kScaleGap = 4;

/// The library's first operand is B, its second A.
struct Request {
  cublas::Owned desc, first, second, c, d, preference;
  std::uint64_t ld_first, ld_second, ld_d;
  int op_first, op_second;
  bool c_is_d = true;  ///< C is read from D; else no C is read, but the library wants a pointer

  explicit Request(const GemmProblem& x);

  /// Pointers to the GPU: the bias, and the scales of the first and the second operand, kScaleGap apart. Null
  /// ones do for questions about the algorithm.
  void finish(const GemmProblem& x, const void* bias, const float* scales);
  /// The heuristic's list, of at most `most` algorithms; `status` is cuBLAS'.
  [[nodiscard]] std::vector<cublas::HeuristicResult> list(cublas::Handle handle, std::uint64_t most,
                                                          int& status) const;
  /// The algorithm that the problem asks for; NoAlgorithm where the list is shorter.
  [[nodiscard]] cublas::HeuristicResult chosen(cublas::Handle handle, const GemmProblem& problem) const;

 private:
  static void set_batch(const cublas::Owned& layout, std::uint64_t count, std::uint64_t stride);
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

[[noreturn]] void throw_no_algorithm(const GemmProblem& problem, std::size_t found, int status);
/// Of cublasGemmEx.
int math_mode_of(const GemmProblem& x);

std::vector<std::pair<std::string, std::int64_t>> attributes_of(const cublas::HeuristicResult& chosen);

/// Device addresses of a product's operands, each its first element, of the workspace, and the stream.
struct Operands {
  const char *a = nullptr, *b = nullptr;
  char* d = nullptr;
  void *workspace = nullptr, *stream = nullptr;
};
/// What: starts the product, by `chosen` where the api is cuBLASLt's. Returns: cuBLAS' status.
int multiply(cublas::Handle lt, cublas::Handle blas, const GemmProblem& x, const Request& request,
             const cublas::HeuristicResult& chosen, const Operands& operands);

/// Makes the library tell this thread's AlgorithmLog; once per process.
void listen_to_log();
/// Keeps the last algorithm that the library's log names on this thread, where it logs.
class AlgorithmLog {
 public:
  AlgorithmLog();
  ~AlgorithmLog();
  AlgorithmLog(const AlgorithmLog&) = delete;
  AlgorithmLog& operator=(const AlgorithmLog&) = delete;
  /// Named as LibraryCall's attributes; empty where nothing was logged.
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> algorithm() const;

 private:
  std::string text_;
};

}  // namespace mmaudit::device
