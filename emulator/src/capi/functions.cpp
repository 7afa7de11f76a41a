// The C interface: special functions.
#include "mmaudit/functions.hpp"

#include "guard.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::capi {
namespace {

const functions::Function& function_of(const char* name) {
  const std::string_view wanted = name == nullptr ? "" : name;
  if (const functions::Function* found = functions::find(wanted)) return *found;
  const auto names = names_of(functions::all());
  refuse("function: found {}, allowed: {}{}", in_quotes(wanted), with_commas(names),
         did_you_mean(wanted, names));
}

}  // namespace
}  // namespace mmaudit::capi

extern "C" int mmaudit_function(const char* name, const uint32_t* x, const uint32_t* y, size_t count,
                                uint32_t* result) {
  return mmaudit::capi::guarded([&] {
    const auto& function = mmaudit::capi::function_of(name);
    if (count != 0 && (x == nullptr || result == nullptr || (y == nullptr) != (function.operands == 1)))
      mmaudit::refuse("function: found other arrays, allowed: x, result{} for {}",
                      function.operands == 2 ? ", y" : ", no y", function.name);
    mmaudit::functions::evaluate(function, x, y, result, count);
  });
}
