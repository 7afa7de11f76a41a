// The C interface: special functions.
#include "function_of.hpp"
#include "guard.hpp"

extern "C" int mmaudit_function(const char* name, const uint32_t* x, const uint32_t* y, size_t count,
                                uint32_t* result) {
  return mmaudit::capi::guarded([&] {
    mmaudit::functions::evaluate(mmaudit::capi::function_of(name, x, y, count, result), x, y, result, count);
  });
}
