#pragma once
// Matrix products by cuBLASLt and cublasGemmEx, with what the library chose and the kernels it started. The
// libraries and CUPTI are looked for when asked, not linked.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "mmaudit/gemm_problem.hpp"

namespace mmaudit::device {

struct LibraryAnswer {
  LibraryCall call;
  std::vector<std::byte> d;  ///< (m, n), row-major, without gaps; the rows asked for
  double seconds = 0;        ///< of one product on the GPU; 0: not timed
};

/// How a product is started: alone; while the same product runs on another stream, into a D of its own, with
/// a workspace of its own; captured into a CUDA graph, which is launched; by cublasGemmGroupedBatchedEx, a
/// group per matrix of the batch.
enum class LaunchKind : std::uint8_t { plain, beside, graph, grouped };
namespace names {
inline constexpr std::string_view kLaunchKind[] = {"alone", "beside another stream", "in a CUDA graph",
                                                   "in a grouped call"};
}  // namespace names

/// The heuristic's list has fewer algorithms than were asked for.
struct NoAlgorithm : EnvironmentError {
  using EnvironmentError::EnvironmentError;
};

/// Device memory of a product's operands, as the problem lays them out, offsets included. D is C too.
struct LibraryMemory {
  const void *a = nullptr, *b = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;
};

struct LibraryRun {
  const void* c = nullptr;     ///< (m, n) in D's format, row-major, without gaps; read where beta is not 0
  const void* bias = nullptr;  ///< (n) in bias_type_of(problem); read where the problem has one
  int repeats = 0;             ///< runs of which `seconds` is the mean; 0: not timed
  std::uint64_t rows = 0;      ///< the first rows of D come back; 0: all
  /// Operands that lie on the GPU; the ones on the host are not read then. D stays there, and run() returns
  /// before it is there: work on the default stream comes after it.
  const LibraryMemory* memory = nullptr;
  LaunchKind launch = LaunchKind::plain;  ///< other ones: of operands on the GPU
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
  /// Of the last product of operands on the GPU, on the GPU alone. The default stream must have done it.
  [[nodiscard]] double last_seconds() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mmaudit::device
