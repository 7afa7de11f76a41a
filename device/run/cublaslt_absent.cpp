// Stands in where there is no CUDA, or no header of cuBLASLt.
#include "mmaudit/device/cublaslt.hpp"

namespace mmaudit::device {

std::string why_no_cublaslt() { return "built without cuBLASLt's header"; }

std::string cublaslt_version() { return {}; }

LibraryAnswer run_cublaslt(const DeviceInfo&, const LibraryProblem&, const void*, const void*) {
  throw EnvironmentError(why_no_cublaslt());
}

}  // namespace mmaudit::device
