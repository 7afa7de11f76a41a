#pragma once
// Names of types and kernels as people spell them.
#include <string>
#include <typeinfo>

namespace mmaudit::sweeps {

/// What: a mangled name without its namespaces: "void timed<Mma<Mma_m16n8k8>, 1, 16>(TimedArgs)". Range: what
/// is no mangled name comes back as it is.
std::string readable_symbol(const char* mangled);

/// "Mma<Mma_m16n8k8>" of a type that need not be complete.
template <typename T>
std::string type_text() {
  std::string pointer = readable_symbol(typeid(T*).name());
  pointer.pop_back();
  return pointer;
}

}  // namespace mmaudit::sweeps
