#pragma once
// cuBLAS, loaded at run time.
#include <dlfcn.h>

namespace whole {

// -----------------------------------------------------------------------------
using Handle = void*;
struct Cublas {
  Handle handle = nullptr;
  int (*gemm)(Handle, int, int, int, int, int, const void*, const void*, int, int, const void*, int, int,
              const void*, void*, int, int, int, int) = nullptr;
  Cublas() {
    void* library = nullptr;
    for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (library == nullptr) library = dlopen(name, RTLD_NOW);
    if (library == nullptr) return;
    const auto create = reinterpret_cast<int (*)(Handle*)>(dlsym(library, "cublasCreate_v2"));
    if (create == nullptr || create(&handle) != 0) return;
    gemm = reinterpret_cast<decltype(gemm)>(dlsym(library, "cublasGemmEx"));
  }
};

}  // namespace whole
