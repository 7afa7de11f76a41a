#pragma once
// Matrix products by cuBLASLt and cublasGemmEx, with what the library chose and the kernels it started. The
// libraries and CUPTI are looked for when asked, not linked.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::device {

struct LibraryAnswer {
  LibraryCall call;
  std::vector<std::byte> d;  ///< (m, n), row-major, without gaps; the rows asked for
  double seconds = 0;        ///< of one product on the GPU; 0: not timed
};

/// Bytes in front of and behind operands that are made on the GPU.
inline constexpr std::size_t kLibraryGuard = 4096;
/// Device memory of a product: the first byte, kLibraryGuard before the operand, and bytes with both guards.
struct LibraryMemory {
  void *a, *b, *d, *bias;  ///< D is C too
  std::size_t a_bytes, b_bytes, d_bytes;
};

struct LibraryRun {
  const void* c = nullptr;     ///< (m, n) in D's format, row-major, without gaps; read where beta is not 0
  const void* bias = nullptr;  ///< (n) in bias_type_of(problem); read where the problem has one
  int repeats = 0;             ///< runs of which `seconds` is the mean; 0: not timed
  std::uint64_t rows = 0;      ///< the first rows of D come back; 0: all
  /// Makes the operands on the GPU, where `a`, `b`, c and bias are not given; D holds 0xA5. No D comes back.
  std::function<void(const LibraryMemory&)> prepare = nullptr;
  std::function<void(const LibraryMemory&)> judge = nullptr;  ///< sees what the product made of it
};

/// Why there is no cuBLASLt here, in one line; empty where there is one.
std::string why_no_library();
/// "130100"; empty where there is none.
std::string library_version();
/// Why kernels have no names here, in one line; empty where they have.
std::string why_no_kernel_names();

/// Handles, workspace and buffers for products on one GPU. Not for several threads.
class LibrarySession {
 public:
  /// EnvironmentError where the library is absent or fails.
  explicit LibrarySession(const DeviceInfo& device);
  ~LibrarySession();
  LibrarySession(const LibrarySession&) = delete;
  LibrarySession& operator=(const LibrarySession&) = delete;

  /// What: the product, by the algorithm of the heuristic that the problem asks for or by the pinned one.
  /// `a` and `b`: raw bits as stored, extents_of(problem) elements. Errors: EnvironmentError where the
  /// library has no algorithm or fails.
  LibraryAnswer run(const GemmProblem& problem, const void* a, const void* b, const LibraryRun& how = {});
  /// A copy of these operands stays on the GPU: run() with the same pointers reads the copy.
  void hold(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes);
  /// The algorithm that the heuristic of cuBLASLt takes for this problem is used for every later one.
  void pin(const GemmProblem& problem);
  void unpin();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mmaudit::device
