#include "mmaudit/sweeps/symbol.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace mmaudit::sweeps {

std::string readable_symbol(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(mangled, nullptr, nullptr, &status),
                                                    std::free);
  std::string text = status == 0 ? name.get() : mangled;
  for (std::size_t colons = 0; (colons = text.find("::")) != std::string::npos;) {
    const std::size_t before = text.find_last_of("<(, ", colons);
    const std::size_t start = before == std::string::npos ? 0 : before + 1;
    text.erase(start, colons + 2 - start);
  }
  return text;
}

}  // namespace mmaudit::sweeps
