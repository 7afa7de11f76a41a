// Bytes as a .npy file.
#include "mmaudit/corpus/npy.hpp"
#include "support.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mmaudit;
  static fuzz::ScratchFile file("x.npy");
  const auto& path = file.holding(std::span(data, size));
  fuzz::accepted([&] {
    const corpus::Tensor tensor = corpus::read_npy(path);
    if (tensor.data.size() > size || tensor.data.size() != tensor.elements() * corpus::bytes_of(tensor.dtype))
      fuzz::fail("an array of another size than its shape");
  });
  return 0;
}
