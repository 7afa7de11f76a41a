#include "library/cublas_abi.hpp"

#include "run/shared_library.hpp"

namespace mmaudit::device::cublas {
namespace {

Api found_api() {
  Api out{};
  const SharedLibrary lt{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  if (lt.name() == nullptr) {
    out.why = "no libcublasLt.so.13 or .12 on this machine";
    return out;
  }
  const auto find = [&out](const SharedLibrary& file, const char* symbol, auto& function) {
    if (!file.find(symbol, function) && out.why.empty())
      out.why = std::string(file.name()) + " has no " + symbol;
  };
  find(lt, "cublasLtCreate", out.lt_create);
  find(lt, "cublasLtDestroy", out.lt_destroy);
  find(lt, "cublasLtGetVersion", out.lt_version);
  find(lt, "cublasLtMatmul", out.lt_matmul);
  find(lt, "cublasLtMatmulAlgoGetHeuristic", out.lt_heuristic);
  find(lt, "cublasLtMatmulAlgoConfigGetAttribute", out.lt_attribute);
  find(lt, "cublasLtMatmulAlgoCapGetAttribute", out.lt_capability);
  find(lt, "cublasLtMatmulDescCreate", out.desc_create);
  find(lt, "cublasLtMatmulDescDestroy", out.desc_destroy);
  find(lt, "cublasLtMatmulDescSetAttribute", out.desc_set);
  find(lt, "cublasLtMatrixLayoutCreate", out.layout_create);
  find(lt, "cublasLtMatrixLayoutDestroy", out.layout_destroy);
  find(lt, "cublasLtMatrixLayoutSetAttribute", out.layout_set);
  find(lt, "cublasLtMatmulPreferenceCreate", out.preference_create);
  find(lt, "cublasLtMatmulPreferenceDestroy", out.preference_destroy);
  find(lt, "cublasLtMatmulPreferenceSetAttribute", out.preference_set);
  find(lt, "cublasLtLoggerSetCallback", out.log_callback);
  find(lt, "cublasLtLoggerSetLevel", out.log_level);
  find(lt, "cublasLtLoggerSetFile", out.log_file);
  const SharedLibrary blas{"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  if (blas.name() == nullptr) return out;
  out.name = blas.name();
  find(blas, "cublasCreate_v2", out.create);
  find(blas, "cublasGetVersion_v2", out.version);
  find(blas, "cublasDestroy_v2", out.destroy);
  find(blas, "cublasSetStream_v2", out.set_stream);
  find(blas, "cublasSetWorkspace_v2", out.set_workspace);
  find(blas, "cublasSetMathMode", out.set_math_mode);
  find(blas, "cublasGemmEx", out.gemm_ex);
  find(blas, "cublasGemmStridedBatchedEx", out.gemm_batched);
  return out;
}

}  // namespace

const Api& api() {
  static const Api found = found_api();
  return found;
}

}  // namespace mmaudit::device::cublas
