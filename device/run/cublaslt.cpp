#include "mmaudit/device/cublaslt.hpp"

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <memory>
#include <type_traits>

#include "run/cuda_check.hpp"
#include "run/shared_library.hpp"

namespace mmaudit::device {
namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

// The functions that a product needs: X(member of Library, name).
#define MMAUDIT_CUBLASLT(X)                              \
  X(create, cublasLtCreate)                              \
  X(destroy, cublasLtDestroy)                            \
  X(version, cublasLtGetVersion)                         \
  X(matmul, cublasLtMatmul)                              \
  X(heuristic, cublasLtMatmulAlgoGetHeuristic)           \
  X(attribute, cublasLtMatmulAlgoConfigGetAttribute)     \
  X(desc_create, cublasLtMatmulDescCreate)               \
  X(desc_destroy, cublasLtMatmulDescDestroy)             \
  X(desc_set, cublasLtMatmulDescSetAttribute)            \
  X(layout_create, cublasLtMatrixLayoutCreate)           \
  X(layout_destroy, cublasLtMatrixLayoutDestroy)         \
  X(preference_create, cublasLtMatmulPreferenceCreate)   \
  X(preference_destroy, cublasLtMatmulPreferenceDestroy) \
  X(preference_set, cublasLtMatmulPreferenceSetAttribute)

struct Library {
#define MMAUDIT_MEMBER(MEMBER, NAME) decltype(&NAME) MEMBER = nullptr;
  MMAUDIT_CUBLASLT(MMAUDIT_MEMBER)
#undef MMAUDIT_MEMBER
  std::string why;  ///< not usable
};

const Library& library() {
  static const Library found = [] {
    Library out;
    const std::string versioned = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
    const SharedLibrary file{versioned.c_str(), "libcublasLt.so"};
    if (file.name() == nullptr) {
      out.why = "no " + versioned + " on this machine";
      return out;
    }
#define MMAUDIT_FIND(MEMBER, NAME) \
  if (!file.find(#NAME, out.MEMBER) && out.why.empty()) out.why = "libcublasLt has no " #NAME;
    MMAUDIT_CUBLASLT(MMAUDIT_FIND)
#undef MMAUDIT_FIND
    return out;
  }();
  return found;
}

void require_success(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw EnvironmentError(std::string(what) + ": cuBLASLt status " +
                           std::to_string(static_cast<int>(status)));
}

struct Types {
  Format operand;
  cudaDataType_t in, out;
  cublasComputeType_t compute;
  Format output;
};
constexpr Types kTypes[] = {
    {Format::e4m3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Format::bf16},
    {Format::bf16, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, Format::bf16},
    {Format::f16, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, Format::f16},
    {Format::tf32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, Format::f32}};

const Types& types_of(Format operand) {
  for (const Types& types : kTypes)
    if (types.operand == operand) return types;
  throw InputError("operand: found another type, allowed: e4m3, bf16, f16, tf32");
}

struct Attribute {
  const char* name;
  cublasLtMatmulAlgoConfigAttributes_t id;
  std::size_t bytes;
};
constexpr Attribute kAttributes[] = {{"id", CUBLASLT_ALGO_CONFIG_ID, 4},
                                     {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
                                     {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
                                     {"split_k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
                                     {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
                                     {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
                                     {"custom", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
                                     {"inner_shape", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
                                     {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2}};

/// Owns what a create function makes.
template <typename Handle, typename Destroy>
std::unique_ptr<std::remove_pointer_t<Handle>, Destroy> owned(Handle handle, Destroy destroy) {
  return {handle, destroy};
}

}  // namespace

std::string why_no_cublaslt() { return library().why; }

std::string cublaslt_version() { return library().why.empty() ? std::to_string(library().version()) : ""; }

LibraryAnswer run_cublaslt(const DeviceInfo& device, const LibraryProblem& problem, const void* a,
                           const void* b_transposed) {
  const Library& lt = library();
  if (!lt.why.empty()) throw EnvironmentError(lt.why);
  const Types& types = types_of(problem.operand);
  cuda_check(cudaSetDevice(device.ordinal), "choosing the device");

  cublasLtHandle_t handle = nullptr;
  require_success(lt.create(&handle), "cublasLtCreate");
  const auto owned_handle = owned(handle, lt.destroy);
  cublasLtMatmulDesc_t desc = nullptr;
  require_success(lt.desc_create(&desc, types.compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
  const auto owned_desc = owned(desc, lt.desc_destroy);
  const cublasOperation_t transposed = CUBLAS_OP_T;
  require_success(lt.desc_set(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
                  "transpose of A");
  if (problem.operand == Format::e4m3) {
    const std::int8_t fast = problem.fast ? 1 : 0;
    require_success(lt.desc_set(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast),
                    "fast accumulation");
  }
  // A by rows is a column-major (k, m), transposed; B by columns a column-major (k, n).
  cublasLtMatrixLayout_t of_a = nullptr, of_b = nullptr, of_d = nullptr;
  const auto ld_k = static_cast<std::int64_t>(problem.k), ld_m = static_cast<std::int64_t>(problem.m);
  require_success(lt.layout_create(&of_a, types.in, problem.k, problem.m, ld_k), "layout of A");
  const auto owned_a = owned(of_a, lt.layout_destroy);
  require_success(lt.layout_create(&of_b, types.in, problem.k, problem.n, ld_k), "layout of B");
  const auto owned_b = owned(of_b, lt.layout_destroy);
  require_success(lt.layout_create(&of_d, types.out, problem.m, problem.n, ld_m), "layout of D");
  const auto owned_d = owned(of_d, lt.layout_destroy);
  cublasLtMatmulPreference_t preference = nullptr;
  require_success(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  const auto owned_preference = owned(preference, lt.preference_destroy);
  require_success(
      lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace, sizeof kWorkspace),
      "workspace");

  cublasLtMatmulHeuristicResult_t chosen{};
  int found = 0;
  require_success(lt.heuristic(handle, desc, of_a, of_b, of_d, of_d, preference, 1, &chosen, &found),
                  "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0) throw EnvironmentError("cuBLASLt has no algorithm for " + name_of(problem));
  LibraryAnswer answer;
  for (const Attribute& each : kAttributes) {
    std::int64_t value = 0;
    std::size_t written = 0;
    if (lt.attribute(&chosen.algo, each.id, &value, each.bytes, &written) == CUBLAS_STATUS_SUCCESS)
      answer.algorithm.emplace_back(each.name, value);
  }
  answer.algorithm.emplace_back("workspace", static_cast<std::int64_t>(chosen.workspaceSize));

  const std::size_t in_bytes = spec_of(problem.operand).storage_bytes();
  const std::size_t a_bytes = problem.m * problem.k * in_bytes, b_bytes = problem.n * problem.k * in_bytes;
  answer.d.resize(problem.m * problem.n * spec_of(types.output).storage_bytes());
  const Buffer on_a(a_bytes), on_b(b_bytes), on_d(answer.d.size()), workspace(kWorkspace);
  copy_in(on_a.data(), a, a_bytes);
  copy_in(on_b.data(), b_transposed, b_bytes);
  const float alpha = 1, beta = 0;
  require_success(lt.matmul(handle, desc, &alpha, on_a.data(), of_a, on_b.data(), of_b, &beta, on_d.data(),
                            of_d, on_d.data(), of_d, &chosen.algo, workspace.data(), kWorkspace, nullptr),
                  "cublasLtMatmul");
  copy_out(answer.d.data(), on_d.data(), answer.d.size());
  return answer;
}

}  // namespace mmaudit::device
