#pragma once
// The row of a special function's name, for the C interfaces.
#include "mmaudit/error.hpp"
#include "mmaudit/functions.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit::capi {

/// InputError where no row has that name.
inline const functions::Function& function_of(const char* name) {
  const std::string_view wanted = name == nullptr ? "" : name;
  if (const functions::Function* found = functions::find(wanted)) return *found;
  const auto names = names_of(functions::all());
  refuse("function: found {}, allowed: {}{}", in_quotes(wanted), with_commas(names),
         did_you_mean(wanted, names));
}

/// The same for `count` operands at x and, of a quotient alone, y, whose results go to `result`.
inline const functions::Function& function_of(const char* name, const void* x, const void* y,
                                              std::size_t count, const void* result) {
  const functions::Function& function = function_of(name);
  if (count != 0 && (x == nullptr || result == nullptr || (y == nullptr) != (function.operands == 1)))
    refuse("function: found other arrays, allowed: x, result{} for {}",
           function.operands == 2 ? ", y" : ", no y", function.name);
  return function;
}

}  // namespace mmaudit::capi
