#pragma once
// A library that is loaded at run time: neither its header nor its file need be there.
#include <dlfcn.h>

#include <initializer_list>

namespace mmaudit::device {

/// Stays loaded: unloading a library while CUDA is at work helps no one.
class SharedLibrary {
 public:
  /// The first of `names` that the loader finds.
  SharedLibrary(std::initializer_list<const char*> names) {
    for (const char* one : names)
      if (handle_ == nullptr && (handle_ = dlopen(one, RTLD_LAZY | RTLD_LOCAL)) != nullptr) name_ = one;
  }
  /// Null when there is none.
  [[nodiscard]] const char* name() const { return name_; }
  /// False when the library lacks the function.
  template <typename Function>
  bool find(const char* symbol, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol));
    return function != nullptr;
  }

 private:
  void* handle_ = nullptr;
  const char* name_ = nullptr;
};

}  // namespace mmaudit::device
