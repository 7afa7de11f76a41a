// Bytes as a .npy file.
#include "mmaudit/corpus/npy.hpp"
#include "support.hpp"

void mmaudit::fuzz::run(Bytes bytes) {
  static ScratchFile file("x.npy");
  const auto& path = file.holding(bytes.rest());
  accepted([&] {
    const corpus::Tensor tensor = corpus::read_npy(path);
    if (tensor.data.size() > bytes.rest().size() ||
        tensor.data.size() != tensor.elements() * corpus::bytes_of(tensor.dtype))
      fail("an array of another size than its shape");
  });
}
