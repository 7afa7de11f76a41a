// A fuzzer as libFuzzer knows it.
#include "support.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mmaudit::fuzz::run({data, size});
  return 0;
}
